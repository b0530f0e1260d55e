/* The verdicts of what works with what, each on the smallest layout that brings it about. */
#include <criterion/criterion.h>

#include "strategies/registry.h"
#include "traces/compose.h"

#include <string.h>

static const int64_t units[] = {600, 400};
static const gs_job job = {.ranks = 4,
                           .servers = 1,
                           .elements = 1000,
                           .element_bytes = 4,
                           .unit_count = 2,
                           .unit_elements = units,
                           .accumulation = 1};

static gs_error err;

static gs_fit fit_of(const gs_layout *layout, const char *codec, const gs_optimizer_config *chosen)
{
    gs_strategy strategy = {.name = "mine"};
    gs_coding coding = {.codec = codec == NULL ? NULL : gs_codec_find(codec)};
    if (codec != NULL) {
        gs_config_defaults(coding.codec->config, &coding.config);
    }
    err = (gs_error){0};
    gs_composition parts = {.strategy = &strategy,
                            .job = &job,
                            .layout = layout,
                            .coding = &coding,
                            .optimizer = chosen};
    return gs_compose(&parts, &err);
}

static const gs_layout plain = {.communicator_count = 1};
static const gs_layout coded = {.communicator_count = 1, .communicators[0] = {.coded = true}};
static const gs_layout sends = {.sends_coded = true};
static const gs_layout neighbours = {.sends_coded = true, .no_residual = true};

Test(compose, without_codec_and_optimizer_everything_fits)
{
    cr_expect_eq(fit_of(&plain, NULL, NULL), GS_FIT_YES);
    cr_expect_eq(fit_of(&neighbours, NULL, NULL), GS_FIT_YES);
    cr_expect_str_eq(err.text, "");
}

Test(compose, a_codec_needs_something_that_carries_it)
{
    cr_expect_eq(fit_of(&plain, "fp16", NULL), GS_FIT_NO_CODEC);
    cr_expect_eq(err.code, GS_EINVAL);
    cr_expect_str_eq(err.text, "mine carries no codec: what it sends must arrive as it is; remove "
                               "+fp16, or use allreduce+fp16 (`gradsync show matrix` has all that "
                               "work)");
    cr_expect_eq(fit_of(&coded, "fp16", NULL), GS_FIT_YES);
    cr_expect_eq(fit_of(&sends, "fp16", NULL), GS_FIT_YES);
    cr_expect(gs_layout_is_coded(&sends) && !gs_layout_is_coded(&plain));
}

Test(compose, sums_need_all_ranks_and_residuals_one_peer)
{
    cr_expect_eq(fit_of(&coded, "powersgd", NULL), GS_FIT_YES);
    cr_expect_eq(fit_of(&sends, "powersgd", NULL), GS_FIT_LOW_RANK);
    cr_expect_eq(fit_of(&sends, "topk", NULL), GS_FIT_YES);
    cr_expect_eq(fit_of(&neighbours, "topk", NULL), GS_FIT_RESIDUAL);
    cr_expect_eq(fit_of(&neighbours, "dgc", NULL), GS_FIT_RESIDUAL, "its memory is no residual");
    cr_expect_eq(fit_of(&neighbours, "fp16", NULL), GS_FIT_YES);
}

/* By default `sign` votes: all that comes out is 1 or -1. */
Test(compose, votes_are_for_gradients)
{
    gs_layout weights = {.communicator_count = 1,
                         .communicators = {{.coded = true}},
                         .buckets = {INT64_MAX, INT64_MAX}};
    cr_expect_eq(fit_of(&coded, "sign", NULL), GS_FIT_YES);
    cr_expect_eq(fit_of(&weights, "sign", NULL), GS_FIT_VOTE);
    cr_expect_str_eq(err.text,
                     "mine sends weights or how far they went, and a vote of sign says no "
                     "length: each weight would move by 1; use +sign:scale=mean");
    cr_expect_eq(fit_of(&weights, "ef_sign", NULL), GS_FIT_YES);
}

Test(compose, the_momentum_of_dgc_takes_the_place_of_that_of_sgd)
{
    gs_layout models = coded;
    models.buckets.cap_bytes = INT64_MAX; /* they travel, and no gradient does */
    gs_optimizer_config sgd = {.kind = GS_SGD, .rate = 0.1, .momentum = 0.5, .loss_scale = 1.0};
    cr_expect_eq(fit_of(&coded, "dgc", &sgd), GS_FIT_YES);
    cr_expect_eq(fit_of(&models, "dgc", &sgd), GS_FIT_MOMENTUM);
    cr_expect(strstr(err.text, "workload.optimizer.momentum=0.5") != NULL, "%s", err.text);
    cr_expect_eq(fit_of(&models, "topk", &sgd), GS_FIT_YES);
    cr_expect_eq(fit_of(&coded, "dgc", NULL), GS_FIT_YES, "gradients have no numbers");
    sgd.nesterov = true;
    cr_expect_eq(fit_of(&coded, "dgc", &sgd), GS_FIT_MOMENTUM);
    cr_expect(strstr(err.text, "sgd with nesterov") != NULL, "%s", err.text);
    sgd.momentum = 0.0;
    cr_expect_eq(fit_of(&coded, "dgc", &sgd), GS_FIT_YES, "there is nothing to look ahead with");
    cr_expect_eq(fit_of(&models, "dgc", &sgd), GS_FIT_YES);
}

Test(compose, an_optimizer_keeps_what_no_codec_takes)
{
    gs_optimizer_config sgd = {.kind = GS_SGD, .rate = 0.1, .momentum = 0.5, .loss_scale = 1.0};
    gs_coding coding = {.codec = gs_codec_find("dgc")};
    gs_config_defaults(coding.codec->config, &coding.config);
    coding.momentum = gs_compose_momentum(&coding, &sgd);
    cr_expect_eq(coding.momentum, 0.5);
    cr_expect_eq(gs_compose_rest(&coding, &sgd).momentum, 0.0);
    coding.config.momentum = 0.0;
    coding.momentum = gs_compose_momentum(&coding, &sgd);
    cr_expect_eq(coding.momentum, 0.0);
    cr_expect_eq(gs_compose_rest(&coding, &sgd).momentum, 0.5);
    coding = (gs_coding){.codec = gs_codec_find("topk"), .config.momentum = 0.7};
    cr_expect_eq(gs_compose_momentum(&coding, &sgd), 0.0);
}

Test(compose, optimizers_that_look_at_the_whole_gradient_need_all_of_it)
{
    gs_optimizer_config clip = {.kind = GS_SGD, .rate = 0.1, .clip = 2.5, .loss_scale = 1.0};
    gs_optimizer_config dynamic = {
        .kind = GS_SGD, .rate = 0.1, .loss_scale = GS_LOSS_SCALE_DYNAMIC};
    gs_layout shards = {.servers = 2, .applies_slices = true};
    gs_layout server = {.servers = 1};
    gs_layout parts = {.applies_slices = true};
    cr_expect_eq(fit_of(&shards, NULL, &clip), GS_FIT_WHOLE);
    cr_expect(strstr(err.text, "servers=1") != NULL, "%s", err.text);
    cr_expect_eq(err.code, GS_EUNSUPPORTED);
    cr_expect_eq(fit_of(&parts, NULL, &clip), GS_FIT_SLICES);
    cr_expect(strstr(err.text, "is updated before all of it is there") != NULL, "%s", err.text);
    cr_expect(strstr(err.text, "servers=1") == NULL, "%s", err.text);
    cr_expect_eq(fit_of(&parts, NULL, &dynamic), GS_FIT_SLICES);
    parts.optimizer_shards = 4;
    cr_expect_eq(fit_of(&parts, NULL, &clip), GS_FIT_SLICES);
    cr_expect(strstr(err.text, "each rank has a share of it") != NULL, "%s", err.text);
    cr_expect_eq(fit_of(&server, NULL, &clip), GS_FIT_YES);
    cr_expect_eq(fit_of(&server, NULL, &dynamic), GS_FIT_LOSS_SCALE);
    cr_expect_eq(fit_of(&plain, NULL, &dynamic), GS_FIT_YES);
}

Test(compose, messages_need_a_hook)
{
    gs_layout talks = {.point_to_point = true};
    cr_expect_eq(fit_of(&talks, NULL, NULL), GS_FIT_NO_MESSAGES);
    cr_expect_str_eq(err.text, "mine sends messages and has no hook for those that come");
}

Test(compose, every_verdict_has_a_word_and_a_sentence)
{
    for (int fit = 0; fit < GS_FIT_COUNT; fit++) {
        cr_expect_gt(strlen(gs_fit_key((gs_fit)fit)), 0);
        cr_expect_eq(strlen(gs_fit_reason((gs_fit)fit)) > 0, fit != GS_FIT_YES);
        for (int other = 0; other < fit; other++) {
            cr_expect_str_neq(gs_fit_key((gs_fit)fit), gs_fit_key((gs_fit)other));
        }
    }
}

/* What a plug-in may declare, and hosts index by: 9 communicators are one too many, 3 does not
 * divide 4 ranks, and cuts are 0 and 1. */
Test(compose, a_layout_that_cannot_be_is_refused)
{
    gs_layout many = {.communicator_count = GS_COMMUNICATORS_MAX + 1};
    cr_expect_eq(fit_of(&many, NULL, NULL), GS_FIT_LAYOUT);
    cr_expect_not_null(strstr(err.text, "communicator_count=9 (0..8)"), "%s", err.text);
    gs_layout cut = {.cut = (gs_cut)9};
    cr_expect_eq(fit_of(&cut, NULL, NULL), GS_FIT_LAYOUT);
    gs_layout samples = {.samples_max = -1};
    cr_expect_eq(fit_of(&samples, NULL, NULL), GS_FIT_LAYOUT);
    gs_layout threes = {.communicator_count = 1, .communicators[0] = {.group = {3, 1}}};
    cr_expect_eq(fit_of(&threes, NULL, NULL), GS_FIT_LAYOUT);
    cr_expect_str_eq(err.text,
                     "mine: communicator 0: groups of 3 ranks, 1 apart, do not divide 4 ranks");
    gs_layout pairs = {.communicator_count = 1, .communicators[0] = {.group = {2, 2}}};
    cr_expect_eq(fit_of(&pairs, NULL, NULL), GS_FIT_YES);
}

Test(compose, an_algorithm_must_be_an_all_reduce_there_is)
{
    gs_layout none = {.communicator_count = 1, .communicators[0] = {.all_reduce = "zigzag"}};
    cr_expect_eq(fit_of(&none, NULL, NULL), GS_FIT_LAYOUT);
    cr_expect_not_null(strstr(err.text, "\"zigzag\" is no all-reduce"), "%s", err.text);
    gs_layout other = {.communicator_count = 1,
                       .communicators[0] = {.all_reduce = "ring_all_gather"}};
    cr_expect_eq(fit_of(&other, NULL, NULL), GS_FIT_LAYOUT);
    gs_layout ring = {.communicator_count = 1, .communicators[0] = {.all_reduce = "ring"}};
    cr_expect_eq(fit_of(&ring, NULL, NULL), GS_FIT_YES);
}
