#include "tools/deal.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUNS = 40, TRIES = 3 };

/* What came of each run, and which of them end their process: always, or the first time only. */
typedef struct bench {
    uint32_t ended[RUNS];
    uint64_t hash[RUNS];
    gs_run_status status[RUNS];
    uint32_t always_dies, dies_once; /* RUNS: none */
    char mark[64];                   /* a file that says that it has died */
    uint32_t order[RUNS];
    uint32_t count;
} bench;

static void make(void *context, uint32_t run, uint32_t threads, const gs_deal_ear *ear,
                 gs_outcome *out)
{
    const bench *all = context;
    cr_assert_geq(threads, 1u);
    ear->hear(ear->context, 0.5);
    if (run == all->always_dies) {
        (void)raise(SIGKILL);
    }
    if (run == all->dies_once && access(all->mark, F_OK) != 0) {
        FILE *mark = fopen(all->mark, "w");
        (void)fclose(mark);
        (void)raise(SIGKILL);
    }
    gs_outcome_begin(out);
    out->status = GS_RUN_OK;
    out->result.result_hash = UINT64_C(1000) + run;
}

static void ended(void *context, uint32_t run, gs_outcome *outcome)
{
    bench *all = context;
    all->order[all->count++] = run;
    all->ended[run]++;
    all->hash[run] = outcome->result.result_hash;
    all->status[run] = outcome->status;
    gs_outcome_fini(outcome);
}

static void run_all(bench *all, int64_t jobs, uint32_t tries)
{
    uint32_t runs[RUNS];
    for (uint32_t i = 0; i < RUNS; i++) {
        runs[i] = RUNS - 1 - i;
    }
    gs_progress progress = {.mode = GS_PROGRESS_NONE};
    gs_deal deal = {.jobs = jobs,
                    .tries = tries,
                    .total = RUNS,
                    .make = make,
                    .ended = ended,
                    .context = all,
                    .progress = &progress};
    gs_deal_run(&deal, runs, RUNS);
}

Test(deal, every_run_ends_once_whatever_the_number_of_processes)
{
    static const int64_t jobs[] = {1, 2, 7, RUNS + 1};
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        bench all = {.always_dies = RUNS, .dies_once = RUNS};
        run_all(&all, jobs[i], 1);
        cr_assert_eq(all.count, (uint32_t)RUNS);
        for (uint32_t run = 0; run < RUNS; run++) {
            cr_expect_eq(all.ended[run], 1u);
            cr_expect_eq(all.hash[run], 1000u + run);
        }
        cr_expect(jobs[i] > 1 || all.order[0] == RUNS - 1, "one process: in the order given");
    }
}

Test(deal, a_run_whose_process_was_killed_is_made_by_another)
{
    bench all = {.always_dies = RUNS, .dies_once = 17};
    (void)snprintf(all.mark, sizeof all.mark, "/tmp/gs_deal_XXXXXX");
    int fd = mkstemp(all.mark);
    cr_assert_geq(fd, 0);
    (void)close(fd);
    (void)unlink(all.mark);
    run_all(&all, 3, TRIES);
    (void)unlink(all.mark);
    cr_assert_eq(all.count, (uint32_t)RUNS);
    cr_expect_eq(all.status[17], GS_RUN_OK);
    /* It is dealt again when all others have been dealt, of which two may be under way. */
    bool is_late = false;
    for (uint32_t i = RUNS - 3; i < RUNS; i++) {
        is_late = is_late || all.order[i] == 17;
    }
    cr_expect(is_late);
}

Test(deal, one_that_ends_every_process_fails_alone)
{
    bench all = {.always_dies = 5, .dies_once = RUNS};
    run_all(&all, 3, TRIES);
    cr_assert_eq(all.count, (uint32_t)RUNS);
    for (uint32_t run = 0; run < RUNS; run++) {
        cr_expect_eq(all.status[run], run == 5 ? GS_RUN_ERROR : GS_RUN_OK, "run %u", run);
        cr_expect_eq(all.ended[run], 1u);
    }
}
