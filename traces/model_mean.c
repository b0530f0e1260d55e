#include "traces/model_mean.h"

#include "base/assert.h"

#include <stdlib.h>

/* The mark of that step, made behind all others where it is new. NULL: no memory. */
static gs_model_mark *mark_at(gs_model_means *means, int64_t step)
{
    for (uint32_t i = 0; i < means->count; i++) {
        if (means->marks[i].step == step) {
            return &means->marks[i];
        }
    }
    if (means->count == means->capacity) {
        uint32_t capacity = means->capacity == 0 ? 4 : 2 * means->capacity;
        gs_model_mark *marks = realloc(means->marks, capacity * sizeof *marks);
        if (marks == NULL) {
            return NULL;
        }
        means->marks = marks;
        means->capacity = capacity;
    }
    double *sum = calloc(means->elements + 1, sizeof *sum);
    if (sum == NULL) {
        return NULL;
    }
    gs_model_mark *mark = &means->marks[means->count++];
    *mark = (gs_model_mark){.step = step, .sum = sum};
    return mark;
}

/* The oldest mark: ranks come to marks in order, so that it is complete first. */
static gs_status close_first(gs_model_means *means)
{
    gs_model_mark first = means->marks[0];
    if (means->mean == NULL) {
        means->mean = calloc(means->elements + 1, sizeof *means->mean);
    }
    for (size_t i = 0; means->mean != NULL && i < means->elements; i++) {
        means->mean[i] = (float)(first.sum[i] / first.weight);
    }
    free(first.sum);
    means->count--;
    for (uint32_t i = 0; i < means->count; i++) {
        means->marks[i] = means->marks[i + 1];
    }
    return means->mean != NULL ? GS_OK : GS_ENOMEM;
}

gs_status gs_model_means_add(gs_model_means *means, int64_t step, const float *model, double weight,
                             const float **out)
{
    gs_model_mark *mark = mark_at(means, step);
    *out = NULL;
    if (mark == NULL) {
        return GS_ENOMEM;
    }
    for (size_t i = 0; i < means->elements; i++) {
        mark->sum[i] += weight * (double)model[i];
    }
    mark->weight += weight;
    if (++mark->ranks < means->ranks) {
        return GS_OK;
    }
    GS_ASSERT(mark == means->marks && "ranks come to marks in order");
    GS_TRY(close_first(means));
    *out = means->mean;
    return GS_OK;
}

void gs_model_means_fini(gs_model_means *means)
{
    for (uint32_t i = 0; i < means->count; i++) {
        free(means->marks[i].sum);
    }
    free(means->marks);
    free(means->mean);
}

void gs_model_mean(const float *const *models, const double *weights, uint32_t ranks,
                   size_t elements, float *out)
{
    double total = 0.0;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        total += weights[rank];
    }
    for (size_t i = 0; i < elements; i++) {
        double sum = 0.0;
        for (uint32_t rank = 0; rank < ranks; rank++) {
            sum += weights[rank] * (double)models[rank][i];
        }
        out[i] = (float)(sum / total);
    }
}
