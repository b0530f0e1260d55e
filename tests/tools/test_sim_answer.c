/* What the answer says of strategies that differ in how many runs reach the target, in how they end
 * and in how sure that is. */
#include "tools/sim_report.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 5, ROWS = 3 };

static gs_scenario scenario;
static gs_sim_row rows[ROWS];
static double numbers[ROWS][3][RUNS]; /* sample, target, learned */
static gs_sim_report report;

/* Times to the target and final accuracies; NAN: not reached. Of one run in five, a median is known
 * where three have come. */
static void put_row(uint32_t at, const char *label, double sample_ns, const double *target_s,
                    const double *learned)
{
    gs_sim_row *row = &rows[at];
    double scratch[RUNS];
    *row = (gs_sim_row){.label = label,
                        .runs = RUNS,
                        .good = RUNS,
                        .sample_ns = numbers[at][0],
                        .seed_target_ns = numbers[at][1],
                        .seed_learned = numbers[at][2]};
    for (uint32_t i = 0; i < RUNS; i++) {
        row->sample_ns[i] = sample_ns;
        row->seed_target_ns[i] = target_s[i] * 1e9;
        row->seed_learned[i] = learned[i];
        row->reached += isfinite(target_s[i]) ? 1 : 0;
        row->fell_back += isfinite(target_s[i]) && learned[i] < 0.9 ? 1 : 0;
    }
    row->rate.mean = 1e9 / sample_ns;
    row->step.mean = sample_ns;
    row->exposed.mean = 1.0;
    row->learned = gs_spread_of(row->seed_learned, RUNS);
    row->target_ns = gs_median_censored(row->seed_target_ns, RUNS, scratch);
}

static void setup(void)
{
    scenario = (gs_scenario){.strategy_count = ROWS};
    scenario.workload.real_gradients = true;
    scenario.workload.target_value = 0.9;
    report = (gs_sim_report){.scenario = &scenario, .rows = rows, .row_count = 2};
    strcpy(report.target_text, "accuracy 0.9");
}

TestSuite(sim_answer, .init = setup);

static void expect_part(const char *part)
{
    char *answer = gs_sim_report_answer(&report);
    cr_expect_not_null(strstr(answer, part), "\"%s\" is not in \"%s\"", part, answer);
    free(answer);
}

static const double good[RUNS] = {0.95, 0.96, 0.94, 0.95, 0.95};

Test(sim_answer, who_is_there_in_fewer_runs_ties_with_nobody)
{
    const double all[RUNS] = {10, 12, 9, 11, 20};
    const double some[RUNS] = {11, 11, 9, NAN, NAN};
    put_row(0, "some", 1.0, some, good);
    put_row(1, "all", 1.0, all, good);
    /* Medians 11 and 11 s; of three pairs some is sooner in one, later in one. */
    expect_part("all reaches accuracy 0.9 more often than some, which does in 3 of 5 runs: after "
                "11 s (median, 5 of 5 runs); where both do, they take as long (ratio ");
}

Test(sim_answer, who_is_sooner_and_there_in_fewer_runs_is_not_first)
{
    const double all[RUNS] = {20, 20, 20, 20, 20};
    const double some[RUNS] = {10, 10, 10, NAN, NAN};
    put_row(0, "some", 1.0, some, good);
    put_row(1, "all", 1.0, all, good);
    expect_part("all reaches accuracy 0.9 more often than some, which does in 3 of 5 runs: after "
                "20 s (median, 5 of 5 runs); where both do, some is 2.00x sooner (the same for "
                "all 3 seeds).");
}

Test(sim_answer, the_surest_is_looked_at_even_where_it_is_last)
{
    const double all[RUNS] = {30, 30, 30, 30, 30};
    const double some[RUNS] = {10, 10, 10, NAN, NAN};
    const double others[RUNS] = {20, 20, 20, NAN, NAN};
    report.row_count = ROWS;
    put_row(0, "some", 1.0, some, good);
    put_row(1, "others", 1.0, others, good);
    put_row(2, "all", 1.0, all, good);
    expect_part("all reaches accuracy 0.9 more often than some, which does in 3 of 5 runs");
}

Test(sim_answer, who_crosses_the_target_and_falls_is_told_with_the_loss_and_a_cause)
{
    const double soon[RUNS] = {5, 5, 5, 5, 5};
    const double late[RUNS] = {10, 10, 10, 10, 10};
    const double fallen[RUNS] = {0.45, 0.46, 0.44, 0.45, 0.45}; /* 0.5 below, each */
    put_row(0, "sound", 2.0, late, good);
    put_row(1, "hasty", 1.0, soon, fallen);
    rows[1].staleness.mean = 7.0;
    expect_part("hasty reaches accuracy 0.9 first, after 5 s (median, 5 of 5 runs), 2.00x sooner "
                "than sound (5 of 5 runs; the same for all 5 seeds).");
    expect_part(" hasty reaches 0.9 and yet ends below it: at 0.45, 5 of 5 runs.");
    expect_part(" sound ends best, at accuracy 0.95; hasty, the fastest, ends at 0.45, 0.5 below "
                "it (95 % CI 0.5 to 0.5, 5 seeds): its gradients are 7 updates old.");
}

Test(sim_answer, ends_within_noise_are_no_loss)
{
    const double there[RUNS] = {5, 5, 5, 5, 5};
    /* 0.03, -0.01, -0.01, -0.01, 0.03: mean 0.006 below, and both signs. */
    const double alike[RUNS] = {0.92, 0.97, 0.95, 0.96, 0.92};
    put_row(0, "one", 2.0, there, good);
    put_row(1, "two", 1.0, there, alike);
    expect_part(" one ends best, at accuracy 0.95 (1 other within noise of it).");
}
