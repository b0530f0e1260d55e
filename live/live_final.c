#include "live/live_final.h"

#include "base/assert.h"
#include "live/crew.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool gs_live_final_of(const gs_live_entity *entity, gs_arena *arena, gs_live_final *out)
{
    const gs_live_shared *shared = entity->shared;
    uint32_t communicators = shared->layout.communicator_count;
    uint32_t vector;
    *out = (gs_live_final){.is_known = true,
                           .steps = gs_driver_step(entity->driver),
                           .bytes_sent = entity->bytes_sent,
                           .dropped_elements = entity->dropped_elements,
                           .cancelled_passes = entity->cancelled_passes,
                           .rounded_elements = entity->memory.rounded_elements,
                           .underflown_elements = entity->memory.underflown_elements,
                           .staleness = entity->staleness};
    if (entity->self.role == GS_WORKER) {
        gs_driver_model_view(entity->driver, &vector, &out->model_weight);
        out->model = gs_entity_memory_vector(&entity->memory, vector, &out->model_count);
        out->shelf = &entity->shelf;
    }
    if (!gs_driver_waits_for(entity->driver, out->waits, sizeof out->waits)) {
        out->waits[0] = '\0';
    }
    out->op_streams = GS_TAKE(arena, uint64_t, communicators);
    if (out->op_streams == NULL) {
        return false;
    }
    memcpy(out->op_streams, entity->op_streams, communicators * sizeof *out->op_streams);
    return true;
}

/* ---------------------------------------------------------------- as bytes */

/* What a process sends, before the arrays it counts. */
typedef struct told {
    gs_status status;
    gs_error error;
    gs_live_final final; /* of its entity, if it has one: without its pointers */
    int64_t parcels_sent, parcels_taken, gradients;
    uint64_t floats, streams, records, entries;
} told;

static told told_of(const gs_live_shared *shared, const gs_live_final *final)
{
    told said = {.status = shared->status,
                 .error = shared->error,
                 .parcels_sent = atomic_load(&shared->parcels_sent),
                 .parcels_taken = atomic_load(&shared->parcels_taken),
                 .gradients = atomic_load(&shared->gradients),
                 .records = shared->config.record ? shared->recording.count : 0,
                 .entries = shared->log.count};
    if (final != NULL) {
        said.final = *final;
        said.floats = shared->status == GS_OK ? final->model_count : 0;
        said.streams = shared->layout.communicator_count;
    }
    return said;
}

static unsigned char *put(unsigned char *at, const void *from, size_t bytes)
{
    if (bytes > 0) {
        memcpy(at, from, bytes);
    }
    return at + bytes;
}

/* Owner: caller, free(). NULL: no memory. */
static unsigned char *pack(const gs_live_shared *shared, const gs_live_final *final,
                           size_t *out_bytes)
{
    told said = told_of(shared, final);
    size_t floats = said.floats * sizeof(float), streams = said.streams * sizeof(uint64_t);
    size_t records = said.records * sizeof(gs_input_record);
    size_t entries = said.entries * sizeof(gs_live_entry);
    *out_bytes = sizeof said + streams + records + entries + floats;
    unsigned char *bytes = malloc(*out_bytes);
    if (bytes != NULL) {
        unsigned char *at = put(bytes, &said, sizeof said);
        at = put(at, final != NULL ? final->op_streams : NULL, streams);
        at = put(at, shared->recording.records, records);
        at = put(at, shared->log.entries, entries);
        (void)put(at, final != NULL ? final->model : NULL, floats);
    }
    return bytes;
}

/* The records of one process, of all that were told. */
typedef struct records {
    const gs_input_record *next, *end;
} records;

typedef struct heard {
    told said;
    records records;
} heard;

/* Takes over what one process said. */
static bool unpack(gs_live_shared *shared, const gs_crew_bytes *bytes, uint32_t process,
                   gs_live_final *finals, gs_arena *arena, heard *out)
{
    const unsigned char *at = bytes->data;
    memcpy(&out->said, at, sizeof out->said);
    const told *said = &out->said;
    const unsigned char *streams = at + sizeof *said;
    const unsigned char *inputs = streams + said->streams * sizeof(uint64_t);
    const unsigned char *entries = inputs + said->records * sizeof(gs_input_record);
    const unsigned char *floats = entries + said->entries * sizeof(gs_live_entry);
    GS_ASSERT(floats + said->floats * sizeof(float) == at + bytes->count);
    out->records.next = (const gs_input_record *)(const void *)inputs;
    out->records.end = out->records.next + said->records;
    if (process == 0 || process >= shared->entity_count) {
        return true; /* its own, or nothing */
    }
    gs_live_final *final = &finals[process];
    *final = said->final;
    final->op_streams = GS_TAKE(arena, uint64_t, said->streams);
    float *model = GS_TAKE(arena, float, said->floats);
    if (final->op_streams == NULL || model == NULL ||
        !gs_live_log_append(&shared->log, (const gs_live_entry *)(const void *)entries,
                            said->entries)) {
        return false;
    }
    (void)put((unsigned char *) final->op_streams, streams, said->streams * sizeof(uint64_t));
    (void)put((unsigned char *)model, floats, said->floats * sizeof(float));
    final->model = said->floats > 0 ? model : NULL;
    final->shelf = NULL;
    return true;
}

/* All records in the order of their times, which no two share: checks are made anew. */
static gs_status merge(gs_live_shared *shared, heard *all, gs_error *err)
{
    gs_recording merged;
    GS_TRY(gs_recording_init(&merged, &shared->recording.about, err));
    for (;;) {
        records *first = NULL;
        for (uint32_t i = 0; i < shared->process_count; i++) {
            records *own = &all[i].records;
            if (own->next < own->end && (first == NULL || own->next->at_ns < first->next->at_ns)) {
                first = own;
            }
        }
        if (first == NULL) {
            break;
        }
        gs_input_record record = *first->next++;
        if (gs_recording_add(&merged, &record) != GS_OK) {
            gs_recording_fini(&merged);
            return gs_fail(err, GS_ENOMEM, "no memory for the recording of the run");
        }
    }
    gs_recording_fini(&shared->recording);
    shared->recording = merged;
    return GS_OK;
}

/* The first of the processes that failed by itself speaks for the run. */
static void take_status(gs_live_shared *shared, const heard *all)
{
    int64_t sent = 0, taken = 0, gradients = 0;
    for (uint32_t i = 0; i < shared->process_count; i++) {
        const told *said = &all[i].said;
        if (shared->status == GS_OK && said->status != GS_OK) {
            shared->status = said->status;
            shared->error = said->error;
        }
        sent += said->parcels_sent;
        taken += said->parcels_taken;
        gradients += said->gradients;
    }
    atomic_store(&shared->gradients, gradients);
    if (shared->status == GS_OK && sent != taken) {
        shared->status = gs_fail(&shared->error, GS_ECONTRACT,
                                 "everybody has drained and %lld parcels were still on their way; "
                                 "count messages in the final notes",
                                 (long long)(sent - taken));
    }
}

static gs_status read_all(gs_live_shared *shared, const gs_crew_bytes *bytes, gs_live_final *finals,
                          gs_arena *arena, gs_error *err)
{
    heard *all = calloc(shared->process_count, sizeof *all);
    gs_status status = all == NULL ? GS_ENOMEM : GS_OK;
    for (uint32_t i = 0; status == GS_OK && i < shared->process_count; i++) {
        status = unpack(shared, &bytes[i], i, finals, arena, &all[i]) ? GS_OK : GS_ENOMEM;
    }
    if (status == GS_OK) {
        take_status(shared, all);
    } else {
        (void)gs_fail(err, GS_ENOMEM, "no memory for the results of %u processes",
                      shared->process_count);
    }
    if (status == GS_OK && shared->config.record) {
        status = merge(shared, all, err);
    }
    free(all);
    return status;
}

gs_status gs_live_finals_gather(gs_live_shared *shared, gs_live_final *finals, gs_arena *arena,
                                gs_error *err)
{
    uint32_t self = shared->process, processes = shared->process_count;
    size_t count;
    unsigned char *mine = pack(shared, self < shared->entity_count ? &finals[self] : NULL, &count);
    gs_crew_bytes *all = calloc(processes, sizeof *all);
    gs_status status = GS_OK;
    if (mine == NULL || all == NULL) {
        status = gs_fail(err, GS_ENOMEM, "no memory for the results of the run");
    }
    if (status == GS_OK) {
        status = gs_crew_gather(shared->config.crew, mine, count, all, err);
    }
    if (status == GS_OK && self == 0) {
        status = read_all(shared, all, finals, arena, err);
    }
    struct {
        gs_status status;
        gs_error error;
    } verdict = {status == GS_OK ? shared->status : status, status == GS_OK ? shared->error : *err};
    if (gs_crew_broken(shared->config.crew) == NULL) {
        status = gs_crew_share(shared->config.crew, &verdict, sizeof verdict, err);
        shared->status = status == GS_OK ? verdict.status : shared->status;
        shared->error = status == GS_OK ? verdict.error : shared->error;
    }
    for (uint32_t i = 0; all != NULL && i < processes; i++) {
        free(all[i].data);
    }
    free(all);
    free(mine);
    return status;
}
