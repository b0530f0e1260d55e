#include "tests/support.h"
#include "tests/traces/slow_fixture.h"

static gs_arena arena;
static gs_error err;

static gs_slow_report judge(const gs_step_table *table)
{
    gs_slow_report report;
    cr_assert_eq(gs_slow_judge(table, &arena, &report, &err), GS_OK, "%s", err.text);
    return report;
}

static gs_slow_report judge_planted(const planted *set)
{
    gs_step_table table;
    gs_slow_report report;
    gs_arena_init(&arena);
    TEST_REQUIRE(plant(set, &arena, &table) == GS_OK, "no memory");
    TEST_REQUIRE(gs_slow_judge(&table, &arena, &report, &err) == GS_OK, "%s", err.text);
    return report;
}

/* Of 100 sets in which nobody is slow, in how many is a rank named? */
static int count_blamed(planted set)
{
    int blamed = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        set.seed = seed;
        blamed += judge_planted(&set).named_count > 0 ? 1 : 0;
        gs_arena_fini(&arena);
    }
    return blamed;
}

Test(slow_rank, where_nobody_is_slow_nobody_is_named)
{
    planted set = planted_default(0);
    cr_expect_leq(count_blamed(set), 5);
    set.cv = 0.5; /* far from normal: skewed, a tail to the slow side */
    cr_expect_leq(count_blamed(set), 5);
    set.ranks = 2;
    cr_expect_leq(count_blamed(set), 5);
    set.ranks = 8;
    set.steps = 12;
    cr_expect_leq(count_blamed(set), 5);
}

Test(slow_rank, hiccups_and_memory_that_all_ranks_have_blame_nobody)
{
    planted set = planted_default(0);
    set.spikes = 0.03; /* a part takes twice as long, in 3 of 100, on whatever rank */
    cr_expect_leq(count_blamed(set), 5);
    set.spikes = 0.0;
    set.memory = 0.7; /* a rank that is late now is likely late in the next step */
    cr_expect_leq(count_blamed(set), 5);
}

/* Of 100 sets of random factors from least to 2, how often is the planted rank, and no other, named
 * with its cause? Parts in turn; cause and rank must both be right. */
static int count_named(gs_slow_pattern pattern, gs_step_part part, double cv, double least)
{
    static const gs_slow_cause CAUSES[GS_STEP_PARTS] = {[GS_STEP_COMPUTE] = GS_SLOW_COMPUTE,
                                                        [GS_STEP_INPUT] = GS_SLOW_INPUT,
                                                        [GS_STEP_WIRE] = GS_SLOW_NETWORK};
    int right = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        planted set = planted_default(seed + 5000);
        set.cv = cv;
        set.part = part;
        set.pattern = pattern;
        set.period = 4 + (uint32_t)(seed % 6);
        set.factor = least * pow(2.0 / least, draw(&set, 2000, 0, 0));
        gs_slow_report report = judge_planted(&set);
        const gs_slow_rank *slow = &report.ranks[set.slow];
        bool same = slow->pattern == pattern ||
                    (pattern == GS_SLOW_BURSTS &&
                     (slow->pattern == GS_SLOW_ONCE || slow->pattern == GS_SLOW_SINCE));
        bool period = pattern != GS_SLOW_PERIODIC || slow->fit.period == set.period;
        right += report.named_count == 1 && report.named[0] == set.slow &&
                 slow->cause == CAUSES[part] && same && period;
        gs_arena_fini(&arena);
    }
    return right;
}

static void expect_named(gs_slow_pattern pattern, double cv, double least)
{
    static const gs_step_part PARTS[] = {GS_STEP_COMPUTE, GS_STEP_INPUT, GS_STEP_WIRE};
    for (size_t p = 0; p < sizeof PARTS / sizeof *PARTS; p++) {
        int right = count_named(pattern, PARTS[p], cv, least);
        cr_expect_geq(right, 95, "%s, %s: %d of 100", gs_slow_pattern_name(pattern),
                      gs_step_part_name(PARTS[p]), right);
    }
}

Test(slow_rank, a_steadily_slow_rank_is_named_with_its_cause)
{
    expect_named(GS_SLOW_ALWAYS, 0.05, 1.05);
}

Test(slow_rank, a_periodically_slow_rank_is_named_with_its_cause_and_period)
{
    expect_named(GS_SLOW_PERIODIC, 0.02, 1.05);
}

Test(slow_rank, a_rank_that_is_slow_in_bursts_is_named_with_its_cause)
{
    expect_named(GS_SLOW_BURSTS, 0.02, 1.05);
}

/* Far beyond the noise, a mean over all steps is high as well; the median of a rank that is late in
 * every second or third step is not, so that "always" would name nobody. */
Test(slow_rank, what_stands_out_far_in_every_second_or_third_step_is_periodic)
{
    for (uint32_t period = 2; period <= 4; period++) {
        for (uint32_t steps = 60; steps <= 240; steps += 90) {
            planted set = planted_default(period);
            set.cv = 0.01;
            set.steps = steps;
            set.part = GS_STEP_COMPUTE;
            set.pattern = GS_SLOW_PERIODIC;
            set.period = period;
            set.factor = 1.5;
            gs_slow_report report = judge_planted(&set);
            const gs_slow_rank *slow = &report.ranks[set.slow];
            cr_expect_eq(report.named_count, 1, "period %u of %u steps", period, steps);
            cr_expect_eq(slow->pattern, GS_SLOW_PERIODIC);
            cr_expect_eq(slow->fit.period, period);
            cr_expect_eq(slow->cause, GS_SLOW_COMPUTE);
            gs_arena_fini(&arena);
        }
    }
}

/* In noise of 5 %, what comes in one of 4 to 9 steps or in a few bursts shows from 1.2 on: 20 steps
 * of one noise deviation each are like 200 steps of a third of one. */
Test(slow_rank, in_more_noise_periods_and_bursts_are_named_from_a_factor_of_one_fifth_on)
{
    expect_named(GS_SLOW_PERIODIC, 0.05, 1.2);
    expect_named(GS_SLOW_BURSTS, 0.05, 1.2);
}

/* Rank 5 computes 30 ms longer than 60 in every one of 20 steps, else all are alike. */
static gs_step_table steady(void)
{
    planted set = planted_default(1);
    set.cv = 0.0;
    set.steps = 20;
    set.slow = 5;
    set.part = GS_STEP_COMPUTE;
    set.pattern = GS_SLOW_ALWAYS;
    set.factor = 1.5;
    gs_step_table table;
    gs_arena_init(&arena);
    cr_assert_eq(plant(&set, &arena, &table), GS_OK);
    return table;
}

Test(slow_rank, the_numbers_of_a_set_without_noise_are_exact)
{
    gs_step_table table = steady();
    gs_slow_report report = judge(&table);
    cr_assert_eq(report.answer, GS_SLOW_NAMED);
    cr_assert_eq(report.named_count, 1);
    const gs_slow_rank *rank = &report.ranks[5];
    cr_expect_eq(report.named[0], 5);
    cr_expect_eq(rank->delay_p50, 30 * GS_NS_PER_MS);
    cr_expect_eq(rank->delay_p95, 30 * GS_NS_PER_MS);
    cr_expect_eq(rank->others_wait, 30 * GS_NS_PER_MS);
    cr_expect_eq(rank->cost, 30 * GS_NS_PER_MS);
    cr_expect_eq(rank->own_p50, 130 * GS_NS_PER_MS); /* 90 + 20 + 20 */
    cr_expect_eq(rank->late_ratio, 1.0);
    cr_expect_eq(rank->last_ratio, 1.0);
    cr_expect_float_eq(rank->factor_ratio, 1.5, 1e-12);
    cr_expect_eq(rank->cause, GS_SLOW_COMPUTE);
    cr_expect_eq(report.ranks[4].late_p50, 0);
    gs_arena_fini(&arena);
}

Test(slow_rank, whole_steps_of_a_synchronous_job_do_not_show_who_is_slow)
{
    planted set = planted_default(3);
    set.part = GS_STEP_COMPUTE;
    set.pattern = GS_SLOW_ALWAYS;
    set.factor = 2.0;
    gs_step_table table;
    gs_arena_init(&arena);
    cr_assert_eq(plant(&set, &arena, &table), GS_OK);
    for (int p = GS_STEP_COMPUTE; p < GS_STEP_PARTS; p++) {
        table.parts[p] = NULL;
    }
    gs_slow_report report = judge(&table);
    cr_expect_eq(report.answer, GS_SLOW_EQUALISED);
    cr_expect_eq(report.basis, GS_SLOW_BY_TIME);
    gs_arena_fini(&arena);
}

Test(slow_rank, compute_alone_is_enough_to_find_slow_compute)
{
    gs_step_table table = steady();
    table.parts[GS_STEP_INPUT] = table.parts[GS_STEP_WAIT] = table.parts[GS_STEP_WIRE] = NULL;
    gs_slow_report report = judge(&table);
    cr_expect_eq(report.basis, GS_SLOW_BY_PARTS);
    cr_assert_eq(report.named_count, 1);
    cr_expect_eq(report.ranks[5].cause, GS_SLOW_COMPUTE);
    cr_expect_eq(report.ranks[5].others_wait, GS_STEP_MISSING);
    gs_arena_fini(&arena);
}

/* Compute is 20 ms longer and input 20 ms shorter, as where a slower device leaves the host's gaps
 * no room: nobody waits. */
Test(slow_rank, a_part_that_another_part_makes_up_for_delays_nobody)
{
    gs_step_table table = steady();
    for (uint32_t s = 0; s < table.step_count; s++) {
        size_t at = (size_t)s * table.rank_count + 5;
        table.parts[GS_STEP_COMPUTE][at] = 80 * GS_NS_PER_MS;
        table.parts[GS_STEP_INPUT][at] = 0;
    }
    for (size_t i = 0; i < (size_t)table.rank_count * table.step_count; i++) {
        table.parts[GS_STEP_TIME][i] = 100 * GS_NS_PER_MS;
        table.parts[GS_STEP_WAIT][i] = 0;
    }
    cr_expect_eq(judge(&table).answer, GS_SLOW_ALL_EQUAL);
    gs_arena_fini(&arena);
}

/* Rank 3 computes 12 ms longer; rank 4, next in the ring, is held by the wire instead and is behind
 * it by 0.1 ms: to fix rank 4 would save nothing. */
Test(slow_rank, the_neighbour_of_a_late_rank_is_not_blamed_with_it)
{
    static const int64_t COMPUTE_MS[] = {38, 38, 38, 50, 38, 38, 38, 38};
    static const int64_t WIRE_MS[] = {39, 30, 21, 35, 47, 38, 29, 39};
    gs_step_table table = steady();
    for (size_t i = 0; i < (size_t)table.rank_count * table.step_count; i++) {
        int64_t rank = (int64_t)(i % table.rank_count);
        int64_t wire = WIRE_MS[rank] * GS_NS_PER_MS + (int64_t)(i * 7919 % 100) * GS_NS_PER_US;
        table.parts[GS_STEP_COMPUTE][i] = COMPUTE_MS[rank] * GS_NS_PER_MS;
        table.parts[GS_STEP_INPUT][i] = 0;
        table.parts[GS_STEP_WIRE][i] = wire;
        table.parts[GS_STEP_TIME][i] = 110 * GS_NS_PER_MS;
        table.parts[GS_STEP_WAIT][i] = (110 - COMPUTE_MS[rank]) * GS_NS_PER_MS - wire;
    }
    gs_slow_report report = judge(&table);
    cr_assert_eq(report.named_count, 1);
    cr_expect_eq(report.named[0], 3);
    cr_expect_eq(report.ranks[3].cause, GS_SLOW_COMPUTE);
    gs_arena_fini(&arena);
}

/* As a ring over hosts of four ranks: the wire holds ranks 0 and 7, 3 and 4 longer than those away
 * from a host's end, whose waits make up for it. All come at the same time and nobody is slow. */
Test(slow_rank, places_in_a_ring_that_end_later_are_not_blamed)
{
    static const int64_t WIRE_MS[] = {39, 25, 16, 35, 35, 21, 11, 39};
    gs_step_table table = steady();
    for (size_t i = 0; i < (size_t)table.rank_count * table.step_count; i++) {
        int64_t wire =
            WIRE_MS[i % table.rank_count] * GS_NS_PER_MS + (int64_t)(i * 7919 % 100) * GS_NS_PER_US;
        table.parts[GS_STEP_COMPUTE][i] = 60 * GS_NS_PER_MS;
        table.parts[GS_STEP_WIRE][i] = wire;
        table.parts[GS_STEP_TIME][i] = 120 * GS_NS_PER_MS;
        table.parts[GS_STEP_WAIT][i] = 40 * GS_NS_PER_MS - wire;
    }
    cr_expect_eq(judge(&table).answer, GS_SLOW_NOBODY);
    gs_arena_fini(&arena);
}

Test(slow_rank, a_stretch_up_to_the_end_has_its_first_step)
{
    gs_step_table table = steady();
    for (uint32_t s = 0; s < 9; s++) {
        size_t row = (size_t)s * table.rank_count;
        for (uint32_t r = 0; r < table.rank_count; r++) {
            table.parts[GS_STEP_TIME][row + r] = 100 * GS_NS_PER_MS;
            table.parts[GS_STEP_WAIT][row + r] = 0;
        }
        table.parts[GS_STEP_COMPUTE][row + 5] = 60 * GS_NS_PER_MS;
    }
    gs_slow_report report = judge(&table);
    cr_assert_eq(report.named_count, 1);
    cr_expect_eq(report.ranks[5].pattern, GS_SLOW_SINCE);
    cr_expect_eq(report.ranks[5].fit.first, 9);
    cr_expect_eq(report.ranks[5].fit.last, 19);
    cr_expect_float_eq(report.ranks[5].late_ratio, 11.0 / 20.0, 1e-12);
    gs_arena_fini(&arena);
}

Test(slow_rank, sets_that_cannot_tell_say_why)
{
    gs_step_table table = steady();
    gs_step_table few = table;
    few.step_count = 1;
    gs_slow_report report = judge(&few);
    cr_expect_eq(report.answer, GS_SLOW_FEW_STEPS);
    cr_expect_eq(report.ranks[5].last_ratio, 1.0);
    cr_expect_eq(report.ranks[5].late_p50, 30 * GS_NS_PER_MS);
    cr_expect_gt(report.least_steps, 1);

    gs_step_table one = table;
    one.rank_count = 1;
    cr_expect_eq(judge(&one).answer, GS_SLOW_ONE_RANK);

    for (uint32_t s = 0; s < table.step_count; s++) {
        for (uint32_t r = 0; r < table.rank_count; r++) {
            if (r != s % table.rank_count) {
                table.parts[GS_STEP_TIME][(size_t)s * table.rank_count + r] = GS_STEP_MISSING;
            }
        }
    }
    cr_expect_eq(judge(&table).answer, GS_SLOW_NO_COMMON);
    gs_arena_fini(&arena);
}

Test(slow_rank, rows_that_are_missing_hide_nothing_of_the_others)
{
    gs_step_table table = steady();
    for (uint32_t s = 10; s < table.step_count; s++) {
        table.parts[GS_STEP_TIME][(size_t)s * table.rank_count + 2] = GS_STEP_MISSING;
    }
    gs_slow_report report = judge(&table);
    cr_expect_eq(report.missing_count, 10);
    cr_expect_eq(report.ranks[2].step_count, 10);
    cr_assert_eq(report.named_count, 1);
    cr_expect_eq(report.named[0], 5);
    gs_arena_fini(&arena);
}

Test(slow_rank, without_memory_it_fails_in_peace)
{
    gs_step_table table = steady();
    gs_slow_report report;
    for (int64_t after = 0;; after++) {
        test_fail_allocations(after);
        gs_status status = gs_slow_judge(&table, &arena, &report, &err);
        test_fail_allocations(-1);
        if (status == GS_OK) {
            cr_expect_gt(after, 4);
            break;
        }
        cr_assert_eq(status, GS_ENOMEM);
    }
    gs_arena_fini(&arena);
}
