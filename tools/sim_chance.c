#include "tools/sim_chance.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

static const double tail = 0.025; /* of 95 %, on either side */

static size_t count_over(const double *ns, size_t count, double limit_ns)
{
    size_t hits = 0;
    for (size_t i = 0; i < count; i++) {
        hits += ns[i] > limit_ns ? 1 : 0;
    }
    return hits;
}

/* Groups of steps that are taken as independent of each other. */
typedef struct groups {
    size_t count;
    double spread; /* sum over groups: steps times the square of how far their share lies off */
} groups;

static void add_group(groups *all, size_t hits, size_t steps, double share)
{
    double off = (double)hits / (double)steps - share;
    all->count++;
    all->spread += (double)steps * off * off;
}

static groups group(const gs_run_steps *runs, size_t run_count, double limit_ns, double share)
{
    groups all = {0, 0.0};
    size_t filled = 0;
    const gs_run_steps *only = NULL;
    for (size_t i = 0; i < run_count; i++) {
        only = runs[i].count > 0 ? &runs[i] : only;
        filled += runs[i].count > 0 ? 1 : 0;
    }
    for (size_t i = 0; i < run_count && filled > 1; i++) {
        if (runs[i].count > 0) {
            add_group(&all, count_over(runs[i].ns, runs[i].count, limit_ns), runs[i].count, share);
        }
    }
    if (filled == 1) {
        size_t length = (size_t)sqrt((double)only->count);
        for (size_t at = 0; at + length <= only->count; at += length) {
            add_group(&all, count_over(only->ns + at, length, limit_ns), length, share);
        }
    }
    return all;
}

/* Wilson's interval of a share of `count` independent events at quantile t. */
static void set_wilson(gs_chance *chance, double count, double t)
{
    double p = chance->value;
    double square = t * t;
    double centre = p + square / (2.0 * count);
    double half = t * sqrt(p * (1.0 - p) / count + square / (4.0 * count * count));
    double divisor = 1.0 + square / count;
    chance->low = fmax(0.0, (centre - half) / divisor);
    chance->high = fmin(1.0, (centre + half) / divisor);
}

gs_chance gs_chance_over(const gs_run_steps *runs, size_t run_count, double limit_ns)
{
    gs_chance chance = {0, 0, 0, (double)NAN, (double)NAN, (double)NAN};
    for (size_t i = 0; i < run_count; i++) {
        chance.count += runs[i].count;
        chance.hits += count_over(runs[i].ns, runs[i].count, limit_ns);
    }
    if (chance.count == 0) {
        return chance;
    }
    double p = (double)chance.hits / (double)chance.count;
    chance.value = p;
    groups all = group(runs, run_count, limit_ns, p);
    if (all.count < 2) {
        chance.low = 0.0;
        chance.high = 1.0;
        return chance;
    }
    double freedom = (double)(all.count - 1);
    double variance = p * (1.0 - p);
    double inflation = variance > 0.0 ? all.spread / freedom / variance : 1.0;
    set_wilson(&chance, (double)chance.count / fmax(1.0, inflation),
               gsl_cdf_tdist_Pinv(1.0 - tail, freedom));
    return chance;
}

gs_chance gs_chance_faster(const double *base, const double *other, size_t count)
{
    gs_chance chance = {0, 0, 0, (double)NAN, (double)NAN, (double)NAN};
    for (size_t i = 0; i < count; i++) {
        if (isfinite(base[i]) && isfinite(other[i])) {
            chance.count++;
            chance.hits += other[i] < base[i] ? 1 : 0;
            chance.equal += other[i] < base[i] || other[i] > base[i] ? 0 : 1;
        }
    }
    if (chance.count == 0) {
        return chance;
    }
    double n = (double)chance.count;
    double sure = (double)chance.hits;
    double most = (double)(chance.hits + chance.equal);
    chance.value = (sure + 0.5 * (double)chance.equal) / n;
    chance.low = sure > 0.0 ? gsl_cdf_beta_Pinv(tail, sure, n - sure + 1.0) : 0.0;
    chance.high = most < n ? gsl_cdf_beta_Pinv(1.0 - tail, most + 1.0, n - most) : 1.0;
    return chance;
}
