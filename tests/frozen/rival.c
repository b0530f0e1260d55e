#include "tests/frozen/rival.h"

#include "tools/message.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double factors[TRUTH_RATES] = {0.25, 0.5, 1.0, 2.0, 4.0};

/* Time over the least, by who: sums and largest, over all scenarios and those that change. */
typedef struct tally {
    char label[TRUTH_ARM_BYTES];
    double sum[2], worst[2];
    uint32_t count[2];
} tally;

typedef struct tallies {
    tally *list;
    uint32_t count;
} tallies;

static void add(tallies *all, const char *label, double ratio, bool changes)
{
    uint32_t i = 0;
    while (i < all->count && strcmp(all->list[i].label, label) != 0) {
        i++;
    }
    if (i == all->count) {
        all->list = gs_need(realloc(all->list, (all->count + 1) * sizeof *all->list));
        all->list[all->count++] = (tally){.sum = {0.0}};
        snprintf(all->list[i].label, TRUTH_ARM_BYTES, "%s", label);
    }
    for (int which = 0; which < (changes ? 2 : 1); which++) {
        tally *of = &all->list[i];
        of->sum[which] += ratio;
        of->worst[which] = fmax(of->worst[which], ratio);
        of->count[which]++;
    }
}

/* An arm's time at its best rate, in the last stage that it has come to: those that ended early
 * were far behind. */
static double fixed_seconds(const frozen_truth *truth, const char *scenario, const char *label)
{
    double best = (double)INFINITY;
    for (int stage = TRUTH_FINAL; stage >= TRUTH_FIRST && isinf(best); stage--) {
        for (uint32_t k = 0; k < TRUTH_RATES; k++) {
            const truth_row *row =
                truth_find(truth, scenario, label, factors[k], (truth_stage)stage);
            best = row != NULL ? fmin(best, row->result.seconds) : best;
        }
    }
    return best;
}

/* The rival's best rate by three seeds, then its time there by `seeds` others. */
static bool rival_seconds(frozen_bench *bench, const gs_arm *arm, uint32_t seeds, double *out)
{
    bench_result result;
    double best = (double)INFINITY;
    double factor = 1.0;
    for (uint32_t k = 0; k < TRUTH_RATES; k++) {
        if (!bench_measure(bench, arm, factors[k], BENCH_TRIAL_FIRST, BENCH_TRIAL_SEEDS, &result)) {
            return false;
        }
        factor = result.seconds < best ? factors[k] : factor;
        best = fmin(best, result.seconds);
    }
    bool done = bench_measure(bench, arm, factor, BENCH_FINAL_FIRST, seeds, &result);
    *out = result.seconds;
    return done;
}

/* Bandwidth is a process in those whose network changes in mid-run. */
static bool changes(const frozen_bench *bench)
{
    return strstr(bench->text, "\"bandwidth\": {") != NULL;
}

static bool one(const frozen_truth *truth, const char *word, uint32_t index, uint32_t seeds,
                tallies *all)
{
    frozen_bench bench;
    double seconds = (double)NAN;
    bench_open(index, &bench);
    const truth_row *best = truth_best(truth, bench.name);
    bool done = bench_arms_named(&bench, word);
    const gs_arm *arm = &bench.all.arms[bench.all.arm_count - 1];
    if (done && arm->state != GS_ARM_IN) {
        printf("%s,%s cannot run: %s\n", bench.name, word, arm->reason);
    } else if (done) {
        done = rival_seconds(&bench, arm, seeds, &seconds);
    }
    if (done && isfinite(seconds)) {
        bool moves = changes(&bench);
        printf("%s,%s,%g,%.4g,%.4g,%.3f%s\n", bench.name, best->arm, best->factor,
               best->result.seconds, seconds, seconds / best->result.seconds,
               moves ? ",changes" : "");
        fflush(stdout);
        add(all, arm->label, seconds / best->result.seconds, moves);
        for (uint32_t i = 0; i < truth->count; i++) {
            const truth_row *row = &truth->rows[i];
            if (row->stage == TRUTH_FIRST && row->factor == 1.0 &&
                strcmp(row->scenario, bench.name) == 0) {
                double own = fixed_seconds(truth, bench.name, row->arm);
                add(all, row->arm, own / best->result.seconds, moves);
            }
        }
    }
    bench_close(&bench);
    return done;
}

bool rival_measure(const frozen_truth *truth, const char *word, uint32_t first, uint32_t count,
                   uint32_t seeds)
{
    tallies all = {0};
    bool done = true;
    printf("scenario,best,factor,best_s,rival_s,ratio\n");
    for (uint32_t i = first; done && i < first + count; i++) {
        done = one(truth, word, i, seeds, &all);
    }
    printf("who,scenarios,mean,worst,changing,mean,worst\n");
    for (uint32_t i = 0; done && i < all.count; i++) {
        const tally *of = &all.list[i];
        printf("%s,%u,%.3f,%.3f,%u,%.3f,%.3f\n", of->label, of->count[0], of->sum[0] / of->count[0],
               of->worst[0], of->count[1], of->count[1] > 0 ? of->sum[1] / of->count[1] : 0.0,
               of->worst[1]);
    }
    free(all.list);
    return done;
}
