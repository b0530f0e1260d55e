#include "tools/config_difference.h"

#include "base/arena.h"
#include "base/json.h"
#include "tools/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 3 };

/* One value that holds no others. */
typedef struct leaf {
    const char *path, *text; /* of the arena */
} leaf;

typedef struct leaf_list {
    leaf *leaves;
    size_t count, capacity;
} leaf_list;

/* Values still to be looked into. */
typedef struct pile {
    gs_json_at *items;
    size_t count, capacity;
} pile;

static void push(pile *todo, const gs_json_at *item)
{
    if (todo->count == todo->capacity) {
        todo->capacity = 2 * todo->capacity + 64;
        todo->items = gs_need(realloc(todo->items, todo->capacity * sizeof *todo->items));
    }
    todo->items[todo->count++] = *item;
}

static void add_leaf(leaf_list *list, const gs_json_at *at, gs_arena *arena)
{
    if (list->count == list->capacity) {
        list->capacity = 2 * list->capacity + 64;
        list->leaves = gs_need(realloc(list->leaves, list->capacity * sizeof *list->leaves));
    }
    char *text = gs_need(gs_json_write(at->value, false));
    list->leaves[list->count++] =
        (leaf){gs_need(gs_arena_text(arena, at->path)), gs_need(gs_arena_text(arena, text))};
    free(text);
}

static int by_path(const void *left, const void *right)
{
    return strcmp(((const leaf *)left)->path, ((const leaf *)right)->path);
}

/* Of evaluate, what changes no run. */
static bool is_unhashed(const char *path)
{
    return strcmp(path, "evaluate.seeds") == 0 || strcmp(path, "evaluate.alpha") == 0 ||
           strcmp(path, "evaluate.metrics") == 0;
}

/* All leaves of the sections that are hashed, by path. False: not JSON. */
static bool flatten(const char *text, gs_arena *arena, leaf_list *out)
{
    static const char *const sections[] = {"cluster", "workload", "noise", "faults", "evaluate"};
    gs_json_at root;
    gs_error err = {0};
    *out = (leaf_list){0};
    if (gs_json_parse(text, strlen(text), "scenario", &root, &err) != GS_OK) {
        return false;
    }
    pile todo = {0};
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        gs_json_at section;
        if (gs_json_find(&root, sections[i], &section)) {
            push(&todo, &section);
        }
    }
    while (todo.count > 0) {
        gs_json_at at = todo.items[--todo.count];
        gs_json_kind kind = gs_json_kind_of(at.value);
        if (is_unhashed(at.path)) {
            continue;
        }
        if ((kind != GS_JSON_LIST && kind != GS_JSON_OBJECT) || gs_json_count(at.value) == 0) {
            add_leaf(out, &at, arena);
            continue;
        }
        gs_json_at child;
        for (size_t i = 0; gs_json_walk(&at, i, &child); i++) {
            push(&todo, &child);
        }
    }
    free(todo.items);
    gs_json_free(root.value);
    if (out->count > 0) {
        qsort(out->leaves, out->count, sizeof *out->leaves, by_path);
    }
    return true;
}

/* The next path of either list, with its text in each; NULL where a list does not have it. */
static const char *next_path(const leaf_list *one, size_t *i, const leaf_list *other, size_t *j,
                             const char **out_one, const char **out_other)
{
    const leaf *a = &one->leaves[*i];
    const leaf *b = &other->leaves[*j];
    int order = *i == one->count ? 1 : *j == other->count ? -1 : by_path(a, b);
    *out_one = order <= 0 ? a->text : NULL;
    *out_other = order >= 0 ? b->text : NULL;
    *i += order <= 0 ? 1 : 0;
    *j += order >= 0 ? 1 : 0;
    return order <= 0 ? a->path : b->path;
}

static char *compare(const leaf_list *one, const leaf_list *other)
{
    char *text = NULL;
    size_t bytes = 0;
    size_t differ = 0;
    FILE *out = gs_need(open_memstream(&text, &bytes));
    for (size_t i = 0, j = 0; i < one->count || j < other->count;) {
        const char *left = NULL;
        const char *right = NULL;
        const char *path = next_path(one, &i, other, &j, &left, &right);
        if (left != NULL && right != NULL && strcmp(left, right) == 0) {
            continue;
        }
        if (differ++ < SHOWN) {
            fprintf(out, "%s%s %s against %s", differ == 1 ? "" : ", ", path,
                    left == NULL ? "nothing" : left, right == NULL ? "nothing" : right);
        }
    }
    if (differ > SHOWN) {
        fprintf(out, " and %zu more", differ - SHOWN);
    }
    fclose(out);
    gs_need(text);
    if (differ == 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* Two lists of leaves, or none. */
typedef struct two_lists {
    gs_arena arena;
    leaf_list one, other;
    bool read;
} two_lists;

static void read_two(const char *one, const char *other, two_lists *out)
{
    *out = (two_lists){0};
    gs_arena_init(&out->arena);
    out->read = flatten(one, &out->arena, &out->one) && flatten(other, &out->arena, &out->other);
}

static void free_two(two_lists *lists)
{
    free(lists->one.leaves);
    free(lists->other.leaves);
    gs_arena_fini(&lists->arena);
}

char *gs_config_difference(const char *one, const char *other)
{
    two_lists lists;
    read_two(one, other, &lists);
    char *text = lists.read ? compare(&lists.one, &lists.other) : NULL;
    free_two(&lists);
    return text;
}

/* Is there, in the other list, anything of the element that the path lies in? Then a key of it is
 * new; else the element is. */
static bool has_element_of(const leaf_list *list, const char *path)
{
    const char *end = strrchr(path, ']');
    size_t length = end == NULL ? 0 : (size_t)(end - path) + 1;
    for (size_t i = 0; i < list->count; i++) {
        if (strncmp(list->leaves[i].path, path, length) == 0) {
            return true;
        }
    }
    return false;
}

bool gs_config_conflicts(const char *one, const char *other)
{
    two_lists lists;
    read_two(one, other, &lists);
    bool conflicts = false;
    for (size_t i = 0, j = 0; lists.read && (i < lists.one.count || j < lists.other.count);) {
        const char *left = NULL;
        const char *right = NULL;
        const char *path = next_path(&lists.one, &i, &lists.other, &j, &left, &right);
        if (left != NULL && right != NULL) {
            conflicts = conflicts || strcmp(left, right) != 0;
        } else {
            conflicts =
                conflicts || !has_element_of(left == NULL ? &lists.one : &lists.other, path);
        }
    }
    free_two(&lists);
    return conflicts;
}
