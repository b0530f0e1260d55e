/* Asks for the memory that the next events look at. Ranks come in no order, and thousands of them
 * fit into no cache: without this an event waits for memory longer than it works
 * (docs/measured/network.md). A few events at a time, so that what one of them waits for is on its
 * way for the others as well: first what says where the rest is. Nothing of a run depends on it. */
#include "sim/sim_parts.h"

#include "base/prefetch.h"

#include <stddef.h>

enum { TOGETHER = 48 };

typedef struct ahead {
    gs_sim_event events[TOGETHER];
    uint32_t entities[TOGETHER];
    uint32_t count;
} ahead;

/* Point to point a driver is told of messages: nothing of a program. */
static bool is_of_rank(const gs_sim *sim, const gs_sim_event *event)
{
    return event->kind == GS_SIM_CALL || event->kind == GS_SIM_WORKER ||
           (event->kind == GS_SIM_PART && !sim->layout.point_to_point);
}

static void list(const gs_sim *sim, size_t most, ahead *out)
{
    gs_sim_event event;
    out->count = 0;
    for (size_t i = 0; i < most && gs_sim_loop_ahead(&sim->loop, i, &event); i++) {
        if (!is_of_rank(sim, &event)) {
            continue;
        }
        if (event.kind == GS_SIM_CALL) {
            gs_prefetch(&sim->calls[event.index], sizeof *sim->calls);
        } else if (event.kind == GS_SIM_PART) {
            gs_prefetch(&sim->net.channels[event.index], sizeof *sim->net.channels);
        }
        out->events[out->count++] = event;
    }
}

static uint32_t entity_of(const gs_sim *sim, const gs_sim_event *event)
{
    return event->kind == GS_SIM_CALL   ? sim->calls[event->index].entity
           : event->kind == GS_SIM_PART ? sim->net.channels[event->index].to
                                        : event->index;
}

static void fetch_rank(const gs_sim *sim, uint32_t entity, gs_sim_event_kind kind)
{
    if (kind == GS_SIM_PART) {
        gs_prefetch(&sim->entities[entity].driver, sizeof(gs_driver *));
        return;
    }
    gs_prefetch(&sim->entities[entity], sizeof *sim->entities);
    if (entity < sim->job.ranks) {
        gs_prefetch(&sim->accounts[entity], sizeof *sim->accounts);
    }
    if (kind == GS_SIM_WORKER) {
        gs_prefetch(&sim->workers[entity], offsetof(gs_sim_worker, plan));
    }
}

static void fetch_behind(const gs_sim *sim, uint32_t entity, gs_sim_event_kind kind)
{
    const gs_sim_entity *of = &sim->entities[entity];
    gs_driver_prefetch(of->driver);
    if (kind == GS_SIM_PART) {
        return;
    }
    gs_prefetch(of->memory.versions.vectors, 2 * sizeof *of->memory.versions.vectors);
    if (entity < sim->job.ranks) {
        const gs_step_account *account = &sim->accounts[entity];
        gs_prefetch(account->spans, account->span_count * sizeof *account->spans);
    }
}

void gs_sim_look_ahead(const gs_sim *sim)
{
    /* Of more than fit, as where thousands come at one time, the next one alone. */
    gs_sim_event last;
    bool has_many = gs_sim_loop_ahead(&sim->loop, TOGETHER, &last);
    if (!sim->loop.is_refilled && !has_many) {
        return;
    }
    ahead next;
    list(sim, has_many ? 1 : TOGETHER, &next);
    for (uint32_t i = 0; i < next.count; i++) {
        next.entities[i] = entity_of(sim, &next.events[i]);
        fetch_rank(sim, next.entities[i], next.events[i].kind);
    }
    for (uint32_t i = 0; i < next.count; i++) {
        fetch_behind(sim, next.entities[i], next.events[i].kind);
    }
    for (uint32_t i = 0; i < next.count; i++) {
        gs_driver_prefetch_behind(sim->entities[next.entities[i]].driver,
                                  next.events[i].kind == GS_SIM_PART);
    }
}
