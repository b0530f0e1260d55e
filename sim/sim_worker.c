/* A simulated rank: it asks its strategy for a step, waits for input, plays the segments of its
 * profile, says which gradients are ready, and asks again. */
#include "sim/sim_parts.h"

#include "base/assert.h"

#include <math.h>

static gs_time_ns now_ns(const gs_sim *sim)
{
    return gs_sim_loop_now_ns(&sim->loop);
}

/* A worker waits for one event at a time. */
static void event_at_tick(gs_sim *sim, uint32_t worker, gs_tick at)
{
    sim->workers[worker].event = gs_sim_loop_at(&sim->loop, at, GS_SIM_WORKER, worker);
}

static void event_at(gs_sim *sim, uint32_t worker, gs_time_ns at)
{
    gs_tick tick = gs_ticks(at);
    event_at_tick(sim, worker, tick > sim->loop.now ? tick : sim->loop.now);
}

gs_status gs_sim_worker_init(gs_sim *sim, gs_error *err)
{
    uint32_t ranks = sim->job.ranks;
    sim->workers = GS_TAKE(&sim->arena, gs_sim_worker, ranks);
    sim->accounts = GS_TAKE(&sim->arena, gs_step_account, ranks);
    if (sim->workers == NULL || sim->accounts == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory for %u ranks", ranks);
    }
    const gs_input_stage *input = &sim->scenario->workload.input;
    if (input->time_ns > 0) {
        GS_TRY(gs_input_loader_create(input, &sim->scenario->noise.input, sim->config.seed, ranks,
                                      &sim->arena, &sim->input, err));
    }
    gs_sim_gradient *gradients = NULL;
    if (sim->learns) {
        gradients = GS_TAKE(&sim->arena, gs_sim_gradient, ranks);
        if (gradients == NULL) {
            return gs_fail(err, GS_ENOMEM, "no memory for %u gradients", ranks);
        }
    }
    for (uint32_t rank = 0; rank < ranks; rank++) {
        if (gradients != NULL) {
            gradients[rank] = gs_sim_gradient_of(sim, rank);
            sim->workers[rank].gradient = &gradients[rank];
        }
        const gs_node_group *group = gs_scenario_group_of(sim->scenario, rank);
        sim->workers[rank].compute_scale = group->compute_scale;
        sim->workers[rank].overlap_slowdown = group->overlap_slowdown;
        gs_step_account_init(&sim->accounts[rank], (int32_t)rank, &sim->ops, &sim->arena);
    }
    return GS_OK;
}

void gs_sim_worker_wake(gs_sim *sim, uint32_t index)
{
    gs_sim_worker *worker = &sim->workers[index];
    if (!worker->asked_again && worker->phase == GS_WORKER_ASKS) {
        worker->asked_again = true;
        event_at_tick(sim, index, sim->loop.now);
    }
}

/* ---------------------------------------------------------------- rows */

static void record(gs_sim *sim, gs_status status, const char *what)
{
    if (status != GS_OK) {
        gs_error err;
        (void)gs_fail(&err, status, "no memory for the %s of the run", what);
        gs_sim_fail(sim, status, &err);
    }
}

static void close_row(gs_sim *sim, uint32_t index, gs_time_ns at)
{
    gs_step_row row = gs_step_account_end(&sim->accounts[index], at);
    row.bytes_sent = sim->net.entity_bytes[index] - sim->workers[index].bytes_before;
    sim->workers[index].bytes_before += row.bytes_sent;
    const int64_t parts[] = {row.step,        row.rank,       row.start_ns,
                             row.duration_ns, row.compute_ns, row.exposed_comm_ns,
                             row.wait_ns,     row.input_ns,   row.bytes_sent};
    sim->result.result_hash += gs_hash(0, parts, sizeof parts);
    if (sim->config.record != NULL) {
        record(sim, gs_record_step(sim->config.record, &row), "step rows");
    }
    if (sim->timeline != NULL) {
        record(sim, gs_timeline_end_step(sim->timeline, &row), "timeline");
    }
}

/* Steps that the worker has begun get their rows from `at` on, and the one before them ends. A step
 * that was cancelled before its row began has an empty one. */
static void turn_rows(gs_sim *sim, uint32_t index, gs_time_ns at)
{
    gs_sim_worker *worker = &sim->workers[index];
    while (worker->rows < worker->step) {
        if (worker->rows > 0) {
            close_row(sim, index, at);
        }
        gs_step_account_begin(&sim->accounts[index], worker->rows++, at);
        if (sim->timeline != NULL) {
            gs_sim_look_step(sim, index);
        }
    }
}

/* ---------------------------------------------------------------- the end of a run */

static void quiesce_servers(gs_sim *sim, int64_t cut_step)
{
    for (uint32_t entity = sim->job.ranks; entity < sim->entity_count; entity++) {
        gs_driver_quiesce(sim->entities[entity].driver, now_ns(sim), cut_step);
    }
}

static void quiesce(gs_sim *sim, uint32_t index, int64_t cut_step)
{
    if (sim->workers[index].told) {
        return;
    }
    sim->workers[index].told = true;
    sim->workers_told++;
    gs_driver_quiesce(sim->entities[index].driver, now_ns(sim), cut_step);
    if (sim->workers_told == sim->job.ranks) {
        quiesce_servers(sim, cut_step);
    }
}

/* In a handover nobody is asked for a step, and the driver quiesces once it is over. */
static gs_cut cut_of(const gs_sim *sim, uint32_t index)
{
    uint32_t leg = sim->entities[index].leg;
    return leg < sim->relay.count ? sim->relay.list[leg].layout.cut : GS_CUT_OWN;
}

/* A strategy that cuts on its own has a budget of gradients, and all stop at once: a budget of
 * steps a worker would let the fast ones end while the slow ones still learn from nobody. */
static void cut_everyone(gs_sim *sim)
{
    sim->quiescing_all = true;
    for (uint32_t index = 0; index < sim->job.ranks; index++) {
        if (sim->workers[index].phase == GS_WORKER_ASKS) {
            quiesce(sim, index, -1);
        }
    }
}

/* Likewise where another strategy follows it: by the gradients of all ranks. */
static void begin_timed_leg(gs_sim *sim, uint32_t index)
{
    uint32_t leg;
    int64_t step;
    if (!gs_driver_next_leg(sim->entities[index].driver, &leg, &step) || leg == sim->timed ||
        sim->passes / sim->job.ranks < step * sim->job.accumulation) {
        return;
    }
    sim->timed = leg;
    for (uint32_t rank = 0; rank < sim->job.ranks; rank++) {
        gs_driver_swap(sim->entities[rank].driver, now_ns(sim), leg);
    }
}

void gs_sim_worker_drained(gs_sim *sim, uint32_t index)
{
    gs_sim_worker *worker = &sim->workers[index];
    gs_time_ns at = gs_tick_ns(sim->entities[index].stream_free);
    at = at > now_ns(sim) ? at : now_ns(sim);
    turn_rows(sim, index, at);
    if (worker->step > 0) {
        close_row(sim, index, at);
    }
    worker->phase = GS_WORKER_DONE;
    sim->result.facts.end_ns = at > sim->result.facts.end_ns ? at : sim->result.facts.end_ns;
}

/* ---------------------------------------------------------------- a step */

/* The time of a pass against one with the job's batch: a part of it does not depend on samples. */
static double pass_scale(const gs_sim *sim, const gs_plan *plan)
{
    const gs_workload *workload = &sim->scenario->workload;
    if (plan->samples == 0 && !plan->dummy) {
        return 1.0;
    }
    return workload->fixed_share +
           (1.0 - workload->fixed_share) * (double)plan->samples / (double)workload->batch_per_rank;
}

static void begin_step(gs_sim *sim, uint32_t index, const gs_plan *plan)
{
    gs_sim_worker *worker = &sim->workers[index];
    gs_sim_entity *entity = &sim->entities[index];
    gs_time_ns now = now_ns(sim);
    worker->plan = *plan;
    worker->micro_step = 0;
    worker->micro_steps = plan->micro_steps;
    worker->passes += plan->micro_steps;
    worker->pass_scale = pass_scale(sim, plan);
    worker->has_gradient = false;
    worker->loss = (double)NAN;
    const gs_profile *profile = sim->scenario->workload.profile;
    const gs_profile_rank *recorded = &profile->ranks[index % profile->rank_count];
    worker->program = &recorded->steps[worker->step % recorded->step_count];
    worker->segment = 0;
    worker->step++;
    /* DDP rebuilds its buckets once, after the first step, in the order in which gradients came. */
    if (worker->step == 1) {
        gs_driver_set_buckets(entity->driver, sim->buckets_rebuilt);
    }
    gs_sim_forward_begin(sim, index);
    /* The gradient is taken at a vector that the stream may still be writing: that is of the step
     * before, whose row ends with it. */
    gs_time_ns start = worker->closed_buckets > 0 ? now : gs_tick_ns(entity->stream_free);
    worker->since_ns = start > now ? start : now;
    if (worker->since_ns == now || worker->rows == 0) {
        turn_rows(sim, index, now);
    }
    worker->phase = GS_WORKER_INPUT;
    event_at(sim, index, worker->since_ns);
    if (worker->closed_buckets == 0) {
        gs_sim_work_begin(sim, index, plan);
    }
}

static void ask(gs_sim *sim, uint32_t index)
{
    gs_sim_worker *worker = &sim->workers[index];
    if (worker->phase == GS_WORKER_DONE || sim->ended) {
        return;
    }
    if (cut_of(sim, index) == GS_CUT_COMMON &&
        worker->passes + worker->passes_more >= sim->budget_passes) {
        quiesce(sim, index, worker->step);
        return;
    }
    if (sim->quiescing_all) {
        quiesce(sim, index, -1);
        return;
    }
    gs_plan plan;
    gs_driver_step_begin(sim->entities[index].driver, now_ns(sim), &plan);
    if (plan.go && !sim->ended) {
        begin_step(sim, index, &plan);
    }
}

/* What kernels that start now take longer: the node's device, communication that is under way, and
 * the noise of the step. */
static double compute_factor(gs_sim *sim, uint32_t index)
{
    const gs_sim_worker *worker = &sim->workers[index];
    double scale = worker->compute_scale;
    if (worker->overlap_slowdown > 1.0 &&
        gs_step_account_communicates(&sim->accounts[index], now_ns(sim))) {
        scale *= worker->overlap_slowdown;
    }
    if (sim->compute_noise == NULL || worker->step == 0) {
        return scale;
    }
    return scale * gs_compute_noise_factor(sim->compute_noise, index, (uint64_t)worker->step - 1,
                                           now_ns(sim));
}

/* The batch of every micro-step comes from the loader. true: it is there. One that a gradient was
 * cancelled waiting for is the next one's. */
static bool has_input(gs_sim *sim, uint32_t index)
{
    gs_sim_worker *worker = &sim->workers[index];
    gs_time_ns ready = worker->since_ns;
    if (worker->batch_ns > 0) {
        ready = worker->batch_ns;
        worker->batch_ns = 0;
    } else if (sim->input != NULL) {
        ready = gs_input_loader_take(sim->input, index, worker->since_ns);
    }
    if (ready > worker->since_ns) {
        worker->batch_ns = ready;
        worker->phase = GS_WORKER_INPUT;
        event_at(sim, index, ready);
        return false;
    }
    return true;
}

static void end_backward(gs_sim *sim, uint32_t index)
{
    gs_sim_worker *worker = &sim->workers[index];
    worker->phase = GS_WORKER_ASKS;
    int64_t passes_before = sim->passes;
    sim->passes += worker->micro_steps;
    gs_sim_curve_passes(sim, passes_before);
    gs_driver_backward_done(sim->entities[index].driver, now_ns(sim), worker->loss);
    if (sim->relay.count > 1 && cut_of(sim, index) == GS_CUT_OWN) {
        begin_timed_leg(sim, index);
    }
    if (cut_of(sim, index) == GS_CUT_OWN && sim->passes / sim->job.ranks >= sim->budget_passes &&
        !sim->quiescing_all) {
        cut_everyone(sim);
    } else if (worker->phase == GS_WORKER_ASKS) {
        ask(sim, index);
    }
}

/* Off the simulated clock, as evaluation is. */
static void watch(gs_sim *sim, uint32_t index)
{
    const gs_sim_worker *worker = &sim->workers[index];
    const gs_entity_memory *memory = &sim->entities[index].memory;
    size_t count;
    uint32_t vector;
    double weight;
    gs_driver_model_view(sim->entities[index].driver, &vector, &weight);
    gs_gradient_taken taken = {
        .rank = index,
        .step = worker->step - 1,
        .first_pass = memory->first_pass,
        .first_sample = memory->first_sample,
        .plan = &worker->gradient->plan,
        .weight = weight,
        .at = gs_entity_memory_vector(memory, worker->gradient->plan.at, &count),
        .gradient = gs_entity_memory_vector(memory, GS_GRAD, &count),
        .at_ns = now_ns(sim),
    };
    record(sim, gs_gradient_watch_take(sim->watch, &taken), "gradients");
}

/* false: it diverged. */
static bool take_gradient(gs_sim *sim, uint32_t index)
{
    gs_sim_worker *worker = &sim->workers[index];
    gs_sim_gradient *gradient = worker->gradient;
    gs_sim_work_join(sim, index);
    if (sim->ended) {
        return false;
    }
    gradient->gradient_max = sim->entities[index].memory.gradient_max;
    if (gradient->status != GS_OK) {
        gs_sim_diverged(sim, index, worker->step - 1, &gradient->error);
        return false;
    }
    worker->loss = gradient->loss;
    gs_loss_trail_add(&gradient->trail, worker->loss);
    if (sim->watch != NULL) {
        watch(sim, index);
    }
    return true;
}

static void unit_ready(gs_sim *sim, uint32_t index, uint32_t unit)
{
    gs_sim_worker *worker = &sim->workers[index];
    if (worker->micro_step + 1 < worker->micro_steps) {
        return;
    }
    if (!worker->has_gradient) {
        worker->has_gradient = true;
        if (worker->gradient != NULL && !take_gradient(sim, index)) {
            return;
        }
    }
    gs_driver_unit_ready(sim->entities[index].driver, now_ns(sim), unit);
}

static void block(gs_sim *sim, uint32_t index, uint32_t which)
{
    gs_sim_worker *worker = &sim->workers[index];
    worker->phase = GS_WORKER_BLOCKS;
    worker->since_ns = now_ns(sim);
    bool last = false;
    gs_error err;
    gs_status status = gs_group_ops_block(&sim->ops, index, worker->blocking++, which,
                                          worker->since_ns, &last, &err);
    if (status != GS_OK) {
        gs_sim_fail(sim, status, &err);
        return;
    }
    if (last) {
        gs_time_ns wire = sim->scenario->workload.profile->blocking[which].wire_ns;
        for (uint32_t member = 0; member < sim->job.ranks; member++) {
            event_at(sim, member, gs_time_after(worker->since_ns, wire));
        }
    }
}

/* Plays the program up to the next thing that takes time: adjacent compute segments are one. true:
 * it has come to its end. */
static bool play(gs_sim *sim, uint32_t index)
{
    gs_sim_worker *worker = &sim->workers[index];
    double factor = 1.0;
    gs_time_ns duration = 0;
    worker->since_ns = now_ns(sim);
    while (!sim->ended) {
        if (worker->segment == worker->program->segment_count) {
            break;
        }
        const gs_segment *segment = &worker->program->segments[worker->segment];
        bool is_kernel = segment->kind == GS_SEGMENT_FORWARD ||
                         segment->kind == GS_SEGMENT_BACKWARD ||
                         segment->kind == GS_SEGMENT_OPTIMIZER;
        bool waits = gs_sim_forward_waits(worker, segment);
        if ((!is_kernel || waits) && duration > 0) {
            break;
        }
        if (waits) {
            worker->phase = GS_WORKER_GATED;
            return false;
        }
        worker->segment++;
        if (segment->kind == GS_SEGMENT_GRADIENT) {
            unit_ready(sim, index, segment->index);
            if (worker->phase == GS_WORKER_ASKS) {
                return false; /* the strategy has cancelled it */
            }
        } else if (segment->kind == GS_SEGMENT_INPUT && segment->duration_ns > 0) {
            /* The host's own time: no device and no noise of kernels makes it longer. */
            worker->phase = GS_WORKER_INPUT;
            event_at(sim, index, gs_time_after(worker->since_ns, segment->duration_ns));
            return false;
        } else if (segment->kind == GS_SEGMENT_BLOCKING) {
            block(sim, index, segment->index);
            return false;
        } else if (segment->kind == GS_SEGMENT_FORWARD || segment->kind == GS_SEGMENT_BACKWARD) {
            gs_time_ns part = gs_sim_forward_part(worker, segment);
            if (duration == 0) { /* what a gradient has set off is under way by now */
                factor = worker->pass_scale * compute_factor(sim, index);
            }
            gs_time_ns own = gs_time_of((double)part * factor + 0.5);
            if (sim->timeline != NULL) {
                gs_sim_look_compute(sim, index, worker->since_ns + duration, own);
            }
            duration = gs_time_after(duration, own);
            if (!gs_sim_forward_end_part(worker, segment, part)) {
                worker->segment--; /* the rest of it has to wait */
            }
        }
    }
    if (duration > 0 && !sim->ended) {
        worker->phase = GS_WORKER_COMPUTES;
        event_at(sim, index, worker->since_ns + duration);
    }
    return duration == 0 && !sim->ended;
}

/* Micro-steps that take no time follow each other here: there may be 65536 of them, too many for
 * the stack. */
static void compute(gs_sim *sim, uint32_t index)
{
    gs_sim_worker *worker = &sim->workers[index];
    while (play(sim, index)) {
        if (worker->micro_step + 1 == worker->micro_steps) {
            end_backward(sim, index);
            return;
        }
        worker->micro_step++;
        worker->segment = 0;
        if (!has_input(sim, index)) {
            return;
        }
    }
}

/* The optimizer's share of the step in the profile; negative: the profile has none. */
gs_time_ns gs_sim_worker_apply_ns(gs_sim *sim, uint32_t index)
{
    const gs_sim_worker *worker = &sim->workers[index];
    double factor = compute_factor(sim, index);
    gs_time_ns duration = -1;
    for (uint32_t i = 0; worker->program != NULL && i < worker->program->segment_count; i++) {
        const gs_segment *segment = &worker->program->segments[i];
        if (segment->kind == GS_SEGMENT_OPTIMIZER) {
            duration = gs_time_after(duration < 0 ? 0 : duration,
                                     gs_time_of((double)segment->duration_ns * factor + 0.5));
        }
    }
    return duration;
}

static void end_blocking(gs_sim *sim, uint32_t index)
{
    gs_sim_worker *worker = &sim->workers[index];
    gs_time_ns last_came = gs_group_ops_unblock(&sim->ops, worker->blocking - 1);
    gs_step_account_span(&sim->accounts[index], (gs_span){.kind = GS_SPAN_OP,
                                                          .from_ns = worker->since_ns,
                                                          .to_ns = now_ns(sim),
                                                          .last_start_ns = last_came});
    if (sim->timeline != NULL) {
        gs_sim_look_blocking(sim, index, last_came);
    }
    compute(sim, index);
}

/* The gradient under way is played no further: what it has taken so far was compute, or input. */
void gs_sim_worker_cancel(gs_sim *sim, uint32_t index)
{
    gs_sim_worker *worker = &sim->workers[index];
    gs_time_ns now = now_ns(sim);
    GS_ASSERT(worker->phase != GS_WORKER_BLOCKS); /* gs_sim_create refuses what could */
    if (worker->phase == GS_WORKER_COMPUTES) {
        gs_step_account_compute(&sim->accounts[index], worker->since_ns, now);
        if (sim->compute_noise != NULL) {
            gs_compute_noise_busy(sim->compute_noise, index, worker->since_ns, now);
        }
        if (sim->timeline != NULL && gs_timeline_has(sim->timeline, worker->step - 1)) {
            gs_timeline_cut(sim->timeline, index, now);
        }
    } else if (worker->phase == GS_WORKER_INPUT && now > worker->since_ns) {
        gs_step_account_input(&sim->accounts[index], worker->since_ns, now);
    }
    gs_sim_work_cancel(sim, index);
    sim->cancelled_passes += worker->micro_steps;
    worker->closed_buckets = 0;
    worker->phase = GS_WORKER_ASKS;
    gs_sim_worker_wake(sim, index);
}

void gs_sim_worker_event(gs_sim *sim, uint32_t index, uint64_t handle)
{
    if (handle == sim->workers[index].event) {
        gs_sim_worker_go_on(sim, index);
    }
}

void gs_sim_worker_go_on(gs_sim *sim, uint32_t index)
{
    gs_sim_worker *worker = &sim->workers[index];
    gs_time_ns now = now_ns(sim);
    switch (worker->phase) {
    case GS_WORKER_ASKS:
        worker->asked_again = false;
        ask(sim, index);
        break;
    case GS_WORKER_INPUT:
        if (now > worker->since_ns) {
            worker->batch_ns = 0;
            gs_step_account_input(&sim->accounts[index], worker->since_ns, now);
            compute(sim, index);
            break;
        }
        turn_rows(sim, index, now);
        if (has_input(sim, index)) {
            compute(sim, index);
        }
        break;
    case GS_WORKER_COMPUTES:
        gs_step_account_compute(&sim->accounts[index], worker->since_ns, now);
        if (sim->compute_noise != NULL) {
            gs_compute_noise_busy(sim->compute_noise, index, worker->since_ns, now);
        }
        compute(sim, index);
        break;
    case GS_WORKER_GATED:
        compute(sim, index);
        break;
    case GS_WORKER_BLOCKS:
        end_blocking(sim, index);
        break;
    case GS_WORKER_DONE:
        break;
    }
}
