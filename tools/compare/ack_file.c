#include "tools/compare/ack_file.h"

#include "base/json.h"
#include "tools/message.h"
#include "traces/record.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---------------------------------------------------------------- reading */

static gs_status take_text(const gs_json_at *item, const char *key, gs_arena *arena,
                           const char **out, gs_error *err)
{
    gs_json_at at;
    const char *text = NULL;
    if (!gs_json_find(item, key, &at)) {
        return gs_json_fail(item, GS_EINVAL, err,
                            "an accepted change needs \"%s\"; gradsync baseline ack --acks writes "
                            "them",
                            key);
    }
    GS_TRY(gs_json_text(&at, &text, err));
    *out = gs_need(gs_arena_text(arena, text));
    return GS_OK;
}

static gs_status take_value(const gs_json_at *item, const char *key, double *out, gs_error *err)
{
    gs_json_at at;
    if (!gs_json_find(item, key, &at)) {
        return gs_json_fail(item, GS_EINVAL, err,
                            "an accepted change needs \"%s\", a value in the unit of its metric",
                            key);
    }
    return gs_json_real(&at, out, err);
}

static gs_status refuse_unknown(const gs_json_at *item, gs_error *err)
{
    static const char *const keys[] = {"scenario", "strategy", "metric", "base",
                                       "worst",    "who",      "why",    "made_utc"};
    size_t count = gs_json_count(item->value);
    for (size_t i = 0; i < count; i++) {
        const char *key = NULL;
        gs_json_at member = gs_json_member(item, i, &key);
        bool known = false;
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
            known = known || strcmp(key, keys[k]) == 0;
        }
        if (!known) {
            return gs_json_fail(&member, GS_EINVAL, err,
                                "no key of an accepted change; they are scenario, strategy, "
                                "metric, base, worst, who, why, made_utc");
        }
    }
    return GS_OK;
}

static gs_status read_one(const gs_json_at *item, gs_arena *arena, gs_ack *out, gs_error *err)
{
    if (gs_json_kind_of(item->value) != GS_JSON_OBJECT) {
        return gs_json_fail(item, GS_EINVAL, err,
                            "an accepted change is an object; gradsync baseline ack --acks writes "
                            "them");
    }
    *out = (gs_ack){.params_json = "", .commit = "", .ratio = (double)NAN};
    GS_TRY(refuse_unknown(item, err));
    GS_TRY(take_text(item, "scenario", arena, &out->scenario, err));
    GS_TRY(take_text(item, "strategy", arena, &out->strategy, err));
    GS_TRY(take_text(item, "metric", arena, &out->metric, err));
    GS_TRY(take_text(item, "who", arena, &out->who, err));
    GS_TRY(take_text(item, "why", arena, &out->why, err));
    GS_TRY(take_text(item, "made_utc", arena, &out->made_utc, err));
    GS_TRY(take_value(item, "base", &out->base, err));
    GS_TRY(take_value(item, "worst", &out->worst, err));
    uint32_t metric = gs_metric_find(out->metric);
    if (metric == gs_metric_count()) {
        return gs_json_fail(item, GS_EINVAL, err, "\"%s\" is no metric; gradsync list metrics",
                            out->metric);
    }
    out->metric = gs_metric_at(metric)->name;
    return GS_OK;
}

/* Opens the list; the caller frees at->value, also after errors. */
static gs_status open_list(const char *file, gs_json_at *out, gs_error *err)
{
    *out = (gs_json_at){.value = NULL};
    GS_TRY(gs_json_read(file, out, err));
    if (gs_json_kind_of(out->value) != GS_JSON_LIST) {
        return gs_json_fail(out, GS_EINVAL, err,
                            "a file of accepted changes is a list; an empty one is []");
    }
    return GS_OK;
}

gs_status gs_ack_file_read(const char *file, gs_arena *arena, const gs_ack **out_acks,
                           uint32_t *out_count, gs_error *err)
{
    gs_json_at list;
    gs_status status = open_list(file, &list, err);
    if (status == GS_OK) {
        gs_ack *acks = gs_need(GS_TAKE(arena, gs_ack, gs_json_count(list.value) + 1));
        gs_json_at item;
        uint32_t count = 0;
        for (; status == GS_OK && gs_json_walk(&list, count, &item); count++) {
            status = read_one(&item, arena, &acks[count], err);
        }
        *out_acks = acks;
        *out_count = count;
    }
    gs_json_free(list.value);
    return status;
}

/* ---------------------------------------------------------------- writing */

static void set(gs_json *object, const char *key, gs_json *value)
{
    if (!gs_json_set(object, key, value)) {
        gs_need(NULL);
    }
}

static void add(gs_json *list, const gs_ack *ack)
{
    gs_json *item = gs_need(gs_json_new_object());
    set(item, "scenario", gs_json_new_text(ack->scenario));
    set(item, "strategy", gs_json_new_text(ack->strategy));
    set(item, "metric", gs_json_new_text(ack->metric));
    set(item, "base", gs_json_new_real(ack->base));
    set(item, "worst", gs_json_new_real(ack->worst));
    set(item, "who", gs_json_new_text(ack->who));
    set(item, "why", gs_json_new_text(ack->why));
    set(item, "made_utc", gs_json_new_text(ack->made_utc));
    if (!gs_json_add(list, item)) {
        gs_need(NULL);
    }
}

static bool is_of_one(const gs_ack *left, const gs_ack *right)
{
    return strcmp(left->scenario, right->scenario) == 0 &&
           strcmp(left->strategy, right->strategy) == 0 && strcmp(left->metric, right->metric) == 0;
}

/* Beside the file and then in its place: a full disk leaves what was there. */
static gs_status replace(const char *file, const char *text, gs_error *err)
{
    char *fresh = gs_text("%s.%ld", file, (long)getpid());
    FILE *out = fopen(fresh, "w");
    bool written = out != NULL && fprintf(out, "%s\n", text) >= 0;
    written = out != NULL && fclose(out) == 0 && written;
    gs_status status = GS_OK;
    if (!written || rename(fresh, file) != 0) {
        status = gs_fail(err, GS_EIO, "%s: cannot be written: %s", file, strerror(errno));
        (void)unlink(fresh);
    }
    free(fresh);
    return status;
}

gs_status gs_ack_file_add(const char *file, const gs_ack *ack, gs_error *err)
{
    gs_arena arena;
    const gs_ack *acks = NULL;
    uint32_t count = 0;
    gs_arena_init(&arena);
    gs_status status = access(file, F_OK) != 0 && errno == ENOENT
                           ? GS_OK
                           : gs_ack_file_read(file, &arena, &acks, &count, err);
    if (status == GS_OK) {
        gs_json *list = gs_need(gs_json_new_list());
        for (uint32_t i = 0; i < count; i++) {
            if (!is_of_one(&acks[i], ack)) {
                add(list, &acks[i]);
            }
        }
        add(list, ack);
        char *text = gs_need(gs_json_write(list, true));
        status = replace(file, text, err);
        free(text);
        gs_json_free(list);
    }
    gs_arena_fini(&arena);
    return status;
}
