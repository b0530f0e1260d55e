/* The numbers of a worker's vector operations and updates: worked on together with its next
 * gradient, by the same thread and while its weights are in that thread's cache, or before anybody
 * looks at its vectors. Whoever does must settle first. */
#include "sim/sim_parts.h"

/* On any thread of the team, while the run goes on: the vector of the plan is pinned and GRAD is
 * nobody else's until the first unit is announced (docs/contract.md, rules 1 and 4). Before that
 * comes what was put off, for which everybody waits who asks for more. */
static void work_off(gs_sim_gradient *gradient)
{
    gs_entity_memory_do(&gradient->sim->entities[gradient->worker].memory, gradient->work,
                        gradient->work_count);
}

static void compute(gs_team_job *job, uint32_t member)
{
    gs_sim_gradient *gradient = (gs_sim_gradient *)job;
    gs_sim *sim = gradient->sim;
    work_off(gradient);
    gs_gradient_request request = {.workspace = sim->workspaces[member], .plan = &gradient->plan};
    gradient->status = gs_entity_memory_gradient(&sim->entities[gradient->worker].memory, &request,
                                                 &gradient->loss, &gradient->error);
}

gs_sim_gradient gs_sim_gradient_of(gs_sim *sim, uint32_t worker)
{
    return (gs_sim_gradient){.job = {.run = compute}, .sim = sim, .worker = worker};
}

/* What was put off has been done: was it finite? */
static void check(gs_sim *sim, uint32_t entity, int64_t step)
{
    const gs_entity_memory *memory = &sim->entities[entity].memory;
    gs_error err;
    if (entity < sim->job.ranks && sim->workers[entity].gradient != NULL) {
        sim->workers[entity].gradient->applied_max = memory->applied_max;
    }
    if (gs_entity_memory_check_applied(memory, &err) != GS_OK) {
        gs_sim_diverged(sim, entity, step, &err);
    }
}

void gs_sim_work_settle(gs_sim *sim, uint32_t entity)
{
    gs_sim_gradient *gradient = entity < sim->job.ranks ? sim->workers[entity].gradient : NULL;
    if (gradient == NULL || gradient->work_count == 0) {
        return;
    }
    if (gradient->is_under_way) {
        gs_team_join(sim->team, &gradient->job);
        gradient->is_under_way = false;
    } else {
        work_off(gradient);
    }
    gradient->work_count = 0;
    check(sim, entity, gradient->applied_step);
}

void gs_sim_work_settle_all(gs_sim *sim)
{
    gs_sim_sums_join(sim);
    for (uint32_t rank = 0; rank < sim->job.ranks; rank++) {
        gs_sim_work_settle(sim, rank);
    }
}

static void put_off(gs_sim *sim, uint32_t entity, const gs_entity_work *work)
{
    gs_sim_gradient *gradient = sim->workers[entity].gradient;
    if (gradient->is_under_way || gradient->work_count == GS_SIM_WORK_MAX) {
        gs_sim_work_settle(sim, entity);
    }
    if (gradient->is_under_way) { /* with nothing that was put off: nobody waits for it */
        gs_entity_memory_do(&sim->entities[entity].memory, work, 1);
    } else {
        gradient->work[gradient->work_count++] = *work;
    }
}

static bool can_wait(const gs_sim *sim, uint32_t entity)
{
    return entity < sim->job.ranks && gs_entity_memory_can_wait(&sim->entities[entity].memory);
}

bool gs_sim_work_vec(gs_sim *sim, uint32_t entity, gs_vop vop, gs_slice dst, gs_slice a, double k)
{
    gs_entity_memory *memory = &sim->entities[entity].memory;
    gs_entity_work work;
    if (!gs_entity_memory_plan_vec(memory, vop, dst, a, k, &work)) {
        return false;
    }
    if (can_wait(sim, entity)) {
        put_off(sim, entity, &work);
    } else {
        gs_entity_memory_do(memory, &work, 1);
    }
    return true;
}

void gs_sim_work_apply(gs_sim *sim, uint32_t entity, gs_slice param, uint32_t grad,
                       double rate_scale)
{
    gs_entity_memory *memory = &sim->entities[entity].memory;
    int64_t step = gs_driver_step(sim->entities[entity].driver);
    gs_entity_work work;
    gs_entity_memory_plan_apply(memory, param, grad, rate_scale, &work);
    if (!can_wait(sim, entity)) {
        gs_entity_memory_do(memory, &work, 1);
        check(sim, entity, step);
        return;
    }
    put_off(sim, entity, &work);
    gs_sim_gradient *gradient = sim->workers[entity].gradient;
    if (gradient->is_under_way) {
        check(sim, entity, step);
    }
    gradient->applied_step = step;
}

void gs_sim_work_begin(gs_sim *sim, uint32_t worker, const gs_plan *plan)
{
    gs_sim_gradient *gradient = sim->workers[worker].gradient;
    gs_entity_memory_begin(&sim->entities[worker].memory, plan);
    if (gradient != NULL) {
        gradient->plan = *plan;
        gradient->is_under_way = true;
        gs_team_submit(sim->team, &gradient->job);
    }
}

void gs_sim_work_cancel(gs_sim *sim, uint32_t worker)
{
    gs_sim_gradient *gradient = sim->workers[worker].gradient;
    if (gradient != NULL && gradient->is_under_way) {
        if (gs_team_withdraw(sim->team, &gradient->job)) {
            gradient->is_under_way = false; /* what was put off before it stays so */
        } else {
            gs_sim_work_join(sim, worker);
        }
    }
    gs_entity_memory_cancel(&sim->entities[worker].memory);
}

void gs_sim_work_join(gs_sim *sim, uint32_t worker)
{
    gs_sim_gradient *gradient = sim->workers[worker].gradient;
    if (gradient->work_count > 0 && gradient->is_under_way) {
        gs_sim_work_settle(sim, worker);
    } else if (gradient->is_under_way) {
        gs_team_join(sim->team, &gradient->job);
        gradient->is_under_way = false;
    }
}
