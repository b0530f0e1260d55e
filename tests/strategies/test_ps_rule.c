/* Rules of parameter servers played alone: what each accepts, whom it lets go, and the run times
 * that Dutta et al. work out (STRATEGIES rows 5 to 9). */
#include <criterion/criterion.h>

#include "base/rng.h"
#include "strategies/ps.h"

#include <math.h>
#include <string.h>

enum { RANKS_MAX = 64 };

static gs_ps_server server;
static gs_ps_worker workers[RANKS_MAX];

static gs_ps_rule rule_of(gs_ps_kind kind, int64_t count, uint32_t ranks)
{
    gs_ps_config config = {.count = count, .staleness = count, .staleness_max = count};
    return gs_ps_rule_of(kind, &config, ranks);
}

/* ---------------------------------------------------------------- a loop without communication */

typedef enum time_law { EXPONENTIAL, SHIFTED } time_law; /* mean 1; 0.5 + exponential of mean 0.5 */

typedef struct played {
    double update_mean, update_sd; /* time between updates */
    double staleness_mean;
    int64_t updates;
} played;

typedef struct loop {
    const gs_ps_rule *rule;
    time_law law;
    uint32_t ranks;
    uint64_t draws;
    double now;
    double ends[RANKS_MAX]; /* of the gradient under way; INFINITY: none */
} loop;

static void begin(loop *at, uint32_t worker)
{
    gs_rng_key key = {11, GS_RNG_TEST, 0};
    double draw = -log(1.0 - gs_rng_uniform(key, at->draws++, 0));
    at->ends[worker] = at->now + (at->law == SHIFTED ? 0.5 + 0.5 * draw : draw);
    gs_ps_go(&server, &workers[worker]);
}

static uint32_t next_to_end(const loop *at)
{
    uint32_t first = 0;
    for (uint32_t i = 1; i < at->ranks; i++) {
        first = at->ends[i] < at->ends[first] ? i : first;
    }
    cr_assert(isfinite(at->ends[first]), "everybody waits");
    return first;
}

/* One gradient; true: an update was made. */
static bool play_one(loop *at)
{
    uint32_t worker = next_to_end(at);
    at->now = at->ends[worker];
    at->ends[worker] = (double)INFINITY;
    gs_ps_verdict verdict =
        gs_ps_arrive(at->rule, &server, workers, worker, (gs_time_ns)(at->now * 1e6));
    for (uint32_t i = 0; i < at->ranks; i++) {
        bool waits = i == worker || verdict.wakes_others;
        if (waits && gs_ps_may_go(at->rule, &server, workers, i)) {
            begin(at, i);
        } else if (verdict.updates && at->rule->restarts && !workers[i].waits) {
            begin(at, i);
        }
    }
    return verdict.updates;
}

/* Until so many gradients were used. */
static played play(const gs_ps_rule *rule, time_law law, uint32_t ranks, int64_t gradients)
{
    loop at = {.rule = rule, .law = law, .ranks = ranks};
    gs_ps_start(&server, workers, ranks);
    for (uint32_t i = 0; i < ranks; i++) {
        begin(&at, i);
    }
    double sum = 0.0, square = 0.0, last = 0.0;
    while (server.taken < gradients) {
        if (play_one(&at)) {
            double time = at.now - last;
            last = at.now;
            sum += time;
            square += time * time;
        }
    }
    played out = {.updates = server.version};
    double n = (double)out.updates;
    out.update_mean = sum / n;
    out.update_sd = sqrt(square / n - out.update_mean * out.update_mean);
    out.staleness_mean = (double)server.staleness / (double)server.taken;
    return out;
}

static double harmonic(int n)
{
    return n == 0 ? 0.0 : 1.0 / n + harmonic(n - 1);
}

enum { N = 8, K = 4, MANY = 1000000 };

/* Four standard errors of a mean of independent times. */
static void expect_mean(const played *run, double wanted, const char *what)
{
    double bound = 4.0 * run->update_sd / sqrt((double)run->updates);
    cr_expect(fabs(run->update_mean - wanted) < bound, "%s: %.5f, not %.5f +- %.5f", what,
              run->update_mean, wanted, bound);
}

/* Row 5: D + (H_n - H_(n-K)) / m with D = .5, m = 2: 0.8173; and row 2 for D = 0, m = 1: 0.6345. */
Test(ps_rule, k_sync_takes_the_time_of_the_kth_of_n)
{
    gs_ps_rule rule = rule_of(GS_PS_K_SYNC, K, N);
    double order = harmonic(N) - harmonic(N - K);
    played run = play(&rule, SHIFTED, N, MANY);
    expect_mean(&run, 0.5 + order / 2.0, "shifted");
    cr_expect_float_eq(0.5 + order / 2.0, 0.8173, 1e-4);
    cr_expect_eq(server.dropped, 0, "who begins again sends nothing old");
    run = play(&rule, EXPONENTIAL, N, MANY);
    expect_mean(&run, order, "exponential");
}

/* Row 6: exponential, K / (n m) = 0.5. */
Test(ps_rule, k_batch_sync_takes_k_nths_of_the_mean)
{
    gs_ps_rule rule = rule_of(GS_PS_K_BATCH_SYNC, K, N);
    played run = play(&rule, EXPONENTIAL, N, MANY);
    expect_mean(&run, 0.5, "exponential");
}

/* Row 7: for exponential times as K-sync, because what is left of one is as a new one; less for
 * shifted ones: the rank that goes on has done its sure part. The latter has no closed form: 0.620
 * is that row's own simulation, good to 0.001. */
Test(ps_rule, k_async_is_no_slower_than_k_sync)
{
    gs_ps_rule rule = rule_of(GS_PS_K_ASYNC, K, N);
    played run = play(&rule, EXPONENTIAL, N, MANY);
    expect_mean(&run, harmonic(N) - harmonic(N - K), "exponential");
    run = play(&rule, SHIFTED, N, MANY);
    cr_expect_float_eq(run.update_mean, 0.620, 0.002);
}

/* Row 8: K E[X] / n for any law: 0.5. Exponential times between updates are independent; shifted
 * ones are more even than that, so that the bound holds for them too. */
Test(ps_rule, k_batch_async_takes_k_nths_of_the_mean_for_any_law)
{
    gs_ps_rule rule = rule_of(GS_PS_K_BATCH_ASYNC, K, N);
    played run = play(&rule, SHIFTED, N, MANY);
    expect_mean(&run, 0.5, "shifted");
    run = play(&rule, EXPONENTIAL, N, MANY);
    expect_mean(&run, 0.5, "exponential");
}

/* Row 8, last: synchronous over fully asynchronous time is n H_n = 21.74 an update. */
Test(ps_rule, waiting_for_all_costs_n_times_the_nth_harmonic_number)
{
    gs_ps_rule all = rule_of(GS_PS_BSP, 0, N);
    gs_ps_rule none = rule_of(GS_PS_ASP, 0, N);
    played bsp = play(&all, EXPONENTIAL, N, MANY);
    played asp = play(&none, EXPONENTIAL, N, MANY);
    expect_mean(&bsp, harmonic(N), "all");
    expect_mean(&asp, 1.0 / N, "none");
    cr_expect_float_eq(bsp.update_mean / asp.update_mean, 21.74, 0.2);
}

/* Row 9: updates of the others between two of one rank: n - 1 for any law, whatever its jitter. The
 * first n gradients know less than that, and are n of a million. */
Test(ps_rule, mean_staleness_without_waiting_is_one_less_than_the_ranks)
{
    gs_ps_rule rule = rule_of(GS_PS_ASP, 0, N);
    for (time_law law = EXPONENTIAL; law <= SHIFTED; law++) {
        played run = play(&rule, law, N, MANY);
        cr_expect_float_eq(run.staleness_mean, N - 1, 0.01, "%g", run.staleness_mean);
    }
}

/* P3: the mean path of asynchronous steps on a bowl is one with momentum 1 - 1/n. With S the mean
 * over ranks of the weights that each has, one arrival makes S' = (1 - 1/n) S + x' / n, so that
 * mean steps d obey d' = (1 - 1/n) d - (rate / n) x' exactly; 20000 paths give their mean. */
static double momentum_of(uint32_t ranks)
{
    enum { PATHS = 20000, LENGTH = 40 };
    static double mean[LENGTH];
    gs_ps_rule rule = rule_of(GS_PS_ASP, 0, ranks);
    double rate = 0.5; /* times the curvature */
    loop at = {.rule = &rule, .ranks = ranks};
    memset(mean, 0, sizeof mean);
    for (int path = 0; path < PATHS; path++) {
        double given[RANKS_MAX];
        double x = 1.0;
        gs_ps_start(&server, workers, ranks);
        for (uint32_t i = 0; i < ranks; i++) {
            given[i] = x;
            begin(&at, i);
        }
        for (int t = 0; t < LENGTH; t++) {
            mean[t] += x / PATHS;
            uint32_t worker = next_to_end(&at);
            (void)play_one(&at);
            x -= rate * given[worker];
            given[worker] = x;
        }
    }
    /* Least squares for d' = a d + b x'. */
    double dd = 0.0, dx = 0.0, xx = 0.0, od = 0.0, ox = 0.0;
    for (int t = 2; t < LENGTH; t++) {
        double d = mean[t - 1] - mean[t - 2];
        double x = mean[t - 1];
        double out = mean[t] - mean[t - 1];
        dd += d * d;
        dx += d * x;
        xx += x * x;
        od += out * d;
        ox += out * x;
    }
    return (od * xx - ox * dx) / (dd * xx - dx * dx);
}

Test(ps_rule, asynchronous_steps_have_the_momentum_of_their_ranks)
{
    cr_expect_float_eq(momentum_of(4), 0.75, 0.02, "%g", momentum_of(4));
    cr_expect_float_eq(momentum_of(8), 0.875, 0.02, "%g", momentum_of(8));
    cr_expect_float_eq(momentum_of(16), 0.9375, 0.02, "%g", momentum_of(16));
}

/* Row 9: all begin together and their updates land one by one: 0, 1 ... n - 1, exactly. */
Test(ps_rule, ssp_without_slack_has_half_of_that_staleness)
{
    gs_ps_rule rule = rule_of(GS_PS_SSP, 0, 32);
    played run = play(&rule, EXPONENTIAL, 32, 32 * 1000);
    cr_expect_eq(run.staleness_mean, 15.5);
}

/* P13 at n = 32: 18.6, 23.9 and 27.7 for s = 1, 4 and 16, with normal jitter; monotone for any, and
 * never as much as without a bound. */
Test(ps_rule, staleness_rises_with_the_slack_of_ssp)
{
    double before = 15.5;
    for (int64_t slack = 1; slack <= 16; slack *= 4) {
        gs_ps_rule rule = rule_of(GS_PS_SSP, slack, 32);
        played run = play(&rule, EXPONENTIAL, 32, 100000);
        cr_expect_gt(run.staleness_mean, before);
        cr_expect_lt(run.staleness_mean, 31.0);
        before = run.staleness_mean;
    }
}

/* ---------------------------------------------------------------- by hand */

static gs_ps_verdict arrive(const gs_ps_rule *rule, uint32_t worker, gs_time_ns at_ns)
{
    return gs_ps_arrive(rule, &server, workers, worker, at_ns);
}

static bool goes(const gs_ps_rule *rule, uint32_t worker)
{
    bool may = gs_ps_may_go(rule, &server, workers, worker);
    if (may) {
        gs_ps_go(&server, &workers[worker]);
    }
    return may;
}

Test(ps_rule, backups_drop_who_comes_late_and_let_it_go_at_once)
{
    gs_ps_rule rule = rule_of(GS_PS_BACKUP, 1, 3);
    gs_ps_start(&server, workers, 3);
    gs_ps_verdict first = arrive(&rule, 2, 0);
    cr_expect(!first.updates && !first.dropped);
    cr_expect_not(goes(&rule, 2));
    gs_ps_verdict second = arrive(&rule, 0, 1);
    cr_expect(second.updates && second.wakes_others);
    cr_expect(goes(&rule, 2) && goes(&rule, 0));
    gs_ps_verdict late = arrive(&rule, 1, 2); /* of version 0, and this is version 1 */
    cr_expect(late.dropped && !late.updates);
    cr_expect_eq(late.staleness, 1);
    cr_expect(goes(&rule, 1));
    cr_expect_eq(workers[1].version, 1);
    cr_expect_eq(server.dropped, 1);
}

Test(ps_rule, who_still_computes_is_told_to_begin_again_once)
{
    gs_ps_rule rule = rule_of(GS_PS_K_SYNC, 2, 4);
    gs_ps_start(&server, workers, 4);
    (void)arrive(&rule, 0, 0);
    cr_expect_not(gs_ps_must_restart(&rule, &server, &workers[2]), "its weights are the newest");
    cr_assert(arrive(&rule, 1, 0).updates);
    cr_expect_not(gs_ps_must_restart(&rule, &server, &workers[0]), "it waits, and is given them");
    cr_expect(goes(&rule, 0) && goes(&rule, 1));
    cr_expect(gs_ps_must_restart(&rule, &server, &workers[2]));
    cr_expect_not(gs_ps_must_restart(&rule, &server, &workers[2]));
    cr_expect_not(gs_ps_must_restart(&rule, &server, &workers[0]), "it has them");
    gs_ps_ask(&workers[2]);
    cr_expect(goes(&rule, 2));
    cr_expect_eq(workers[2].version, 1);
    cr_expect_eq(server.dropped, 0);
    (void)arrive(&rule, 0, 0);
    cr_assert(arrive(&rule, 1, 0).updates);
    cr_expect(gs_ps_must_restart(&rule, &server, &workers[2]), "of the weights it asked for");
    cr_expect_eq(workers[2].told, 2);
    gs_ps_rule dropping = rule_of(GS_PS_M_SYNC, 2, 4);
    cr_expect_not(gs_ps_must_restart(&dropping, &server, &workers[3]));
}

Test(ps_rule, ringmaster_drops_at_its_bound_and_not_before)
{
    gs_ps_rule rule = rule_of(GS_PS_RINGMASTER, 2, 2);
    gs_ps_start(&server, workers, 2);
    cr_expect(arrive(&rule, 0, 0).updates && goes(&rule, 0));
    cr_expect(arrive(&rule, 1, 0).updates && goes(&rule, 1)); /* 1 old: below the bound of 2 */
    for (int i = 0; i < 2; i++) {
        cr_expect(arrive(&rule, 0, 0).updates && goes(&rule, 0));
    }
    cr_expect(arrive(&rule, 1, 0).dropped); /* 2 old */
    cr_expect(goes(&rule, 1));
    cr_expect_eq(workers[1].version, server.version);
}

Test(ps_rule, rennala_takes_several_gradients_of_one_rank_but_none_of_old_weights)
{
    gs_ps_rule rule = rule_of(GS_PS_RENNALA, 3, 2);
    gs_ps_start(&server, workers, 2);
    cr_expect(!arrive(&rule, 0, 0).updates && goes(&rule, 0));
    cr_expect(!arrive(&rule, 0, 0).updates && goes(&rule, 0));
    cr_expect(arrive(&rule, 0, 0).updates && goes(&rule, 0));
    cr_expect(arrive(&rule, 1, 0).dropped && goes(&rule, 1));
    cr_expect(!arrive(&rule, 1, 0).updates);
    cr_expect_eq(server.taken, 4);
}

Test(ps_rule, ssp_lets_go_when_the_slowest_moves)
{
    gs_ps_rule rule = rule_of(GS_PS_SSP, 1, 2);
    gs_ps_start(&server, workers, 2);
    cr_expect(arrive(&rule, 0, 0).updates && goes(&rule, 0)); /* clocks 1 and 0 */
    cr_expect_not(arrive(&rule, 0, 0).wakes_others);
    cr_expect_not(goes(&rule, 0)); /* 2 and 0 */
    cr_expect(arrive(&rule, 1, 0).wakes_others);
    cr_expect(goes(&rule, 1) && goes(&rule, 0)); /* 2 and 1 */
}

/* A rank with steps of 10 and one with steps of 28. Where the fast one is 2 ahead, at 40, the slow
 * one is expected at 70: after r more steps the wait for it is 30 - 10 r, least for r = 3. */
Test(ps_rule, dssp_goes_on_where_waiting_later_is_shorter)
{
    gs_ps_config config = {.staleness = 1, .staleness_max = 5};
    gs_ps_rule rule = gs_ps_rule_of(GS_PS_DSSP, &config, 2);
    gs_ps_start(&server, workers, 2);
    cr_expect(arrive(&rule, 0, 10).updates && goes(&rule, 0));
    cr_expect(arrive(&rule, 1, 14).updates && goes(&rule, 1));
    cr_expect(arrive(&rule, 0, 20).updates && goes(&rule, 0)); /* clocks 2 and 1 */
    cr_expect(arrive(&rule, 1, 42).updates && goes(&rule, 1)); /* next at 70 */
    cr_expect(arrive(&rule, 0, 30).updates && goes(&rule, 0)); /* 3 and 2 */
    for (gs_time_ns at = 40; at <= 60; at += 10) {
        cr_expect(arrive(&rule, 0, at).updates);
        cr_expect(goes(&rule, 0), "at %lld", (long long)at);
    }
    arrive(&rule, 0, 70); /* 7 and 2, in time for the push of the slow one: waiting now is best */
    cr_expect_not(goes(&rule, 0));
    cr_expect(arrive(&rule, 1, 70).wakes_others);
    cr_expect(goes(&rule, 1));
    cr_expect_not(goes(&rule, 0), "once it waits, it waits until it is 1 ahead: 7 and 3");
}

/* 20 steps ahead would always be predicted to be worth it: the slow one never comes. */
Test(ps_rule, dssp_never_goes_further_than_its_upper_bound)
{
    gs_ps_config config = {.staleness = 1, .staleness_max = 5};
    gs_ps_rule rule = gs_ps_rule_of(GS_PS_DSSP, &config, 2);
    gs_ps_start(&server, workers, 2);
    cr_expect(arrive(&rule, 1, 1).updates && goes(&rule, 1));
    cr_expect(arrive(&rule, 0, 2).updates && goes(&rule, 0));
    cr_expect(arrive(&rule, 1, 1000000).updates && goes(&rule, 1)); /* an interval of a million */
    int64_t steps = 1;
    gs_time_ns at = 1000000;
    do {
        arrive(&rule, 0, at += 10);
        steps++;
    } while (goes(&rule, 0));
    cr_expect_eq(steps - 2, 6); /* clocks: the step after 5 ahead was the last */
}

Test(ps_rule, dssp_without_a_range_is_ssp)
{
    gs_ps_rule ssp = rule_of(GS_PS_SSP, 3, N);
    gs_ps_rule dssp = rule_of(GS_PS_DSSP, 3, N);
    played one = play(&ssp, SHIFTED, N, 10000);
    played other = play(&dssp, SHIFTED, N, 10000);
    cr_expect_eq(one.update_mean, other.update_mean);
    cr_expect_eq(one.staleness_mean, other.staleness_mean);
}

Test(ps_rule, a_slack_that_nobody_uses_up_is_asp)
{
    gs_ps_rule ssp = rule_of(GS_PS_SSP, 1000000, N);
    gs_ps_rule asp = rule_of(GS_PS_ASP, 0, N);
    played one = play(&ssp, EXPONENTIAL, N, 10000);
    played other = play(&asp, EXPONENTIAL, N, 10000);
    cr_expect_eq(one.update_mean, other.update_mean);
    cr_expect_eq(one.staleness_mean, other.staleness_mean);
}

Test(ps_rule, what_was_gathered_can_be_used_before_it_is_enough)
{
    gs_ps_rule rule = rule_of(GS_PS_K_ASYNC, 3, 4);
    gs_ps_start(&server, workers, 4);
    cr_expect_not(gs_ps_flush(&server, workers));
    arrive(&rule, 1, 0);
    cr_expect_not(goes(&rule, 1));
    cr_expect(gs_ps_flush(&server, workers));
    cr_expect(goes(&rule, 1));
    cr_expect_eq(server.version, 1);
}
