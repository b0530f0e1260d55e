/* Asks for the memory that the next events look at. Ranks come in no order, and thousands of them
 * fit into no cache: without this an event waits for memory longer than it works
 * (docs/measured/network.md). Nothing of a run depends on it. */
#include "sim/sim_parts.h"

#include "base/prefetch.h"

/* Of those that come after the next one, so many are known and looked at. */
enum { FURTHER = 2 };

/* What says where the rest is: the next time it is there. */
static void fetch_places(const gs_sim *sim, const gs_sim_event *event)
{
    if (event->kind == GS_SIM_CALL) {
        gs_prefetch(&sim->calls[event->index], sizeof *sim->calls);
    } else if (event->kind == GS_SIM_WORKER) {
        gs_prefetch(&sim->entities[event->index].driver, sizeof(gs_driver *));
        gs_prefetch(&sim->accounts[event->index], sizeof *sim->accounts);
    } else if (event->kind == GS_SIM_PART) {
        gs_prefetch(&sim->net.channels[event->index], sizeof *sim->net.channels);
    }
}

/* All of a rank that goes on, or one of whose requests has ended. */
static void fetch_rank(const gs_sim *sim, uint32_t entity)
{
    const gs_sim_entity *of = &sim->entities[entity];
    gs_driver_prefetch(of->driver);
    gs_prefetch(of, sizeof *of);
    gs_prefetch(of->memory.versions.vectors, 2 * sizeof *of->memory.versions.vectors);
    if (entity < sim->job.ranks) {
        const gs_step_account *account = &sim->accounts[entity];
        gs_prefetch(&sim->workers[entity], sizeof *sim->workers);
        gs_prefetch(account, sizeof *account);
        gs_prefetch(account->spans, account->span_capacity * sizeof *account->spans);
    }
}

void gs_sim_look_ahead(const gs_sim *sim)
{
    gs_sim_event event;
    for (size_t i = FURTHER; i > 0; i--) {
        if (gs_sim_loop_ahead(&sim->loop, i, &event)) {
            fetch_places(sim, &event);
        }
    }
    if (!gs_sim_loop_ahead(&sim->loop, 0, &event)) {
        return;
    }
    if (event.kind == GS_SIM_CALL) {
        fetch_rank(sim, sim->calls[event.index].entity);
    } else if (event.kind == GS_SIM_WORKER) {
        fetch_rank(sim, event.index);
    } else if (event.kind == GS_SIM_PART) {
        gs_driver_prefetch(sim->entities[sim->net.channels[event.index].to].driver);
    }
}
