#include "traces/compose.h"

#include "base/assert.h"
#include "strategies/group.h"
#include "strategies/registry.h"

static const struct {
    const char *key;
    const char *reason;
} fits[GS_FIT_COUNT] = {
    [GS_FIT_YES] = {"yes", ""},
    [GS_FIT_NO_CODEC] = {"carries_no_codec",
                         "carries no codec: what it sends must arrive as it is"},
    [GS_FIT_LOW_RANK] = {"sums_over_all_ranks",
                         "the codec sums over all ranks, and the strategy sends to one peer"},
    [GS_FIT_RESIDUAL] = {"keeps_a_residual",
                         "the codec keeps what did not get through, which has no meaning where "
                         "several peers get it; where it has the parameter, feedback=false"},
    [GS_FIT_VOTE] = {"votes",
                     "a vote is a direction without a length, and weights travel, not gradients: "
                     "each would move by 1; scale=mean"},
    [GS_FIT_PARAMETERS] = {"codec_parameters", "the codec's parameters do not fit the job"},
    [GS_FIT_MOMENTUM] = {"momentum_0",
                         "the codec's momentum takes the place of that of sgd over gradients; "
                         "elsewhere it works with momentum=0"},
    [GS_FIT_LOSS_SCALE] = {"loss_scale_number",
                           "takes a number: servers do not know with which scale a gradient was "
                           "made"},
    [GS_FIT_WHOLE] = {"whole_gradient",
                      "clip, lars and a dynamic loss_scale look at the whole gradient, and each "
                      "server has a shard of it; servers=1 where there is that parameter"},
    [GS_FIT_SLICES] = {"whole_gradient_at_once",
                       "clip, lars and a dynamic loss_scale look at the whole gradient, and parts "
                       "of the weights are updated before, or where, the rest of it is not there"},
    [GS_FIT_NO_MESSAGES] = {"no_message_hook", "has no hook for the messages that it asks for"},
    [GS_FIT_LAYOUT] = {"broken_layout", "declares what cannot be"},
};

const char *gs_fit_key(gs_fit fit)
{
    GS_ASSERT(fit < GS_FIT_COUNT);
    return fits[fit].key;
}

const char *gs_fit_reason(gs_fit fit)
{
    GS_ASSERT(fit < GS_FIT_COUNT);
    return fits[fit].reason;
}

bool gs_layout_is_coded(const gs_layout *layout)
{
    bool coded = layout->sends_coded;
    for (uint32_t i = 0; i < layout->communicator_count; i++) {
        coded = coded || layout->communicators[i].coded;
    }
    return coded;
}

/* Gradients are in no buckets then. */
static bool weights_travel(const gs_layout *layout)
{
    return layout->buckets.cap_bytes == INT64_MAX;
}

/* The most elements that one request of the layout can be about. */
static int64_t largest_slice(const gs_job *job, const gs_layout *layout)
{
    int64_t unit = 0;
    for (uint32_t i = 0; i < job->unit_count; i++) {
        unit = job->unit_elements[i] > unit ? job->unit_elements[i] : unit;
    }
    int64_t cap = layout->buckets.cap_bytes > layout->buckets.first_bytes
                      ? layout->buckets.cap_bytes
                      : layout->buckets.first_bytes;
    int64_t bucket = cap / job->element_bytes + unit;
    return bucket > 0 && bucket < job->elements ? bucket : job->elements;
}

static gs_fit check_travel(const gs_composition *parts, const gs_codec *codec, gs_error *err)
{
    const char *name = parts->strategy->name;
    if (!gs_layout_is_coded(parts->layout)) {
        gs_fail(err, GS_EINVAL,
                "%s carries no codec: what it sends must arrive as it is; remove +%s, or use "
                "allreduce+%s (`gradsync show matrix` has all that work)",
                name, codec->name, codec->name);
        return GS_FIT_NO_CODEC;
    }
    if (parts->layout->sends_coded && codec->travel == GS_TRAVEL_LOW_RANK) {
        gs_fail(err, GS_EINVAL,
                "%s sums matrices over all ranks, and %s sends to one peer; use topk or qsgd with "
                "it, or allreduce+%s",
                codec->name, name, codec->name);
        return GS_FIT_LOW_RANK;
    }
    if (parts->layout->no_residual && (parts->coding->config.feedback || codec->own_vectors > 0)) {
        gs_fail(err, GS_EINVAL,
                "%s sends to several neighbours, and %s would keep what did not get through to "
                "one of them; use choco+%s:feedback=false, which knows what all have",
                name, codec->name, codec->own_vectors == 0 ? codec->name : "topk");
        return GS_FIT_RESIDUAL;
    }
    if (weights_travel(parts->layout) && gs_codec_is_vote(codec, &parts->coding->config)) {
        gs_fail(err, GS_EINVAL,
                "%s sends weights or how far they went, and a vote of %s says no length: each "
                "weight would move by 1; use +%s:scale=mean",
                name, codec->name, codec->name);
        return GS_FIT_VOTE;
    }
    return GS_FIT_YES;
}

double gs_compose_momentum(const gs_coding *coding, const gs_optimizer_config *optimizer)
{
    if (coding->codec == NULL || !coding->codec->own_momentum) {
        return 0.0;
    }
    double own = coding->config.momentum;
    return own >= 0.0 ? own : optimizer->momentum;
}

gs_optimizer_config gs_compose_rest(const gs_coding *coding, const gs_optimizer_config *optimizer)
{
    gs_optimizer_config rest = *optimizer;
    rest.momentum = coding->momentum > 0.0 ? 0.0 : rest.momentum;
    return rest;
}

/* A momentum before compression is that of sgd only where each rank's gradients are what travels,
 * and where the update is linear in it. */
static gs_fit check_momentum(const gs_composition *parts, gs_error *err)
{
    static const char *const rules[] = {
        [GS_SGD] = "sgd", [GS_ADAM] = "adam", [GS_ADAMW] = "adamw", [GS_LARS] = "lars"};
    const gs_optimizer_config *optimizer = parts->optimizer;
    const char *codec = parts->coding->codec->name;
    if (optimizer == NULL || !(gs_compose_momentum(parts->coding, optimizer) > 0.0)) {
        return GS_FIT_YES;
    }
    if (weights_travel(parts->layout) && optimizer->momentum > 0.0) {
        gs_fail(err, GS_EINVAL,
                "%s sends models, and the momentum of %s cannot take the place of "
                "workload.optimizer.momentum=%g in the steps between; use +%s:momentum=0, or "
                "allreduce+%s",
                parts->strategy->name, codec, optimizer->momentum, codec, codec);
        return GS_FIT_MOMENTUM;
    }
    if (optimizer->kind != GS_SGD || (optimizer->nesterov && optimizer->momentum > 0.0)) {
        gs_fail(err, GS_EINVAL,
                "the momentum of %s takes the place of that of sgd, and workload.optimizer is "
                "%s%s; use plain sgd, or +%s:momentum=0",
                codec, rules[optimizer->kind], optimizer->kind == GS_SGD ? " with nesterov" : "",
                codec);
        return GS_FIT_MOMENTUM;
    }
    return GS_FIT_YES;
}

static gs_fit check_codec(const gs_composition *parts, gs_error *err)
{
    const gs_codec *codec = parts->coding == NULL ? NULL : parts->coding->codec;
    if (codec == NULL) {
        return GS_FIT_YES;
    }
    gs_fit fit = check_travel(parts, codec, err);
    if (fit != GS_FIT_YES) {
        return fit;
    }
    fit = check_momentum(parts, err);
    if (fit != GS_FIT_YES) {
        return fit;
    }
    bool good = codec->check == NULL ||
                codec->check(&parts->coding->config, largest_slice(parts->job, parts->layout),
                             err) == GS_OK;
    return good ? GS_FIT_YES : GS_FIT_PARAMETERS;
}

gs_fit gs_compose_optimizer(const gs_layout *layout, const gs_optimizer_config *optimizer,
                            gs_error *err)
{
    if (layout->servers > 0 && !(optimizer->loss_scale > 0.0)) {
        gs_fail(err, GS_EUNSUPPORTED,
                "workload.optimizer.loss_scale: dynamic does not work with servers: they do not "
                "know with which scale a gradient was made; give a number");
        return GS_FIT_LOSS_SCALE;
    }
    if (layout->applies_slices && gs_optimizer_needs_whole(optimizer)) {
        gs_fail(err, GS_EUNSUPPORTED,
                "workload.optimizer: clip, lars and a dynamic loss_scale look at the whole "
                "gradient, and each %s; %suse sgd without them",
                layout->servers > 0            ? "server has a share of it"
                : layout->optimizer_shards > 1 ? "rank has a share of it"
                                               : "part of the weights is updated before all of "
                                                 "it is there",
                layout->servers > 0 ? "give the strategy servers=1, or " : "");
        return layout->servers > 0 ? GS_FIT_WHOLE : GS_FIT_SLICES;
    }
    return GS_FIT_YES;
}

static gs_fit check_communicator(const gs_composition *parts, uint32_t index, gs_error *err)
{
    const gs_communicator *of = &parts->layout->communicators[index];
    const gs_collective *found = of->all_reduce == NULL ? NULL : gs_collective_find(of->all_reduce);
    if (!gs_group_tiles(of->group, parts->job->ranks)) {
        gs_fail(err, GS_EINVAL,
                "%s: communicator %u: groups of %u ranks, %u apart, do not divide %u ranks",
                parts->strategy->name, index, of->group.size, of->group.stride, parts->job->ranks);
        return GS_FIT_LAYOUT;
    }
    if (of->all_reduce != NULL && (found == NULL || found->kind != GS_ALL_REDUCE)) {
        gs_fail(err, GS_EINVAL,
                "%s: communicator %u: \"%.40s\" is no all-reduce; see `gradsync list collectives`",
                parts->strategy->name, index, of->all_reduce);
        return GS_FIT_LAYOUT;
    }
    return GS_FIT_YES;
}

/* Bundled strategies declare nothing of the kind; those of plug-ins may, and hosts index by it. */
static gs_fit check_layout(const gs_composition *parts, gs_error *err)
{
    const gs_layout *layout = parts->layout;
    if (layout->communicator_count > GS_COMMUNICATORS_MAX ||
        (layout->cut != GS_CUT_COMMON && layout->cut != GS_CUT_OWN) || layout->samples_max < 0) {
        gs_fail(err, GS_EINVAL,
                "%s: its layout has communicator_count=%u (0..%d), cut=%d (%d or %d), "
                "samples_max=%lld (0 or more)",
                parts->strategy->name, layout->communicator_count, GS_COMMUNICATORS_MAX,
                (int)layout->cut, GS_CUT_COMMON, GS_CUT_OWN, (long long)layout->samples_max);
        return GS_FIT_LAYOUT;
    }
    gs_fit fit = GS_FIT_YES;
    for (uint32_t i = 0; i < layout->communicator_count && fit == GS_FIT_YES; i++) {
        fit = check_communicator(parts, i, err);
    }
    return fit;
}

gs_fit gs_compose(const gs_composition *parts, gs_error *err)
{
    if (parts->layout->point_to_point && parts->strategy->message == NULL) {
        gs_fail(err, GS_EINVAL, "%s sends messages and has no hook for those that come",
                parts->strategy->name);
        return GS_FIT_NO_MESSAGES;
    }
    gs_fit fit = check_layout(parts, err);
    if (fit == GS_FIT_YES) {
        fit = check_codec(parts, err);
    }
    if (fit == GS_FIT_YES && parts->optimizer != NULL) {
        fit = gs_compose_optimizer(parts->layout, parts->optimizer, err);
    }
    return fit;
}
