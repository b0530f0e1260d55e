#include "live/live_pace.h"

#include "base/assert.h"

struct gs_live_pace {
    const gs_scenario *scenario;
    const gs_profile_rank *recorded;
    uint32_t rank, unit_count;
    double compute_scale;    /* of the rank's node */
    gs_compute_noise *noise; /* NULL: none */
    gs_input_loader *input;  /* NULL: no input stage */
    gs_paced_unit *units;    /* [unit_count] */
};

static gs_status make_noise(gs_live_pace *pace, const gs_job *job, gs_arena *arena, gs_error *err)
{
    const gs_scenario *scenario = pace->scenario;
    const gs_noise *noise = &scenario->noise;
    if (noise->compute.law != GS_LAW_NONE || noise->straggler.kind != GS_STRAGGLER_NONE) {
        GS_TRY(gs_compute_noise_create(noise, job->seed, job->ranks, arena, &pace->noise, err));
    }
    const gs_input_stage *input = &scenario->workload.input;
    return input->time_ns == 0 ? GS_OK
                               : gs_input_loader_create(input, &noise->input, job->seed, job->ranks,
                                                        arena, &pace->input, err);
}

gs_status gs_live_pace_create(const gs_scenario *scenario, const gs_job *job, uint32_t rank,
                              gs_arena *arena, gs_live_pace **out, gs_error *err)
{
    const gs_profile *profile = scenario->workload.profile;
    if (profile->blocking_count > 0) {
        return gs_fail(err, GS_EUNSUPPORTED,
                       "live: the profile has blocking ops (%.40s), which a live run does not "
                       "replay; use a profile without them, or compute=train",
                       profile->blocking[0].name);
    }
    gs_live_pace *pace = GS_TAKE(arena, gs_live_pace, 1);
    gs_paced_unit *units = GS_TAKE(arena, gs_paced_unit, job->unit_count);
    if (pace == NULL || units == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory for the durations of rank %u", rank);
    }
    *pace = (gs_live_pace){.scenario = scenario,
                           .recorded = &profile->ranks[rank % profile->rank_count],
                           .rank = rank,
                           .unit_count = job->unit_count,
                           .compute_scale = gs_scenario_group_of(scenario, rank)->compute_scale,
                           .units = units};
    *out = pace;
    return make_noise(pace, job, arena, err);
}

/* As in sim_worker.c: a part of a pass does not grow with its samples. */
static double pass_scale(const gs_workload *workload, const gs_plan *plan)
{
    if (plan->samples == 0 && !plan->dummy) {
        return 1.0;
    }
    return workload->fixed_share +
           (1.0 - workload->fixed_share) * (double)plan->samples / (double)workload->batch_per_rank;
}

static gs_time_ns own_time(gs_time_ns recorded_ns, double factor)
{
    return gs_time_of((double)recorded_ns * factor + 0.5);
}

/* One pass over the program, from at_ns on; the units of the last pass are told. */
static gs_time_ns play(gs_live_pace *pace, const gs_profile_step *program, double factor,
                       gs_time_ns at_ns, bool is_last)
{
    uint32_t ready = 0;
    for (uint32_t i = 0; i < program->segment_count; i++) {
        const gs_segment *segment = &program->segments[i];
        switch (segment->kind) {
        case GS_SEGMENT_INPUT:
            at_ns = gs_time_after(at_ns, segment->duration_ns);
            break;
        case GS_SEGMENT_FORWARD:
        case GS_SEGMENT_BACKWARD:
            at_ns = gs_time_after(at_ns, own_time(segment->duration_ns, factor));
            break;
        case GS_SEGMENT_GRADIENT:
            if (is_last) {
                GS_ASSERT(ready < pace->unit_count);
                pace->units[ready++] = (gs_paced_unit){segment->index, at_ns};
            }
            break;
        case GS_SEGMENT_BLOCKING:
        case GS_SEGMENT_OPTIMIZER:
            break;
        }
    }
    return at_ns;
}

static gs_time_ns optimizer_ns(const gs_profile_step *program, double factor)
{
    gs_time_ns total = 0;
    for (uint32_t i = 0; i < program->segment_count; i++) {
        if (program->segments[i].kind == GS_SEGMENT_OPTIMIZER) {
            total = gs_time_after(total, own_time(program->segments[i].duration_ns, factor));
        }
    }
    return total;
}

gs_paced_step gs_live_pace_step(gs_live_pace *pace, int64_t step, const gs_plan *plan,
                                gs_time_ns at_ns)
{
    const gs_profile_step *program = &pace->recorded->steps[step % pace->recorded->step_count];
    gs_paced_step paced = {.units = pace->units};
    if (pace->input != NULL) {
        paced.input_ns = gs_input_loader_take(pace->input, pace->rank, at_ns) - at_ns;
    }
    gs_time_ns begin_ns = gs_time_after(at_ns, paced.input_ns);
    double device = pace->compute_scale;
    if (pace->noise != NULL) {
        device *= gs_compute_noise_factor(pace->noise, pace->rank, (uint64_t)step, begin_ns);
    }
    double factor = device * pass_scale(&pace->scenario->workload, plan);
    for (uint32_t micro = 0; micro < plan->micro_steps; micro++) {
        bool is_last = micro + 1 == plan->micro_steps;
        if (micro > 0 && pace->input != NULL) {
            gs_time_ns wanted_ns = gs_time_after(begin_ns, paced.compute_ns);
            paced.compute_ns = gs_input_loader_take(pace->input, pace->rank, wanted_ns) - begin_ns;
        }
        paced.compute_ns = play(pace, program, factor, paced.compute_ns, is_last);
    }
    paced.optimizer_ns = optimizer_ns(program, device);
    if (pace->noise != NULL) {
        gs_compute_noise_busy(pace->noise, pace->rank, begin_ns,
                              gs_time_after(begin_ns, paced.compute_ns));
    }
    return paced;
}
