/* From one leg of a run to the next (strategies/relay.h): what an entity's own things do then, and
 * what worker 0 writes down of it. */
#include "live/live_entity.h"

#include <stdio.h>

static const char *label_of(const gs_live_entity *entity, uint32_t leg)
{
    const gs_strategy_choice *choice = entity->shared->config.strategy;
    if (leg > 0) {
        return choice->then[leg - 1].label;
    }
    return choice->then_count > 0 ? choice->first_label : choice->label;
}

/* Nobody else writes to the rows before the run has ended. */
static void decide(gs_live_entity *entity, const gs_decision_row *row)
{
    gs_record *rows = entity->shared->config.rows;
    bool writes = entity->number == 0 && rows != NULL && entity->shared->config.scenario != NULL;
    if (writes && gs_record_decision(rows, row) != GS_OK) {
        gs_live_fail_memory(entity->shared, "the decisions of the run");
    }
}

static void tell(gs_live_entity *entity, const gs_leg_turn *turn)
{
    int64_t accumulation = entity->shared->config.job->accumulation;
    gs_decision_row row = {.step = turn->passes / (accumulation > 0 ? accumulation : 1),
                           .at_ns = entity->handover_ns};
    (void)snprintf(row.from, sizeof row.from, "%s", label_of(entity, turn->from));
    (void)snprintf(row.to, sizeof row.to, "%s", label_of(entity, turn->to));
    (void)snprintf(row.reason, sizeof row.reason, "%s",
                   turn->asked ? "the strategy asked for it" : "its time had come");
    (void)snprintf(row.evidence, sizeof row.evidence, "{\"handover_ns\": %lld}",
                   (long long)(entity->now - entity->handover_ns));
    decide(entity, &row);
}

void gs_live_leg(void *host, gs_peer self, const gs_leg_turn *turn)
{
    gs_live_entity *entity = host;
    const gs_relay *relay = &entity->shared->relay;
    bool is_between = turn->leg == relay->count;
    entity->leg = turn->leg;
    entity->wire = is_between ? NULL : entity->wires[turn->leg];
    if (is_between) {
        entity->handover_ns = entity->now;
        return;
    }
    if (self.role == GS_WORKER) {
        entity->passes_more = turn->passes - entity->passes_begun;
        tell(entity, turn);
    }
    if (turn->from == turn->to) {
        return; /* it goes on with what it has */
    }
    gs_entity_memory_resume(&entity->memory, &relay->list[turn->leg].layout, turn->passes);
    if (entity->wire != NULL) {
        gs_wire_forget(entity->wire);
    }
}

void gs_live_leg_refused(void *host, gs_peer self, uint32_t leg, const char *why)
{
    gs_live_entity *entity = host;
    (void)self;
    gs_decision_row row = {.step = entity->steps_begun, .at_ns = entity->now};
    (void)snprintf(row.from, sizeof row.from, "%s", label_of(entity, entity->leg));
    (void)snprintf(row.to, sizeof row.to, "%s", label_of(entity, leg));
    (void)snprintf(row.reason, sizeof row.reason, "not done: %s", why);
    (void)snprintf(row.evidence, sizeof row.evidence, "{}");
    decide(entity, &row);
}
