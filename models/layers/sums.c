#include "models/layers/sums.h"

enum { LANES = 8 };

static float fold(const float lanes[LANES])
{
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
           ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

float gs_sum(const float *values, int64_t count)
{
    float lanes[LANES] = {0};
    int64_t whole = count - count % LANES;
    for (int64_t i = 0; i < whole; i += LANES) {
        for (int64_t k = 0; k < LANES; k++) {
            lanes[k] += values[i + k];
        }
    }
    for (int64_t i = whole; i < count; i++) {
        lanes[i - whole] += values[i];
    }
    return fold(lanes);
}

float gs_sum_squares(const float *values, int64_t count, float point)
{
    float lanes[LANES] = {0};
    int64_t whole = count - count % LANES;
    for (int64_t i = 0; i < whole; i += LANES) {
        for (int64_t k = 0; k < LANES; k++) {
            float distance = values[i + k] - point;
            lanes[k] += distance * distance;
        }
    }
    for (int64_t i = whole; i < count; i++) {
        lanes[i - whole] += (values[i] - point) * (values[i] - point);
    }
    return fold(lanes);
}

float gs_sum_products(const float *a, const float *b, int64_t count)
{
    float lanes[LANES] = {0};
    int64_t whole = count - count % LANES;
    for (int64_t i = 0; i < whole; i += LANES) {
        for (int64_t k = 0; k < LANES; k++) {
            lanes[k] += a[i + k] * b[i + k];
        }
    }
    for (int64_t i = whole; i < count; i++) {
        lanes[i - whole] += a[i] * b[i];
    }
    return fold(lanes);
}
