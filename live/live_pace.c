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
    gs_time_ns asked_ns; /* noise is not asked for an earlier time: a gradient may be cancelled */
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

static gs_time_ns asked(gs_live_pace *pace, gs_time_ns at_ns)
{
    pace->asked_ns = at_ns > pace->asked_ns ? at_ns : pace->asked_ns;
    return pace->asked_ns;
}

/* What kernels that start then take longer. */
static double device_factor(gs_live_pace *pace, int64_t step, gs_time_ns at_ns)
{
    return pace->noise == NULL
               ? pace->compute_scale
               : pace->compute_scale * gs_compute_noise_factor(pace->noise, pace->rank,
                                                               (uint64_t)step, asked(pace, at_ns));
}

static void heat(gs_live_pace *pace, gs_time_ns from_ns, gs_time_ns to_ns)
{
    if (pace->noise != NULL && to_ns > from_ns) {
        from_ns = asked(pace, from_ns);
        gs_compute_noise_busy(pace->noise, pace->rank, from_ns, asked(pace, to_ns));
    }
}

/* A pass over the program. */
typedef struct pass {
    int64_t step;
    double scale;        /* of its samples */
    gs_time_ns begin_ns; /* of the step */
    bool is_last;        /* its units are told */
} pass;

/* From at_ns after the step began; returns when it has ended. Adjacent kernels have one factor, of
 * the moment in which the first of them starts. */
static gs_time_ns play(gs_live_pace *pace, const gs_profile_step *program, const pass *now,
                       gs_time_ns at_ns)
{
    uint32_t ready = 0;
    gs_time_ns kernels_ns = at_ns; /* the first of adjacent ones began */
    double factor = 1.0;
    for (uint32_t i = 0; i < program->segment_count; i++) {
        const gs_segment *segment = &program->segments[i];
        switch (segment->kind) {
        case GS_SEGMENT_INPUT:
            heat(pace, now->begin_ns + kernels_ns, now->begin_ns + at_ns);
            kernels_ns = at_ns = gs_time_after(at_ns, segment->duration_ns);
            break;
        case GS_SEGMENT_FORWARD:
        case GS_SEGMENT_BACKWARD:
            if (kernels_ns == at_ns) {
                factor = now->scale * device_factor(pace, now->step, now->begin_ns + at_ns);
            }
            at_ns = gs_time_after(at_ns, own_time(segment->duration_ns, factor));
            break;
        case GS_SEGMENT_GRADIENT:
            heat(pace, now->begin_ns + kernels_ns, now->begin_ns + at_ns);
            kernels_ns = at_ns;
            if (now->is_last) {
                GS_ASSERT(ready < pace->unit_count);
                pace->units[ready++] = (gs_paced_unit){segment->index, at_ns};
            }
            break;
        case GS_SEGMENT_BLOCKING:
        case GS_SEGMENT_OPTIMIZER:
            break;
        }
    }
    heat(pace, now->begin_ns + kernels_ns, now->begin_ns + at_ns);
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
    pass now = {
        .step = step, .scale = pass_scale(&pace->scenario->workload, plan), .begin_ns = begin_ns};
    for (uint32_t micro = 0; micro < plan->micro_steps; micro++) {
        now.is_last = micro + 1 == plan->micro_steps;
        if (micro > 0 && pace->input != NULL) {
            gs_time_ns wanted_ns = gs_time_after(begin_ns, paced.compute_ns);
            paced.compute_ns = gs_input_loader_take(pace->input, pace->rank, wanted_ns) - begin_ns;
        }
        paced.compute_ns = play(pace, program, &now, paced.compute_ns);
    }
    gs_time_ns end_ns = gs_time_after(begin_ns, paced.compute_ns);
    paced.optimizer_ns = optimizer_ns(program, device_factor(pace, step, end_ns));
    return paced;
}
