#include "models/dataset_shards.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "models/dataset_random.h"

enum { CLASSES_MAX = 256 };

static const char *const kind_names[] = {"iid", "label", "dirichlet", "unequal", NULL};

/* clang-format off */
static const gs_field fields[] = {
    {"shards", GS_FIELD_CHOICE, GS_FIELD_AT(gs_shard_config, kind), "iid", 0, 0, kind_names,
     "who gets which samples: iid (one shuffled order dealt out in turn), or a shard a rank: "
     "label (sorted by class; a text: by place), dirichlet, unequal"},
    {"alpha", GS_FIELD_REAL, GS_FIELD_AT(gs_shard_config, alpha), "0.5", 1e-3, 1e6, NULL,
     "dirichlet: small: a rank has few classes; large: all ranks are alike"},
    {"size_ratio", GS_FIELD_REAL, GS_FIELD_AT(gs_shard_config, size_ratio), "4", 1, 1e6, NULL,
     "unequal: samples of the first rank over those of the last; between, sizes fall by one ratio"},
    {"shard_seed", GS_FIELD_INT, GS_FIELD_AT(gs_shard_config, shard_seed), "0", 0, 9007199254740992.0, NULL,
     "dirichlet: seed of the shares; the run's seed does not change them"},
    {"late", GS_FIELD_INT_LIST, GS_FIELD_AT(gs_shard_config, late), "", 0, 255, NULL,
     "classes (of a text: byte values) whose samples come only from late_epoch on"},
    {"late_epoch", GS_FIELD_INT, GS_FIELD_AT(gs_shard_config, late_epoch), "0", 0, 1e6, NULL,
     "epoch from which late samples come; 0: from the start"},
};
/* clang-format on */

const gs_field_table gs_shard_config_table = {
    .name = "data",
    .struct_bytes = sizeof(gs_shard_config),
    .fields = fields,
    .field_count = sizeof fields / sizeof fields[0],
};

/* ---------------------------------------------------------------- dealing */

/* What the steps of dealing share. */
typedef struct deal {
    const gs_dataset *dataset;
    const gs_shard_config *config;
    uint32_t ranks;
    int64_t count;         /* train rows */
    const uint32_t *train; /* [count], of the split */
    uint32_t *rows;        /* [count]: what is made */
    int64_t *first;        /* [ranks + 1] */
} deal;

/* Rows sorted by class, in the order of the split within one; first [CLASSES_MAX + 1]. */
static void sort_by_class(const deal *of, uint32_t *sorted, int64_t *first)
{
    int64_t at[CLASSES_MAX] = {0};
    const uint8_t *labels = of->dataset->labels;
    for (int64_t i = 0; i < of->count; i++) {
        at[labels[of->train[i]]]++;
    }
    first[0] = 0;
    for (int c = 0; c < CLASSES_MAX; c++) {
        first[c + 1] = first[c] + at[c];
        at[c] = first[c];
    }
    for (int64_t i = 0; i < of->count; i++) {
        sorted[at[labels[of->train[i]]]++] = of->train[i];
    }
}

static int compare_rows(const void *a, const void *b)
{
    const uint32_t *x = a;
    const uint32_t *y = b;
    return (*x > *y) - (*x < *y);
}

static void equal_sizes(deal *of)
{
    for (uint32_t r = 0; r <= of->ranks; r++) {
        of->first[r] = of->count * r / of->ranks;
    }
}

static void deal_by_label(deal *of)
{
    equal_sizes(of);
    if (gs_dataset_has_classes(of->dataset)) {
        int64_t first[CLASSES_MAX + 1];
        sort_by_class(of, of->rows, first);
    } else {
        memcpy(of->rows, of->train, (size_t)of->count * sizeof *of->rows);
        qsort(of->rows, (size_t)of->count, sizeof *of->rows, compare_rows);
    }
}

static void deal_unequal(deal *of)
{
    double last = of->ranks > 1 ? (double)(of->ranks - 1) : 1.0;
    double sum = 0.0;
    for (uint32_t r = 0; r < of->ranks; r++) {
        sum += pow(of->config->size_ratio, -(double)r / last);
    }
    double so_far = 0.0;
    of->first[0] = 0;
    for (uint32_t r = 0; r < of->ranks; r++) {
        so_far += pow(of->config->size_ratio, -(double)r / last);
        of->first[r + 1] = llround((double)of->count * so_far / sum);
    }
    of->first[of->ranks] = of->count;
    memcpy(of->rows, of->train, (size_t)of->count * sizeof *of->rows);
}

/* The class that the uniform draw falls on, by the shares of the classes that have rows left. */
static int pick_class(const double *shares, const int64_t *left, double draw)
{
    double sum = 0.0;
    int fullest = 0;
    for (int c = 0; c < CLASSES_MAX; c++) {
        sum += left[c] > 0 ? shares[c] : 0.0;
        fullest = left[c] > left[fullest] ? c : fullest;
    }
    double target = draw * sum;
    for (int c = 0; c < CLASSES_MAX; c++) {
        if (left[c] > 0) {
            target -= shares[c];
            if (target < 0.0) {
                return c;
            }
        }
    }
    return fullest; /* the shares of what is left are all 0, or rounding ate the last one */
}

/* shares [ranks][CLASSES_MAX] */
static void draw_shares(const deal *of, const int64_t *class_first, double *shares)
{
    int present[CLASSES_MAX];
    double shapes[CLASSES_MAX];
    double drawn[CLASSES_MAX];
    int64_t count = 0;
    for (int c = 0; c < CLASSES_MAX; c++) {
        if (class_first[c + 1] > class_first[c]) {
            present[count++] = c;
        }
    }
    for (int64_t k = 0; k < count; k++) {
        int c = present[k];
        double share = (double)(class_first[c + 1] - class_first[c]) / (double)of->count;
        shapes[k] = of->config->alpha * (double)count * share;
    }
    for (uint32_t r = 0; r < of->ranks; r++) {
        gs_rng_key key = {(uint64_t)of->config->shard_seed, GS_RNG_DATA, GS_DATA_SHARES + r};
        gs_data_dirichlet(key, shapes, drawn, count);
        for (int64_t k = 0; k < count; k++) {
            shares[(size_t)r * CLASSES_MAX + (size_t)present[k]] = drawn[k];
        }
    }
}

static bool deal_by_dirichlet(deal *of, gs_arena *scratch)
{
    int64_t class_first[CLASSES_MAX + 1];
    int64_t left[CLASSES_MAX];
    uint32_t *sorted = GS_TAKE(scratch, uint32_t, (size_t)of->count);
    double *shares = GS_TAKE(scratch, double, (size_t)of->ranks *CLASSES_MAX);
    if (sorted == NULL || shares == NULL) {
        return false;
    }
    equal_sizes(of);
    sort_by_class(of, sorted, class_first);
    draw_shares(of, class_first, shares);
    for (int c = 0; c < CLASSES_MAX; c++) {
        left[c] = class_first[c + 1] - class_first[c];
    }
    gs_rng_key key = {(uint64_t)of->config->shard_seed, GS_RNG_DATA, GS_DATA_TURNS};
    int64_t most = (of->count + of->ranks - 1) / of->ranks;
    for (int64_t turn = 0; turn < most; turn++) {
        for (uint32_t r = 0; r < of->ranks; r++) {
            if (of->first[r] + turn < of->first[r + 1]) {
                int c = pick_class(shares + (size_t)r * CLASSES_MAX, left,
                                   gs_rng_uniform(key, (uint64_t)turn, r));
                left[c]--;
                of->rows[of->first[r] + turn] = sorted[class_first[c] + left[c]];
            }
        }
    }
    return true;
}

/* ---------------------------------------------------------------- late rows */

/* Marks the labels that are late; out [CLASSES_MAX]. */
static gs_status mark_late(const gs_dataset *dataset, const gs_int_list *late, bool *out,
                           gs_error *err)
{
    if (dataset->shape.kind != GS_ANSWER_CLASS) {
        return gs_fail(err, GS_EINVAL,
                       "late: this data has numbers as answers and no classes; leave late empty");
    }
    for (int64_t i = 0; i < late->count; i++) {
        int64_t found = -1;
        for (int64_t c = 0; c < dataset->shape.answer_width; c++) {
            int64_t value = dataset->vocabulary != NULL ? dataset->vocabulary[c] : c;
            found = value == late->values[i] ? c : found;
        }
        if (found < 0) {
            return gs_fail(err, GS_EINVAL, "late: there is no %s %lld in the data",
                           dataset->vocabulary != NULL ? "byte" : "class",
                           (long long)late->values[i]);
        }
        out[found] = true;
    }
    return GS_OK;
}

static bool is_late(const gs_dataset *dataset, const bool *late, uint32_t row)
{
    const uint8_t *labels = dataset->labels + row * dataset->answer_stride;
    for (int64_t i = 0; i < dataset->shape.answer_count; i++) {
        if (late[labels[i]]) {
            return true;
        }
    }
    return dataset->tokens != NULL && late[dataset->tokens[row * dataset->input_stride]];
}

/* Moves late rows of a stream behind the others, each in their order. Returns how many come early.
 */
static int64_t part(const gs_dataset *dataset, const bool *late, uint32_t *rows, int64_t count,
                    uint32_t *scratch)
{
    int64_t early = 0;
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++) {
        if (is_late(dataset, late, rows[i])) {
            scratch[kept++] = rows[i];
        } else {
            rows[early++] = rows[i];
        }
    }
    memcpy(rows + early, scratch, (size_t)kept * sizeof *rows);
    return early;
}

/* ---------------------------------------------------------------- creation */

static const char *cure(gs_shard_kind kind)
{
    return kind == GS_SHARDS_UNEQUAL ? "lower data.size_ratio or the ranks, or take more data"
                                     : "lower the ranks or take more data";
}

static gs_status check_kind(const gs_dataset *dataset, const gs_shard_config *config, gs_error *err)
{
    if (config->kind == GS_SHARDS_DIRICHLET && !gs_dataset_has_classes(dataset)) {
        return gs_fail(err, GS_EINVAL,
                       "shards dirichlet: %s; choose label, a part of the rows as they lie for "
                       "each rank, or unequal",
                       dataset->tokens != NULL ? "a window of text has no one class"
                                               : "this data has numbers as answers and no classes");
    }
    if (config->late_epoch > 0 && config->late.count == 0) {
        return gs_fail(err, GS_EINVAL,
                       "late_epoch is %lld and late is empty; say which classes "
                       "come late",
                       (long long)config->late_epoch);
    }
    return GS_OK;
}

static gs_status check_sizes(const deal *of, const gs_shards *shards, gs_error *err)
{
    for (uint32_t s = 0; s < shards->stream_count; s++) {
        int64_t size = gs_shards_size(shards, s);
        if (size == 0) {
            return gs_fail(err, GS_EINVAL, "shards %s: rank %u of %u gets none of %lld samples; %s",
                           kind_names[shards->kind], s, of->ranks, (long long)of->count,
                           cure(shards->kind));
        }
        if (shards->early[s] == 0 && shards->kind == GS_SHARDS_IID) {
            return gs_fail(err, GS_EINVAL,
                           "late: all %lld samples are late, none is left for epoch 0",
                           (long long)of->count);
        }
        if (shards->early[s] == 0) {
            return gs_fail(err, GS_EINVAL,
                           "late: all %lld samples of rank %u are late, none is left for epoch 0; "
                           "name fewer classes or choose other shards than %s",
                           (long long)size, s, kind_names[shards->kind]);
        }
    }
    return GS_OK;
}

/* scratch [count] uint32 */
static gs_status part_all(const deal *of, gs_shards *shards, int64_t *early, uint32_t *scratch,
                          gs_error *err)
{
    bool late[CLASSES_MAX] = {false};
    shards->late_epoch = of->config->late_epoch;
    if (shards->late_epoch > 0) {
        GS_TRY(mark_late(of->dataset, &of->config->late, late, err));
    }
    for (uint32_t s = 0; s < shards->stream_count; s++) {
        early[s] = gs_shards_size(shards, s);
        if (shards->late_epoch > 0) {
            early[s] = part(of->dataset, late, of->rows + shards->first[s], early[s], scratch);
        }
    }
    return GS_OK;
}

static gs_status create(deal *of, gs_arena *scratch, gs_arena *arena, gs_shards *out, gs_error *err)
{
    gs_shard_kind kind = (gs_shard_kind)of->config->kind;
    uint32_t streams = kind == GS_SHARDS_IID ? 1 : of->ranks;
    int64_t *early = GS_TAKE(arena, int64_t, streams);
    uint32_t *late_rows = GS_TAKE(scratch, uint32_t, (size_t)of->count);
    of->rows = GS_TAKE(arena, uint32_t, (size_t)of->count);
    of->first = GS_TAKE(arena, int64_t, (size_t)streams + 1);
    bool has_room = early != NULL && late_rows != NULL && of->rows != NULL && of->first != NULL;
    if (has_room && kind == GS_SHARDS_DIRICHLET) {
        has_room = deal_by_dirichlet(of, scratch);
    }
    if (!has_room) {
        return gs_fail(err, GS_ENOMEM, "out of memory for shards of %lld samples",
                       (long long)of->count);
    }
    if (kind == GS_SHARDS_LABEL) {
        deal_by_label(of);
    } else if (kind == GS_SHARDS_UNEQUAL) {
        deal_unequal(of);
    } else if (kind == GS_SHARDS_IID) {
        of->first[1] = of->count;
        memcpy(of->rows, of->train, (size_t)of->count * sizeof *of->rows);
    }
    gs_shards made = {.kind = kind,
                      .ranks = of->ranks,
                      .stream_count = streams,
                      .row_count = of->count,
                      .rows = of->rows,
                      .first = of->first,
                      .early = early};
    GS_TRY(part_all(of, &made, early, late_rows, err));
    GS_TRY(check_sizes(of, &made, err));
    *out = made;
    return GS_OK;
}

gs_status gs_shards_create(const gs_dataset *dataset, const gs_shard_config *config, uint32_t ranks,
                           gs_arena *arena, gs_shards *out, gs_error *err)
{
    GS_ASSERT(ranks > 0 && dataset->train_count > 0);
    GS_TRY(check_kind(dataset, config, err));
    deal of = {.dataset = dataset,
               .config = config,
               .ranks = ranks,
               .count = dataset->train_count,
               .train = dataset->split};
    gs_arena scratch;
    gs_arena_init(&scratch);
    gs_status status = create(&of, &scratch, arena, out, err);
    gs_arena_fini(&scratch);
    return status;
}

gs_status gs_shards_check_batch(const gs_shards *shards, int64_t batch, gs_error *err)
{
    int64_t least = INT64_MAX;
    int64_t most = 0;
    uint32_t poorest = 0;
    for (uint32_t s = 0; s < shards->stream_count; s++) {
        most = shards->early[s] > most ? shards->early[s] : most;
        if (shards->early[s] < least) {
            least = shards->early[s];
            poorest = s;
        }
    }
    const char *when = shards->late_epoch > 0 ? " before late_epoch" : "";
    if (batch <= least) {
        return GS_OK;
    }
    if (!gs_shards_are_own(shards)) {
        return gs_fail(err, GS_EINVAL,
                       "batch_per_rank %lld is larger than the %lld samples to train with%s; lower "
                       "it or take more data",
                       (long long)batch, (long long)least, when);
    }
    return gs_fail(
        err, GS_EINVAL,
        "batch_per_rank %lld is larger than the shard of rank %u, %lld samples%s (shards "
        "%s: %lld to %lld on %u ranks); lower it, or %s",
        (long long)batch, poorest, (long long)least, when, kind_names[shards->kind],
        (long long)least, (long long)most, shards->ranks, cure(shards->kind));
}
