#include "base/rng.h"
#include "tests/strategies/hook_crew.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BIT(rung) (1U << GRADSYNC_HOOK_##rung)

/* Ranks whose gradients have norm 1 and a mean of norm^2 `agreement`; a step takes 0.1 s, averaging
 * `sync_s`. */
static void train(hook_crew *crew, double agreement, double sync_s)
{
    CREW_ALL(crew, loss, 2.0);
    CREW_ALL(crew, gradient_sq, 1.0);
    CREW_ALL(crew, mean_gradient_sq, agreement);
    CREW_ALL(crew, step_s, 0.1);
    CREW_ALL(crew, sync_s, sync_s);
}

/* A step in which the loss falls by 3 %. */
static bool step(hook_crew *crew)
{
    CREW_ALL(crew, loss, 0.97 * crew->signals[crew_rank].loss);
    return crew_step(crew);
}

static void decide(hook_crew *crew)
{
    while (!step(crew)) {
    }
}

/* Steps until the rung changes, at most 100. */
static void until_rung(hook_crew *crew, int32_t rung)
{
    for (int i = 0; i < 100 && crew->decision.rung != rung; i++) {
        decide(crew);
    }
    cr_assert_eq(crew->decision.rung, rung, "is on %s",
                 gradsync_hook_rung_text(crew->decision.rung));
}

static hook_crew made(gradsync_hook_config config)
{
    hook_crew crew;
    crew_init(&crew, &config);
    return crew;
}

/* A crew on its local rung. With a change of 0.03 and noise of 1 a period of h loses 0.00045 h^2
 * steps: an average that takes 0.05 s, half a step, pays after about sqrt(0.5 / 0.00045) = 33. */
static hook_crew local_crew(void)
{
    hook_crew crew = made(gradsync_hook_defaults(0, 4));
    train(&crew, 0.5, 0.05);
    until_rung(&crew, GRADSYNC_HOOK_LOCAL);
    CREW_ALL(&crew, sync_s, (double)NAN);
    CREW_ALL(&crew, mean_gradient_sq, (double)NAN);
    return crew;
}

Test(hook, the_first_steps_measure_what_averages_cost)
{
    gradsync_hook_config config = gradsync_hook_defaults(0, 4);
    config.warm_up_steps = 3;
    hook_crew crew = made(config);
    train(&crew, 0.5, 2.0);
    for (int i = 0; i < 3; i++) {
        cr_assert(step(&crew));
        cr_assert_eq(crew.decision.reason, GRADSYNC_HOOK_WARMING_UP);
        cr_assert_eq(crew.decision.scope, GRADSYNC_HOOK_ALL);
        cr_assert_eq(crew.decision.look_in, 1);
    }
    cr_assert(step(&crew));
    cr_assert_eq(crew.decision.reason, GRADSYNC_HOOK_EVERY_STEP);
    crew_fini(&crew);
}

/* mean |g|^2 / |mean g|^2 - 1 = 1 / 0.5 - 1 = 1: noise N with 1 = (1 - 1/4) N / (1 + N / 4), that
 * is N = 2. */
Test(hook, cheap_averages_are_made_every_step)
{
    hook_crew crew = made(gradsync_hook_defaults(0, 4));
    train(&crew, 0.5, 0.0001);
    for (int i = 0; i < 20; i++) {
        decide(&crew);
        cr_assert_eq(crew.decision.rung, GRADSYNC_HOOK_DENSE);
        cr_assert_eq(crew.decision.scope, GRADSYNC_HOOK_ALL);
    }
    cr_assert_float_eq(crew.decision.disagreement, 1.0, 1e-9);
    cr_assert_float_eq(crew.decision.noise_scale, 2.0, 1e-9);
    cr_assert_float_eq(crew.decision.cost_s, 0.0001, 1e-12);
    cr_assert_float_eq(crew.decision.step_s, 0.1, 1e-12);
    crew_fini(&crew);
}

/* The first decision after the warm-up goes at once; later ones must want it twice: dwell 2. */
Test(hook, dear_averages_are_made_now_and_then_once_that_is_believed)
{
    hook_crew crew = made(gradsync_hook_defaults(0, 4));
    train(&crew, 0.5, 2.0);
    decide(&crew);
    cr_assert_eq(crew.decision.rung, GRADSYNC_HOOK_DENSE);
    decide(&crew);
    cr_assert_eq(crew.decision.rung, GRADSYNC_HOOK_LOCAL);
    cr_assert_eq(crew.decision.from_rung, GRADSYNC_HOOK_DENSE);
    cr_assert_gt(crew.decision.period, 1);
    cr_assert_gt(crew.decision.best_rate, 1.1 * crew.decision.rate);
    crew_fini(&crew);

    crew = made(gradsync_hook_defaults(0, 4));
    train(&crew, 0.5, 0.0001);
    decide(&crew);
    decide(&crew);
    CREW_ALL(&crew, sync_s, 2.0);
    decide(&crew);
    cr_assert_eq(crew.decision.rung, GRADSYNC_HOOK_DENSE);
    cr_assert_eq(crew.decision.look_in, 1);
    cr_assert_gt(crew.decision.best_rate, 1.1 * crew.decision.rate);
    decide(&crew);
    cr_assert_eq(crew.decision.rung, GRADSYNC_HOOK_LOCAL);
    crew_fini(&crew);
}

/* Its rule by hand: averages in the first step in which step_s (h q - Q) / (1 - q) >= cost, with
 * q = change^2 a h and Q = q h / 2; nothing in the one before. */
Test(hook, an_average_is_made_when_what_was_lost_comes_to_its_cost)
{
    hook_crew crew = local_crew();
    int64_t waited = 0;
    do {
        decide(&crew);
        gradsync_hook_decision now = crew.decision;
        double since = (double)now.since;
        double lost = 1.0 - now.progress;
        double regret = 0.1 * since * lost / 2.0 / now.progress;
        cr_assert_float_eq(now.lost_s, regret, 1e-9 * (1.0 + regret));
        cr_assert_eq(now.scope == GRADSYNC_HOOK_ALL, regret >= now.cost_s || now.since == 64);
        waited = now.since;
    } while (crew.decision.scope == GRADSYNC_HOOK_NONE);
    cr_assert_gt(waited, 8);
    crew_fini(&crew);
}

Test(hook, what_is_cheap_again_is_done_every_step_again)
{
    hook_crew crew = local_crew();
    double cheap = 0.00001;
    for (int i = 0; i < 2000 && crew.decision.rung == GRADSYNC_HOOK_LOCAL; i++) {
        CREW_ALL(&crew, sync_s, crew.decision.scope == GRADSYNC_HOOK_ALL ? cheap : (double)NAN);
        step(&crew);
    }
    cr_assert_eq(crew.decision.rung, GRADSYNC_HOOK_DENSE);
    crew_fini(&crew);
}

/* Steps from the second average of all to the third, during which the square of drifts is `far`
 * times what it was before: h^2 (1 + 1 / h) after h steps, where the mean has moved by h. */
static int64_t third_period(double far)
{
    hook_crew crew = local_crew();
    double steps = 0.0;
    int64_t period = 0;
    for (int averages = 0; averages < 3;) {
        bool is_first = crew.decision.scope == GRADSYNC_HOOK_ALL;
        CREW_ALL(&crew, mean_drift_sq, is_first ? steps * steps : (double)NAN);
        crew.decision.scope = GRADSYNC_HOOK_NONE;
        steps = is_first ? 1.0 : steps + 1.0;
        CREW_ALL(&crew, drift_sq, (averages == 2 ? far : 1.0) * steps * (steps + 1.0));
        if (step(&crew) && crew.decision.scope == GRADSYNC_HOOK_ALL) {
            period = crew.decision.since;
            averages++;
        }
    }
    crew_fini(&crew);
    return period;
}

/* No drift counts more than four times, which is half the steps where the regret grows with their
 * square. */
Test(hook, a_drift_that_runs_away_brings_the_average_forward)
{
    int64_t usual = third_period(1.0);
    int64_t early = third_period(100.0);
    cr_assert_lt(early, usual);
    cr_assert_geq(early, usual / 2 - 8);
}

Test(hook, a_phase_that_says_so_averages_every_step_or_not_at_all)
{
    hook_crew crew = local_crew();
    CREW_ALL(&crew, phase, GRADSYNC_HOOK_SPARSE);
    for (int i = 0; i < 10; i++) {
        decide(&crew);
        cr_assert_eq(crew.decision.reason, GRADSYNC_HOOK_TOLD);
        cr_assert_eq(crew.decision.scope, GRADSYNC_HOOK_NONE);
    }
    crew.signals[2].phase = GRADSYNC_HOOK_CRITICAL; /* one rank says so */
    decide(&crew);
    cr_assert_eq(crew.decision.rung, GRADSYNC_HOOK_DENSE);
    cr_assert_eq(crew.decision.scope, GRADSYNC_HOOK_ALL);
    crew_fini(&crew);

    gradsync_hook_config config = gradsync_hook_defaults(0, 4);
    config.offered = BIT(LOCAL); /* no rung averages every step: a period of one does */
    crew = made(config);
    train(&crew, 0.5, 2.0);
    CREW_ALL(&crew, phase, GRADSYNC_HOOK_CRITICAL);
    for (int i = 0; i < 10; i++) {
        cr_assert(step(&crew));
        cr_assert_eq(crew.decision.scope, GRADSYNC_HOOK_ALL);
    }
    crew_fini(&crew);
}

Test(hook, gradients_of_zero_force_no_average_before_the_longest_period)
{
    hook_crew crew = local_crew();
    CREW_ALL(&crew, gradient_sq, 0.0);
    int64_t longest = 0;
    /* Smoothed over eight steps, 1e-6 of what was is reached after 104 of them. */
    for (int i = 0; i < 400; i++) {
        if (step(&crew) && crew.decision.reason == GRADSYNC_HOOK_NO_GRADIENT) {
            cr_assert_eq(crew.decision.scope, GRADSYNC_HOOK_NONE);
            longest = crew.decision.since > longest ? crew.decision.since : longest;
        }
    }
    cr_assert_gt(longest, 48);
    cr_assert_leq(longest, 64);
    crew_fini(&crew);
}

/* NAN on one rank of four is not NAN on all: known by three is neither. */
Test(hook, a_signal_that_is_no_number_on_one_rank_makes_all_average_by_what_is_safest)
{
    double bad[] = {(double)NAN, (double)INFINITY};
    for (int i = 0; i < 2; i++) {
        hook_crew crew = local_crew();
        crew.signals[1].loss = bad[i];
        decide(&crew);
        cr_assert_eq(crew.decision.reason, GRADSYNC_HOOK_NOT_A_NUMBER);
        cr_assert_eq(crew.decision.scope, GRADSYNC_HOOK_ALL);
        cr_assert_eq(crew.decision.rung, GRADSYNC_HOOK_DENSE);
        cr_assert_eq(crew.decision.look_in, 1);
        crew.signals[1].loss = crew.signals[0].loss;
        decide(&crew);
        cr_assert_eq(crew.decision.reason, GRADSYNC_HOOK_EVERY_STEP);
        crew_fini(&crew);
    }
}

/* Timing alone: no rank knows a gradient, and periods follow from what is assumed of them. */
Test(hook, signals_that_no_rank_knows_are_no_fault)
{
    hook_crew crew = made(gradsync_hook_defaults(0, 4));
    CREW_ALL(&crew, step_s, 0.1);
    CREW_ALL(&crew, sync_s, 2.0);
    until_rung(&crew, GRADSYNC_HOOK_LOCAL);
    cr_assert_float_eq(crew.decision.change, 0.03, 1e-12);
    cr_assert_float_eq(crew.decision.disagreement, 1.5, 1e-12); /* half noise: (4 - 1) / 2 */
    crew_fini(&crew);
}

/* What cannot be: a sum of squares below that of the mean, negative, a largest time above all of
 * them together, no phase. */
Test(hook, values_that_no_honest_ranks_have_are_not_learned_from)
{
    struct {
        int sum, maximum;
        double value;
    } lies[] = {{0, -1, 3.9},  {0, -1, -1.0}, {3, -1, -0.4}, {-1, 0, 0.41},
                {-1, 0, 0.09}, {-1, 1, 1.5},  {-1, 2, 4.0},  {-1, 4, 5.0}};
    for (size_t lie = 0; lie < sizeof lies / sizeof *lies; lie++) {
        hook_crew crew = made(gradsync_hook_defaults(0, 4));
        train(&crew, 0.5, 0.0001);
        for (int i = 0; i < 4; i++) {
            decide(&crew);
        }
        gradsync_hook_values told = crew.agreed;
        gradsync_hook_decision before = crew.decision, after;
        if (lies[lie].sum >= 0) {
            told.sums[lies[lie].sum] = lies[lie].value;
        } else {
            told.maxima[lies[lie].maximum] = lies[lie].value;
        }
        gradsync_hook_decide(crew.hooks[0], &told, &after);
        cr_assert_eq(after.reason, GRADSYNC_HOOK_IMPOSSIBLE, "lie %zu: %s", lie,
                     gradsync_hook_reason_text(after.reason));
        cr_assert_eq(after.scope, GRADSYNC_HOOK_ALL);
        cr_assert_eq(after.step_s, before.step_s);
        cr_assert_eq(after.change, before.change);
        crew_fini(&crew);
    }
}

/* Rank 2 takes 0.5 s and the others 0.1: 0.2 on average, so that they wait for 0.3. */
static hook_crew with_slow_rank(uint32_t offered)
{
    gradsync_hook_config config = gradsync_hook_defaults(0, 4);
    config.offered = offered;
    hook_crew crew = made(config);
    train(&crew, 0.5, 0.301);
    crew.signals[2].step_s = 0.5;
    for (int i = 0; i < 8; i++) {
        decide(&crew);
    }
    return crew;
}

Test(hook, a_late_rank_is_paused_or_no_longer_waited_for)
{
    hook_crew crew = with_slow_rank(BIT(DENSE) | BIT(PAUSE));
    cr_assert_eq(crew.decision.rung, GRADSYNC_HOOK_PAUSE);
    cr_assert_eq(crew.decision.scope, GRADSYNC_HOOK_SUBSET);
    cr_assert_eq(crew.decision.paused_rank, 2);
    cr_assert_float_eq(crew.decision.wait_s, 0.3, 1e-9);
    crew_fini(&crew);
    crew = with_slow_rank(BIT(DENSE) | BIT(ASYNC));
    cr_assert_eq(crew.decision.rung, GRADSYNC_HOOK_ASYNC);
    cr_assert_eq(crew.decision.scope, GRADSYNC_HOOK_NONE);
    crew.signals[2].step_s = 0.1; /* it has recovered */
    until_rung(&crew, GRADSYNC_HOOK_DENSE);
    crew_fini(&crew);
}

Test(hook, a_ladder_of_one_rung_stays_there)
{
    for (int32_t rung = 0; rung < GRADSYNC_HOOK_RUNGS; rung++) {
        gradsync_hook_config config = gradsync_hook_defaults(0, 4);
        config.offered = 1U << rung;
        config.node_ranks = 2;
        hook_crew crew = made(config);
        train(&crew, 0.5, 2.0);
        for (int i = 0; i < 20; i++) {
            decide(&crew);
            cr_assert_eq(crew.decision.rung, rung);
            crew.signals[i % 4].loss = i % 3 == 0 ? (double)NAN : crew.signals[0].loss;
        }
        crew_fini(&crew);
    }
}

Test(hook, compression_is_taken_where_its_share_of_the_bytes_saves_more_than_the_margin)
{
    gradsync_hook_config config = gradsync_hook_defaults(0, 4);
    config.offered = BIT(DENSE) | BIT(COMPRESSED);
    hook_crew crew = made(config);
    train(&crew, 0.5, 0.1);
    until_rung(&crew, GRADSYNC_HOOK_COMPRESSED);
    CREW_ALL(&crew, residual_sq, 10000.0); /* 100 gradients held back: 1 / (1 + 0.03 100) */
    until_rung(&crew, GRADSYNC_HOOK_DENSE);
    crew_fini(&crew);
}

Test(hook, nodes_average_more_often_than_all)
{
    gradsync_hook_config config = gradsync_hook_defaults(0, 8);
    config.offered = BIT(LOCAL_NODES);
    config.node_ranks = 4;
    config.change = 0.1;
    hook_crew crew = made(config);
    int scopes[4] = {0};
    CREW_ALL(&crew, step_s, 0.1);
    for (int i = 0; i < 500; i++) {
        double cost_s = crew.decision.scope == GRADSYNC_HOOK_ALL    ? 2.0
                        : crew.decision.scope == GRADSYNC_HOOK_NODE ? 0.01
                                                                    : (double)NAN;
        CREW_ALL(&crew, sync_s, cost_s);
        if (crew_step(&crew)) {
            scopes[crew.decision.scope]++;
        } else {
            crew.decision.scope = GRADSYNC_HOOK_NONE;
        }
    }
    cr_assert_gt(scopes[GRADSYNC_HOOK_ALL], 5);
    cr_assert_gt(scopes[GRADSYNC_HOOK_NODE], 5 * scopes[GRADSYNC_HOOK_ALL],
                 "%d of nodes, %d of all", scopes[GRADSYNC_HOOK_NODE], scopes[GRADSYNC_HOOK_ALL]);
    crew_fini(&crew);
}

Test(hook, a_checkpoint_goes_on_where_it_was_taken)
{
    gradsync_hook_config config = gradsync_hook_defaults(0, 4);
    size_t bytes = gradsync_hook_bytes();
    const char *why;
    hook_crew crew = local_crew();
    double *kept = malloc(bytes);
    memcpy(kept, crew.hooks[0], bytes);
    gradsync_hook *again = gradsync_hook_restore(kept, bytes, &config, &why);
    cr_assert_not_null(again);
    for (int i = 0; i < 200; i++) {
        gradsync_hook_values values;
        gradsync_hook_decision decision;
        bool due = gradsync_hook_step(again, &crew.signals[0], &values);
        cr_assert_eq(crew_step(&crew), due);
        if (due) {
            gradsync_hook_decide(again, &crew.agreed, &decision);
            cr_assert_eq(memcmp(&decision, &crew.decision, sizeof decision), 0);
        }
    }
    cr_assert_eq(memcmp(again, crew.hooks[0], bytes), 0);
    config.period_max = 32;
    cr_assert_null(gradsync_hook_restore(kept, bytes, &config, &why));
    cr_assert(strstr(why, "config") == why);
    config.period_max = 64;
    kept[0] = 1.0;
    cr_assert_null(gradsync_hook_restore(kept, bytes, &config, &why));
    cr_assert(strstr(why, "memory") == why);
    free(kept);
    crew_fini(&crew);
}

#define REFUSED(member, value, words)                                                              \
    do {                                                                                           \
        gradsync_hook_config config = gradsync_hook_defaults(0, 4);                                \
        const char *why = NULL;                                                                    \
        double room[256];                                                                          \
        config.member = (value);                                                                   \
        cr_assert_null(gradsync_hook_create(room, sizeof room, &config, &why));                    \
        cr_assert_not_null(strstr(why, words), "%s", why);                                         \
    } while (0)

Test(hook, a_configuration_that_makes_no_sense_is_refused_with_what_is_allowed)
{
    REFUSED(struct_bytes, 8, "struct_bytes");
    REFUSED(ranks, 0, "ranks");
    REFUSED(ranks, 65536, "ranks");
    REFUSED(rank, 4, "rank");
    REFUSED(node_ranks, 3, "node_ranks");
    REFUSED(offered, 0, "offered");
    REFUSED(offered, 1U << GRADSYNC_HOOK_RUNGS, "offered");
    REFUSED(offered, BIT(LOCAL_NODES), "node_ranks of 2");
    REFUSED(period_max, 0, "period_max");
    REFUSED(look_steps, 0, "look_steps");
    REFUSED(dwell, 0, "dwell");
    REFUSED(warm_up_steps, -1, "warm_up_steps");
    REFUSED(margin, -0.1, "margin");
    REFUSED(margin, (double)NAN, "margin");
    REFUSED(codec_share, 0.0, "codec_share");
    REFUSED(staleness_max, -1.0, "staleness_max");
    REFUSED(change, 0.0, "change");
    gradsync_hook_config config = gradsync_hook_defaults(0, 4);
    const char *why = NULL;
    double room[1];
    cr_assert_null(gradsync_hook_create(room, sizeof room, &config, &why));
    cr_assert_not_null(strstr(why, "gradsync_hook_bytes"));
}

/* ---------------------------------------------------------------- at random */

static double draw(uint64_t run, uint64_t step, uint32_t index)
{
    return gs_rng_uniform((gs_rng_key){run, GS_RNG_STRATEGY, 0}, step, index);
}

static double any_number(uint64_t run, uint64_t step, uint32_t index)
{
    double u = draw(run, step, index);
    double odd[] = {(double)NAN, (double)INFINITY, -1.0, 0.0, 1e300, -(double)INFINITY};
    return u < 0.01 ? odd[(int)(u * 600.0)] : exp(20.0 * u - 10.0);
}

static gradsync_hook_config any_config(uint64_t run)
{
    gradsync_hook_config config = gradsync_hook_defaults(0, 1 + (uint32_t)(draw(run, 0, 0) * 16.0));
    config.node_ranks = config.ranks % 2 == 0 ? 2 : 0;
    config.offered = 1 + (uint32_t)(draw(run, 0, 1) * 127.0);
    if (config.node_ranks == 0) {
        config.offered = (config.offered & ~BIT(LOCAL_NODES)) | BIT(LOCAL);
    }
    config.period_max = 1 + (int64_t)(draw(run, 0, 2) * 100.0);
    config.look_steps = 1 + (int64_t)(draw(run, 0, 3) * 20.0);
    config.dwell = 1 + (int64_t)(draw(run, 0, 4) * 4.0);
    return config;
}

/* crew_step asserts that all decide in the same steps and the same, whatever each has seen. */
Test(hook, in_a_thousand_random_runs_no_rank_decides_alone)
{
    int64_t decisions = 0, faults = 0;
    for (uint64_t run = 0; run < 1000; run++) {
        gradsync_hook_config config = any_config(run);
        hook_crew crew = made(config);
        int64_t since = 0;
        for (uint64_t step = 1; step < 200; step++) {
            for (uint32_t rank = 0; rank < crew.ranks; rank++) {
                double *signals = &crew.signals[rank].loss;
                for (uint32_t i = 0; i < 8; i++) {
                    signals[i] = any_number(run, step, rank * 8 + i);
                }
                crew.signals[rank].phase = (int32_t)(draw(run, step, 999) * 4.2);
            }
            since++;
            if (!crew_step(&crew)) {
                continue;
            }
            gradsync_hook_decision *now = &crew.decision;
            decisions++;
            faults += now->reason >= GRADSYNC_HOOK_NOT_A_NUMBER ? 1 : 0;
            cr_assert((config.offered >> now->rung & 1U) == 1);
            cr_assert_geq(now->look_in, 1);
            bool is_local = now->from_rung == GRADSYNC_HOOK_LOCAL ||
                            now->from_rung == GRADSYNC_HOOK_LOCAL_NODES;
            cr_assert(!is_local || (now->since == since && since <= config.period_max));
            if (now->scope >= GRADSYNC_HOOK_SUBSET) {
                since = 0;
            }
        }
        crew_fini(&crew);
    }
    cr_assert_gt(decisions, 30000);
    cr_assert_gt(faults, 1000);
    cr_assert_lt(faults, decisions);
}
