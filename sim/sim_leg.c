/* From one leg of a run to the next (strategies/relay.h): what the simulator's own things do then,
 * and what the record is told of it. */
#include "sim/sim_parts.h"

#include "traces/consensus.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *label_of(const gs_sim *sim, uint32_t leg)
{
    const gs_strategy_choice *choice = sim->config.strategy;
    if (leg > 0) {
        return choice->then[leg - 1].label;
    }
    return choice->then_count > 0 ? choice->first_label : choice->label;
}

static void decide(gs_sim *sim, const gs_decision_row *row)
{
    if (sim->config.record != NULL && gs_record_decision(sim->config.record, row) != GS_OK) {
        gs_error err;
        (void)gs_fail(&err, GS_ENOMEM, "no memory for the decisions of the run");
        gs_sim_fail(sim, GS_ENOMEM, &err);
    }
}

/* How far apart models are, before they become one. NAN: not known. */
static double distance_of_models(gs_sim *sim)
{
    uint32_t ranks = sim->job.ranks;
    const float **models = calloc(ranks, sizeof *models);
    double *weights = calloc(ranks, sizeof *weights);
    double distance = (double)NAN;
    size_t count = 0;
    if (sim->learns && models != NULL && weights != NULL) {
        gs_sim_work_settle_all(sim);
        gs_sim_models(sim, models, weights, &count);
        distance = gs_consensus_distance(models, weights, ranks, count);
    }
    free(models);
    free(weights);
    return distance;
}

static void enter_handover(gs_sim *sim)
{
    gs_sim_handover *handover = &sim->handover;
    if (handover->inside++ == 0) {
        handover->began_ns = gs_sim_loop_now_ns(&sim->loop);
    }
    if (handover->inside == sim->job.ranks) {
        handover->drained_ns = gs_sim_loop_now_ns(&sim->loop);
        handover->distance = distance_of_models(sim);
        handover->bytes = 0;
        for (uint32_t i = 0; i < sim->entity_count; i++) {
            handover->bytes -= sim->net.entity_bytes[i];
        }
    }
}

/* The last worker has left it. */
static void end_handover(gs_sim *sim, const gs_leg_turn *turn)
{
    gs_sim_handover *handover = &sim->handover;
    gs_time_ns now = gs_sim_loop_now_ns(&sim->loop);
    gs_decision_row row = {.step = turn->passes / sim->job.accumulation,
                           .at_ns = handover->began_ns};
    for (uint32_t i = 0; i < sim->entity_count; i++) {
        handover->bytes += sim->net.entity_bytes[i];
    }
    (void)snprintf(row.from, sizeof row.from, "%s", label_of(sim, turn->from));
    (void)snprintf(row.to, sizeof row.to, "%s", label_of(sim, turn->to));
    (void)snprintf(row.reason, sizeof row.reason, "%s",
                   turn->asked ? "the strategy asked for it" : "its time had come");
    int used = snprintf(row.evidence, sizeof row.evidence,
                        "{\"drain_ns\": %lld, \"handover_ns\": %lld, \"handover_bytes\": %lld",
                        (long long)(handover->drained_ns - handover->began_ns),
                        (long long)(now - handover->drained_ns), (long long)handover->bytes);
    if (isfinite(handover->distance)) {
        used += snprintf(row.evidence + used, sizeof row.evidence - (size_t)used,
                         ", \"consensus_distance\": %.9g", handover->distance);
    }
    (void)snprintf(row.evidence + used, sizeof row.evidence - (size_t)used, "}");
    decide(sim, &row);
}

void gs_sim_leg(void *host, gs_peer self, const gs_leg_turn *turn)
{
    gs_sim *sim = host;
    uint32_t index = gs_topology_entity(sim->topology, self);
    gs_sim_entity *entity = &sim->entities[index];
    bool is_between = turn->leg == sim->relay.count;
    gs_sim_work_settle(sim, index);
    entity->leg = turn->leg;
    entity->wire = is_between ? NULL : entity->wires[turn->leg];
    if (is_between) {
        if (self.role == GS_WORKER) {
            enter_handover(sim);
        }
        return;
    }
    if (self.role == GS_WORKER) {
        gs_sim_worker *worker = &sim->workers[self.index];
        worker->passes_more = turn->passes - worker->passes;
        if (--sim->handover.inside == 0) {
            end_handover(sim, turn);
        }
    }
    if (turn->from == turn->to) {
        return; /* it goes on with what it has */
    }
    gs_entity_memory_resume(&entity->memory, &sim->relay.list[turn->leg].layout, turn->passes);
    if (entity->wire != NULL) {
        gs_wire_forget(entity->wire);
    }
}

void gs_sim_leg_refused(void *host, gs_peer self, uint32_t leg, const char *why)
{
    gs_sim *sim = host;
    const gs_sim_worker *worker = &sim->workers[self.index];
    if (self.index != 0) {
        return; /* all of them ask alike */
    }
    gs_decision_row row = {.step = worker->step, .at_ns = gs_sim_loop_now_ns(&sim->loop)};
    (void)snprintf(row.from, sizeof row.from, "%s", label_of(sim, sim->entities[0].leg));
    (void)snprintf(row.to, sizeof row.to, "%s", label_of(sim, leg));
    (void)snprintf(row.reason, sizeof row.reason, "not done: %s", why);
    (void)snprintf(row.evidence, sizeof row.evidence, "{}");
    decide(sim, &row);
}
