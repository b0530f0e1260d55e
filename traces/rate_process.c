#include "traces/rate_process.h"

#include <math.h>

#include <gsl/gsl_cdf.h>

#include "base/assert.h"
#include "base/rng.h"

#define LEAST_LEFT 0.01 /* of ar1 and on_off */

const char *const gs_rate_kind_names[] = {"trace", "markov", "ar1", "on_off", "flap", NULL};

typedef struct path {
    gs_rng_key key;
    gs_rate_point *points;
    uint32_t count, max;
} path;

static void add(path *to, gs_time_ns at, double factor)
{
    GS_ASSERT(to->count < to->max);
    to->points[to->count++] = (gs_rate_point){.at_ns = at, .factor = factor};
}

/* At least 1 ns, so that points ascend. */
static gs_time_ns exponential(const path *of, uint64_t step, uint32_t index, gs_time_ns mean_ns)
{
    double drawn = -log(gs_rng_uniform(of->key, step, index)) * (double)mean_ns;
    return drawn < 1.0 ? 1 : gs_time_of(drawn);
}

static double share_up(gs_time_ns up_ns, gs_time_ns down_ns)
{
    return (double)up_ns / ((double)up_ns + (double)down_ns);
}

/* Begins in either state with its share of the time, since exponential times have no memory.
 * Returns the end of the last phase. */
static gs_time_ns alternate(path *to, const gs_rate_process *process, double low)
{
    bool up = gs_rng_uniform(to->key, 0, 1) < share_up(process->mean_up_ns, process->mean_down_ns);
    gs_time_ns at = 0;
    while (to->count < to->max) {
        add(to, at, up ? 1.0 : low);
        at += exponential(to, to->count, 0, up ? process->mean_up_ns : process->mean_down_ns);
        up = !up;
    }
    return at;
}

/* The level keeps its law over time: it begins in it, and what it forgets is drawn anew. */
static gs_time_ns regress(path *to, const gs_rate_process *process)
{
    double kept = exp(-(double)process->interval_ns / (double)process->memory_ns);
    double drawn = sqrt(1.0 - kept * kept);
    double level = gsl_cdf_ugaussian_Pinv(gs_rng_uniform(to->key, 0, 0));
    gs_time_ns at = 0;
    while (to->count < to->max) {
        add(to, at, fmin(1.0, fmax(LEAST_LEFT, process->mean + process->sd * level)));
        at += process->interval_ns;
        level =
            kept * level + drawn * gsl_cdf_ugaussian_Pinv(gs_rng_uniform(to->key, to->count, 0));
    }
    return at;
}

/* How many of the sources are on, as one process: the next one to change does so after the least of
 * their exponential times, and which that is goes by their rates. */
static gs_time_ns take_turns(path *to, const gs_rate_process *process)
{
    double on_share = 1.0 - share_up(process->mean_up_ns, process->mean_down_ns);
    int64_t on = 0;
    for (uint32_t source = 0; source < process->sources; source++) {
        on += gs_rng_uniform(to->key, 0, source) < on_share ? 1 : 0;
    }
    gs_time_ns at = 0;
    while (to->count < to->max) {
        add(to, at, fmax(LEAST_LEFT, 1.0 - process->share * (double)on));
        double begin = (double)(process->sources - on) / (double)process->mean_up_ns;
        double end = (double)on / (double)process->mean_down_ns;
        at += exponential(to, to->count, 0, gs_time_of(1.0 / (begin + end) + 0.5));
        on += gs_rng_uniform(to->key, to->count, 1) * (begin + end) < begin ? 1 : -1;
    }
    return at;
}

bool gs_rate_process_trace(const gs_rate_process *process, uint64_t seed, uint32_t link,
                           uint32_t points_max, gs_arena *arena, gs_rate_trace *out)
{
    GS_ASSERT(process->kind != GS_RATE_TRACE && points_max >= 2);
    path made = {.key = {seed, GS_RNG_BANDWIDTH, link},
                 .points = GS_TAKE(arena, gs_rate_point, points_max),
                 .max = points_max};
    if (made.points == NULL) {
        return false;
    }
    gs_time_ns end = process->kind == GS_RATE_AR1      ? regress(&made, process)
                     : process->kind == GS_RATE_ON_OFF ? take_turns(&made, process)
                     : process->kind == GS_RATE_FLAP   ? alternate(&made, process, GS_RATE_DOWN)
                                                       : alternate(&made, process, process->factor);
    *out = (gs_rate_trace){.points = made.points, .point_count = made.count, .period_ns = end};
    return true;
}

double gs_rate_process_mean(const gs_rate_process *process)
{
    double up = share_up(process->mean_up_ns, process->mean_down_ns);
    if (process->kind == GS_RATE_AR1) {
        return process->mean;
    }
    if (process->kind == GS_RATE_ON_OFF) {
        return 1.0 - process->share * (double)process->sources * (1.0 - up);
    }
    return up + (1.0 - up) * (process->kind == GS_RATE_FLAP ? GS_RATE_DOWN : process->factor);
}
