#include "models/schedule.h"

#include <math.h>

#include "base/assert.h"

static const double PI = 3.14159265358979323846;

const char *const gs_schedule_names[] = {"constant", "step", "linear", "cosine", NULL};

static double end_of(const gs_schedule *schedule)
{
    int64_t end = schedule->end_samples > 0 ? schedule->end_samples : schedule->budget_samples;
    GS_ASSERT(end > 0);
    return (double)end;
}

static double step_factor(const gs_schedule *schedule, int64_t samples)
{
    double factor = 1.0;
    if (schedule->drops.count == 0) {
        double share = (double)samples / end_of(schedule);
        factor *= share >= 0.5 ? schedule->drop_factor : 1.0;
        factor *= share >= 0.75 ? schedule->drop_factor : 1.0;
    }
    for (int64_t i = 0; i < schedule->drops.count; i++) {
        factor *= samples >= schedule->drops.values[i] ? schedule->drop_factor : 1.0;
    }
    return factor;
}

/* Share of the way from the end of the warm-up to the end of the schedule. */
static double progress(const gs_schedule *schedule, int64_t samples)
{
    double end = end_of(schedule);
    double begin = (double)schedule->warmup_samples;
    double at = (double)samples;
    return at >= end ? 1.0 : (at - begin) / (end - begin);
}

double gs_schedule_factor(const gs_schedule *schedule, int64_t samples)
{
    GS_ASSERT(samples >= 0);
    if (samples < schedule->warmup_samples) {
        return (double)samples / (double)schedule->warmup_samples;
    }
    switch ((gs_schedule_kind)schedule->kind) {
    case GS_SCHEDULE_CONSTANT:
        return 1.0;
    case GS_SCHEDULE_STEP:
        return step_factor(schedule, samples);
    case GS_SCHEDULE_LINEAR:
        return 1.0 - progress(schedule, samples);
    case GS_SCHEDULE_COSINE:
        return 0.5 * (1.0 + cos(PI * progress(schedule, samples)));
    }
    return 1.0;
}
