#include "traces/importers/profile_json.h"

#include "base/assert.h"

const char *gs_segment_name(gs_segment_kind kind)
{
    switch (kind) {
    case GS_SEGMENT_INPUT:
        return "input";
    case GS_SEGMENT_FORWARD:
        return "forward";
    case GS_SEGMENT_BACKWARD:
        return "backward";
    case GS_SEGMENT_GRADIENT:
        return "gradient";
    case GS_SEGMENT_BLOCKING:
        return "blocking";
    case GS_SEGMENT_OPTIMIZER:
        return "optimizer";
    }
    gs_assert_failed("a segment kind without a name", __FILE__, __LINE__);
}

static bool set_int(gs_json *object, const char *key, int64_t value)
{
    return gs_json_set(object, key, gs_json_new_int(value));
}

static bool set_text(gs_json *object, const char *key, const char *value)
{
    return gs_json_set(object, key, gs_json_new_text(value));
}

/* [a, b] as one element of a list. */
static bool add_pair(gs_json *list, gs_json *first, gs_json *second)
{
    gs_json *pair = gs_json_new_list();
    bool fine = gs_json_add(pair, first);
    fine = gs_json_add(pair, second) && fine;
    return gs_json_add(list, pair) && fine;
}

static bool add_units(gs_json *list, const gs_profile *profile)
{
    bool fine = true;
    for (uint32_t i = 0; i < profile->unit_count; i++) {
        gs_json *unit = gs_json_new_object();
        fine = set_text(unit, "name", profile->units[i].name) && fine;
        gs_unit_shape shape = profile->units[i].shape;
        fine = set_int(unit, "elements", profile->units[i].elements) && fine;
        fine = (shape.rows == 0 ||
                (set_int(unit, "rows", shape.rows) && set_int(unit, "columns", shape.columns))) &&
               fine;
        fine = set_int(unit, "wire_ns", profile->units[i].wire_ns) && fine;
        fine = gs_json_add(list, unit) && fine;
    }
    return fine;
}

static bool add_blocking(gs_json *list, const gs_profile *profile)
{
    bool fine = true;
    for (uint32_t i = 0; i < profile->blocking_count; i++) {
        gs_json *op = gs_json_new_object();
        fine = set_text(op, "name", profile->blocking[i].name) && fine;
        fine = set_int(op, "bytes", profile->blocking[i].bytes) && fine;
        fine = set_int(op, "wire_ns", profile->blocking[i].wire_ns) && fine;
        fine = gs_json_add(list, op) && fine;
    }
    return fine;
}

static bool add_step(gs_json *list, const gs_profile_step *step)
{
    gs_json *object = gs_json_new_object();
    bool fine = set_int(object, "measured_ns", step->measured_ns);
    fine = set_int(object, "compute_ns", step->measured_compute_ns) && fine;
    fine = set_int(object, "input_ns", step->measured_input_ns) && fine;
    fine = set_int(object, "wait_ns", step->measured_wait_ns) && fine;
    fine = set_int(object, "wire_ns", step->measured_wire_ns) && fine;
    fine = set_int(object, "hidden_ns", step->measured_hidden_ns) && fine;
    gs_json *segments = gs_json_new_list();
    for (uint32_t i = 0; i < step->segment_count; i++) {
        const gs_segment *segment = &step->segments[i];
        bool refers = segment->kind == GS_SEGMENT_GRADIENT || segment->kind == GS_SEGMENT_BLOCKING;
        int64_t number = refers ? (int64_t)segment->index : segment->duration_ns;
        fine = add_pair(segments, gs_json_new_text(gs_segment_name(segment->kind)),
                        gs_json_new_int(number)) &&
               fine;
    }
    fine = gs_json_set(object, "segments", segments) && fine;
    return gs_json_add(list, object) && fine;
}

static bool add_ranks(gs_json *list, const gs_profile *profile)
{
    bool fine = true;
    for (uint32_t r = 0; r < profile->rank_count; r++) {
        gs_json *rank = gs_json_new_object();
        gs_json *steps = gs_json_new_list();
        fine = set_int(rank, "rank", profile->ranks[r].rank) && fine;
        for (uint32_t s = 0; s < profile->ranks[r].step_count; s++) {
            fine = add_step(steps, &profile->ranks[r].steps[s]) && fine;
        }
        fine = gs_json_set(rank, "steps", steps) && fine;
        fine = gs_json_add(list, rank) && fine;
    }
    return fine;
}

static bool set_profile(gs_json *into, const gs_profile *profile)
{
    gs_json *object = gs_json_new_object();
    gs_json *units = gs_json_new_list();
    gs_json *blocking = gs_json_new_list();
    gs_json *ranks = gs_json_new_list();
    bool fine = set_text(object, "source", profile->source);
    fine = set_int(object, "world_size", profile->world_size) && fine;
    fine = set_int(object, "element_bytes", profile->element_bytes) && fine;
    fine = (profile->batch == 0 || set_int(object, "batch", profile->batch)) && fine;
    fine =
        (!profile->is_of_run || gs_json_set(object, "is_of_run", gs_json_new_bool(true))) && fine;
    fine = (profile->run_of == NULL || set_text(object, "run_of", profile->run_of)) && fine;
    fine = add_units(units, profile) && fine;
    fine = gs_json_set(object, "units", units) && fine;
    fine = add_blocking(blocking, profile) && fine;
    fine = gs_json_set(object, "blocking", blocking) && fine;
    fine = add_ranks(ranks, profile) && fine;
    fine = gs_json_set(object, "ranks", ranks) && fine;
    return gs_json_set(into, "profile", object) && fine;
}

static bool set_curves(gs_json *into, const gs_imported *imported)
{
    gs_json *list = gs_json_new_list();
    bool fine = true;
    for (uint32_t c = 0; c < imported->curve_count; c++) {
        const gs_curve *curve = &imported->curves[c];
        gs_json *object = gs_json_new_object();
        gs_json *points = gs_json_new_list();
        fine = set_text(object, "collective", curve->collective) && fine;
        fine = set_int(object, "ranks", curve->ranks) && fine;
        fine = set_int(object, "hosts", curve->hosts) && fine;
        fine = set_text(object, "device", curve->device) && fine;
        fine = set_text(object, "source", curve->source) && fine;
        for (uint32_t i = 0; i < curve->point_count; i++) {
            fine = add_pair(points, gs_json_new_int(curve->points[i].bytes),
                            gs_json_new_int(curve->points[i].time_ns)) &&
                   fine;
        }
        fine = gs_json_set(object, "points", points) && fine;
        fine = gs_json_add(list, object) && fine;
    }
    return gs_json_set(into, "curves", list) && fine;
}

gs_status gs_trace_import_json(const gs_imported *imported, gs_json *into)
{
    bool fine = set_text(into, "schema", GS_PROFILE_SCHEMA);
    fine = set_text(into, "format", imported->format) && fine;
    if (imported->profile != NULL) {
        fine = set_profile(into, imported->profile) && fine;
    }
    if (imported->curve_count > 0) {
        fine = set_curves(into, imported) && fine;
    }
    gs_json *notes = gs_json_new_list();
    for (uint32_t i = 0; i < imported->note_count; i++) {
        fine = gs_json_add(notes, gs_json_new_text(imported->notes[i])) && fine;
    }
    fine = gs_json_set(into, "notes", notes) && fine;
    return fine ? GS_OK : GS_ENOMEM;
}
