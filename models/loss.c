#include "models/loss.h"

#include <math.h>

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

double gs_loss_backward(float *outputs, const uint8_t *labels, int64_t count, int64_t class_count)
{
    double total = 0.0;
    for (int64_t i = 0; i < count; i++) {
        float *row = outputs + i * class_count;
        double top = (double)row[largest(row, class_count)];
        double log_total = log_sum(row, class_count, top);
        total += log_total - ((double)row[labels[i]] - top);
        for (int64_t j = 0; j < class_count; j++) {
            double probability = exp((double)row[j] - top - log_total);
            row[j] = (float)((probability - (j == labels[i] ? 1.0 : 0.0)) / (double)count);
        }
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
