/* Recordings of live runs ("gradsync.recording/3"): what each rank computed in each of its steps.
 *
 * A rank's step goes from where it asked for one to the end of its backward pass, with the times at
 * which units became ready; the durations have all in them that made ranks slow or steps differ.
 * Steps without an end, of gradients that were cancelled, are left out.
 *
 * A rank asks again after its backward pass, while the collectives are under way, until its
 * strategy lets it go on: the whole step ends where the next one that computes was asked for last.
 *
 * Where durations were replayed (live.compute=replay) the optimizer is one of them: the pass that
 * follows starts after it, so it lies before the first unit. Where ranks trained it has passed when
 * the step is asked for, and is not in the recording. */
#include "traces/importers/importer.h"

#include "base/json.h"
#include "traces/importers/import_notes.h"
#include "traces/recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The step of a rank that is being read, and those before it. */
typedef struct worker {
    bool is_open, is_ended; /* ended: a step, after which none has computed */
    int64_t began_ns, last_ns;
    int64_t computed_from_ns, computed_to_ns; /* the step that ended last */
    gs_segment *segments;                     /* [2 * units + 2]: of the open step */
    uint32_t segment_count;
    bool *is_ready; /* [units] */
    uint32_t ready;
    gs_profile_step *steps; /* owner: the arena, as the segments of each */
    uint32_t step_count, left_out;
} worker;

typedef struct reader {
    const char *file;
    const gs_recording *recording;
    gs_arena *arena;  /* of what is handed out */
    gs_arena scratch; /* of workers */
    worker *workers;  /* [ranks] */
    bool is_replayed; /* durations passed, the optimizer's among them */
    gs_import_notes notes;
    gs_error *err;
} reader;

static gs_status no_memory(const reader *in)
{
    return gs_fail(in->err, GS_ENOMEM, "%s: no memory to read it", in->file);
}

static gs_status refuse(const reader *in, size_t record, const char *what)
{
    return gs_fail(in->err, GS_EPARSE, "%s: record %zu: rank %d %s", in->file, record,
                   in->recording->records[record].entity.index, what);
}

/* ---------------------------------------------------------------- steps */

static void add_segment(worker *rank, gs_segment_kind kind, uint32_t index, gs_time_ns duration_ns)
{
    rank->segments[rank->segment_count++] = (gs_segment){kind, index, duration_ns};
}

/* A step's own time, and the one until the next begins. */
static void measure_step(const worker *rank, int64_t next_ns)
{
    gs_profile_step *last = &rank->steps[rank->step_count - 1];
    last->measured_ns = next_ns - rank->computed_from_ns;
    last->measured_compute_ns = rank->computed_to_ns - rank->computed_from_ns;
    last->measured_wait_ns = next_ns - rank->computed_to_ns;
}

static void begin_step(worker *rank, int64_t at_ns, uint32_t units)
{
    rank->left_out += rank->is_open && rank->ready > 0 ? 1 : 0;
    rank->is_open = true;
    rank->began_ns = rank->last_ns = at_ns;
    rank->segment_count = rank->ready = 0;
    memset(rank->is_ready, 0, units * sizeof *rank->is_ready);
}

static gs_status take_unit(reader *in, worker *rank, size_t record)
{
    const gs_input_record *input = &in->recording->records[record];
    if (!rank->is_open || input->sequence >= in->recording->about.units ||
        rank->is_ready[input->sequence]) {
        return refuse(in, record, "has no such unit to be ready with");
    }
    if (rank->is_ended) {
        measure_step(rank, rank->began_ns);
        rank->is_ended = false;
    }
    add_segment(rank, rank->ready == 0 ? GS_SEGMENT_FORWARD : GS_SEGMENT_BACKWARD, 0,
                input->at_ns - rank->last_ns);
    add_segment(rank, GS_SEGMENT_GRADIENT, (uint32_t)input->sequence, 0);
    rank->is_ready[input->sequence] = true;
    rank->ready++;
    rank->last_ns = input->at_ns;
    return GS_OK;
}

/* Units of a step of several passes come in the last one: the passes before it took as long each as
 * the mean of all. */
static void keep_last_pass(worker *rank, int64_t whole_ns, uint64_t passes)
{
    int64_t before_ns = whole_ns - (int64_t)((uint64_t)whole_ns / passes);
    gs_time_ns *forward_ns = &rank->segments[0].duration_ns;
    *forward_ns = *forward_ns > before_ns ? *forward_ns - before_ns : 0;
}

static gs_status end_step(reader *in, worker *rank, size_t record)
{
    const gs_input_record *input = &in->recording->records[record];
    if (!rank->is_open || rank->ready != in->recording->about.units || input->sequence == 0) {
        return refuse(in, record, "ends a step that is not complete");
    }
    add_segment(rank, GS_SEGMENT_BACKWARD, 0, input->at_ns - rank->last_ns);
    keep_last_pass(rank, input->at_ns - rank->began_ns, input->sequence);
    if (in->is_replayed) {
        add_segment(rank, GS_SEGMENT_OPTIMIZER, 0, 0);
    }
    gs_segment *segments = GS_TAKE(in->arena, gs_segment, rank->segment_count);
    if (segments == NULL) {
        return no_memory(in);
    }
    memcpy(segments, rank->segments, rank->segment_count * sizeof *segments);
    rank->steps[rank->step_count++] =
        (gs_profile_step){.segments = segments, .segment_count = rank->segment_count};
    rank->computed_from_ns = rank->began_ns;
    rank->computed_to_ns = input->at_ns;
    rank->is_open = false;
    rank->is_ended = true;
    return GS_OK;
}

static gs_status make_workers(reader *in)
{
    const gs_recording *recording = in->recording;
    uint32_t ranks = recording->about.ranks, units = recording->about.units;
    uint32_t *ends = GS_TAKE(&in->scratch, uint32_t, ranks);
    in->workers = GS_TAKE(&in->scratch, worker, ranks);
    if (ends == NULL || in->workers == NULL) {
        return no_memory(in);
    }
    for (size_t i = 0; i < recording->count; i++) {
        const gs_input_record *input = &recording->records[i];
        if (input->kind == GS_INPUT_BACKWARD && input->entity.role == GS_WORKER) {
            ends[input->entity.index]++;
        }
    }
    for (uint32_t i = 0; i < ranks; i++) {
        worker *rank = &in->workers[i];
        rank->segments = GS_TAKE(&in->scratch, gs_segment, 2 * (size_t)units + 2);
        rank->is_ready = GS_TAKE(&in->scratch, bool, units);
        rank->steps = GS_TAKE(in->arena, gs_profile_step, ends[i]);
        if (rank->segments == NULL || rank->is_ready == NULL || rank->steps == NULL) {
            return no_memory(in);
        }
        if (ends[i] == 0) {
            return gs_fail(in->err, GS_EPARSE, "%s: rank %u has ended no step: nothing is measured",
                           in->file, i);
        }
    }
    return GS_OK;
}

static gs_status read_steps(reader *in)
{
    const gs_recording *recording = in->recording;
    GS_TRY(make_workers(in));
    for (size_t i = 0; i < recording->count; i++) {
        const gs_input_record *input = &recording->records[i];
        if (input->entity.role != GS_WORKER) {
            continue;
        }
        worker *rank = &in->workers[input->entity.index];
        if (input->kind == GS_INPUT_STEP) {
            begin_step(rank, input->at_ns, recording->about.units);
        } else if (input->kind == GS_INPUT_UNIT) {
            GS_TRY(take_unit(in, rank, i));
        } else if (input->kind == GS_INPUT_BACKWARD) {
            GS_TRY(end_step(in, rank, i));
        }
    }
    for (uint32_t i = 0; i < recording->about.ranks; i++) {
        if (in->workers[i].left_out > 0) {
            gs_import_notes_add(
                &in->notes,
                "rank %u: %u steps whose gradient was cancelled are left out, which "
                "are the long ones",
                i, in->workers[i].left_out);
        }
    }
    return GS_OK;
}

/* ---------------------------------------------------------------- the profile */

static gs_status make_units(reader *in, gs_profile *profile)
{
    const gs_recording *recording = in->recording;
    gs_profile_unit *units = GS_TAKE(in->arena, gs_profile_unit, recording->about.units);
    if (units == NULL) {
        return no_memory(in);
    }
    for (uint32_t i = 0; i < recording->about.units; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "unit %u", i);
        units[i] = (gs_profile_unit){.name = gs_arena_text(in->arena, name),
                                     .elements = recording->unit_elements[i]};
        if (units[i].name == NULL) {
            return no_memory(in);
        }
        if (units[i].elements < 1) {
            return gs_fail(in->err, GS_EPARSE, "%s: unit %u has %" PRId64 " elements", in->file, i,
                           units[i].elements);
        }
    }
    profile->units = units;
    profile->unit_count = recording->about.units;
    return GS_OK;
}

static gs_status make_profile(reader *in, gs_imported *out)
{
    static const int32_t bytes[GS_NUMBER_COUNT] = {
        [GS_FP32] = 4, [GS_FP16] = 2, [GS_BF16] = 2, [GS_FP64] = 8};
    const gs_recording_about *about = &in->recording->about;
    gs_profile *profile = GS_TAKE(in->arena, gs_profile, 1);
    gs_profile_rank *ranks = GS_TAKE(in->arena, gs_profile_rank, about->ranks);
    char source[128];
    (void)snprintf(source, sizeof source, "recording of %s on %u rank%s", about->strategy,
                   about->ranks, about->ranks == 1 ? "" : "s");
    if (profile == NULL || ranks == NULL) {
        return no_memory(in);
    }
    for (uint32_t i = 0; i < about->ranks; i++) {
        ranks[i] = (gs_profile_rank){(int32_t)i, in->workers[i].steps, in->workers[i].step_count};
    }
    *profile = (gs_profile){.source = gs_arena_text(in->arena, source),
                            .ranks = ranks,
                            .rank_count = about->ranks,
                            .world_size = (int32_t)about->ranks,
                            .element_bytes = bytes[about->number],
                            .is_of_run = true,
                            .run_of = gs_arena_text(in->arena, about->strategy)};
    if (about->batch_per_rank > 0 && about->batch_per_rank <= GS_PROFILE_BATCH_MAX) {
        profile->batch = about->batch_per_rank;
    }
    GS_TRY(make_units(in, profile));
    if (profile->source == NULL || profile->run_of == NULL || in->notes.out_of_memory) {
        return no_memory(in);
    }
    profile->notes = in->notes.items;
    profile->note_count = in->notes.count;
    *out = (gs_imported){.format = "recording",
                         .profile = profile,
                         .notes = in->notes.items,
                         .note_count = in->notes.count};
    return GS_OK;
}

/* What whoever recorded said of the run: its scenario, unless the file is older. */
static gs_status read_origin(reader *in)
{
    const gs_recording *recording = in->recording;
    gs_json_at origin, scenario, live, compute;
    const char *text = "";
    if (recording->about.origin_bytes == 0) {
        return GS_OK;
    }
    GS_TRY(gs_json_parse(recording->origin, recording->about.origin_bytes, in->file, &origin,
                         in->err));
    gs_status status = GS_OK;
    if (gs_json_find(&origin, "scenario", &scenario) && gs_json_find(&scenario, "live", &live) &&
        gs_json_find(&live, "compute", &compute)) {
        status = gs_json_text(&compute, &text, in->err);
    }
    in->is_replayed = status == GS_OK && strcmp(text, "replay") == 0;
    gs_json_free(origin.value);
    return status;
}

static gs_status import(reader *in, gs_imported *out)
{
    const gs_recording_about *about = &in->recording->about;
    if (about->units == 0) {
        return gs_fail(in->err, GS_EPARSE, "%s: holds no units of gradient", in->file);
    }
    if (about->gated != 0) {
        return gs_fail(in->err, GS_EINVAL,
                       "%s: forward passes of %s wait for what it sends: how long they take by "
                       "themselves is not in the recording; record another strategy",
                       in->file, about->strategy);
    }
    GS_TRY(read_origin(in));
    GS_TRY(read_steps(in));
    return make_profile(in, out);
}

static gs_status read_recording(const char *const *files, size_t file_count,
                                const gs_import_options *options, gs_arena *arena, gs_imported *out,
                                gs_error *err)
{
    (void)options;
    if (file_count != 1) {
        return gs_fail(err, GS_EMISMATCH,
                       "%s and %s: a recording holds all ranks of its run; name one file", files[0],
                       files[1]);
    }
    gs_recording recording;
    GS_TRY(gs_recording_read(files[0], &recording, err));
    reader in = {.file = files[0],
                 .recording = &recording,
                 .arena = arena,
                 .notes.arena = arena,
                 .err = err};
    gs_arena_init(&in.scratch);
    gs_status status = import(&in, out);
    gs_arena_fini(&in.scratch);
    gs_recording_fini(&recording);
    return status;
}

static int probe_recording(const char *head, size_t head_bytes, const char *file)
{
    static const char magic[] = "gradsync.record"; /* with its NUL */
    (void)file;
    return head_bytes >= sizeof magic && memcmp(head, magic, sizeof magic) == 0 ? 100 : 0;
}

const gs_importer gs_importer_recording = {
    .name = "recording",
    .summary = "recordings of live runs: what every rank computed, as it happened",
    .source = "gradsync live --recording",
    .probe = probe_recording,
    .read = read_recording,
};
