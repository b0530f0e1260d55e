#include "strategies/controller/hook_model.h"

#include <criterion/criterion.h>
#include <math.h>

/* Steps of 2 s, an average of 30 s, noise alone. */
static gs_hook_model noisy(void)
{
    return (gs_hook_model){.ranks = 8,
                           .node_ranks = 4,
                           .period_max = 64,
                           .change = 0.05,
                           .step_s = 2.0,
                           .wait_s = 0.0,
                           .staleness_max = 3.0,
                           .cost_s = {30.0, 12.0, 30.0, 1.0},
                           .spread = {.noise = 3.0}};
}

/* With noise alone a period of H makes H - k H^2 / 2 steps' worth, k = change^2 a = 0.0075, in
 * 2 H + 30 s. The derivative of the rate is 0 where k H^2 + 30 k H - 30 = 0 (divided by 2 / 2):
 * H = (-0.225 + sqrt(0.050625 + 0.9)) / 0.015 = 50.0. Periods are tried a quarter apart. */
Test(hook_model, the_best_period_with_noise_alone_is_that_of_the_closed_form)
{
    gs_hook_model model = noisy();
    double best = (-0.225 + sqrt(0.050625 + 0.9)) / 0.015;
    gs_hook_rate local = gs_hook_rate_of(&model, GRADSYNC_HOOK_LOCAL);
    cr_assert_leq(fabs(local.period / best - 1.0), 0.25);
    double rate = (best - 0.0075 * best * best / 2.0) / (2.0 * best + 30.0);
    cr_assert_leq(local.rate, rate);
    cr_assert_geq(local.rate, 0.98 * rate);
}

/* At the best period going on would bring as much as averaging: the regret is the cost there. */
Test(hook_model, regret_comes_to_the_cost_at_the_best_period)
{
    gs_hook_model model = noisy();
    double best = (-0.225 + sqrt(0.050625 + 0.9)) / 0.015;
    double regret = gs_hook_regret_s(2.0, best, gs_hook_lost_in_step(&model, best, 1.0),
                                     gs_hook_lost_since(&model, best, 1.0));
    cr_assert_float_eq(regret, 30.0, 1e-9);
    double before = gs_hook_regret_s(2.0, best - 1, gs_hook_lost_in_step(&model, best - 1, 1.0),
                                     gs_hook_lost_since(&model, best - 1, 1.0));
    cr_assert_lt(before, 30.0);
}

/* k (a / 2 h^2 + b / 3 h^3) with change 0.05, a = 3, b = 0.6, h = 10:
 * 0.0025 * (150 + 200) = 0.875; in the tenth step 0.0025 * 100 * (0.3 + 0.6) = 0.225. */
Test(hook_model, what_ranks_have_to_learn_apart_costs_with_the_cube_of_the_period)
{
    gs_hook_model model = noisy();
    model.spread.apart = 0.6;
    cr_assert_float_eq(gs_hook_lost_since(&model, 10.0, 1.0), 0.875, 1e-12);
    cr_assert_float_eq(gs_hook_lost_in_step(&model, 10.0, 1.0), 0.225, 1e-12);
    cr_assert_float_eq(gs_hook_lost_in_step(&model, 10.0, 2.0), 0.45, 1e-12);
    cr_assert_eq(gs_hook_lost_in_step(&model, 60.0, 1.0), 1.0); /* no more than all of it */
    cr_assert_eq(gs_hook_lost_since(&model, 60.0, 1.0), 60.0);
    cr_assert_eq(gs_hook_regret_s(2.0, 60.0, 1.0, 60.0), (double)INFINITY);
}

Test(hook_model, disagreement_seen_at_one_period_is_taken_for_noise)
{
    gs_hook_spread spread = {.noise = 99.0};
    for (int i = 0; i < 3; i++) {
        gs_hook_spread_see(&spread, 4.0, 1.75);
    }
    cr_assert_float_eq(spread.noise, 7.0, 1e-9); /* 7 / 4 */
    cr_assert_float_eq(spread.apart, 0.0, 1e-9);
}

/* r(h) = 6 / h + 0.5: 3.5 at 2 and 0.875 at 16. b is drawn to zero by a tenth of the weight, which
 * moves what is foretold there by less than that. */
Test(hook_model, disagreement_seen_at_two_periods_tells_noise_from_difference)
{
    gs_hook_spread spread = {0};
    for (int i = 0; i < 10; i++) {
        gs_hook_spread_see(&spread, 2.0, 3.5);
        gs_hook_spread_see(&spread, 16.0, 0.875);
    }
    cr_assert_float_eq(gs_hook_spread_at(&spread, 2.0), 3.5, 0.35);
    cr_assert_float_eq(gs_hook_spread_at(&spread, 16.0), 0.875, 0.0875);
    cr_assert_gt(spread.apart, 0.3);
}

/* All differ and no noise: r the same at every period would want a < 0 with a rise, and gets 0. */
Test(hook_model, a_disagreement_that_rises_with_the_period_has_no_negative_noise)
{
    gs_hook_spread spread = {0};
    for (int i = 0; i < 10; i++) {
        gs_hook_spread_see(&spread, 1.0, 1.0);
        gs_hook_spread_see(&spread, 8.0, 3.0);
    }
    cr_assert_eq(spread.noise, 0.0);
    cr_assert_float_eq(spread.apart, 2.0, 0.2); /* their mean; the latest count more */
}

/* 4 of 8 in a node: (1 - 1/4) / (1 - 1/8) = 6/7 of what noise scatters is inside it. */
Test(hook_model, nodes_average_often_what_is_cheap_there)
{
    gs_hook_model model = noisy();
    cr_assert_float_eq(gs_hook_node_share(&model), 6.0 / 7.0, 1e-12);
    gs_hook_rate flat = gs_hook_rate_of(&model, GRADSYNC_HOOK_LOCAL);
    gs_hook_rate nodes = gs_hook_rate_of(&model, GRADSYNC_HOOK_LOCAL_NODES);
    cr_assert_gt(nodes.rate, flat.rate);
    cr_assert_lt(nodes.node_period, nodes.period);
    model.node_ranks = 8; /* one node: no scope inside of it */
    cr_assert_eq(gs_hook_node_share(&model), 0.0);
    cr_assert_eq(gs_hook_rate_of(&model, GRADSYNC_HOOK_LOCAL_NODES).rate,
                 gs_hook_rate_of(&model, GRADSYNC_HOOK_LOCAL).rate);
}

/* Rates by hand: dense 1 / 32; compressed 1 / 14 without a residual, and with one of 4 gradients
 * 1 / (1 + 0.05 * 4) of that. A rank that keeps the others waiting for 24 s: dense 1 / 56, without
 * it 7/8 / 32; async 7 updates late 1 / 1.35 / 32; stale 1 / 1.15 / (32 + 24 / 4). */
Test(hook_model, rungs_of_every_step_have_the_rates_of_their_costs)
{
    gs_hook_model model = noisy();
    cr_assert_float_eq(gs_hook_rate_of(&model, GRADSYNC_HOOK_DENSE).rate, 1.0 / 32.0, 1e-12);
    cr_assert_float_eq(gs_hook_rate_of(&model, GRADSYNC_HOOK_COMPRESSED).rate, 1.0 / 14.0, 1e-12);
    model.residual = 4.0;
    cr_assert_float_eq(gs_hook_rate_of(&model, GRADSYNC_HOOK_COMPRESSED).rate, 1.0 / 1.2 / 14.0,
                       1e-12);
    model.wait_s = 24.0;
    cr_assert_float_eq(gs_hook_rate_of(&model, GRADSYNC_HOOK_DENSE).rate, 1.0 / 56.0, 1e-12);
    cr_assert_float_eq(gs_hook_rate_of(&model, GRADSYNC_HOOK_PAUSE).rate, 7.0 / 8.0 / 32.0, 1e-12);
    cr_assert_float_eq(gs_hook_rate_of(&model, GRADSYNC_HOOK_ASYNC).rate, 1.0 / 1.35 / 32.0, 1e-12);
    cr_assert_float_eq(gs_hook_rate_of(&model, GRADSYNC_HOOK_STALE).rate, 1.0 / 1.15 / 38.0, 1e-12);
}
