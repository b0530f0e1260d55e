#include "tools/scenario_list.h"

#include "base/json.h"
#include "tools/message.h"
#include "tools/places.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { SCENARIOS_MAX = 4096 };

typedef struct gathering {
    gs_arena *arena;
    const char *summary_key;
    gs_named_scenario *items;
    size_t count;
} gathering;

static const char *summary_of(const char *file, const char *key, gs_arena *arena)
{
    gs_json_at document;
    gs_json_at comment;
    const char *text = "";
    if (gs_json_read(file, &document, NULL) != GS_OK) {
        return "cannot be read; see gradsync check";
    }
    if (gs_json_find(&document, key, &comment) && gs_json_text(&comment, &text, NULL) != GS_OK) {
        text = "";
    }
    text = gs_need(gs_arena_text(arena, text));
    gs_json_free(document.value);
    return text;
}

static void add(gathering *all, const char *folder, const char *entry)
{
    size_t length = strlen(entry);
    if (length < 6 || strcmp(entry + length - 5, ".json") != 0 || all->count == SCENARIOS_MAX) {
        return;
    }
    char *name = gs_need(gs_arena_text(all->arena, entry));
    name[length - 5] = '\0';
    for (size_t i = 0; i < all->count; i++) {
        if (strcmp(all->items[i].name, name) == 0) {
            return;
        }
    }
    char *file = gs_text("%s/%s", folder, entry);
    all->items[all->count++] = (gs_named_scenario){
        .name = name,
        .summary = summary_of(file, all->summary_key, all->arena),
        .file = gs_need(gs_arena_text(all->arena, file)),
    };
    free(file);
}

static void add_folder(gathering *all, const char *folder)
{
    DIR *entries = folder[0] == '\0' ? NULL : opendir(folder);
    if (entries == NULL) {
        return;
    }
    const struct dirent *entry = NULL;
    while ((entry = readdir(entries)) != NULL) {
        add(all, folder, entry->d_name);
    }
    closedir(entries);
}

static int by_name(const void *left, const void *right)
{
    const gs_named_scenario *a = left;
    const gs_named_scenario *b = right;
    return strcmp(a->name, b->name);
}

static size_t gather(gathering *all, const char *user_folder, const char *bundled_folder,
                     const gs_named_scenario **out)
{
    all->items = gs_need(GS_TAKE(all->arena, gs_named_scenario, SCENARIOS_MAX));
    add_folder(all, user_folder);
    char *bundled = gs_text("%s/traces/%s", gs_places_data(), bundled_folder);
    add_folder(all, bundled);
    free(bundled);
    qsort(all->items, all->count, sizeof *all->items, by_name);
    *out = all->items;
    return all->count;
}

size_t gs_scenario_list(gs_arena *arena, const gs_named_scenario **out)
{
    gathering all = {.arena = arena, .summary_key = "$comment"};
    return gather(&all, gs_places_scenarios(), "scenarios", out);
}

size_t gs_profile_list(gs_arena *arena, const gs_named_scenario **out)
{
    gathering all = {.arena = arena, .summary_key = "source"};
    return gather(&all, "", "profiles", out);
}
