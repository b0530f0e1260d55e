/* Words of the command line over the document of a scenario, sweeps in it, and who said what. */
#include "traces/scenario/scenario_source.h"

#include <stdio.h>
#include <string.h>

enum { KEY_BYTES = GS_JSON_PATH_BYTES };

/* --- overrides ------------------------------------------------------------------------------ */

/* "key=value" into its key and the text behind it; false: not of that form. */
static bool split_word(const char *word, char key[KEY_BYTES], const char **value)
{
    const char *equals = strchr(word, '=');
    if (equals == NULL || equals == word || equals - word >= KEY_BYTES) {
        return false;
    }
    memcpy(key, word, (size_t)(equals - word));
    key[equals - word] = '\0';
    *value = equals + 1;
    return true;
}

/* The text as JSON where it is JSON, else as a text. NULL: no memory. */
static gs_json *read_value(const char *text)
{
    gs_json_at at;
    gs_status status = gs_json_parse(text, strlen(text), "the command line", &at, NULL);
    if (status == GS_ENOMEM) {
        return NULL;
    }
    return status == GS_OK ? at.value : gs_json_new_text(text);
}

gs_status gs_scenario_apply_overrides(gs_scenario_source *source, gs_error *err)
{
    for (size_t i = 0; i < source->options->override_count; i++) {
        const char *word = source->options->overrides[i];
        const char *value = NULL;
        char key[KEY_BYTES];
        const char *file = source->merged.file;
        if (!split_word(word, key, &value)) {
            return gs_fail(err, GS_EINVAL,
                           "%s: \"%.80s\" on the command line is not KEY=VALUE, such as "
                           "cluster.links.nic.bandwidth=25Gbit/s",
                           file, word);
        }
        if (strcmp(key, "extends") == 0) {
            return gs_fail(
                err, GS_EINVAL,
                "%s: extends on the command line: only a file may extend; name \"%.60s\" "
                "as the scenario",
                file, value);
        }
        gs_json *json = read_value(value);
        if (json == NULL) {
            return gs_fail(err, GS_ENOMEM, "%s: no memory for %s", file, word);
        }
        gs_error inner = {0};
        gs_status status = gs_scenario_path_set(&source->merged, key, json, &inner);
        if (status != GS_OK) {
            return gs_fail(err, status, "%s: %s on the command line: %s", file, key, inner.text);
        }
    }
    return GS_OK;
}

/* --- sweeps --------------------------------------------------------------------------------- */

static bool is_sweep(const gs_json_at *at)
{
    gs_json_at list;
    return gs_json_kind_of(at->value) == GS_JSON_OBJECT && gs_json_find(at, "sweep", &list);
}

static bool is_parent(const gs_json_at *at)
{
    gs_json_kind kind = gs_json_kind_of(at->value);
    return kind == GS_JSON_OBJECT || kind == GS_JSON_LIST;
}

static gs_status check_sweep(const gs_scenario_source *source, const gs_json_at *at,
                             const gs_json_at *list, gs_error *err)
{
    gs_json_at comment;
    size_t known = 1 + (size_t)gs_json_find(at, "$comment", &comment);
    if (gs_json_count(at->value) != known) {
        return gs_json_fail(at, GS_EINVAL, err,
                            "a sweep has no other keys; write {\"sweep\": [4, 8]}");
    }
    if (gs_json_kind_of(list->value) != GS_JSON_LIST || gs_json_count(list->value) == 0) {
        return gs_json_fail(list, GS_EINVAL, err, "takes a list of one value or more");
    }
    gs_json_at first = gs_json_element(list, 0);
    if (is_sweep(&first)) {
        return gs_json_fail(&first, GS_EINVAL, err, "a sweep cannot stand in a sweep");
    }
    if (source->sweep_count == GS_SWEEPS_MAX) {
        return gs_json_fail(at, GS_EINVAL, err, "is sweep %d; at most %d may be", GS_SWEEPS_MAX + 1,
                            GS_SWEEPS_MAX);
    }
    return GS_OK;
}

/* The file's strategies, in whose place the command line has others. */
static bool is_replaced(const gs_scenario_source *source, const gs_json_at *at)
{
    static const char list[] = "strategies[";
    return source->options->strategy_count > 0 && strncmp(at->path, list, sizeof list - 1) == 0;
}

static gs_status keep_sweep(gs_scenario_source *source, const gs_json_at *at, gs_error *err)
{
    gs_scenario_sweep *sweep = &source->sweeps[source->sweep_count];
    memcpy(sweep->path, at->path, sizeof sweep->path);
    sweep->object = gs_json_copy(at->value);
    if (sweep->object == NULL) {
        return gs_json_fail(at, GS_ENOMEM, err, "no memory for a sweep");
    }
    source->sweep_count++;
    return GS_OK;
}

/* Puts the first value in the place of the sweep `at`, the index-th child of parent. */
static gs_status take_sweep(gs_scenario_source *source, const gs_json_at *parent, size_t index,
                            const gs_json_at *at, gs_error *err)
{
    gs_json_at list;
    (void)gs_json_find(at, "sweep", &list);
    GS_TRY(check_sweep(source, at, &list, err));
    if (!is_replaced(source, at)) {
        GS_TRY(keep_sweep(source, at, err));
    }
    gs_json_at first = gs_json_element(&list, 0);
    gs_json *value = gs_json_copy(first.value);
    bool is_done = false;
    if (gs_json_kind_of(parent->value) == GS_JSON_LIST) {
        is_done = gs_json_put(parent->value, index, value);
    } else {
        const char *key = NULL;
        (void)gs_json_member(parent, index, &key);
        char copy[KEY_BYTES];
        snprintf(copy, sizeof copy, "%s", key); /* set frees the member that holds it */
        is_done = gs_json_set(parent->value, copy, value);
    }
    return is_done ? GS_OK : gs_json_fail(at, GS_ENOMEM, err, "no memory for a sweep");
}

typedef struct frame {
    gs_json_at at;
    gs_json_at child;
    size_t next;
} frame;

static bool is_comment(const gs_json_at *parent, const gs_json_at *child)
{
    gs_json_at comment;
    return gs_json_kind_of(parent->value) == GS_JSON_OBJECT &&
           gs_json_find(parent, "$comment", &comment) && comment.value == child->value;
}

gs_status gs_scenario_take_sweeps(gs_scenario_source *source, gs_error *err)
{
    frame *stack = GS_TAKE(source->arena, frame, GS_SCENARIO_DEPTH_MAX + 1);
    if (stack == NULL) {
        return gs_fail(err, GS_ENOMEM, "%s: no memory to look for sweeps", source->merged.file);
    }
    size_t depth = 1;
    stack[0] = (frame){.at = source->merged};
    while (depth > 0) {
        frame *top = &stack[depth - 1];
        if (!gs_json_walk(&top->at, top->next, &top->child)) {
            depth--;
            continue;
        }
        if (is_comment(&top->at, &top->child)) {
            top->next++;
        } else if (is_sweep(&top->child)) {
            GS_TRY(take_sweep(source, &top->at, top->next, &top->child, err));
            top->next = 0; /* the child that the walk stood on is gone */
        } else {
            top->next++;
            if (is_parent(&top->child) && depth <= GS_SCENARIO_DEPTH_MAX) {
                stack[depth++] = (frame){.at = top->child};
            }
        }
    }
    return GS_OK;
}

/* --- who said what -------------------------------------------------------------------------- */

/* "a[0].b" as "a.0.b". */
static void plain_path(const char *path, char out[KEY_BYTES])
{
    size_t used = 0;
    for (; *path != '\0' && used + 1 < KEY_BYTES; path++) {
        if (*path == '[') {
            out[used++] = '.';
        } else if (*path != ']') {
            out[used++] = *path;
        }
    }
    out[used] = '\0';
}

static bool is_in_a_file(const gs_scenario_source *source, const char *path)
{
    gs_json_at found;
    for (uint32_t i = 0; i < source->layer_count; i++) {
        if (gs_scenario_path_find(&source->layers[i].document, path, &found)) {
            return true;
        }
    }
    return false;
}

/* Is `part` at `path` or below it? */
static bool is_below(const char *path, const char *part)
{
    size_t length = strlen(path);
    return strncmp(path, part, length) == 0 && (part[length] == '\0' || part[length] == '.');
}

bool gs_scenario_source_is_override(const gs_scenario_source *source, const char *path)
{
    char wanted[KEY_BYTES];
    plain_path(path, wanted);
    bool is_new = !is_in_a_file(source, path); /* then a word made it, on the way to its own key */
    for (size_t i = 0; i < source->options->override_count; i++) {
        char key[KEY_BYTES];
        char plain[KEY_BYTES];
        const char *value = NULL;
        if (split_word(source->options->overrides[i], key, &value)) {
            plain_path(key, plain);
            if (is_below(plain, wanted) || (is_new && is_below(wanted, plain))) {
                return true;
            }
        }
    }
    return false;
}

gs_status gs_scenario_source_blame(const gs_scenario_source *source, gs_error *err)
{
    if (err == NULL || source->merged.file == NULL) {
        return err == NULL ? GS_EINVAL : err->code;
    }
    size_t file_length = strlen(source->merged.file);
    const char *path_at = err->text + file_length + 2;
    if (strncmp(err->text, source->merged.file, file_length) != 0 ||
        strncmp(err->text + file_length, ": ", 2) != 0) {
        return err->code;
    }
    const char *end = strstr(path_at, ": ");
    char path[KEY_BYTES];
    if (end == NULL || end - path_at >= KEY_BYTES) {
        return err->code;
    }
    memcpy(path, path_at, (size_t)(end - path_at));
    path[end - path_at] = '\0';
    char rest[GS_ERROR_TEXT_BYTES];
    memcpy(rest, end, strlen(end) + 1);
    if (gs_scenario_source_is_override(source, path)) {
        return gs_fail(err, err->code, "%s: %s on the command line%s", source->merged.file, path,
                       rest);
    }
    for (uint32_t i = 0; i < source->layer_count; i++) {
        gs_json_at found;
        if (gs_scenario_path_find(&source->layers[i].document, path, &found)) {
            return gs_fail(err, err->code, "%s: %s%s", source->layers[i].file, path, rest);
        }
    }
    return err->code;
}
