#include "traces/scenario/scenario_source.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/nearest.h"

enum { NAMES_MAX = 256, LIST_BYTES = 200 };

static const char SCENARIO_FOLDER[] = "traces/scenarios";

static gs_status no_memory(const char *file, gs_error *err)
{
    return gs_fail(err, GS_ENOMEM, "%s: no memory to read the scenario", file);
}

/* --- names and files ------------------------------------------------------------------------ */

bool gs_scenario_is_bundled_name(const char *text)
{
    static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    return text[0] != '\0' && strcmp(text, "-") != 0 && strspn(text, word) == strlen(text);
}

static char *join(gs_arena *arena, const char *folder, const char *name, const char *ending)
{
    size_t bytes = strlen(folder) + strlen(name) + strlen(ending) + 2;
    char *path = gs_arena_take(arena, bytes, 1);
    if (path != NULL) {
        snprintf(path, bytes, "%s/%s%s", folder, name, ending);
    }
    return path;
}

static bool is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISDIR(info.st_mode);
}

/* Adds the names of FOLDER/NAME.json to names; a folder that is not there has none. */
static void list_names(const char *folder, gs_arena *arena, const char **names, size_t *count)
{
    DIR *open = opendir(folder);
    if (open == NULL) {
        return;
    }
    for (struct dirent *entry = readdir(open); entry != NULL && *count < NAMES_MAX;
         entry = readdir(open)) {
        size_t length = strlen(entry->d_name);
        char *name = gs_arena_text(arena, entry->d_name);
        if (name != NULL && length > 5 && strcmp(name + length - 5, ".json") == 0) {
            name[length - 5] = '\0';
            names[(*count)++] = name;
        }
    }
    closedir(open);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Says what may have been meant: a file beside, the nearest name, or what there is. */
static gs_status fail_bundled(const char *what, const char *name, const char *const *names,
                              size_t count, gs_arena *arena, gs_error *err)
{
    char list[LIST_BYTES] = "";
    const char *near = gs_nearest_name(name, names, count);
    const char *beside = join(arena, ".", name, ".json");
    if (beside != NULL && is_file(beside)) {
        return gs_fail(err, GS_ENOTFOUND, "no bundled %s \"%.60s\"; did you mean the file %s?",
                       what, name, beside + 2);
    }
    if (near != NULL) {
        return gs_fail(err, GS_ENOTFOUND,
                       "no bundled %s \"%.60s\"; did you mean \"%s\"? (a file is written with an "
                       "ending or a /)",
                       what, name, near);
    }
    size_t used = 0;
    for (size_t i = 0; i < count && used < sizeof list; i++) {
        bool twice = i > 0 && strcmp(names[i], names[i - 1]) == 0;
        used += twice ? 0
                      : (size_t)snprintf(list + used, sizeof list - used, "%s%s",
                                         i == 0 ? "" : ", ", names[i]);
    }
    return gs_fail(
        err, GS_ENOTFOUND,
        "no bundled %s \"%.60s\"; bundled %s %s (a file is written with an ending or a /)", what,
        name, count == 1 ? "is" : "are", count == 0 ? "none" : list);
}

/* folders [2]; the second may be NULL. */
static gs_status find_bundled(const char *what, const char *const folders[2], const char *name,
                              gs_arena *arena, const char **out, gs_error *err)
{
    const char *names[NAMES_MAX];
    size_t count = 0;
    for (int i = 0; i < 2 && folders[i] != NULL; i++) {
        char *path = join(arena, folders[i], name, ".json");
        if (path == NULL) {
            return no_memory(name, err);
        }
        if (is_file(path)) {
            *out = path;
            return GS_OK;
        }
        list_names(folders[i], arena, names, &count);
    }
    /* The order of a folder is the file system's; the suggestion must not depend on it. */
    qsort(names, count, sizeof names[0], compare_names);
    return fail_bundled(what, name, names, count, arena, err);
}

gs_status gs_scenario_bundled(const gs_scenario_options *options, const char *what,
                              const char *folder, const char *name, gs_arena *arena,
                              const char **out, gs_error *err)
{
    const char *folders[2] = {join(arena, options->data_dir, folder, ""), NULL};
    return folders[0] == NULL ? no_memory(name, err)
                              : find_bundled(what, folders, name, arena, out, err);
}

static gs_status find_scenario(const gs_scenario_options *options, const char *name,
                               gs_arena *arena, const char **out, gs_error *err)
{
    const char *bundled = join(arena, options->data_dir, SCENARIO_FOLDER, "");
    const char *folders[2] = {options->user_dir == NULL ? bundled : options->user_dir,
                              options->user_dir == NULL ? NULL : bundled};
    return bundled == NULL ? no_memory(name, err)
                           : find_bundled("scenario", folders, name, arena, out, err);
}

/* The file as seen from here: relative names belong to the folder of the file `from`. NULL: no
 * memory. */
static const char *from_file(gs_arena *arena, const char *from, const char *name)
{
    const char *slash = strrchr(from, '/');
    if (name[0] == '/' || slash == NULL) {
        return name;
    }
    char *folder = gs_arena_text(arena, from);
    if (folder == NULL) {
        return NULL;
    }
    folder[slash - from] = '\0';
    return join(arena, folder, name, "");
}

/* --- layers --------------------------------------------------------------------------------- */

/* Rewrites the texts of a list that are file names. */
static gs_status rebase_list(gs_scenario_source *source, const gs_scenario_layer *layer,
                             const gs_json_at *list, bool has_bundled, gs_error *err)
{
    gs_json_at item;
    for (size_t i = 0; i < gs_json_count(list->value); i++) {
        item = gs_json_element(list, i);
        const char *text = NULL;
        if (gs_json_text(&item, &text, NULL) != GS_OK || text[0] == '\0' ||
            (has_bundled && gs_scenario_is_bundled_name(text))) {
            continue;
        }
        text = from_file(source->arena, layer->path, text);
        if (text == NULL || !gs_json_put(list->value, i, gs_json_new_text(text))) {
            return no_memory(layer->file, err);
        }
    }
    return GS_OK;
}

/* The file, list of files or sweep of files at the key, if any. */
static gs_status rebase_key(gs_scenario_source *source, const gs_scenario_layer *layer,
                            const char *key, bool has_bundled, gs_error *err)
{
    gs_json_at at;
    const char *text = NULL;
    if (!gs_scenario_path_find(&layer->document, key, &at)) {
        return GS_OK;
    }
    if (gs_json_text(&at, &text, NULL) == GS_OK) {
        if (text[0] == '\0' || (has_bundled && gs_scenario_is_bundled_name(text))) {
            return GS_OK;
        }
        text = from_file(source->arena, layer->path, text);
        gs_json *value = text == NULL ? NULL : gs_json_new_text(text);
        return value == NULL ? no_memory(layer->file, err)
                             : gs_scenario_path_set(&layer->document, key, value, err);
    }
    if (gs_json_kind_of(at.value) == GS_JSON_OBJECT && !gs_json_find(&at, "sweep", &at)) {
        return GS_OK;
    }
    return gs_json_kind_of(at.value) == GS_JSON_LIST
               ? rebase_list(source, layer, &at, has_bundled, err)
               : GS_OK;
}

/* Names of files are relative to the file that says them; in the merged document they are as seen
 * from here. No data and no topology is bundled by name, and such files often have names like
 * words. */
static gs_status rebase(gs_scenario_source *source, const gs_scenario_layer *layer, gs_error *err)
{
    static const char *const keys[] = {"workload.profile", "cluster.links.nic.curve",
                                       "cluster.links.intra.curve", "noise.bandwidth.trace"};
    static const char *const unbundled[] = {"cluster.topology.node_file",
                                            "cluster.topology.graph_file"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        GS_TRY(rebase_key(source, layer, keys[i], true, err));
    }
    for (size_t i = 0; i < sizeof unbundled / sizeof unbundled[0]; i++) {
        GS_TRY(rebase_key(source, layer, unbundled[i], false, err));
    }
    gs_json_at tables;
    size_t table_count =
        gs_scenario_path_find(&layer->document, "cluster.tuning.measured", &tables) &&
                gs_json_kind_of(tables.value) == GS_JSON_LIST
            ? gs_json_count(tables.value)
            : 0;
    for (size_t i = 0; i < table_count; i++) {
        char key[GS_JSON_PATH_BYTES];
        snprintf(key, sizeof key, "cluster.tuning.measured[%zu].curve", i);
        GS_TRY(rebase_key(source, layer, key, true, err));
    }
    for (size_t i = 0; gs_data_source_at(i) != NULL; i++) {
        const char *const *files = gs_data_source_at(i)->files;
        for (; files != NULL && *files != NULL; files++) {
            char key[GS_JSON_PATH_BYTES];
            snprintf(key, sizeof key, "workload.data.%s", *files);
            GS_TRY(rebase_key(source, layer, key, false, err));
        }
    }
    return GS_OK;
}

/* Are both the same file, however they are called? */
static bool is_same_file(const char *a, const char *b)
{
    struct stat one;
    struct stat two;
    return stat(a, &one) == 0 && stat(b, &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino == two.st_ino;
}

static gs_status read_layer(gs_scenario_source *source, const char *file, const char *path,
                            gs_error *err)
{
    gs_scenario_layer *layer = &source->layers[source->layer_count];
    gs_json_at document;
    const char *text = source->layer_count == 0 ? source->options->text : NULL;
    if (text != NULL) {
        GS_TRY(gs_json_parse(text, strlen(text), file, &document, err));
    } else {
        GS_TRY(gs_json_read(path, &document, err));
    }
    document.file = strcmp(path, "-") == 0 ? document.file : file;
    *layer = (gs_scenario_layer){.file = document.file, .path = path, .document = document};
    source->layer_count++;
    if (gs_json_kind_of(document.value) != GS_JSON_OBJECT) {
        char found[64];
        return gs_json_fail(&document, GS_EINVAL, err,
                            "is %s, not an object ({...}) that describes a scenario",
                            gs_json_describe(document.value, found, sizeof found));
    }
    return rebase(source, layer, err);
}

/* Reads what the last layer extends. *out_more: there was something. */
static gs_status read_base(gs_scenario_source *source, bool *out_more, gs_error *err)
{
    const gs_scenario_layer *layer = &source->layers[source->layer_count - 1];
    gs_json_at at;
    const char *text = NULL;
    *out_more = gs_json_find(&layer->document, "extends", &at);
    if (!*out_more) {
        return GS_OK;
    }
    GS_TRY(gs_json_text(&at, &text, err));
    if (text[0] == '\0' || strcmp(text, "-") == 0) {
        return gs_json_fail(&at, GS_EINVAL, err,
                            "\"%s\" is no scenario to extend; give a file or a bundled name", text);
    }
    const char *file = gs_arena_text(source->arena, text);
    const char *path = file;
    if (file == NULL) {
        return no_memory(layer->file, err);
    }
    if (gs_scenario_is_bundled_name(file)) {
        gs_error inner = {0};
        gs_status status = find_scenario(source->options, file, source->arena, &path, &inner);
        if (status != GS_OK) {
            return gs_json_fail(&at, status, err, "%s", inner.text);
        }
    } else {
        path = from_file(source->arena, layer->path, file);
        file = path;
    }
    if (path == NULL) {
        return no_memory(layer->file, err);
    }
    for (uint32_t i = 0; i < source->layer_count; i++) {
        if (is_same_file(path, source->layers[i].path)) {
            return gs_json_fail(&at, GS_EINVAL, err,
                                "\"%.80s\" leads back to %s; a chain of extends must end", text,
                                source->layers[i].file);
        }
    }
    if (source->layer_count == GS_LAYERS_MAX) {
        return gs_json_fail(&at, GS_EINVAL, err,
                            "is the end of a chain of %d files; at most %d "
                            "may be",
                            GS_LAYERS_MAX + 1, GS_LAYERS_MAX);
    }
    return read_layer(source, file, path, err);
}

/* --- merging -------------------------------------------------------------------------------- */

typedef struct merge_frame {
    gs_json_at into, from, child;
    size_t next;
} merge_frame;

static bool merges(const gs_json_at *a, const gs_json_at *b)
{
    gs_json_at sweep;
    return gs_json_kind_of(a->value) == GS_JSON_OBJECT &&
           gs_json_kind_of(b->value) == GS_JSON_OBJECT && !gs_json_find(a, "sweep", &sweep) &&
           !gs_json_find(b, "sweep", &sweep);
}

/* Objects merge; lists, sweeps and plain values of `from` replace those of `into`. */
static gs_status merge(gs_arena *arena, const gs_json_at *into, const gs_json_at *from,
                       gs_error *err)
{
    merge_frame *stack = GS_TAKE(arena, merge_frame, GS_SCENARIO_DEPTH_MAX + 1);
    if (stack == NULL) {
        return no_memory(from->file, err);
    }
    size_t depth = 1;
    stack[0] = (merge_frame){.into = *into, .from = *from};
    while (depth > 0) {
        merge_frame *top = &stack[depth - 1];
        if (top->next >= gs_json_count(top->from.value)) {
            depth--;
            continue;
        }
        const char *key = NULL;
        gs_json_at there;
        top->child = gs_json_member(&top->from, top->next++, &key);
        bool is_there = gs_json_find(&top->into, key, &there);
        if (is_there && merges(&there, &top->child)) {
            stack[depth++] = (merge_frame){.into = there, .from = top->child};
        } else if (!gs_json_set(top->into.value, key, gs_json_copy(top->child.value))) {
            return no_memory(from->file, err);
        }
    }
    return GS_OK;
}

static gs_status merge_layers(gs_scenario_source *source, gs_error *err)
{
    source->merged = (gs_json_at){.value = gs_json_new_object(), .file = source->layers[0].file};
    if (source->merged.value == NULL) {
        return no_memory(source->layers[0].file, err);
    }
    for (uint32_t i = source->layer_count; i > 0; i--) {
        GS_TRY(merge(source->arena, &source->merged, &source->layers[i - 1].document, err));
    }
    return GS_OK;
}

/* "runs/my.json" is called my. NULL: no memory. */
static const char *name_of(gs_arena *arena, const char *file)
{
    if (strcmp(file, "-") == 0) {
        return "stdin";
    }
    const char *slash = strrchr(file, '/');
    char *name = gs_arena_text(arena, slash == NULL ? file : slash + 1);
    char *dot = name == NULL ? NULL : strrchr(name, '.');
    if (dot != NULL && dot != name) {
        *dot = '\0';
    }
    return name;
}

gs_status gs_scenario_source_read(const char *file, const gs_scenario_options *options,
                                  gs_arena *arena, gs_scenario_source *out, gs_error *err)
{
    *out = (gs_scenario_source){.options = options, .arena = arena};
    const char *path = file;
    if (options->text == NULL && gs_scenario_is_bundled_name(file)) {
        GS_TRY(find_scenario(options, file, arena, &path, err));
    }
    const char *shown = gs_arena_text(arena, file);
    path = gs_arena_text(arena, path);
    out->name = name_of(arena, file);
    if (shown == NULL || path == NULL || out->name == NULL) {
        return no_memory(file, err);
    }
    GS_TRY(read_layer(out, shown, path, err));
    bool has_more = true;
    while (has_more) {
        GS_TRY(read_base(out, &has_more, err));
    }
    GS_TRY(merge_layers(out, err));
    GS_TRY(gs_scenario_apply_overrides(out, err));
    return gs_scenario_take_sweeps(out, err);
}

void gs_scenario_source_free(gs_scenario_source *source)
{
    for (uint32_t i = 0; i < source->layer_count; i++) {
        gs_json_free(source->layers[i].document.value);
    }
    for (uint32_t i = 0; i < source->sweep_count; i++) {
        gs_json_free(source->sweeps[i].object);
    }
    gs_json_free(source->merged.value);
    source->merged.value = NULL;
    source->layer_count = 0;
    source->sweep_count = 0;
}
