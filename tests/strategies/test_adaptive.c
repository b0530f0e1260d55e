/* Adaptive strategies by hand: numbers go in as the host would tell them, and what is asked for
 * comes out. */
#include <criterion/criterion.h>

#include "strategies/lag_rule.h"
#include "strategies/norm_trend.h"
#include "strategies/registry.h"
#include "strategies/world.h"
#include "tests/strategies/probe_host.h"

#include <math.h>
#include <string.h>

static const gs_peer self = {GS_WORKER, 0};
static const gs_peer other = {GS_WORKER, 1};
static probe_host host;

static void setup(void)
{
    probe_host_init(&host);
}

static void teardown(void)
{
    probe_host_fini(&host);
}

TestSuite(adaptive, .init = setup, .fini = teardown);

typedef struct setting {
    const char *key, *value;
} setting;

/* Rank 0 of two, with that strategy; a setting without a key ends the list. */
static void make(const char *name, const setting *settings)
{
    const gs_strategy *strategy = gs_strategy_find(name);
    void *config = gs_arena_take(&host.arena, 1, strategy->config->struct_bytes);
    gs_error err;
    gs_config_defaults(strategy->config, config);
    for (int i = 0; settings[i].key != NULL; i++) {
        cr_assert_eq(
            gs_config_set_text(strategy->config, config, settings[i].key, settings[i].value, &err),
            GS_OK, "%s", err.text);
    }
    cr_assert_eq(strategy->layout(config, &host.job, &host.layout, &err), GS_OK, "%s", err.text);
    host.strategy = *strategy;
    host.strategy_config = config;
    probe_host_make(&host, self);
}

static void expect_peace(void)
{
    cr_assert_eq(host.failures, 0, "%s", host.error.text);
}

/* The first request of a communicator goes round the ring of two: a part comes, its sum comes. */
static void reduce(uint32_t communicator)
{
    uint32_t inbox = gs_driver_inbox(host.driver, communicator, 0, 1);
    gs_driver_part(host.driver, 0, inbox);
    gs_driver_part(host.driver, 0, inbox);
    probe_host_sent(&host);
    expect_peace();
}

/* ---------------------------------------------------------------- trends */

Test(adaptive, a_change_is_relative_to_what_was)
{
    cr_expect_eq(gs_relative_change(2.0, 3.0), 0.5);
    cr_expect_eq(gs_relative_change(4.0, 1.0), 0.75);
    cr_expect_eq(gs_relative_change(0.0, 0.0), 0.0);
    cr_expect_eq(gs_relative_change(0.0, 1e-30), (double)INFINITY);
    cr_expect(isnan(gs_relative_change((double)NAN, 1.0)));
    cr_expect(isnan(gs_relative_change(1.0, (double)NAN)));
}

/* Norms 1, 2, 4, 8 over 3: (2 + .99 + 0) is not full; full are
 * (4 + .99 2 + .9801 1) / 2.9701 = 2.343389... and (8 + .99 4 + .9801 2) / 2.9701 = 4.686777...,
 * twice as much: change 1. */
Test(adaptive, a_trend_is_the_mean_of_a_window_in_which_older_norms_weigh_less)
{
    gs_norm_trend trend = {.count = 0};
    cr_expect_eq(gs_norm_trend_add(&trend, 3, 0.99, 1.0), (double)INFINITY);
    cr_expect_eq(gs_norm_trend_add(&trend, 3, 0.99, 4.0), (double)INFINITY);
    cr_expect_float_eq(trend.smoothed, 2.99 / 1.99, 1e-12);
    cr_expect_eq(gs_norm_trend_add(&trend, 3, 0.99, 16.0), (double)INFINITY);
    cr_expect_float_eq(trend.smoothed, 6.9601 / 2.9701, 1e-12);
    cr_expect_float_eq(gs_norm_trend_add(&trend, 3, 0.99, 64.0), 1.0, 1e-12);
}

/* ---------------------------------------------------------------- selsync */

/* A step of this rank whose gradient has that square; the other rank's change is `theirs`. Returns
 * how many parts are sent. */
static int selsync_step(double square, double theirs, uint64_t step)
{
    int before = host.parts_sent;
    host.product = square;
    probe_host_backward(&host);
    probe_host_sent(&host); /* the sum of products */
    probe_host_voice(&host, other, 0, GS_AGREE_MAX, (double[]){theirs, 0.0, 0.0}, step);
    expect_peace();
    int parts = host.parts_sent - before;
    if (parts > 0) {
        reduce(0);
    }
    return parts;
}

/* Window 1, so that norms are as they are: 2, 3, 4, 4, 4. The first has none before it. */
Test(adaptive, selsync_averages_where_any_rank_changes_as_much_as_the_threshold)
{
    make("selsync", (setting[]){{"window", "1"}, {"threshold", "0.5"}, {NULL, NULL}});
    cr_expect_gt(selsync_step(4.0, 0.0, 0), 0);  /* nothing before: warm-up */
    cr_expect_gt(selsync_step(9.0, 0.0, 1), 0);  /* |3 - 2| / 2 = .5 */
    cr_expect_eq(selsync_step(16.0, 0.4, 2), 0); /* 1 / 3 and .4 */
    cr_expect_gt(selsync_step(16.0, 0.6, 3), 0); /* 0 and .6 */
    cr_expect_eq(selsync_step(16.0, 0.0, 4), 0);
    cr_expect_eq(host.steps_ended, 5);
    cr_expect_eq(host.applied, 5 * PROBE_ELEMENTS); /* each step, averaged or not */
    /* The models are apart: the end averages once more, and then it is drained. */
    probe_host_quiesce(&host);
    cr_expect_eq(host.drained, 0);
    reduce(0);
    cr_expect_eq(host.drained, 1);
}

/* Of a gradient that is averaged the optimizer sees the mean: it comes after the sum. */
Test(adaptive, selsync_of_gradients_steps_once_by_the_mean_or_by_its_own)
{
    make("selsync",
         (setting[]){
             {"window", "1"}, {"threshold", "0.5"}, {"aggregate", "gradients"}, {NULL, NULL}});
    host.product = 4.0;
    probe_host_backward(&host);
    probe_host_sent(&host);
    cr_expect_eq(host.applied, 0);
    probe_host_voice(&host, other, 0, GS_AGREE_MAX, (double[]){0.0, 0.0, 0.0}, 0);
    cr_expect_eq(host.applied, 0);
    reduce(0);
    cr_expect_eq(host.applied, PROBE_ELEMENTS);
    cr_expect_eq(selsync_step(4.0, 0.0, 1), 0);
    cr_expect_eq(host.applied, 2 * PROBE_ELEMENTS);
}

Test(adaptive, selsync_averages_every_step_whose_norm_nobody_knows)
{
    make("selsync", (setting[]){{"window", "1"}, {"threshold", "0.5"}, {NULL, NULL}});
    for (uint64_t step = 0; step < 3; step++) {
        cr_expect_gt(selsync_step((double)NAN, (double)NAN, step), 0);
    }
    probe_host_quiesce(&host);
    cr_expect_eq(host.drained, 1);
}

/* ---------------------------------------------------------------- event_triggered */

/* The other rank's note of a step: it sends nothing. */
static void nothing_new(int64_t step)
{
    gs_message note = {.from = other, .tag = 0, .is_note = true, .meta = {step, 0}};
    gs_driver_message(host.driver, 0, &note);
    expect_peace();
}

/* Both squares, of how far the model has moved and of its length, are 1 here, so that it is news
 * where 1 > (threshold / (1 + decay t))^2: not in step 0, and from step 1 on. */
Test(adaptive, event_triggered_sends_what_has_moved_by_more_than_the_threshold)
{
    make("event_triggered", (setting[]){{"threshold", "1"}, {"decay", "1"}, {NULL, NULL}});
    host.product = 1.0;
    probe_host_backward(&host);
    probe_host_sent(&host);
    cr_expect_eq(host.notes_sent, 0); /* the length has not come */
    probe_host_sent(&host);
    cr_expect_eq(host.notes_sent, 1);
    cr_expect_eq(host.last_note.meta[1], 0);
    cr_expect_eq(host.slot_count, 0);
    nothing_new(0);
    cr_expect_eq(host.steps_ended, 1);

    nothing_new(1); /* a step ahead */
    probe_host_backward(&host);
    probe_host_sent(&host);
    probe_host_sent(&host);
    cr_expect_eq(host.notes_sent, 2);
    cr_expect_eq(host.last_note.meta[0], 1);
    cr_expect_eq(host.last_note.meta[1], 1);
    cr_expect_eq(host.slot_count, 1, "the model is on its way");
    cr_expect_eq(host.steps_ended, 1, "what it lends is not free");
    probe_host_sent(&host);
    cr_expect_eq(host.steps_ended, 2);
}

Test(adaptive, event_triggered_waits_for_a_model_that_was_announced)
{
    make("event_triggered", (setting[]){{"threshold", "1"}, {NULL, NULL}});
    host.product = 1.0;
    gs_message note = {.from = other, .tag = 0, .is_note = true, .meta = {0, 1}};
    gs_driver_message(host.driver, 0, &note);
    probe_host_backward(&host);
    probe_host_sent(&host);
    probe_host_sent(&host);
    cr_expect_eq(host.steps_ended, 0);
    probe_host_message(&host, other, 1, PROBE_ELEMENTS);
    expect_peace();
    cr_expect_eq(host.steps_ended, 1);
}

/* ---------------------------------------------------------------- accordion */

/* A step of three buckets on that communicator; where a look follows, that is the square of the
 * norm of each. */
static void accordion_step(uint32_t communicator, bool looks, double square)
{
    int before = host.issued[communicator];
    int64_t applied = host.applied;
    host.product = square;
    probe_host_backward(&host);
    cr_expect_eq(host.issued[communicator] - before, 3);
    for (int i = 0; i < 3; i++) {
        reduce(communicator);
    }
    cr_expect_eq(host.slot_count, looks ? 3 : 0);
    for (int i = 0; looks && i < 3; i++) {
        cr_expect_eq(host.applied, applied, "the step waits for the look");
        probe_host_sent(&host);
    }
    expect_peace();
    cr_expect_eq(host.applied, applied + PROBE_ELEMENTS);
}

/* Looks after the steps 2, 4, ..., for the first one does not count: norms 2, 4, 5, 5.5, 2.75. */
Test(adaptive, accordion_compresses_a_bucket_that_changed_by_less_than_the_threshold)
{
    enum { DENSE, CODED };
    make("accordion", (setting[]){{"bucket", "1B"},
                                  {"first_bucket", "1B"},
                                  {"interval", "2"},
                                  {"threshold", "0.5"},
                                  {NULL, NULL}});
    accordion_step(DENSE, false, 0.0); /* buckets may be others after it */
    accordion_step(DENSE, false, 0.0);
    accordion_step(DENSE, true, 4.0); /* one norm makes no change */
    accordion_step(DENSE, false, 0.0);
    accordion_step(DENSE, true, 16.0); /* (4 - 2) / 2 = 1 */
    accordion_step(DENSE, false, 0.0);
    accordion_step(DENSE, true, 25.0); /* 1 / 4: calm */
    accordion_step(CODED, false, 0.0);
    accordion_step(CODED, true, 30.25); /* .5 / 5 */
    accordion_step(CODED, false, 0.0);
    accordion_step(CODED, true, 7.5625); /* 2.75 / 5.5 = .5: not below it */
    accordion_step(DENSE, false, 0.0);
}

/* ---------------------------------------------------------------- gravac */

/* A window of two steps on that communicator, of which the second is measured: this rank's squares
 * are 1 and 1, the other's that and 1. */
static void gravac_window(uint32_t communicator, double theirs)
{
    int before = host.issued[communicator];
    host.product = 1.0;
    probe_host_backward(&host);
    cr_expect_eq(host.slot_count, 0);
    reduce(communicator);
    int64_t applied = host.applied;
    probe_host_backward(&host);
    probe_host_sent(&host);
    probe_host_sent(&host);
    reduce(communicator);
    cr_expect_eq(host.issued[communicator] - before, 2);
    cr_expect_eq(host.applied, applied, "the step waits for the agreement");
    probe_host_voice(&host, other, 0, GS_AGREE_SUM, (double[]){theirs, 1.0, 0.0},
                     UINT64_C(3) << 32);
    expect_peace();
    cr_expect_eq(host.applied, applied + PROBE_ELEMENTS);
}

/* Gains (1 + .3) / 2 = .65, .75, .7, .65. */
Test(adaptive, gravac_compresses_while_the_gain_is_at_least_the_threshold)
{
    enum { DENSE, CODED };
    make("gravac",
         (setting[]){{"window", "2"}, {"looks", "1"}, {"threshold", "0.7"}, {NULL, NULL}});
    gravac_window(DENSE, 0.3);
    gravac_window(DENSE, 0.5);
    gravac_window(CODED, 0.4);
    gravac_window(CODED, 0.3);
    gravac_window(DENSE, 0.3);
}

/* ---------------------------------------------------------------- lag */

Test(adaptive, lag_holds_a_change_against_the_last_steps)
{
    gs_lag_rule rule = {.count = 0};
    cr_expect(gs_lag_is_news(&rule, 0.5, 1e-30), "nothing has been sent");
    cr_expect(!gs_lag_is_news(&rule, 0.5, 0.0));
    gs_lag_step(&rule, 2, 100.0);
    gs_lag_step(&rule, 2, 4.0);
    gs_lag_step(&rule, 2, 2.0); /* the 100 is forgotten: .5 (4 + 2) = 3 */
    cr_expect(!gs_lag_is_news(&rule, 0.5, 3.0));
    cr_expect(gs_lag_is_news(&rule, 0.5, 3.125));
    cr_expect(gs_lag_is_news(&rule, 0.5, (double)NAN));
    gs_lag_step(&rule, 2, (double)NAN);
    cr_expect(gs_lag_is_news(&rule, 0.5, 0.0));
}

/* The weights of a step come, with the square of m. */
static void give_weights(double square)
{
    gs_message message = {.from = {GS_SERVER, 0}, .tag = 3, .length = PROBE_ELEMENTS};
    memcpy(message.meta, &square, sizeof square);
    message.data = &host;
    gs_driver_message(host.driver, 0, &message);
    expect_peace();
}

/* |g - l|^2 of the steps: 9, 9, 1, 3; the square of m is always 4, so that the threshold is
 * .5 (0), .5 4 = 2, .5 (4 + 4) = 4, 4. */
Test(adaptive, lag_sends_what_has_changed_by_more_than_steps_go)
{
    static const double changes[] = {9.0, 9.0, 1.0, 4.25};
    static const bool sends[] = {true, true, false, true};
    make("lag", (setting[]){{"xi", "0.5"}, {"window", "2"}, {NULL, NULL}});
    for (int step = 0; step < 4; step++) {
        host.product = changes[step];
        probe_host_backward(&host);
        probe_host_sent(&host);
        cr_expect_eq(host.notes_sent, step + 1);
        cr_expect_eq(host.last_note.meta[0], sends[step], "step %d", step);
        cr_assert_eq(host.slot_count, sends[step] ? 1 : 0);
        give_weights(4.0);
        if (sends[step]) {
            cr_expect_eq(host.steps_ended, step, "what it lends is not free");
            probe_host_sent(&host);
        }
        cr_expect_eq(host.steps_ended, step + 1);
    }
}

/* How far weights have moved is asked for before the answer and after the step. */
Test(adaptive, lasg_sends_after_the_longest_time_in_any_case)
{
    static const bool sends[] = {true, false, false, true, false};
    make("lasg", (setting[]){{"xi", "1"}, {"longest", "2"}, {NULL, NULL}});
    for (int step = 0; step < 5; step++) {
        host.product = 4.0;
        probe_host_backward(&host);
        probe_host_sent(&host);
        cr_expect_eq(host.last_note.meta[0], sends[step], "step %d", step);
        if (sends[step]) {
            probe_host_sent(&host);
        }
        give_weights((double)NAN); /* which lasg does not look at */
        cr_expect_eq(host.steps_ended, step);
        probe_host_sent(&host);
        cr_expect_eq(host.steps_ended, step + 1);
    }
}

/* A server with the answers of two workers: the gradient of the second waits for that of the first,
 * and all get the weights once the square of the mean is there. */
Test(adaptive, lag_adds_gradients_in_rank_order)
{
    const gs_strategy *strategy = gs_strategy_find("lag");
    void *config = gs_arena_take(&host.arena, 1, strategy->config->struct_bytes);
    gs_error err;
    gs_config_defaults(strategy->config, config);
    cr_assert_eq(strategy->layout(config, &host.job, &host.layout, &err), GS_OK, "%s", err.text);
    host.strategy = *strategy;
    host.strategy_config = config;
    probe_host_make(&host, (gs_peer){GS_SERVER, 0});
    gs_message note = {.from = other, .tag = 0, .is_note = true, .meta = {1}};
    gs_driver_message(host.driver, 0, &note);
    probe_host_message(&host, other, 2, PROBE_ELEMENTS);
    cr_expect_eq(host.vecs, 0, "worker 0 has not answered");
    note.from = self;
    gs_driver_message(host.driver, 0, &note);
    probe_host_message(&host, self, 2, PROBE_ELEMENTS);
    cr_expect_eq(host.vecs, 1, "the second lies there and comes on a later turn");
    probe_host_sent(&host);
    cr_expect_eq(host.vecs, 2);
    cr_expect_eq(host.applied, PROBE_ELEMENTS);
    cr_expect_eq(host.slot_count, 1, "the square of the mean");
    probe_host_sent(&host);
    cr_expect_eq(host.slot_count, 2, "weights to both");
    expect_peace();
}
