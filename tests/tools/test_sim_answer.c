/* What the answer says of strategies that differ in how many runs reach the target, in how they end
 * and in how sure that is. */
#include "strategies/registry.h"
#include "tools/sim_quality.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 5, ROWS = 3 };

static gs_scenario scenario;
static gs_sim_row rows[ROWS];
static double numbers[ROWS][3][RUNS]; /* sample, target, learned */
static gs_strategy_choice choices[ROWS];
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
    memset(choices, 0, sizeof choices);
    for (uint32_t i = 0; i < ROWS; i++) {
        choices[i].strategy = gs_strategy_find("allreduce");
    }
    scenario = (gs_scenario){.strategies = choices, .strategy_count = ROWS};
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

#define NEVER ((double)NAN)

static const double good[RUNS] = {0.95, 0.96, 0.94, 0.95, 0.95};

Test(sim_answer, who_is_there_in_fewer_runs_ties_with_nobody)
{
    const double all[RUNS] = {10, 12, 9, 11, 20};
    const double some[RUNS] = {11, 11, 9, NEVER, NEVER};
    put_row(0, "some", 1.0, some, good);
    put_row(1, "all", 1.0, all, good);
    /* Medians 11 and 11 s; of three pairs some is sooner in one, later in one. */
    expect_part("all reaches accuracy 0.9 more often than some, which does in 3 of 5 runs: after "
                "11 s (median, 5 of 5 runs); where both do, they take as long (ratio ");
}

Test(sim_answer, who_is_sooner_and_there_in_fewer_runs_is_not_first)
{
    const double all[RUNS] = {20, 20, 20, 20, 20};
    const double some[RUNS] = {10, 10, 10, NEVER, NEVER};
    put_row(0, "some", 1.0, some, good);
    put_row(1, "all", 1.0, all, good);
    expect_part("all reaches accuracy 0.9 more often than some, which does in 3 of 5 runs: after "
                "20 s (median, 5 of 5 runs); where both do, some is 2.00x sooner (the same for "
                "all 3 seeds).");
}

Test(sim_answer, the_surest_is_looked_at_even_where_it_is_last)
{
    const double all[RUNS] = {30, 30, 30, 30, 30};
    const double some[RUNS] = {10, 10, 10, NEVER, NEVER};
    const double others[RUNS] = {20, 20, 20, NEVER, NEVER};
    report.row_count = ROWS;
    put_row(0, "some", 1.0, some, good);
    put_row(1, "others", 1.0, others, good);
    put_row(2, "all", 1.0, all, good);
    expect_part("all reaches accuracy 0.9 more often than some, which does in 3 of 5 runs");
}

/* Medians 5 and 6 s; ratios 1.2, 0.857, 1.2, 0.857, 1.2: their mean, 1.05, is no sure difference.
 */
Test(sim_answer, a_tie_names_both_medians_and_prefers_who_stays_there)
{
    const double swings[RUNS] = {5, 7, 5, 7, 5};
    const double even[RUNS] = {6, 6, 6, 6, 6};
    const double fallen[RUNS] = {0.95, 0.85, 0.94, 0.85, 0.95};
    put_row(0, "swings", 1.0, swings, fallen);
    put_row(1, "even", 1.0, even, good);
    expect_part("swings and even tie on the time to accuracy 0.9, after 5 s and 6 s (medians, 5 of "
                "5 and 5 of 5 runs) (ratio 1.05; ");
    expect_part("): prefer even, which stays there more often.");
    put_row(0, "swings", 1.0, swings, good);
    expect_part("): prefer swings, the simpler one.");
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

Test(sim_answer, few_seeds_that_all_see_a_collapse_are_not_noise)
{
    const double there[RUNS] = {5, 5, 5, 5, 5};
    /* 0.01, 0.01, 0.01, 0.01 and 0.9 below: mean 0.188, sd 0.398, 0.188 -+ 2.776 * 0.178. */
    const double uneven[RUNS] = {0.94, 0.95, 0.93, 0.94, 0.05};
    put_row(0, "one", 2.0, there, good);
    put_row(1, "two", 1.0, there, uneven);
    expect_part("; two, the fastest, ends at 0.762, 0.188 below it (with each seed; 95 % CI "
                "-0.306 to 0.682, 5 seeds).");
}

/* --- runs that have learned nothing ----------------------------------------------------------- */

static double accuracies[RUNS], losses[RUNS], first_losses[RUNS];

static void expect_guess(const char *line)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    cr_assert_not_null(out);
    scenario.workload.task.optimizer.rate = 20.0;
    rows[0].seed_accuracy = accuracies;
    rows[0].seed_loss = losses;
    rows[0].seed_first_loss = first_losses;
    rows[0].final_loss = gs_spread_of(losses, RUNS);
    gs_sim_put_guesses(&report, &rows[0], out);
    fclose(out);
    cr_expect_str_eq(text, line);
    free(text);
}

static void set(double *values, double a, double b, double c, double d, double e)
{
    memcpy(values, (const double[RUNS]){a, b, c, d, e}, RUNS * sizeof *values);
}

Test(sim_answer, accuracy_of_the_largest_class_is_a_guess_and_a_huge_loss_has_blown_up)
{
    /* Train rows 0 and 1; of the test rows 2 to 5 three are of class 1: 0.75. ln 2 = 0.693. */
    static const uint8_t labels[] = {0, 0, 1, 1, 0, 1};
    static const uint32_t split[] = {0, 1, 2, 3, 4, 5};
    const gs_dataset data = {.shape = {.answer_count = 1, .answer_width = 2},
                             .row_count = 6,
                             .train_count = 2,
                             .test_count = 4,
                             .labels = labels,
                             .answer_stride = 1,
                             .split = split};
    put_row(0, "one", 1.0, good, good);
    scenario.workload.dataset = &data;
    set(accuracies, 0.9, 0.9, 0.9, 0.9, 0.9);
    set(losses, 0.2, 0.2, 0.2, 0.2, 0.8);
    expect_guess("");
    set(accuracies, 0.75, 0.25, 0.9, 0.9, 0.9);
    set(losses, 3.0, 3.0, 0.2, 0.2, 0.2); /* mean 1.32 */
    expect_guess("one: 2 of 5 runs end no better than guessing (accuracy 0.5, the largest class "
                 "has 0.75); optimizer.rate=20 may be too large\n");
    set(accuracies, 0.9, 0.9, 0.9, 0.9, 0.9);
    set(losses, 1e6, 1e6, 1e6, 1e6, 1e6);
    expect_guess("one: 5 of 5 runs have blown up: final loss 1e+06, an even guess has 0.693; "
                 "optimizer.rate=20 may be too large\n");
}

Test(sim_answer, of_numbers_the_loss_must_not_end_above_where_it_was)
{
    put_row(0, "one", 1.0, good, good);
    set(first_losses, 1.0, 1.0, 1.0, 1.0, 1.0);
    set(losses, 0.5, 1.05, 0.5, 0.5, 0.5); /* what has come to rest goes up and down */
    expect_guess("");
    set(losses, 0.5, 0.5, 0.5, 0.5, 8.0);
    expect_guess("one: the loss of 1 of 5 runs ends above that of the first evaluation (mean 2); "
                 "optimizer.rate=20 may be too large\n");
}

/* Whose codec nobody has measured is told to be so where the answer is about it, and only there. */
Test(sim_answer, a_winner_whose_codec_was_not_measured_is_said_to_be_assumed)
{
    static const char said[] = " The time that topk takes to encode and decode is assumed, not "
                               "measured: gradsync calibrate measures it.";
    choices[1].coding.codec = gs_codec_find("topk");
    put_row(0, "dense", 20.0, good, good);
    put_row(1, "coded", 10.0, good, good);
    scenario.workload.target_value = 0.0;
    expect_part(said);
    choices[1].coding.measured_encode_bytes = choices[1].coding.measured_decode_bytes = 1.0;
    char *answer = gs_sim_report_answer(&report);
    cr_expect_null(strstr(answer, "assumed"), "%s", answer);
    free(answer);
    choices[1].coding.measured_encode_bytes = 0.0;
    put_row(0, "dense", 5.0, good, good);
    answer = gs_sim_report_answer(&report);
    cr_expect_null(strstr(answer, "assumed"), "%s", answer);
    free(answer);
}
