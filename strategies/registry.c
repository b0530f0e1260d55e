#include "strategies/registry.h"

#include "base/assert.h"
#include "strategies/codec.h"
#include "strategies/group.h"

#include <string.h>

#define GS_STRATEGY(stem) extern const gs_strategy gs_strategy_##stem;
#include "strategies/strategies.def"
#undef GS_STRATEGY
#define GS_COLLECTIVE(stem) extern const gs_collective gs_collective_##stem;
#include "strategies/collectives/collectives.def"
#undef GS_COLLECTIVE

static const gs_strategy *const strategies[] = {
#define GS_STRATEGY(stem) &gs_strategy_##stem,
#include "strategies/strategies.def"
#undef GS_STRATEGY
};

static const gs_collective *const collectives[] = {
#define GS_COLLECTIVE(stem) &gs_collective_##stem,
#include "strategies/collectives/collectives.def"
#undef GS_COLLECTIVE
};

enum { OWN_COUNT = sizeof strategies / sizeof *strategies, NAME_LENGTH_MAX = 40 };

/* Those of plug-ins. */
static const gs_strategy *added[GS_STRATEGIES_ADDED_MAX];
static uint32_t added_count;

uint32_t gs_strategy_count(void)
{
    return OWN_COUNT + added_count;
}

const gs_strategy *gs_strategy_at(uint32_t index)
{
    GS_ASSERT(index < gs_strategy_count());
    return index < OWN_COUNT ? strategies[index] : added[index - OWN_COUNT];
}

const gs_strategy *gs_strategy_find(const char *name)
{
    for (uint32_t i = 0; i < gs_strategy_count(); i++) {
        if (strcmp(gs_strategy_at(i)->name, name) == 0) {
            return gs_strategy_at(i);
        }
    }
    return NULL;
}

/* The first member that has to be there and is not; NULL: all are. */
static const char *missing_member(const gs_strategy *strategy)
{
    const struct {
        const char *name;
        bool there;
    } members[] = {
        {"summary", strategy->summary != NULL},
        {"source", strategy->source != NULL},
        {"config", strategy->config != NULL},
        {"layout", strategy->layout != NULL},
        {"init", strategy->init != NULL},
        {"step_begin", strategy->step_begin != NULL},
        {"bucket_ready", strategy->bucket_ready != NULL},
        {"backward_done", strategy->backward_done != NULL},
        {"op_done", strategy->op_done != NULL},
        {"quiesce", strategy->quiesce != NULL},
        {"export_state", strategy->export_state != NULL},
        {"import_state", strategy->import_state != NULL},
    };
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (!members[i].there) {
            return members[i].name;
        }
    }
    return NULL;
}

static gs_status check_name(const char *name, gs_error *err)
{
    size_t length = name == NULL ? 0 : strlen(name);
    if (length == 0 || length > NAME_LENGTH_MAX ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != length) {
        return gs_fail(err, GS_EINVAL,
                       "a strategy is named \"%.60s\"; names are 1 to %d of a-z, 0-9 and _",
                       length == 0 ? "" : name, NAME_LENGTH_MAX);
    }
    if (gs_strategy_find(name) != NULL || gs_codec_find(name) != NULL ||
        gs_collective_find(name) != NULL) {
        return gs_fail(err, GS_EBUSY, "there is already a %s \"%s\"; give yours another name",
                       gs_strategy_find(name) != NULL ? "strategy"
                       : gs_codec_find(name) != NULL  ? "codec"
                                                      : "collective",
                       name);
    }
    return GS_OK;
}

gs_status gs_strategy_add(const gs_strategy *strategy, gs_error *err)
{
    if (strategy == NULL || strategy->struct_bytes != sizeof(gs_strategy)) {
        return gs_fail(err, GS_EINVAL, "struct_bytes of a strategy is %zu, here it is %zu",
                       strategy == NULL ? (size_t)0 : strategy->struct_bytes, sizeof(gs_strategy));
    }
    GS_TRY(check_name(strategy->name, err));
    const char *missing = missing_member(strategy);
    if (missing != NULL) {
        return gs_fail(
            err, GS_EINVAL,
            "strategy \"%s\": %s is NULL; only wire_bytes, message and model_view may be",
            strategy->name, missing);
    }
    gs_error inner = {0};
    if (gs_config_check(strategy->config, &inner) != GS_OK) {
        return gs_fail(err, GS_EINVAL, "strategy \"%s\": config: %s", strategy->name, inner.text);
    }
    if (added_count == GS_STRATEGIES_ADDED_MAX) {
        return gs_fail(err, GS_ELIMIT, "over %d strategies of plug-ins", GS_STRATEGIES_ADDED_MAX);
    }
    added[added_count++] = strategy;
    return GS_OK;
}

/* ---------------------------------------------------------------- layouts */

/* Far above what any strategy here asks for; with them no host's sums of sizes overflow. */
enum { OWN_VECTORS_MAX = 65536, REQUESTS_MAX = 1 << 26, STATE_BYTES_MAX = 1 << 30 };

static gs_status check_communicator(const gs_communicator *communicator, uint32_t index,
                                    uint32_t ranks, gs_error *err)
{
    gs_group group = communicator->group;
    if (group.size != 0 && (group.stride == 0 || !gs_group_tiles(group, ranks))) {
        return gs_fail(err, GS_EINVAL,
                       "communicators[%u]: groups of %u workers, %u apart, do not tile %u workers",
                       index, group.size, group.stride, ranks);
    }
    if ((communicator->kinds & ~(uint32_t)GS_AGREES) >> GS_ALL_TO_ALL != 0) {
        return gs_fail(err, GS_EINVAL,
                       "communicators[%u]: kinds is %#x; bits above broadcast are of no service",
                       index, communicator->kinds);
    }
    const char *name = communicator->all_reduce;
    const gs_collective *named = name == NULL ? NULL : gs_collective_find(name);
    if (name != NULL && (named == NULL || named->kind != GS_ALL_REDUCE)) {
        return gs_fail(err, GS_EINVAL, "communicators[%u]: no all-reduce \"%.40s\"", index, name);
    }
    return GS_OK;
}

static gs_status check_role(const gs_layout *layout, gs_role role, gs_error *err)
{
    const struct {
        const char *name;
        uint64_t value, most;
    } sizes[] = {{"own_vectors", layout->own_vectors[role], OWN_VECTORS_MAX},
                 {"state_bytes", layout->state_bytes[role], STATE_BYTES_MAX},
                 {"copies_max", layout->copies_max[role], REQUESTS_MAX},
                 {"outstanding_max", layout->outstanding_max[role], REQUESTS_MAX}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (sizes[i].value > sizes[i].most) {
            return gs_fail(err, GS_EINVAL, "%s of a %s is %llu; allowed is 0 to %llu",
                           sizes[i].name, role == GS_WORKER ? "worker" : "server",
                           (unsigned long long)sizes[i].value, (unsigned long long)sizes[i].most);
        }
    }
    return GS_OK;
}

static gs_status check_layout(const gs_layout *layout, const gs_job *job, gs_error *err)
{
    GS_TRY(check_role(layout, GS_WORKER, err));
    GS_TRY(check_role(layout, GS_SERVER, err));
    if (layout->communicator_count > GS_COMMUNICATORS_MAX) {
        return gs_fail(err, GS_EINVAL, "communicator_count is %u; allowed is 0 to %d",
                       layout->communicator_count, GS_COMMUNICATORS_MAX);
    }
    for (uint32_t i = 0; i < layout->communicator_count; i++) {
        GS_TRY(check_communicator(&layout->communicators[i], i, job->ranks, err));
    }
    if (layout->servers > GS_ENTITIES_MAX || layout->optimizer_shards > job->ranks) {
        return gs_fail(err, GS_EINVAL,
                       "%u servers and %u optimizer_shards; allowed are %d, and as many as workers",
                       layout->servers, layout->optimizer_shards, GS_ENTITIES_MAX);
    }
    if (layout->buckets.first_bytes < 0 || layout->buckets.cap_bytes < 0 ||
        layout->samples_max < 0) {
        return gs_fail(err, GS_EINVAL,
                       "buckets of %lld and %lld bytes, samples_max %lld: none is below 0",
                       (long long)layout->buckets.first_bytes, (long long)layout->buckets.cap_bytes,
                       (long long)layout->samples_max);
    }
    return layout->cut == GS_CUT_COMMON || layout->cut == GS_CUT_OWN
               ? GS_OK
               : gs_fail(err, GS_EINVAL, "cut is %d; it is GS_CUT_COMMON or GS_CUT_OWN",
                         (int)layout->cut);
}

gs_status gs_strategy_layout(const gs_strategy *strategy, const void *config, const gs_job *job,
                             gs_layout *out, gs_error *err)
{
    gs_layout made = {0};
    gs_error inner = {0};
    gs_status status = strategy->layout(config, job, &made, err);
    if (status != GS_OK) {
        return status;
    }
    status = check_layout(&made, job, &inner);
    if (status != GS_OK) {
        return gs_fail(err, status, "%s: layout: %s", strategy->name, inner.text);
    }
    *out = made;
    return GS_OK;
}

/* ---------------------------------------------------------------- collectives */

uint32_t gs_collective_count(void)
{
    return sizeof collectives / sizeof *collectives;
}

const gs_collective *gs_collective_at(uint32_t index)
{
    GS_ASSERT(index < gs_collective_count());
    return collectives[index];
}

const gs_collective *gs_collective_find(const char *name)
{
    for (uint32_t i = 0; i < gs_collective_count(); i++) {
        if (strcmp(collectives[i]->name, name) == 0) {
            return collectives[i];
        }
    }
    return NULL;
}

const gs_collective *gs_collective_for(const gs_communicator *communicator, gs_collective_kind kind)
{
    static const gs_collective *const usual[GS_COLLECTIVE_KIND_COUNT] = {
        [GS_ALL_REDUCE] = &gs_collective_ring,
        [GS_REDUCE_SCATTER] = &gs_collective_ring_reduce_scatter,
        [GS_ALL_GATHER] = &gs_collective_ring_all_gather,
        [GS_BROADCAST] = &gs_collective_binomial_broadcast,
        [GS_ALL_TO_ALL] = &gs_collective_pairwise_all_to_all,
        [GS_REDUCE] = &gs_collective_binomial_reduce,
        [GS_GATHER] = &gs_collective_binomial_gather,
        [GS_SCATTER] = &gs_collective_binomial_scatter,
    };
    if (kind != GS_ALL_REDUCE || communicator->all_reduce == NULL) {
        return usual[kind];
    }
    const gs_collective *found = gs_collective_find(communicator->all_reduce);
    GS_ASSERT(found != NULL && found->kind == kind);
    return found;
}

const char *gs_collective_kind_name(gs_collective_kind kind)
{
    static const char *const names[GS_COLLECTIVE_KIND_COUNT] = {
        [GS_ALL_REDUCE] = "all_reduce", [GS_REDUCE_SCATTER] = "reduce_scatter",
        [GS_ALL_GATHER] = "all_gather", [GS_BROADCAST] = "broadcast",
        [GS_ALL_TO_ALL] = "all_to_all", [GS_REDUCE] = "reduce",
        [GS_GATHER] = "gather",         [GS_SCATTER] = "scatter",
    };
    return names[kind];
}

void gs_part_of(int64_t elements, uint32_t parts, uint32_t part, int64_t *out_offset,
                int64_t *out_length)
{
    int64_t each = elements / parts;
    int64_t larger = elements - each * parts;
    *out_offset = part * each + (part < larger ? part : larger);
    *out_length = each + (part < larger ? 1 : 0);
}
