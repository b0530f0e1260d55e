#include "models/loss.h"

#include <math.h>

#include "base/assert.h"

enum { CLASSES_MAX = 256 /* labels are bytes */ };

/* Index of the first largest output; outputs that are not numbers never win. */
static int64_t largest(const float *outputs, int64_t class_count)
{
    int64_t best = 0;
    for (int64_t j = 1; j < class_count; j++) {
        if (outputs[j] > outputs[best]) {
            best = j;
        }
    }
    return best;
}

/* log(sum_j exp(z_j - top)); in double, because it is subtracted from numbers of its own size. */
static double log_sum(const float *outputs, int64_t class_count, double top)
{
    double sum = exp((double)outputs[0] - top);
    for (int64_t j = 1; j < class_count; j++) {
        sum += exp((double)outputs[j] - top);
    }
    return log(sum);
}

/* Each exponential is taken once: they are most of the time of a small model's loss. */
double gs_loss_backward(float *outputs, const uint8_t *labels, int64_t count, int64_t class_count)
{
    GS_ASSERT(class_count <= CLASSES_MAX);
    double powers[CLASSES_MAX];
    double total = 0.0;
    for (int64_t i = 0; i < count; i++) {
        float *row = outputs + i * class_count;
        double top = (double)row[largest(row, class_count)];
        double sum = 0.0;
        for (int64_t j = 0; j < class_count; j++) {
            powers[j] = exp((double)row[j] - top);
            sum += powers[j];
        }
        total += log(sum) - ((double)row[labels[i]] - top);
        double share = 1.0 / (sum * (double)count);
        for (int64_t j = 0; j < class_count; j++) {
            row[j] = (float)(powers[j] * share);
        }
        row[labels[i]] = (float)((powers[labels[i]] / sum - 1.0) / (double)count);
    }
    return total;
}

double gs_loss_evaluate(const float *outputs, const uint8_t *labels, int64_t count,
                        int64_t class_count, int64_t *out_correct)
{
    double total = 0.0;
    int64_t correct = 0;
    for (int64_t i = 0; i < count; i++) {
        const float *row = outputs + i * class_count;
        int64_t best = largest(row, class_count);
        double log_total = log_sum(row, class_count, (double)row[best]);
        total += log_total - ((double)row[labels[i]] - (double)row[best]);
        correct += best == labels[i] && !isnan(log_total);
    }
    *out_correct = correct;
    return total;
}

double gs_squared_evaluate(const float *outputs, const float *targets, int64_t count)
{
    double total = 0.0;
    for (int64_t i = 0; i < count; i++) {
        double error = (double)outputs[i] - (double)targets[i];
        total += 0.5 * error * error;
    }
    return total;
}

double gs_squared_backward(float *outputs, const float *targets, int64_t count)
{
    double total = gs_squared_evaluate(outputs, targets, count);
    for (int64_t i = 0; i < count; i++) {
        outputs[i] = (float)(((double)outputs[i] - (double)targets[i]) / (double)count);
    }
    return total;
}
