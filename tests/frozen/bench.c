#include "tests/frozen/bench.h"

#include "tools/message.h"
#include "tools/places.h"
#include "tools/recommend/screen.h"

#include <math.h>
#include <stdlib.h>

static void start_reader(frozen_bench *bench)
{
    gs_error err = {0};
    bench->all.reader = (gs_arm_reader){
        .name = bench->name,
        .text = bench->text,
        .data_dir = gs_places_data(),
        .arena = &bench->all.arena,
    };
    if (gs_arm_read(&bench->all.reader, "allreduce", NULL, &bench->scenario, &err) != GS_OK) {
        exit(gs_complain_error(&err));
    }
}

void bench_open(uint32_t index, frozen_bench *out)
{
    *out = (frozen_bench){.cli = gs_need(calloc(1, sizeof(gs_cli))), .text = frozen_text(index)};
    frozen_name(index, out->name);
    gs_recommend *all = &out->all;
    gs_arena_init(&all->arena);
    start_reader(out);
    all->cli = out->cli;
    all->scenario = &out->scenario;
    all->objective = GS_OBJECTIVE_TIME;
    all->min_accuracy = (double)NAN;
    all->min_fidelity = (double)NAN;
    all->jobs = 1;
    all->own_jobs = 1;
    all->threads = 1;
    all->learns = true;
    all->target = out->scenario.workload.target_value;
}

void bench_close(frozen_bench *bench)
{
    gs_arms_free(bench->all.arms, bench->all.arm_count, 0);
    gs_scenario_free(&bench->scenario);
    gs_arena_fini(&bench->all.arena);
    free(bench->text);
    free(bench->cli);
}

static bool make_arms(frozen_bench *bench, const char *const *words, size_t word_count)
{
    gs_recommend *all = &bench->all;
    all->arm_count = gs_arms_make(&all->reader, words, word_count, word_count > 0, &all->arms);
    for (uint32_t i = 0; i < all->arm_count; i++) {
        all->arms[i].price = 1.0;
    }
    bool done = gs_screen(all);
    for (uint32_t i = 0; i < all->arm_count; i++) {
        gs_arm *arm = &all->arms[i];
        arm->state = arm->state == GS_ARM_DOMINATED ? GS_ARM_IN : arm->state;
    }
    return done;
}

bool bench_arms(frozen_bench *bench)
{
    return make_arms(bench, NULL, 0);
}

bool bench_arms_named(frozen_bench *bench, const char *word)
{
    return make_arms(bench, &word, 1);
}

bool bench_measure(frozen_bench *bench, const gs_arm *arm, double factor, uint64_t moved,
                   uint32_t seeds, bench_result *out)
{
    gs_recommend *all = &bench->all;
    const gs_scenario *variant = gs_trial_learning(all, arm, factor);
    gs_outcome *outcomes = gs_need(calloc(seeds, sizeof *outcomes));
    double *values = gs_need(calloc(seeds, sizeof *values));
    bool done = gs_trial_run(all, &variant, 1, moved, seeds, outcomes);
    if (done) {
        *out = (bench_result){.seeds = seeds};
        for (uint32_t i = 0; i < seeds; i++) {
            values[i] = gs_trial_value(all, arm, &outcomes[i]);
            out->reached += isfinite(values[i]) ? 1 : 0;
        }
        out->seconds = exp(gs_trial_score(all, arm, values, seeds)) / 1e9;
    }
    for (uint32_t i = 0; i < seeds; i++) {
        gs_outcome_fini(&outcomes[i]);
    }
    free(values);
    free(outcomes);
    return done;
}
