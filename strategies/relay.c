#include "strategies/relay.h"

#include "base/assert.h"
#include "strategies/handover.h"
#include "strategies/registry.h"

#include <math.h>
#include <string.h>

static bool has_codec(const gs_leg *leg)
{
    return leg->coding != NULL && leg->coding->codec != NULL;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* ---------------------------------------------------------------- room for all */

static gs_status add_lines(gs_relay *relay, gs_leg *leg, gs_error *err)
{
    gs_layout *all = &relay->layout;
    leg->first_line = all->communicator_count;
    if (all->communicator_count + leg->layout.communicator_count > GS_LINES_MAX) {
        return gs_fail(err, GS_ELIMIT,
                       "its legs and what is between them have over %d communicators together; "
                       "use fewer legs",
                       GS_LINES_MAX);
    }
    for (uint32_t i = 0; i < leg->layout.communicator_count; i++) {
        gs_communicator *line = &all->communicators[all->communicator_count++];
        *line = leg->layout.communicators[i];
        line->coded = line->coded && has_codec(leg);
    }
    return GS_OK;
}

static void add_role(gs_layout *all, const gs_layout *one, gs_role role)
{
    all->own_vectors[role] = (uint32_t)larger(all->own_vectors[role], one->own_vectors[role]);
    all->state_bytes[role] = larger(all->state_bytes[role], one->state_bytes[role]);
    all->copies_max[role] = (uint32_t)larger(all->copies_max[role], one->copies_max[role]);
    all->outstanding_max[role] =
        (uint32_t)larger(all->outstanding_max[role], one->outstanding_max[role]);
}

/* What one leg declares, the run does. */
static gs_status add(gs_relay *relay, gs_leg *leg, gs_error *err)
{
    gs_layout *all = &relay->layout;
    const gs_layout *one = &leg->layout;
    bool is_first = leg == relay->list;
    GS_TRY(add_lines(relay, leg, err));
    add_role(all, one, GS_WORKER);
    add_role(all, one, GS_SERVER);
    all->servers = (uint32_t)larger(all->servers, one->servers);
    all->gradients_per_update = is_first ? one->gradients_per_update : all->gradients_per_update;
    all->optimizer_shards = is_first || one->optimizer_shards < all->optimizer_shards
                                ? one->optimizer_shards
                                : all->optimizer_shards;
    all->point_to_point |= one->point_to_point;
    all->applies_slices |= one->applies_slices;
    all->ordered = (is_first || all->ordered) && one->ordered;
    all->sends_coded |= one->sends_coded;
    all->no_residual |= one->no_residual;
    all->cancels |= one->cancels;
    all->bytes_vary |= one->bytes_vary;
    all->learns_apart |= one->learns_apart;
    all->buckets = is_first ? one->buckets : all->buckets;
    all->samples_max = one->samples_max > all->samples_max ? one->samples_max : all->samples_max;
    all->cut = one->cut == GS_CUT_OWN ? GS_CUT_OWN : all->cut;
    leg->first_code_vector = relay->code_vectors;
    relay->code_vectors += gs_coding_vectors(leg->coding);
    return GS_OK;
}

static bool is_same(const gs_leg *a, const gs_leg *b)
{
    bool coded = has_codec(a);
    return a->strategy == b->strategy && coded == has_codec(b) &&
           memcmp(a->config, b->config, a->strategy->config->struct_bytes) == 0 &&
           (!coded ||
            (a->coding->codec == b->coding->codec &&
             memcmp(&a->coding->config, &b->coding->config, sizeof a->coding->config) == 0));
}

static uint32_t first_like(const gs_relay *relay, uint32_t index)
{
    uint32_t first = 0;
    while (first < index && !is_same(&relay->list[first], &relay->list[index])) {
        first++;
    }
    return first;
}

/* ---------------------------------------------------------------- what follows what */

static gs_status check_order(const gs_relay *relay, gs_error *err)
{
    int64_t last = 0;
    for (uint32_t i = 1; i < relay->count; i++) {
        int64_t from = relay->list[i].from_step;
        if (from == GS_LEG_ON_REQUEST) {
            continue;
        }
        if (from <= last) {
            return gs_fail(err, GS_EINVAL,
                           "%s begins at step %lld, and the leg before it at %lld; each leg "
                           "begins at least one step after the one before",
                           relay->list[i].strategy->name, (long long)from, (long long)last);
        }
        last = from;
    }
    return GS_OK;
}

static gs_status check_leg(const gs_relay *relay, uint32_t index, gs_error *err)
{
    const gs_leg *leg = &relay->list[index];
    const gs_leg *first = &relay->list[0];
    double momentum = has_codec(leg) ? leg->coding->momentum : 0.0;
    double before = has_codec(first) ? first->coding->momentum : 0.0;
    if (leg->layout.gated) {
        return gs_fail(err, GS_EUNSUPPORTED,
                       "%s lets forward passes wait for single buckets, which the legs of a run "
                       "do not; use %s alone, or priority in its place",
                       leg->strategy->name, leg->strategy->name);
    }
    if (fabs(momentum - before) > 0.0) {
        return gs_fail(err, GS_EUNSUPPORTED,
                       "the codec of %s has the momentum %g in its memory and that of %s %g, and "
                       "the optimizer of a run is one; give both codecs momentum=0, or none",
                       leg->strategy->name, momentum, first->strategy->name, before);
    }
    return GS_OK;
}

gs_status gs_relay_make(gs_relay *relay, const gs_job *job, gs_error *err)
{
    GS_ASSERT(relay->count >= 1 && relay->count <= GS_LEGS_MAX);
    relay->layout = (gs_layout){.cut = GS_CUT_COMMON};
    relay->code_vectors = 0;
    GS_TRY(check_order(relay, err));
    for (uint32_t i = 0; i < relay->count; i++) {
        gs_leg *leg = &relay->list[i];
        GS_TRY(gs_strategy_layout(leg->strategy, leg->config, job, &leg->layout, err));
        GS_TRY(relay->count == 1 ? GS_OK : check_leg(relay, i, err));
        leg->same_as = first_like(relay, i);
        leg->first_line = relay->layout.communicator_count;
        GS_TRY(leg->same_as < i ? GS_OK : add(relay, leg, err));
    }
    if (relay->count == 1) {
        relay->layout.gated = relay->list[0].layout.gated;
        return GS_OK;
    }
    gs_leg *between = &relay->list[relay->count];
    *between = (gs_leg){.strategy = &gs_strategy_handover};
    gs_handover_layout(&relay->layout, &between->layout);
    return add(relay, between, err);
}

uint32_t gs_relay_timed(const gs_relay *relay, uint32_t from)
{
    while (from < relay->count && relay->list[from].from_step == GS_LEG_ON_REQUEST) {
        from++;
    }
    return from;
}

/* ---------------------------------------------------------------- communicators */

uint32_t gs_relay_of_line(const gs_relay *relay, uint32_t line)
{
    uint32_t leg = relay->count > 1 ? relay->count : 0;
    while (relay->list[leg].first_line > line) {
        leg--;
    }
    return leg;
}

gs_choice gs_relay_choose(const gs_relay *relay, uint32_t line, gs_collective_kind kind,
                          int64_t bytes)
{
    const gs_leg *leg = &relay->list[gs_relay_of_line(relay, line)];
    uint32_t own = line - leg->first_line;
    return gs_selection_choose(leg->selection, &leg->layout.communicators[own], own, kind, bytes);
}

bool gs_relay_candidate(const gs_relay *relay, uint32_t line, gs_collective_kind kind,
                        uint32_t number, gs_choice *out)
{
    const gs_leg *leg = &relay->list[gs_relay_of_line(relay, line)];
    uint32_t own = line - leg->first_line;
    return gs_selection_candidate(leg->selection, &leg->layout.communicators[own], own, kind,
                                  number, out);
}

gs_streams gs_relay_streams(const gs_relay *relay, const gs_job *job)
{
    gs_streams streams = {.communicator_count = 0};
    uint32_t last = relay->count > 1 ? relay->count : 0;
    for (uint32_t i = 0; i <= last; i++) {
        const gs_leg *leg = &relay->list[i];
        gs_streams own = gs_streams_of(&leg->layout, job, leg->selection);
        for (uint32_t k = 0; k < own.communicator_count; k++) {
            uint32_t line = streams.communicator_count++;
            streams.first[line + 1] = streams.first[line] + own.first[k + 1] - own.first[k];
        }
    }
    return streams;
}
