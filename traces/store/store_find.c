#include "traces/store/store.h"

#include "base/assert.h"
#include "base/nearest.h"
#include "traces/store/store_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LABELS_MAX = 1000 };

static bool is_number(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

gs_status gs_store_check_label(const char *label, gs_error *err)
{
    if (label[0] == '\0' || is_number(label) || label[0] == '@' || strpbrk(label, ":#~") != NULL) {
        return gs_fail(err, GS_EINVAL,
                       "label \"%s\": could be taken for another way to name a run; use a word "
                       "without @ : # ~ that is not a number",
                       label);
    }
    return GS_OK;
}

typedef struct id_list {
    int64_t *ids; /* [capacity], of the arena */
    uint32_t count, capacity;
} id_list;

static bool add_id(id_list *list, int64_t id, gs_arena *arena)
{
    if (list->count == list->capacity) {
        uint32_t grown = list->capacity == 0 ? 16 : list->capacity * 2;
        int64_t *moved = GS_TAKE(arena, int64_t, grown);
        if (moved == NULL) {
            return false;
        }
        if (list->count > 0) {
            memcpy(moved, list->ids, list->count * sizeof *moved);
        }
        list->ids = moved;
        list->capacity = grown;
    }
    list->ids[list->count++] = id;
    return true;
}

/* All ids that a query gives whose values are bound. */
static gs_status take_ids(gs_store *store, gs_sql_query *query, gs_arena *arena, id_list *out,
                          gs_error *err)
{
    bool row = false;
    *out = (id_list){0};
    gs_status status = gs_sql_step(query, &row, err);
    while (status == GS_OK && row) {
        if (!add_id(out, gs_sql_int(query, 0), arena)) {
            status = gs_fail(err, GS_ENOMEM, "%s: %s", store->sql.path, gs_status_text(GS_ENOMEM));
        } else {
            status = gs_sql_step(query, &row, err);
        }
    }
    return status;
}

/* All ids that a query of one number gives. */
static gs_status ids_of(gs_store *store, const char *text, int64_t value, gs_arena *arena,
                        id_list *out, gs_error *err)
{
    gs_sql_query query = {0};
    gs_status status = gs_sql_prepare(&store->sql, text, &query, err);
    if (status == GS_OK) {
        gs_sql_bind_int(&query, 1, value);
        status = take_ids(store, &query, arena, out, err);
    }
    gs_sql_finish(&query);
    return status;
}

static gs_status fail_empty(gs_store *store, gs_error *err)
{
    return gs_fail(
        err, GS_ENOTFOUND,
        "%s: no runs yet; `gradsync sim` stores some, or name another database with --db",
        store->sql.path);
}

static gs_status find_id(gs_store *store, const char *selector, gs_arena *arena, id_list *out,
                         gs_error *err)
{
    int64_t newest = 0;
    GS_TRY(
        gs_store_query_int(&store->sql, "SELECT coalesce(max(run_id), 0) FROM run", &newest, err));
    int64_t id = strtoll(selector, NULL, 10); /* too large a number is no id either */
    GS_TRY(ids_of(store, "SELECT run_id FROM run WHERE run_id = ?", id, arena, out, err));
    if (out->count > 0) {
        return GS_OK;
    }
    return newest == 0 ? fail_empty(store, err)
                       : gs_fail(err, GS_ENOTFOUND, "%s: no run %s; the newest is %" PRId64,
                                 store->sql.path, selector, newest);
}

/* "@last" or "@last~N". */
static gs_status find_batch(gs_store *store, const char *selector, int64_t *out_batch,
                            gs_error *err)
{
    static const char last[] = "@last";
    const char *rest = selector + strlen(last);
    bool is_last = strncmp(selector, last, strlen(last)) == 0 &&
                   (rest[0] == '\0' || (rest[0] == '~' && is_number(rest + 1)));
    if (!is_last) {
        return gs_fail(err, GS_EINVAL,
                       "run \"%s\": not a way to name a run; use an id, a label, @last or @last~N",
                       selector);
    }
    gs_sql_query query = {0};
    bool row = false;
    gs_status status = gs_sql_prepare(
        &store->sql, "SELECT DISTINCT batch FROM run ORDER BY batch DESC LIMIT 1 OFFSET ?", &query,
        err);
    if (status == GS_OK) {
        gs_sql_bind_int(&query, 1, rest[0] == '\0' ? 0 : strtoll(rest + 1, NULL, 10));
        status = gs_sql_step(&query, &row, err);
    }
    if (status == GS_OK && row) {
        *out_batch = gs_sql_int(&query, 0);
    }
    gs_sql_finish(&query);
    if (status != GS_OK || row) {
        return status;
    }
    int64_t count = 0;
    GS_TRY(gs_store_query_int(&store->sql, "SELECT count(DISTINCT batch) FROM run", &count, err));
    return count == 0 ? fail_empty(store, err)
                      : gs_fail(err, GS_ENOTFOUND,
                                "%s: no %s; it holds the runs of %" PRId64 " command%s, the oldest "
                                "is @last~%" PRId64,
                                store->sql.path, selector, count, count == 1 ? "" : "s", count - 1);
}

/* "no run labelled X", with the nearest label there is. */
static gs_status fail_label(gs_store *store, const char *label, gs_arena *arena, gs_error *err)
{
    const char **labels = GS_TAKE(arena, const char *, LABELS_MAX);
    gs_sql_query query = {0};
    size_t count = 0;
    bool row = true;
    gs_status status = gs_sql_prepare(
        &store->sql,
        "SELECT label FROM run WHERE label IS NOT NULL GROUP BY label ORDER BY max(batch) DESC",
        &query, err);
    while (status == GS_OK && row && labels != NULL && count < LABELS_MAX) {
        status = gs_sql_step(&query, &row, err);
        if (status == GS_OK && row) {
            const char *text = gs_arena_text(arena, gs_sql_text(&query, 0));
            if (text == NULL) {
                break; /* the error is told without a suggestion */
            }
            labels[count++] = text;
        }
    }
    gs_sql_finish(&query);
    GS_TRY(status);
    const char *nearest = count == 0 ? NULL : gs_nearest_name(label, labels, count);
    if (nearest != NULL) {
        return gs_fail(err, GS_ENOTFOUND, "%s: no run labelled \"%s\"; did you mean \"%s\"?",
                       store->sql.path, label, nearest);
    }
    return gs_fail(err, GS_ENOTFOUND,
                   "%s: no run labelled \"%s\"; use an id, a label, @last or @last~N (the same run "
                   "stored again without --label loses its label)",
                   store->sql.path, label);
}

static gs_status find_label(gs_store *store, const char *label, gs_arena *arena, int64_t *out_batch,
                            gs_error *err)
{
    gs_sql_query query = {0};
    bool row = false;
    gs_status status = gs_sql_prepare(&store->sql,
                                      "SELECT batch FROM run WHERE label = ? "
                                      "ORDER BY batch DESC LIMIT 1",
                                      &query, err);
    if (status == GS_OK) {
        gs_sql_bind_text(&query, 1, label);
        status = gs_sql_step(&query, &row, err);
    }
    if (status == GS_OK && row) {
        *out_batch = gs_sql_int(&query, 0);
    }
    gs_sql_finish(&query);
    return status != GS_OK || row ? status : fail_label(store, label, arena, err);
}

/* "label:NAME": every run that bears the label, whichever command wrote it. */
static gs_status find_all_labelled(gs_store *store, const char *label, gs_arena *arena,
                                   id_list *out, gs_error *err)
{
    gs_sql_query query = {0};
    gs_status status = gs_sql_prepare(
        &store->sql, "SELECT run_id FROM run WHERE label = ? ORDER BY run_id", &query, err);
    if (status == GS_OK) {
        gs_sql_bind_text(&query, 1, label);
        status = take_ids(store, &query, arena, out, err);
    }
    gs_sql_finish(&query);
    return status != GS_OK || out->count > 0 ? status : fail_label(store, label, arena, err);
}

/* "baseline:NAME": the runs that it was set to, as long as they are what they were. */
static gs_status find_baseline_runs(gs_store *store, const char *name, gs_arena *arena,
                                    id_list *out, gs_error *err)
{
    GS_TRY(gs_store_check_baseline(store, name, arena, err));
    gs_sql_query query = {0};
    gs_status status = gs_sql_prepare(
        &store->sql,
        "SELECT run_id FROM baseline_run JOIN run USING(run_key) WHERE name = ? ORDER BY run_id",
        &query, err);
    if (status == GS_OK) {
        gs_sql_bind_text(&query, 1, name);
        status = take_ids(store, &query, arena, out, err);
    }
    gs_sql_finish(&query);
    return status;
}

/* Is the text the beginning of a commit's name? Git wants four digits at least. */
static bool is_commit(const char *text)
{
    size_t digits = strspn(text, "0123456789abcdefABCDEF");
    return digits >= 4 && digits <= 64 && text[digits] == '\0';
}

/* "commit:SHA": all runs of programs built from it; not of a tree that was changed since. */
static gs_status find_commit(gs_store *store, const char *commit, gs_arena *arena, id_list *out,
                             gs_error *err)
{
    if (!is_commit(commit)) {
        return gs_fail(err, GS_EINVAL,
                       "run \"commit:%s\": not the name of a commit; write four digits (0-9 a-f) "
                       "of it or more",
                       commit);
    }
    gs_sql_query query = {0};
    gs_status status = gs_sql_prepare(
        &store->sql,
        "SELECT run_id FROM run JOIN env USING(env_id) WHERE NOT git_dirty AND "
        "substr(lower(?1), 1, length(git_commit)) = substr(git_commit, 1, length(?1)) "
        "ORDER BY run_id",
        &query, err);
    if (status == GS_OK) {
        gs_sql_bind_text(&query, 1, commit);
        status = take_ids(store, &query, arena, out, err);
    }
    gs_sql_finish(&query);
    GS_TRY(status);
    return out->count > 0 ? GS_OK
                          : gs_fail(err, GS_ENOTFOUND,
                                    "%s: no run of a program built from commit %s, unchanged; "
                                    "`gradsync show RUN` names a run's commit",
                                    store->sql.path, commit);
}

/* What follows the prefix, or NULL. */
static const char *after(const char *selector, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(selector, prefix, length) == 0 ? selector + length : NULL;
}

gs_status gs_store_find_runs(gs_store *store, const char *selector, gs_arena *arena,
                             const int64_t **out_ids, uint32_t *out_count, gs_error *err)
{
    const char *label = after(selector, "label:");
    const char *baseline = after(selector, "baseline:");
    const char *commit = after(selector, "commit:");
    id_list list = {0};
    if (is_number(selector)) {
        GS_TRY(find_id(store, selector, arena, &list, err));
    } else if (label != NULL) {
        GS_TRY(find_all_labelled(store, label, arena, &list, err));
    } else if (baseline != NULL) {
        GS_TRY(find_baseline_runs(store, baseline, arena, &list, err));
    } else if (commit != NULL) {
        GS_TRY(find_commit(store, commit, arena, &list, err));
    } else {
        int64_t batch = 0;
        bool is_word = selector[0] != '\0' && selector[0] != '@';
        GS_TRY(is_word ? find_label(store, selector, arena, &batch, err)
                       : find_batch(store, selector, &batch, err));
        GS_TRY(ids_of(store, "SELECT run_id FROM run WHERE batch = ? ORDER BY run_id", batch, arena,
                      &list, err));
    }
    *out_ids = list.ids;
    *out_count = list.count;
    return GS_OK;
}

gs_status gs_store_find_run(gs_store *store, const char *selector, int64_t *out_id, gs_error *err)
{
    gs_arena arena;
    gs_arena_init(&arena);
    const int64_t *ids = NULL;
    uint32_t count = 0;
    gs_status status = gs_store_find_runs(store, selector, &arena, &ids, &count, err);
    if (status == GS_OK) {
        GS_ASSERT(count > 0);
        GS_ASSERT(ids != NULL);
        *out_id = ids[count - 1];
    }
    gs_arena_fini(&arena);
    return status;
}
