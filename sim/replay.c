#include "sim/replay.h"

#include "base/assert.h"
#include "sim/replay_host.h"
#include "strategies/registry.h"

#include <stdio.h>
#include <string.h>

/* ---------------------------------------------------------------- creation */

typedef struct fact {
    const char *what;
    int64_t recorded, here;
} fact;

static gs_status check_facts(const fact *facts, size_t count, gs_error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (facts[i].recorded != facts[i].here) {
            return gs_fail(err, GS_EINVAL,
                           "the recording is of another job: %s %lld, and this one has %lld",
                           facts[i].what, (long long)facts[i].recorded, (long long)facts[i].here);
        }
    }
    return GS_OK;
}

static gs_status check_units(const gs_replay_config *config, gs_error *err)
{
    const gs_recording *recording = config->recording;
    const gs_job *job = config->job;
    const fact count = {"units of gradient", recording->about.units, job->unit_count};
    GS_TRY(check_facts(&count, 1, err));
    for (uint32_t i = 0; i < job->unit_count; i++) {
        char what[64];
        (void)snprintf(what, sizeof what, "elements of unit %u", i);
        const fact size = {what, recording->unit_elements[i], job->unit_elements[i]};
        GS_TRY(check_facts(&size, 1, err));
    }
    return GS_OK;
}

static gs_status check_same_run(const gs_replay_config *config, const gs_layout *layout,
                                gs_error *err)
{
    const gs_recording_about *about = &config->recording->about;
    const gs_job *job = config->job;
    const char *name = config->strategy->strategy->name;
    if (strcmp(about->strategy, name) != 0) {
        return gs_fail(err, GS_EINVAL, "the recording is of %s, not of %s", about->strategy, name);
    }
    const fact sizes[] = {{"ranks", about->ranks, job->ranks},
                          {"servers", about->servers, layout->servers},
                          {"elements", about->elements, job->elements},
                          {"seed", (int64_t)about->seed, (int64_t)job->seed}};
    GS_TRY(check_facts(sizes, sizeof sizes / sizeof *sizes, err));
    GS_TRY(check_units(config, err));
    if (config->scenario == NULL) {
        return GS_OK;
    }
    const gs_workload *workload = &config->scenario->workload;
    if (about->number != (uint32_t)workload->number) {
        static const char *const numbers[GS_NUMBER_COUNT] = {
            [GS_FP32] = "fp32", [GS_FP16] = "fp16", [GS_BF16] = "bf16", [GS_FP64] = "fp64"};
        return gs_fail(err, GS_EINVAL,
                       "the recording is of another job: its gradients are %s, and this one's %s",
                       numbers[about->number], numbers[workload->number]);
    }
    const fact work[] = {{"samples a pass", about->batch_per_rank, workload->batch_per_rank},
                         {"steps", about->budget_steps, workload->budget_steps}};
    return check_facts(work, sizeof work / sizeof *work, err);
}

static gs_status make_buckets(gs_replay *replay, gs_error *err)
{
    const gs_replay_config *config = &replay->config;
    for (uint32_t i = 0; i < replay->relay.count; i++) {
        gs_leg *leg = &replay->relay.list[i];
        const gs_bucket_rule *rule = &leg->layout.buckets;
        bool is_rebuilt = config->scenario != NULL && !leg->layout.gated;
        leg->buckets = gs_bucket_plan_make(config->job, rule, NULL, &replay->arena);
        if (is_rebuilt) {
            leg->buckets_rebuilt =
                gs_scenario_ready_buckets(config->scenario, config->job, rule, &replay->arena);
        }
        if (leg->buckets == NULL || (is_rebuilt && leg->buckets_rebuilt == NULL)) {
            return gs_fail(err, GS_ENOMEM, "no memory for buckets");
        }
    }
    replay->buckets = replay->relay.list[0].buckets;
    replay->buckets_rebuilt = replay->relay.list[0].buckets_rebuilt;
    return GS_OK;
}

static gs_status make_entities(gs_replay *replay, gs_error *err)
{
    const gs_recording_about *about = &replay->config.recording->about;
    const gs_task *task = replay->config.task;
    if (task != NULL) {
        GS_TRY(gs_task_workspace_create(task,
                                        gs_samples_max(&replay->layout, about->batch_per_rank),
                                        &replay->arena, &replay->workspace, err));
    }
    replay->entity_count = about->ranks + about->servers;
    replay->entities = GS_TAKE(&replay->arena, gs_replay_entity, replay->entity_count);
    if (replay->entities == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory for %u entities", replay->entity_count);
    }
    GS_TRY(make_buckets(replay, err));
    for (uint32_t i = 0; i < replay->entity_count; i++) {
        GS_TRY(gs_replay_entity_init(replay, i, err));
    }
    return GS_OK;
}

static gs_status make(gs_replay *replay, gs_error *err)
{
    const gs_replay_config *config = &replay->config;
    const gs_strategy_choice *choice = config->strategy;
    GS_TRY(gs_scenario_relay(choice, config->job, &replay->relay, err));
    replay->layout = replay->relay.layout;
    replay->streams = gs_relay_streams(&replay->relay, config->job);
    GS_TRY(check_same_run(config, &replay->layout, err));
    return make_entities(replay, err);
}

/* ---------------------------------------------------------------- records */

/* A record that cannot have happened here. */
static gs_status refuse(gs_replay *replay, const gs_input_record *record, const char *expected)
{
    char from[48] = "";
    bool is_arrival = record->kind == GS_INPUT_PART || record->kind == GS_INPUT_MESSAGE ||
                      record->kind == GS_INPUT_NOTE;
    if (is_arrival) {
        (void)snprintf(from, sizeof from, " of %s %d",
                       record->source.role == GS_WORKER ? "worker" : "server",
                       record->source.index);
    }
    return gs_fail(&replay->error, GS_EMISMATCH, "record %zu: %s %d was told '%s %llu'%s; %s",
                   replay->at, record->entity.role == GS_WORKER ? "worker" : "server",
                   record->entity.index, gs_input_kind_text(record->kind),
                   (unsigned long long)record->sequence, from, expected);
}

static gs_status play_arrival(gs_replay *replay, gs_replay_entity *entity,
                              const gs_input_record *record)
{
    uint32_t plane = record->kind == GS_INPUT_MESSAGE ? GS_REPLAY_MESSAGES
                     : record->kind == GS_INPUT_NOTE  ? GS_REPLAY_NOTES
                                                      : GS_REPLAY_PARTS + record->stream;
    uint32_t from = gs_recording_entity(&replay->config.recording->about, record->source);
    if (plane >= GS_REPLAY_PARTS + gs_streams_count(&replay->streams)) {
        return refuse(replay, record, "the job has no such stream of a communicator");
    }
    gs_replay_parcel *first = gs_replay_peek(replay, entity, plane, from);
    if (first == NULL) {
        return refuse(replay, record, "nothing is on its way on that channel");
    }
    if (first->sequence != record->sequence) {
        char expected[64];
        (void)snprintf(expected, sizeof expected, "number %llu comes next on that channel",
                       (unsigned long long)first->sequence);
        return refuse(replay, record, expected);
    }
    gs_replay_arrive(replay, entity, plane, from, record->at_ns);
    return GS_OK;
}

static gs_status play_step(gs_replay *replay, gs_replay_entity *entity,
                           const gs_input_record *record)
{
    if (entity->self.role != GS_WORKER || !entity->asked || entity->in_backward) {
        return refuse(replay, record, "it did not ask for a step");
    }
    entity->asked = false;
    entity->has_gradient = false;
    gs_driver_step_begin(entity->driver, record->at_ns, &entity->plan);
    if (!entity->plan.go) {
        return GS_OK;
    }
    if (!entity->has_begun && replay->buckets_rebuilt != NULL) {
        gs_driver_set_buckets(entity->driver, replay->buckets_rebuilt);
    }
    entity->has_begun = true;
    entity->in_backward = true;
    entity->units_left = replay->config.job->unit_count;
    memset(entity->unit_ready, 0, entity->units_left);
    if (entity->plan.closed_buckets == 0) {
        gs_replay_gradient(entity);
    }
    return replay->error.code;
}

static gs_status play_compute(gs_replay *replay, gs_replay_entity *entity,
                              const gs_input_record *record)
{
    if (record->kind == GS_INPUT_BACKWARD) {
        if (!entity->in_backward || entity->units_left > 0) {
            return refuse(replay, record, "its gradient is not complete");
        }
        if (record->sequence != entity->plan.micro_steps) {
            return refuse(replay, record, "its gradient is of another number of passes");
        }
        entity->in_backward = false;
        entity->asked = true;
        gs_driver_backward_done(entity->driver, record->at_ns, entity->loss);
        return GS_OK;
    }
    if (!entity->has_gradient || record->sequence >= replay->config.job->unit_count ||
        entity->unit_ready[record->sequence]) {
        return refuse(replay, record, "no such unit is being computed");
    }
    entity->unit_ready[record->sequence] = true;
    entity->units_left--;
    gs_driver_unit_ready(entity->driver, record->at_ns, (uint32_t)record->sequence);
    return GS_OK;
}

static gs_status play_completion(gs_replay *replay, gs_replay_entity *entity,
                                 const gs_input_record *record)
{
    uint32_t slot;
    bool is_sent = record->kind == GS_INPUT_SENT;
    if (!gs_replay_end_request(entity, record->sequence, is_sent, &slot)) {
        return refuse(replay, record, "it has no such request outstanding");
    }
    if (is_sent) {
        gs_driver_sent(entity->driver, record->at_ns, slot);
    } else {
        gs_driver_later(entity->driver, record->at_ns, slot);
    }
    return GS_OK;
}

static gs_status play_swap(gs_replay *replay, gs_replay_entity *entity,
                           const gs_input_record *record)
{
    if (entity->self.role != GS_WORKER || record->sequence >= replay->relay.count) {
        return refuse(replay, record, "it has no such leg");
    }
    gs_driver_swap(entity->driver, record->at_ns, (uint32_t)record->sequence);
    return GS_OK;
}

static gs_status play_turn(gs_replay *replay, gs_replay_entity *entity,
                           const gs_input_record *record)
{
    if (record->kind == GS_INPUT_START) {
        if (entity->started) {
            return refuse(replay, record, "it had started before");
        }
        entity->started = true;
        entity->asked = true;
        gs_driver_start(entity->driver, record->at_ns);
        return GS_OK;
    }
    if (entity->quiesced) {
        return refuse(replay, record, "it had been told before");
    }
    entity->quiesced = true;
    gs_driver_quiesce(entity->driver, record->at_ns, replay->config.recording->about.cut_step);
    return GS_OK;
}

static gs_status play(gs_replay *replay, const gs_input_record *record)
{
    uint32_t number = gs_recording_entity(&replay->config.recording->about, record->entity);
    gs_replay_entity *entity = &replay->entities[number];
    if (record->at_ns <= replay->last_ns) {
        return refuse(replay, record, "time goes back");
    }
    replay->last_ns = record->at_ns;
    uint32_t check = gs_recording_check(entity->check, record);
    if (!entity->started && record->kind != GS_INPUT_START) {
        return refuse(replay, record, "it has not started");
    }
    gs_status status = GS_EMISMATCH;
    switch ((gs_input_kind)record->kind) {
    case GS_INPUT_START:
    case GS_INPUT_QUIESCE:
        status = play_turn(replay, entity, record);
        break;
    case GS_INPUT_STEP:
        status = play_step(replay, entity, record);
        break;
    case GS_INPUT_UNIT:
    case GS_INPUT_BACKWARD:
        status = play_compute(replay, entity, record);
        break;
    case GS_INPUT_PART:
    case GS_INPUT_MESSAGE:
    case GS_INPUT_NOTE:
        status = play_arrival(replay, entity, record);
        break;
    case GS_INPUT_SENT:
    case GS_INPUT_LATER:
        status = play_completion(replay, entity, record);
        break;
    case GS_INPUT_SWAP:
        status = play_swap(replay, entity, record);
        break;
    case GS_INPUT_KIND_COUNT:
        break;
    }
    GS_TRY(status);
    if (check != record->check) {
        return refuse(replay, record, "it could have been, but the order was changed here");
    }
    entity->check = check;
    return replay->error.code;
}

static gs_status check_end(gs_replay *replay)
{
    for (uint32_t i = 0; i < replay->entity_count; i++) {
        const gs_replay_entity *entity = &replay->entities[i];
        if (!gs_driver_is_drained(entity->driver)) {
            return gs_fail(
                &replay->error, GS_EMISMATCH, "the recording ends before %s %d has drained",
                entity->self.role == GS_WORKER ? "worker" : "server", entity->self.index);
        }
    }
    uint64_t recorded = replay->config.recording->about.weights_hash;
    uint64_t found = gs_replay_weights_hash(replay);
    if (found != recorded) {
        return gs_fail(&replay->error, GS_EMISMATCH,
                       "the weights differ from the recorded ones (%016llx, not %016llx): another "
                       "machine's kernels, another task, or a changed order",
                       (unsigned long long)found, (unsigned long long)recorded);
    }
    return GS_OK;
}

gs_status gs_replay_run(const gs_replay_config *config, gs_replay_result *out, gs_error *err)
{
    gs_replay replay = {.config = *config, .last_ns = -1};
    const gs_recording *recording = config->recording;
    *out = (gs_replay_result){.records = 0};
    gs_arena_init(&replay.arena);
    gs_payload_pool_init(&replay.floats, &replay.arena);
    gs_status status = make(&replay, err);
    if (status == GS_OK) {
        for (; replay.at < recording->count && status == GS_OK; replay.at++) {
            status = play(&replay, &recording->records[replay.at]);
        }
        status = status == GS_OK ? check_end(&replay) : status;
        *out = (gs_replay_result){gs_replay_weights_hash(&replay), replay.at, replay.staleness};
        if (status != GS_OK) {
            *err = replay.error;
        }
    }
    gs_arena_fini(&replay.arena);
    return status;
}
