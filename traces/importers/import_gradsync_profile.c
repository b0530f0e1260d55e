/* Reads gradsync's own form of profiles and curves ("gradsync.profile/1"), as gs_trace_import_json
 * writes it. Strict: what does not fit together is refused with its place. */
#include "traces/importers/importer.h"

#include "base/config.h"
#include "base/json.h"
#include "traces/importers/profile_json.h"
#include "traces/whole_file.h"

#include <stdlib.h>
#include <string.h>

typedef struct reader {
    gs_arena *arena;
    gs_error *err;
} reader;

/* Refuses keys that are not in names [count]. */
static gs_status check_keys(const gs_json_at *object, const char *const *names, size_t count,
                            gs_error *err)
{
    if (gs_json_kind_of(object->value) != GS_JSON_OBJECT) {
        return gs_json_fail(object, GS_EPARSE, err, "not an object");
    }
    for (size_t i = 0; i < gs_json_count(object->value); i++) {
        const char *key = NULL;
        gs_json_at member = gs_json_member(object, i, &key);
        bool known = strcmp(key, "$comment") == 0;
        for (size_t k = 0; k < count && !known; k++) {
            known = strcmp(names[k], key) == 0;
        }
        if (!known) {
            const char *near = gs_nearest_name(key, names, count);
            return gs_json_fail(&member, GS_EPARSE, err, "unknown key%s%s%s",
                                near == NULL ? "" : "; did you mean ", near == NULL ? "" : near,
                                near == NULL ? "" : "?");
        }
    }
    return GS_OK;
}

static gs_status need(const gs_json_at *object, const char *key, gs_json_at *out, gs_error *err)
{
    return gs_json_find(object, key, out)
               ? GS_OK
               : gs_json_fail(object, GS_EPARSE, err, "key \"%s\" is missing", key);
}

static gs_status whole(const gs_json_at *at, int64_t least, int64_t most, int64_t *out,
                       gs_error *err)
{
    int64_t value = 0;
    GS_TRY(gs_json_int(at, &value, err));
    if (value < least || value > most) {
        return gs_json_fail(at, GS_EPARSE, err, "%lld; allowed are %lld to %lld", (long long)value,
                            (long long)least, (long long)most);
    }
    *out = value;
    return GS_OK;
}

static gs_status member_whole(const gs_json_at *object, const char *key, int64_t least,
                              int64_t most, int64_t *out, gs_error *err)
{
    gs_json_at at;
    GS_TRY(need(object, key, &at, err));
    return whole(&at, least, most, out, err);
}

static gs_status member_text(reader *in, const gs_json_at *object, const char *key,
                             const char **out)
{
    gs_json_at at;
    const char *text = NULL;
    GS_TRY(need(object, key, &at, in->err));
    GS_TRY(gs_json_text(&at, &text, in->err));
    *out = gs_arena_text(in->arena, text);
    return *out != NULL ? GS_OK : gs_json_fail(&at, GS_ENOMEM, in->err, "no memory");
}

/* A list of the document and zeroed room for what its items become. */
typedef struct item_list {
    gs_json_at at;
    void *items; /* [count], in the arena */
    uint32_t count;
} item_list;

static gs_status member_list(reader *in, const gs_json_at *object, const char *key,
                             size_t item_bytes, item_list *out)
{
    GS_TRY(need(object, key, &out->at, in->err));
    if (gs_json_kind_of(out->at.value) != GS_JSON_LIST) {
        return gs_json_fail(&out->at, GS_EPARSE, in->err, "not a list");
    }
    size_t count = gs_json_count(out->at.value);
    out->items = gs_arena_take(in->arena, count, item_bytes);
    out->count = (uint32_t)count; /* a document is at most GS_JSON_BYTES_MAX long */
    return out->items != NULL ? GS_OK : gs_json_fail(&out->at, GS_ENOMEM, in->err, "no memory");
}

/* Both or none: files of former versions have none. */
static gs_status read_shape(const gs_json_at *item, int64_t elements, gs_unit_shape *out,
                            gs_error *err)
{
    gs_json_at rows, columns;
    bool has_rows = gs_json_find(item, "rows", &rows);
    if (!has_rows && !gs_json_find(item, "columns", &columns)) {
        return GS_OK;
    }
    GS_TRY(member_whole(item, "rows", 1, elements, &out->rows, err));
    return member_whole(item, "columns", 1, elements / out->rows, &out->columns, err);
}

static gs_status read_units(reader *in, const gs_json_at *object, gs_profile *profile)
{
    static const char *const KEYS[] = {"name", "elements", "rows", "columns", "wire_ns"};
    item_list list;
    gs_json_at item;
    GS_TRY(member_list(in, object, "units", sizeof(gs_profile_unit), &list));
    profile->unit_count = list.count;
    gs_profile_unit *units = list.items;
    for (size_t i = 0; gs_json_walk(&list.at, i, &item); i++) {
        GS_TRY(check_keys(&item, KEYS, 5, in->err));
        GS_TRY(member_text(in, &item, "name", &units[i].name));
        GS_TRY(member_whole(&item, "elements", 1, INT64_MAX, &units[i].elements, in->err));
        GS_TRY(read_shape(&item, units[i].elements, &units[i].shape, in->err));
        GS_TRY(member_whole(&item, "wire_ns", 0, INT64_MAX, &units[i].wire_ns, in->err));
    }
    profile->units = units;
    return GS_OK;
}

static gs_status read_blocking(reader *in, const gs_json_at *object, gs_profile *profile)
{
    static const char *const KEYS[] = {"name", "bytes", "wire_ns"};
    item_list list;
    gs_json_at item;
    GS_TRY(member_list(in, object, "blocking", sizeof(gs_profile_blocking), &list));
    profile->blocking_count = list.count;
    gs_profile_blocking *ops = list.items;
    for (size_t i = 0; gs_json_walk(&list.at, i, &item); i++) {
        GS_TRY(check_keys(&item, KEYS, 3, in->err));
        GS_TRY(member_text(in, &item, "name", &ops[i].name));
        GS_TRY(member_whole(&item, "bytes", -1, INT64_MAX, &ops[i].bytes, in->err));
        GS_TRY(member_whole(&item, "wire_ns", 0, INT64_MAX, &ops[i].wire_ns, in->err));
    }
    profile->blocking = ops;
    return GS_OK;
}

/* A list of exactly two values. */
static gs_status pair_of(const gs_json_at *at, gs_json_at out[2], gs_error *err)
{
    size_t count = 0;
    gs_json_at item;
    bool list = gs_json_kind_of(at->value) == GS_JSON_LIST;
    for (; list && gs_json_walk(at, count, &item); count++) {
        if (count < 2) {
            out[count] = item;
        }
    }
    return count == 2 ? GS_OK : gs_json_fail(at, GS_EPARSE, err, "not a list of two values");
}

static gs_status read_segment(const gs_json_at *at, const gs_profile *profile, gs_segment *out,
                              gs_error *err)
{
    gs_json_at parts[2];
    const char *name = NULL;
    int64_t number = 0;
    GS_TRY(pair_of(at, parts, err));
    GS_TRY(gs_json_text(&parts[0], &name, err));
    for (int kind = GS_SEGMENT_INPUT; kind <= GS_SEGMENT_OPTIMIZER; kind++) {
        if (strcmp(name, gs_segment_name((gs_segment_kind)kind)) != 0) {
            continue;
        }
        out->kind = (gs_segment_kind)kind;
        if (kind != GS_SEGMENT_GRADIENT && kind != GS_SEGMENT_BLOCKING) {
            return whole(&parts[1], 0, INT64_MAX, &out->duration_ns, err);
        }
        uint32_t count =
            kind == GS_SEGMENT_GRADIENT ? profile->unit_count : profile->blocking_count;
        GS_TRY(whole(&parts[1], 0, (int64_t)count - 1, &number, err));
        out->index = (uint32_t)number;
        return GS_OK;
    }
    return gs_json_fail(&parts[0], GS_EPARSE, err,
                        "\"%.40s\"; allowed are input, forward, backward, gradient, blocking, "
                        "optimizer",
                        name);
}

/* Each unit must become ready exactly once. */
static gs_status check_segments(reader *in, const gs_json_at *at, const gs_profile *profile,
                                const gs_profile_step *step)
{
    bool *seen = calloc((size_t)profile->unit_count + 1, sizeof *seen);
    if (seen == NULL) {
        return gs_json_fail(at, GS_ENOMEM, in->err, "no memory");
    }
    uint32_t ready = 0;
    gs_time_ns sum_ns = 0;
    gs_status status = GS_OK;
    for (uint32_t i = 0; i < step->segment_count && status == GS_OK; i++) {
        const gs_segment *segment = &step->segments[i];
        if (segment->duration_ns > INT64_MAX - sum_ns) {
            status = gs_json_fail(at, GS_EPARSE, in->err, "the durations overflow");
            break;
        }
        sum_ns += segment->duration_ns;
        if (segment->kind != GS_SEGMENT_GRADIENT) {
            continue;
        }
        if (seen[segment->index]) {
            status =
                gs_json_fail(at, GS_EPARSE, in->err, "gradient %u is ready twice", segment->index);
        }
        seen[segment->index] = true;
        ready++;
    }
    free(seen);
    if (status == GS_OK && ready != profile->unit_count) {
        return gs_json_fail(at, GS_EPARSE, in->err, "%u of %u gradients become ready", ready,
                            profile->unit_count);
    }
    return status;
}

static gs_status read_step(reader *in, const gs_json_at *object, const gs_profile *profile,
                           gs_profile_step *out)
{
    static const char *const KEYS[] = {"measured_ns", "compute_ns", "input_ns", "wait_ns",
                                       "wire_ns",     "hidden_ns",  "segments"};
    int64_t *const times[] = {&out->measured_ns,       &out->measured_compute_ns,
                              &out->measured_input_ns, &out->measured_wait_ns,
                              &out->measured_wire_ns,  &out->measured_hidden_ns};
    GS_TRY(check_keys(object, KEYS, sizeof KEYS / sizeof KEYS[0], in->err));
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        GS_TRY(member_whole(object, KEYS[i], 0, INT64_MAX / 8, times[i], in->err));
    }
    if (out->measured_compute_ns + out->measured_input_ns + out->measured_wait_ns +
            out->measured_wire_ns !=
        out->measured_ns) {
        return gs_json_fail(object, GS_EPARSE, in->err,
                            "compute_ns + input_ns + wait_ns + wire_ns is not measured_ns");
    }
    item_list list;
    gs_json_at item;
    GS_TRY(member_list(in, object, "segments", sizeof(gs_segment), &list));
    out->segment_count = list.count;
    gs_segment *segments = list.items;
    for (size_t i = 0; gs_json_walk(&list.at, i, &item); i++) {
        GS_TRY(read_segment(&item, profile, &segments[i], in->err));
    }
    out->segments = segments;
    return check_segments(in, &list.at, profile, out);
}

static gs_status read_rank(reader *in, const gs_json_at *object, const gs_profile *profile,
                           gs_profile_rank *out)
{
    static const char *const KEYS[] = {"rank", "steps"};
    int64_t number = 0;
    item_list list;
    gs_json_at item;
    GS_TRY(check_keys(object, KEYS, 2, in->err));
    GS_TRY(member_whole(object, "rank", 0, INT32_MAX, &number, in->err));
    GS_TRY(member_list(in, object, "steps", sizeof(gs_profile_step), &list));
    out->step_count = list.count;
    if (out->step_count == 0) {
        return gs_json_fail(&list.at, GS_EPARSE, in->err, "no step; at least one is needed");
    }
    gs_profile_step *steps = list.items;
    for (size_t i = 0; gs_json_walk(&list.at, i, &item); i++) {
        GS_TRY(read_step(in, &item, profile, &steps[i]));
    }
    out->rank = (int32_t)number;
    out->steps = steps;
    return GS_OK;
}

static gs_status read_profile(reader *in, const gs_json_at *object, gs_profile *out)
{
    static const char *const KEYS[] = {"source", "world_size", "element_bytes",
                                       "batch",  "is_of_run",  "run_of",
                                       "units",  "blocking",   "ranks"};
    int64_t number = 0;
    gs_json_at batch, of_run, strategy;
    GS_TRY(check_keys(object, KEYS, sizeof KEYS / sizeof KEYS[0], in->err));
    GS_TRY(member_text(in, object, "source", &out->source));
    GS_TRY(member_whole(object, "world_size", 0, INT32_MAX, &number, in->err));
    out->world_size = (int32_t)number;
    GS_TRY(member_whole(object, "element_bytes", 1, 8, &number, in->err));
    out->element_bytes = (int32_t)number;
    if (gs_json_find(object, "batch", &batch)) {
        GS_TRY(whole(&batch, 0, GS_PROFILE_BATCH_MAX, &out->batch, in->err));
    }
    if (gs_json_find(object, "is_of_run", &of_run)) {
        GS_TRY(gs_json_bool(&of_run, &out->is_of_run, in->err));
    }
    if (gs_json_find(object, "run_of", &strategy)) {
        GS_TRY(member_text(in, object, "run_of", &out->run_of));
    }
    GS_TRY(read_units(in, object, out));
    GS_TRY(read_blocking(in, object, out));
    item_list list;
    gs_json_at item;
    GS_TRY(member_list(in, object, "ranks", sizeof(gs_profile_rank), &list));
    out->rank_count = list.count;
    if (out->rank_count == 0) {
        return gs_json_fail(&list.at, GS_EPARSE, in->err, "no rank; at least one is needed");
    }
    gs_profile_rank *ranks = list.items;
    for (size_t i = 0; gs_json_walk(&list.at, i, &item); i++) {
        GS_TRY(read_rank(in, &item, out, &ranks[i]));
        if (i > 0 && ranks[i].rank <= ranks[i - 1].rank) {
            return gs_json_fail(&item, GS_EPARSE, in->err, "rank %d after rank %d; ranks must rise",
                                ranks[i].rank, ranks[i - 1].rank);
        }
    }
    out->ranks = ranks;
    return GS_OK;
}

static gs_status read_points(reader *in, const gs_json_at *object, gs_curve *out)
{
    item_list list;
    gs_json_at item;
    GS_TRY(member_list(in, object, "points", sizeof(gs_curve_point), &list));
    out->point_count = list.count;
    if (out->point_count == 0) {
        return gs_json_fail(&list.at, GS_EPARSE, in->err, "no point; at least one is needed");
    }
    gs_curve_point *points = list.items;
    for (size_t i = 0; gs_json_walk(&list.at, i, &item); i++) {
        gs_json_at parts[2];
        int64_t least = i == 0 ? 1 : points[i - 1].bytes;
        GS_TRY(pair_of(&item, parts, in->err));
        GS_TRY(whole(&parts[0], least, INT64_MAX, &points[i].bytes, in->err));
        GS_TRY(whole(&parts[1], 1, INT64_MAX, &points[i].time_ns, in->err));
        if (i > 0 && points[i].bytes == least) {
            return gs_json_fail(&item, GS_EPARSE, in->err, "%lld bytes twice; sizes must rise",
                                (long long)least);
        }
    }
    out->points = points;
    return GS_OK;
}

static gs_status read_curves(reader *in, const gs_json_at *document, gs_imported *out)
{
    static const char *const KEYS[] = {"collective", "ranks",  "hosts",
                                       "device",     "source", "points"};
    item_list list;
    gs_json_at item;
    GS_TRY(member_list(in, document, "curves", sizeof(gs_curve), &list));
    out->curve_count = list.count;
    gs_curve *curves = list.items;
    for (size_t i = 0; gs_json_walk(&list.at, i, &item); i++) {
        int64_t ranks = 0;
        int64_t hosts = 0;
        GS_TRY(check_keys(&item, KEYS, sizeof KEYS / sizeof KEYS[0], in->err));
        GS_TRY(member_text(in, &item, "collective", &curves[i].collective));
        GS_TRY(member_whole(&item, "ranks", 0, INT32_MAX, &ranks, in->err));
        GS_TRY(member_whole(&item, "hosts", 0, INT32_MAX, &hosts, in->err));
        curves[i].ranks = (int32_t)ranks;
        curves[i].hosts = (int32_t)hosts;
        GS_TRY(member_text(in, &item, "device", &curves[i].device));
        GS_TRY(member_text(in, &item, "source", &curves[i].source));
        GS_TRY(read_points(in, &item, &curves[i]));
    }
    out->curves = curves;
    return GS_OK;
}

static gs_status read_notes(reader *in, const gs_json_at *document, gs_imported *out)
{
    item_list list;
    gs_json_at item;
    GS_TRY(member_list(in, document, "notes", sizeof(const char *), &list));
    out->note_count = list.count;
    const char **notes = list.items;
    for (size_t i = 0; gs_json_walk(&list.at, i, &item); i++) {
        const char *text = NULL;
        GS_TRY(gs_json_text(&item, &text, in->err));
        notes[i] = gs_arena_text(in->arena, text);
        if (notes[i] == NULL) {
            return gs_json_fail(&item, GS_ENOMEM, in->err, "no memory");
        }
    }
    out->notes = notes;
    return GS_OK;
}

static gs_status read_document(reader *in, const gs_json_at *document, gs_imported *out)
{
    static const char *const KEYS[] = {"schema", "format", "profile", "curves", "notes"};
    gs_json_at at;
    const char *schema = NULL;
    GS_TRY(check_keys(document, KEYS, sizeof KEYS / sizeof KEYS[0], in->err));
    GS_TRY(member_text(in, document, "schema", &schema));
    if (strcmp(schema, GS_PROFILE_SCHEMA) != 0) {
        return gs_json_fail(document, GS_EVERSION, in->err,
                            "schema \"%.40s\"; this version reads " GS_PROFILE_SCHEMA, schema);
    }
    GS_TRY(member_text(in, document, "format", &out->format));
    GS_TRY(read_notes(in, document, out));
    if (gs_json_find(document, "curves", &at)) {
        GS_TRY(read_curves(in, document, out));
    }
    if (gs_json_find(document, "profile", &at)) {
        gs_profile *profile = GS_TAKE(in->arena, gs_profile, 1);
        if (profile == NULL) {
            return gs_json_fail(document, GS_ENOMEM, in->err, "no memory");
        }
        GS_TRY(read_profile(in, &at, profile));
        profile->notes = out->notes;
        profile->note_count = out->note_count;
        out->profile = profile;
    }
    if (out->profile == NULL && out->curve_count == 0) {
        return gs_json_fail(document, GS_EPARSE, in->err, "neither a profile nor a curve");
    }
    return GS_OK;
}

static gs_status read_own_profile(const char *const *files, size_t file_count,
                                  const gs_import_options *options, gs_arena *arena,
                                  gs_imported *out, gs_error *err)
{
    (void)options;
    if (file_count != 1) {
        return gs_fail(err, GS_EINVAL, "%s: one file holds all ranks; name one file, not %zu",
                       files[0], file_count);
    }
    char *text = NULL;
    size_t bytes = 0;
    gs_json_at document;
    GS_TRY(gs_whole_file_read(files[0], GS_JSON_BYTES_MAX, &text, &bytes, err));
    gs_status status = gs_json_parse(text, bytes, files[0], &document, err);
    free(text);
    GS_TRY(status);
    reader in = {.arena = arena, .err = err};
    gs_imported read = {0};
    status = read_document(&in, &document, &read);
    gs_json_free(document.value);
    if (status == GS_OK) {
        *out = read;
    }
    return status;
}

static int probe_own_profile(const char *head, size_t head_bytes, const char *file)
{
    (void)head_bytes;
    (void)file;
    return strstr(head, "\"" GS_PROFILE_SCHEMA "\"") != NULL ? 100
           : strstr(head, "\"gradsync.profile/") != NULL     ? 90
                                                             : 0;
}

const gs_importer gs_importer_gradsync_profile = {
    .name = "gradsync_profile",
    .summary = "profiles and curves in gradsync's own form, as `trace import` writes them",
    .source = "gradsync's own, docs/formats.md",
    .probe = probe_own_profile,
    .read = read_own_profile,
};
