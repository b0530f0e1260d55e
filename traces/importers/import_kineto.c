/* PyTorch profiler traces (Kineto, chrome trace JSON): the ranks of one job become a workload
 * profile.
 *
 * Reading is kineto_events.c's, one rank's steps kineto_steps.c's, the comparison of ranks
 * kineto_match.c's; here files become ranks and matched steps become segments. */
#include "traces/importers/importer.h"

#include "base/assert.h"
#include "traces/importers/import_notes.h"
#include "traces/importers/kineto_match.h"
#include "traces/importers/kineto_table.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 65536, LIST_TEXT_BYTES = 128 };

typedef struct set {
    const char *const *files;
    uint32_t count;
    gs_arena *arena;
    gs_import_notes notes;
    gs_kineto_rank *ranks; /* [count] */
    int32_t world_size;
    const char *world_file; /* that said so */
    gs_kineto_joint joint;
    gs_profile *profile;
    uint32_t *first_blocking; /* [step_count] index of a step's first blocking op */
} set;

static gs_status no_memory(gs_error *err)
{
    return gs_fail(err, GS_ENOMEM, "no memory for the profile");
}

static const char *base_name(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash == NULL ? file : slash + 1;
}

/* N of "rank3", "rank-3", "worker_3" in a file's name; -1: none. */
static int32_t rank_in_name(const char *file)
{
    static const char *const WORDS[] = {"rank", "worker"};
    for (size_t w = 0; w < sizeof WORDS / sizeof WORDS[0]; w++) {
        for (const char *at = strstr(base_name(file), WORDS[w]); at != NULL;
             at = strstr(at + 1, WORDS[w])) {
            const char *digits = at + strlen(WORDS[w]);
            digits += *digits == '-' || *digits == '_' || *digits == '.' ? 1 : 0;
            if (isdigit((unsigned char)*digits)) {
                long value = strtol(digits, NULL, 10);
                return value < RANKS_MAX ? (int32_t)value : -1;
            }
        }
    }
    return -1;
}

static gs_status take_rank(set *in, uint32_t index, const gs_kineto_events *events, gs_error *err)
{
    const char *file = in->files[index];
    gs_kineto_rank *rank = &in->ranks[index];
    rank->rank = events->rank >= 0 ? events->rank : rank_in_name(file);
    if (rank->rank < 0) {
        rank->rank = (int32_t)index;
        gs_import_notes_add(&in->notes,
                            "%s: neither the file nor its name says its rank: taken as %u", file,
                            index);
    } else if (events->rank < 0) {
        gs_import_notes_add(&in->notes, "%s: rank %d is taken from the file name", file,
                            rank->rank);
    }
    if (events->world_size == 0) {
        return GS_OK;
    }
    if (in->world_size != 0 && in->world_size != events->world_size) {
        return gs_fail(err, GS_EMISMATCH,
                       "%s: world_size %d, but %s says %d: give the ranks of one job", file,
                       events->world_size, in->world_file, in->world_size);
    }
    in->world_size = events->world_size;
    in->world_file = file;
    if (rank->rank >= in->world_size) {
        return gs_fail(err, GS_EPARSE, "%s: rank %d of a world_size of %d; allowed are 0 to %d",
                       file, rank->rank, in->world_size, in->world_size - 1);
    }
    return GS_OK;
}

static gs_status read_rank(set *in, uint32_t index, gs_error *err)
{
    gs_kineto_events events;
    in->ranks[index].file = in->files[index];
    gs_status status = gs_kineto_events_read(in->files[index], GS_KINETO_EVENTS_MAX, &events, err);
    if (status == GS_OK) {
        status = take_rank(in, index, &events, err);
    }
    if (status == GS_OK) {
        status = gs_kineto_steps_make(&events, in->arena, &in->notes, &in->ranks[index], err);
    }
    gs_kineto_events_fini(&events);
    return status;
}

static int by_rank(const void *left, const void *right)
{
    const gs_kineto_rank *a = left;
    const gs_kineto_rank *b = right;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Remarks which ranks of [0, end) are not in the set; without a world size a gap is an error. */
static gs_status check_gaps(set *in, gs_error *err)
{
    char missing[LIST_TEXT_BYTES];
    size_t used = 0;
    int32_t expected = 0;
    int32_t end = in->world_size != 0 ? in->world_size : in->ranks[in->count - 1].rank + 1;
    missing[0] = '\0';
    for (uint32_t r = 0; r <= in->count && used < sizeof missing; r++) {
        int32_t have = r < in->count ? in->ranks[r].rank : end;
        for (; expected < have && used < sizeof missing; expected++) {
            int written = snprintf(missing + used, sizeof missing - used, "%s%d",
                                   used == 0 ? "" : ", ", expected);
            used += written > 0 ? (size_t)written : 0;
        }
        expected = have + 1;
    }
    if (used == 0) {
        return GS_OK;
    }
    if (in->world_size == 0 && in->count > 1) {
        return gs_fail(
            err, GS_EMISMATCH,
            "of the ranks up to %d these are missing: %s; give all ranks of the job, or one",
            end - 1, missing);
    }
    if (in->world_size != 0) {
        gs_import_notes_add(&in->notes,
                            "%d ranks recorded, %u given: waits for the others cannot be told from "
                            "wire time",
                            in->world_size, in->count);
    }
    if (in->count > 1) {
        gs_import_notes_add(&in->notes, "ranks that are missing: %s%s", missing,
                            used >= sizeof missing ? " ..." : "");
    }
    return GS_OK;
}

static gs_status read_ranks(set *in, gs_error *err)
{
    for (uint32_t i = 0; i < in->count; i++) {
        GS_TRY(read_rank(in, i, err));
    }
    qsort(in->ranks, in->count, sizeof *in->ranks, by_rank);
    for (uint32_t r = 1; r < in->count; r++) {
        if (in->ranks[r].rank == in->ranks[r - 1].rank) {
            return gs_fail(err, GS_EMISMATCH, "%s and %s are both rank %d: give each rank once",
                           in->ranks[r - 1].file, in->ranks[r].file, in->ranks[r].rank);
        }
        if (in->ranks[r].has_kernels != in->ranks[0].has_kernels) {
            return gs_fail(err, GS_EMISMATCH,
                           "%s has kernels and %s has none: record both with or without the device",
                           in->ranks[in->ranks[0].has_kernels ? 0 : r].file,
                           in->ranks[in->ranks[0].has_kernels ? r : 0].file);
        }
    }
    return check_gaps(in, err);
}

static int by_time(const void *left, const void *right)
{
    gs_time_ns a = *(const gs_time_ns *)left;
    gs_time_ns b = *(const gs_time_ns *)right;
    return (a > b) - (a < b);
}

/* wire_ns of the gradient that becomes ready as the index-th: median over steps (the lower of two).
 */
static gs_time_ns median_wire(const set *in, uint32_t index, gs_time_ns *scratch)
{
    const gs_kineto_joint *joint = &in->joint;
    for (uint32_t s = 0; s < joint->step_count; s++) {
        scratch[s] = joint->steps[s].wire_ns[joint->steps[s].gradient_ids[index]];
    }
    qsort(scratch, joint->step_count, sizeof *scratch, by_time);
    return scratch[(joint->step_count - 1) / 2];
}

/* Unit 0 belongs to the first parameters of the model, whose gradients come last: the last bucket.
 */
static gs_status make_units(set *in, gs_error *err)
{
    uint32_t count = in->joint.gradient_count;
    gs_profile_unit *units = GS_TAKE(in->arena, gs_profile_unit, count);
    gs_time_ns *scratch = malloc(in->joint.step_count * sizeof *scratch);
    if (units == NULL || scratch == NULL) {
        free(scratch);
        return no_memory(err);
    }
    gs_status status = GS_OK;
    for (uint32_t i = 0; i < count && status == GS_OK; i++) {
        char name[32];
        snprintf(name, sizeof name, "bucket%u", i);
        gs_profile_unit *unit = &units[count - 1 - i];
        unit->name = gs_arena_text(in->arena, name);
        unit->elements = in->joint.gradients[i];
        unit->wire_ns = median_wire(in, i, scratch);
        status = unit->name == NULL ? no_memory(err) : GS_OK;
    }
    free(scratch);
    in->profile->units = units;
    in->profile->unit_count = count;
    return status;
}

static gs_status make_blocking(set *in, gs_error *err)
{
    const gs_kineto_joint *joint = &in->joint;
    uint32_t count = 0;
    for (uint32_t s = 0; s < joint->step_count; s++) {
        count += joint->steps[s].op_count - joint->gradient_count;
    }
    gs_profile_blocking *ops = GS_TAKE(in->arena, gs_profile_blocking, count);
    in->first_blocking = GS_TAKE(in->arena, uint32_t, joint->step_count);
    if (ops == NULL || in->first_blocking == NULL) {
        return no_memory(err);
    }
    uint32_t at = 0;
    for (uint32_t s = 0; s < joint->step_count; s++) {
        const gs_kineto_joint_step *step = &joint->steps[s];
        in->first_blocking[s] = at;
        for (uint32_t i = 0; i < step->op_count; i++) {
            const gs_kineto_op *op = &step->steps[0]->ops[i];
            if (!op->is_gradient) {
                ops[at++] = (gs_profile_blocking){op->collective, step->bytes[i], step->wire_ns[i]};
            }
        }
    }
    in->profile->blocking = ops;
    in->profile->blocking_count = count;
    return GS_OK;
}

/* Adds a stretch of the rank's own time before what comes at at_ns. */
static void add_own_time(gs_segment *segments, uint32_t *count, gs_segment_kind kind,
                         gs_time_ns *from_ns, gs_time_ns at_ns)
{
    if (at_ns > *from_ns) {
        segments[(*count)++] = (gs_segment){.kind = kind, .duration_ns = at_ns - *from_ns};
        *from_ns = at_ns;
    }
}

/* Segments and accounts of one rank in one step; segments has room for 3 + 2 * op_count. */
static void make_step(const set *in, uint32_t rank, uint32_t s, gs_segment *segments,
                      gs_profile_step *out)
{
    const gs_kineto_joint_step *joint = &in->joint.steps[s];
    const gs_kineto_step *step = joint->steps[rank];
    uint32_t count = 0;
    uint32_t gradients = 0;
    gs_time_ns from_ns = 0;
    gs_time_ns held_ns = 0;
    add_own_time(segments, &count, GS_SEGMENT_INPUT, &from_ns, step->loader_ns);
    for (uint32_t i = 0; i < step->op_count; i++) {
        const gs_kineto_op *op = &step->ops[i];
        uint32_t id = joint->ids[rank][i];
        gs_segment_kind kind = gradients == 0 ? GS_SEGMENT_FORWARD : GS_SEGMENT_BACKWARD;
        kind = gradients > 0 && gradients == in->joint.gradient_count ? GS_SEGMENT_OPTIMIZER : kind;
        add_own_time(segments, &count, kind, &from_ns, op->at_ns);
        uint32_t ordinal = joint->ordinals[id];
        gs_segment *segment = &segments[count++];
        if (op->is_gradient) {
            gradients++;
            *segment = (gs_segment){GS_SEGMENT_GRADIENT, in->joint.gradient_count - 1 - ordinal, 0};
        } else {
            *segment = (gs_segment){GS_SEGMENT_BLOCKING, in->first_blocking[s] + ordinal, 0};
        }
        gs_time_ns wire_ns =
            op->blocked_ns < joint->wire_ns[id] ? op->blocked_ns : joint->wire_ns[id];
        out->measured_wire_ns += wire_ns;
        out->measured_wait_ns += op->blocked_ns - wire_ns;
        out->measured_hidden_ns += op->duration_ns - op->blocked_ns;
        held_ns += op->blocked_ns;
    }
    add_own_time(segments, &count, gradients == 0 ? GS_SEGMENT_FORWARD : GS_SEGMENT_OPTIMIZER,
                 &from_ns, step->length_ns - held_ns);
    out->segments = segments;
    out->segment_count = count;
    out->measured_ns = step->length_ns;
    out->measured_compute_ns = step->compute_ns;
    out->measured_input_ns = step->length_ns - step->compute_ns - held_ns;
    GS_ASSERT(out->measured_input_ns >= 0);
}

static gs_status make_ranks(set *in, gs_error *err)
{
    gs_profile_rank *ranks = GS_TAKE(in->arena, gs_profile_rank, in->count);
    if (ranks == NULL) {
        return no_memory(err);
    }
    for (uint32_t r = 0; r < in->count; r++) {
        gs_profile_step *steps = GS_TAKE(in->arena, gs_profile_step, in->joint.step_count);
        if (steps == NULL) {
            return no_memory(err);
        }
        for (uint32_t s = 0; s < in->joint.step_count; s++) {
            size_t room = 3 + 2 * (size_t)in->joint.steps[s].op_count;
            gs_segment *segments = GS_TAKE(in->arena, gs_segment, room);
            if (segments == NULL) {
                return no_memory(err);
            }
            make_step(in, r, s, segments, &steps[s]);
        }
        ranks[r] = (gs_profile_rank){in->ranks[r].rank, steps, in->joint.step_count};
    }
    in->profile->ranks = ranks;
    in->profile->rank_count = in->count;
    return GS_OK;
}

static void choose_element_bytes(set *in)
{
    int32_t most = 0;
    bool mixed = false;
    for (uint32_t s = 0; s < in->joint.step_count; s++) {
        const gs_kineto_step *step = in->joint.steps[s].steps[0];
        for (uint32_t i = 0; i < step->op_count; i++) {
            int32_t bytes = step->ops[i].is_gradient ? step->ops[i].element_bytes : most;
            mixed = mixed || (most != 0 && bytes != most);
            most = bytes > most ? bytes : most;
        }
    }
    if (mixed) {
        gs_import_notes_add(&in->notes,
                            "gradients of several types: all are counted with %d bytes an element",
                            most);
    }
    in->profile->element_bytes = most == 0 ? 4 : most;
}

/* What a reader of the profile should know about the recording as a whole. */
static void remark(set *in)
{
    gs_import_notes *notes = &in->notes;
    const gs_profile *profile = in->profile;
    if (in->joint.step_count == 1) {
        gs_import_notes_add(notes, "1 step, no variance");
    }
    if (!in->ranks[0].has_kernels) {
        gs_import_notes_add(notes,
                            "no kernels: compute is the union of host operators, and times of "
                            "collectives are not known");
    }
    if (profile->unit_count == 0) {
        gs_import_notes_add(notes, "%s",
                            profile->blocking_count == 0
                                ? "no collective: a profile of one rank by itself"
                                : "no gradient all-reduce: nothing to synchronise");
    }
    for (uint32_t i = 0; i < profile->blocking_count; i++) {
        const char *name = profile->blocking[i].name;
        if (strcmp(name, "reduce_scatter") == 0 || strcmp(name, "all_gather") == 0) {
            gs_import_notes_add(notes, "%s (as of FSDP or ZeRO) is played as a blocking op", name);
        }
    }
}

static gs_status make_profile(set *in, gs_imported *out, gs_error *err)
{
    char source[LIST_TEXT_BYTES];
    if (in->count == 1) {
        snprintf(source, sizeof source, "kineto: %s", base_name(in->files[0]));
    } else {
        snprintf(source, sizeof source, "kineto: %u files", in->count);
    }
    in->profile = GS_TAKE(in->arena, gs_profile, 1);
    if (in->profile == NULL) {
        return no_memory(err);
    }
    in->profile->source = gs_arena_text(in->arena, source);
    in->profile->world_size = in->world_size;
    GS_TRY(make_units(in, err));
    GS_TRY(make_blocking(in, err));
    GS_TRY(make_ranks(in, err));
    choose_element_bytes(in);
    remark(in);
    if (in->profile->source == NULL || in->notes.out_of_memory) {
        return no_memory(err);
    }
    in->profile->notes = in->notes.items;
    in->profile->note_count = in->notes.count;
    const gs_step_table *table = NULL;
    GS_TRY(gs_kineto_table_make(in->ranks, &in->joint, in->profile, in->arena, &table, err));
    *out = (gs_imported){.format = "kineto",
                         .profile = in->profile,
                         .step_table = table,
                         .notes = in->notes.items,
                         .note_count = in->notes.count};
    return GS_OK;
}

static gs_status read_kineto(const char *const *files, size_t file_count,
                             const gs_import_options *options, gs_arena *arena, gs_imported *out,
                             gs_error *err)
{
    (void)options;
    if (file_count > RANKS_MAX) {
        return gs_fail(err, GS_ELIMIT, "%zu files; allowed are up to %d", file_count, RANKS_MAX);
    }
    set in = {.files = files, .count = (uint32_t)file_count, .arena = arena, .notes.arena = arena};
    in.ranks = GS_TAKE(arena, gs_kineto_rank, file_count);
    if (in.ranks == NULL) {
        return no_memory(err);
    }
    GS_TRY(read_ranks(&in, err));
    GS_TRY(gs_kineto_match(in.ranks, in.count, arena, &in.notes, &in.joint, err));
    return make_profile(&in, out, err);
}

static int probe_kineto(const char *head, size_t head_bytes, const char *file)
{
    (void)head_bytes;
    (void)file;
    if (head[strspn(head, " \t\r\n")] != '{') {
        return 0;
    }
    bool profiler = strstr(head, "\"schemaVersion\"") != NULL ||
                    strstr(head, "\"deviceProperties\"") != NULL ||
                    strstr(head, "\"distributedInfo\"") != NULL;
    bool chrome = strstr(head, "\"traceEvents\"") != NULL;
    bool torch = strstr(head, "\"cpu_op\"") != NULL || strstr(head, "\"user_annotation\"") != NULL;
    if (profiler && (chrome || torch)) {
        return 95;
    }
    return chrome && torch ? 80 : profiler ? 60 : chrome ? 20 : 0;
}

const gs_importer gs_importer_kineto = {
    .name = "kineto",
    .summary = "PyTorch profiler traces of one or all ranks (.json, .json.gz): a workload profile",
    .source = "pytorch/kineto, output_json.h; torch.profiler export_chrome_trace",
    .probe = probe_kineto,
    .read = read_kineto,
};
