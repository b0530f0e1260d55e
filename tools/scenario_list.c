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
    gs_named_scenario *items;
    size_t count;
} gathering;

static const char *summary_of(const char *file, gs_arena *arena)
{
    gs_json_at document;
    gs_json_at comment;
    const char *text = "";
    if (gs_json_read(file, &document, NULL) != GS_OK) {
        return "cannot be read; see gradsync check";
    }
    if (gs_json_find(&document, "$comment", &comment) &&
        gs_json_text(&comment, &text, NULL) != GS_OK) {
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
        .summary = summary_of(file, all->arena),
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

size_t gs_scenario_list(gs_arena *arena, const gs_named_scenario **out)
{
    gathering all = {.arena = arena};
    all.items = gs_need(GS_TAKE(arena, gs_named_scenario, SCENARIOS_MAX));
    add_folder(&all, gs_places_scenarios());
    char *bundled = gs_text("%s/traces/scenarios", gs_places_data());
    add_folder(&all, bundled);
    free(bundled);
    qsort(all.items, all.count, sizeof *all.items, by_name);
    *out = all.items;
    return all.count;
}
