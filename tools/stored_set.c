#include "tools/stored_set.h"

#include "base/json.h"
#include "base/units.h"
#include "tools/config_difference.h"
#include "tools/message.h"
#include "traces/scenario/scenario.h"
#include "traces/store/store_sweep.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS_MAX = 32 };

static void *take(gs_stored_set *set, size_t count, size_t bytes)
{
    return gs_need(gs_arena_take(&set->arena, count + 1, bytes));
}

/* ---------------------------------------------------------------- runs */

static uint32_t label_of(gs_stored_set *set, const gs_stored_run *run)
{
    const char *label = gs_need(
        gs_strategy_stored_label(run->strategy.name, run->strategy.params_json, &set->arena));
    uint32_t place = 0;
    while (place < set->label_count && strcmp(set->labels[place], label) != 0) {
        place++;
    }
    if (place == set->label_count) {
        const char **longer = take(set, set->label_count + 1, sizeof *longer);
        for (uint32_t i = 0; i < set->label_count; i++) {
            longer[i] = set->labels[i];
        }
        longer[set->label_count++] = label;
        set->labels = longer;
    }
    return place;
}

static int ascending(const void *a, const void *b)
{
    int64_t one = ((const gs_set_run *)a)->id;
    int64_t other = ((const gs_set_run *)b)->id;
    return (one > other) - (one < other);
}

/* Adds the runs of a selector; each is there once in the end. */
static gs_status add_selector(gs_stored_set *set, const char *selector, gs_error *err)
{
    const int64_t *ids = NULL;
    uint32_t count = 0;
    GS_TRY(gs_store_find_runs(set->store, selector, &set->arena, &ids, &count, err));
    gs_set_run *all = take(set, (size_t)set->count + count, sizeof *all);
    if (set->count > 0) {
        memcpy(all, set->runs, set->count * sizeof *all);
    }
    set->runs = all;
    for (uint32_t i = 0; i < count; i++) {
        bool is_known = false;
        for (uint32_t k = 0; k < set->count && !is_known; k++) {
            is_known = all[k].id == ids[i];
        }
        if (!is_known) {
            gs_set_run *run = &all[set->count++];
            run->id = ids[i];
            GS_TRY(gs_store_read_run(set->store, ids[i], &set->arena, &run->run, err));
            run->is_good = run->run.status == GS_RUN_OK || run->run.status == GS_RUN_RECOVERED;
        }
    }
    return GS_OK;
}

/* ---------------------------------------------------------------- what a sweep gave them */

static double number_of(const char *text)
{
    char *end = NULL;
    double number = strtod(text, &end);
    int64_t whole = 0;
    if (end != text && *end == '\0') {
        return number;
    }
    if (strchr(text, '%') != NULL && gs_parse_ratio(text, &number, NULL) == GS_OK) {
        return number;
    }
    bool is_known = gs_parse_duration(text, &whole, NULL) == GS_OK ||
                    gs_parse_bytes(text, &whole, NULL) == GS_OK ||
                    gs_parse_rate(text, &whole, NULL) == GS_OK;
    return is_known ? (double)whole : (double)NAN;
}

/* The sweep that most of the runs have a place in; 0: they have none. */
static uint64_t main_sweep(const gs_stored_set *set, const gs_stored_place *const *places,
                           const uint32_t *counts)
{
    uint64_t best = 0;
    uint32_t most = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        for (uint32_t k = 0; k < counts[i]; k++) {
            uint64_t key = places[i][k].sweep_key;
            uint32_t members = 0;
            for (uint32_t other = i; other < set->count; other++) {
                bool is_member = false;
                for (uint32_t l = 0; l < counts[other]; l++) {
                    is_member = is_member || places[other][l].sweep_key == key;
                }
                members += is_member ? 1 : 0;
            }
            best = members > most ? key : best;
            most = members > most ? members : most;
        }
        if (most + i >= set->count) {
            break; /* no other can have more */
        }
    }
    return best;
}

static uint32_t key_of(gs_stored_set *set, const char *key)
{
    uint32_t place = 0;
    while (place < set->key_count && strcmp(set->keys[place].key, key) != 0) {
        place++;
    }
    if (place == set->key_count && place < KEYS_MAX) {
        set->keys[set->key_count++] =
            (gs_swept_key){.key = gs_need(gs_arena_text(&set->arena, key)),
                           .values = take(set, set->count, sizeof(char *)),
                           .is_numeric = true};
    }
    return place;
}

/* texts [count * KEYS_MAX]: values as the overrides say them. */
static gs_status read_overrides(gs_stored_set *set, uint32_t run, const char *json,
                                const char **texts, gs_error *err)
{
    gs_json_at root = {0};
    gs_json_at member = {0};
    GS_TRY(gs_json_parse(json, strlen(json), "sweep_point.overrides_json", &root, err));
    gs_status status = GS_OK;
    for (size_t i = 0; status == GS_OK && i < gs_json_count(root.value); i++) {
        const char *key = NULL;
        const char *text = NULL;
        member = gs_json_member(&root, i, &key);
        status = gs_json_text(&member, &text, err);
        uint32_t place = key_of(set, key);
        if (status == GS_OK && place < KEYS_MAX) {
            texts[(size_t)run * KEYS_MAX + place] = gs_need(gs_arena_text(&set->arena, text));
        }
    }
    gs_json_free(root.value);
    return status;
}

/* What the scenario of a sweep itself says of its keys. */
static gs_status read_own(gs_stored_set *set, const char *json, gs_error *err)
{
    gs_json_at root = {0};
    GS_TRY(gs_json_parse(json, strlen(json), "sweep_point.own_json", &root, err));
    gs_status status = GS_OK;
    for (uint32_t i = 0; status == GS_OK && i < set->key_count; i++) {
        gs_swept_key *key = &set->keys[i];
        gs_json_at member = {0};
        const char *text = NULL;
        if (gs_json_find(&root, key->key, &member)) {
            status = gs_json_text(&member, &text, err);
            key->own = text == NULL ? NULL : gs_need(gs_arena_text(&set->arena, text));
            key->own_number = text == NULL ? (double)NAN : number_of(text);
        }
    }
    gs_json_free(root.value);
    return status;
}

static int by_number(const void *a, const void *b)
{
    double one = number_of(*(const char *const *)a);
    double other = number_of(*(const char *const *)b);
    return (one > other) - (one < other);
}

static void list_values(gs_stored_set *set, uint32_t place, const char **texts)
{
    gs_swept_key *key = &set->keys[place];
    for (uint32_t i = 0; i < set->count; i++) {
        const char *text = texts[(size_t)i * KEYS_MAX + place];
        bool is_known = text == NULL;
        for (uint32_t k = 0; k < key->count && !is_known; k++) {
            is_known = strcmp(key->values[k], text) == 0;
        }
        if (!is_known) {
            key->values[key->count++] = text;
            key->is_numeric = key->is_numeric && !isnan(number_of(text));
        }
    }
    if (key->is_numeric && key->count > 1) {
        qsort(key->values, key->count, sizeof *key->values, by_number);
    }
    double *numbers = take(set, key->count, sizeof *numbers);
    for (uint32_t k = 0; k < key->count; k++) {
        numbers[k] = number_of(key->values[k]);
    }
    key->numbers = numbers;
}

static void index_values(gs_stored_set *set, const char **texts)
{
    for (uint32_t i = 0; i < set->count; i++) {
        uint32_t *values = take(set, set->key_count, sizeof *values);
        for (uint32_t k = 0; k < set->key_count; k++) {
            const char *text = texts[(size_t)i * KEYS_MAX + k];
            values[k] = GS_NOT_SWEPT;
            for (uint32_t v = 0; text != NULL && v < set->keys[k].count; v++) {
                if (strcmp(set->keys[k].values[v], text) == 0) {
                    values[k] = v;
                }
            }
        }
        set->runs[i].values = values;
    }
}

static gs_status read_sweep(gs_stored_set *set, gs_error *err)
{
    const gs_stored_place **places = take(set, set->count, sizeof *places);
    uint32_t *counts = take(set, set->count, sizeof *counts);
    const char **texts = take(set, (size_t)set->count * KEYS_MAX, sizeof *texts);
    set->keys = take(set, KEYS_MAX, sizeof *set->keys);
    memset(texts, 0, (size_t)set->count * KEYS_MAX * sizeof *texts);
    for (uint32_t i = 0; i < set->count; i++) {
        GS_TRY(gs_store_read_places(set->store, set->runs[i].id, &set->arena, &places[i],
                                    &counts[i], err));
    }
    uint64_t sweep = main_sweep(set, places, counts);
    const char *own = NULL;
    for (uint32_t i = 0; i < set->count; i++) {
        for (uint32_t k = 0; k < counts[i]; k++) {
            if (places[i][k].sweep_key == sweep) {
                GS_TRY(read_overrides(set, i, places[i][k].overrides_json, texts, err));
                own = own == NULL ? places[i][k].own_json : own;
            }
        }
    }
    if (own != NULL) {
        GS_TRY(read_own(set, own, err));
    }
    for (uint32_t k = 0; k < set->key_count; k++) {
        list_values(set, k, texts);
    }
    index_values(set, texts);
    return GS_OK;
}

/* ---------------------------------------------------------------- open and close */

static gs_status keep_only(gs_stored_set *set, const char *word, const char *what, gs_error *err)
{
    const char *equals = strchr(word, '=');
    uint32_t kept = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        bool is_kept = false;
        for (uint32_t k = 0; k < set->key_count; k++) {
            const gs_swept_key *key = &set->keys[k];
            uint32_t value = set->runs[i].values[k];
            is_kept =
                is_kept || (strlen(key->key) == (size_t)(equals - word) &&
                            strncmp(key->key, word, (size_t)(equals - word)) == 0 &&
                            value != GS_NOT_SWEPT && strcmp(key->values[value], equals + 1) == 0);
        }
        if (is_kept) {
            set->runs[kept++] = set->runs[i];
        }
    }
    if (kept == 0) {
        return gs_fail(err, GS_EINVAL,
                       "%s: %s: no run has this value from a sweep; KEY=VALUE keeps the runs of "
                       "that value, written as the sweep had it",
                       what, word);
    }
    set->count = kept;
    set->key_count = 0;
    return read_sweep(set, err); /* values that are left */
}

static gs_status fill(gs_stored_set *set, const gs_cli *cli, const char *what, size_t first,
                      size_t count, gs_error *err)
{
    for (size_t i = first; i < first + count; i++) {
        if (strchr(cli->words[i], '=') == NULL) {
            GS_TRY(add_selector(set, cli->words[i], err));
        }
    }
    if (set->count == 0) {
        return gs_fail(err, GS_EINVAL, "%s: of which runs? name some (an id, a label, @last)",
                       what);
    }
    qsort(set->runs, set->count, sizeof *set->runs, ascending);
    GS_TRY(read_sweep(set, err));
    for (size_t i = first; i < first + count; i++) {
        if (strchr(cli->words[i], '=') != NULL) {
            GS_TRY(keep_only(set, cli->words[i], what, err));
        }
    }
    for (uint32_t i = 0; i < set->count; i++) {
        set->runs[i].label = label_of(set, &set->runs[i].run);
        set->left_out += set->runs[i].is_good ? 0 : 1;
    }
    return GS_OK;
}

int gs_stored_set_open(const gs_cli *cli, const char *what, size_t first, size_t count,
                       gs_stored_set *out)
{
    char path[GS_FLAG_TEXT_BYTES];
    bool is_default = false;
    gs_error err = {0};
    *out = (gs_stored_set){0};
    gs_arena_init(&out->arena);
    gs_status status = gs_cli_database(cli, path, sizeof path, &is_default, &err);
    status = status == GS_OK ? gs_store_open(path, GS_STORE_READ, &out->store, &err) : status;
    status = status == GS_OK ? fill(out, cli, what, first, count, &err) : status;
    if (status != GS_OK) {
        return gs_complain_error(&err);
    }
    if (out->left_out == out->count) {
        gs_complain("%s: none of these %" PRIu32 " runs ended well", what, out->count);
        return GS_EXIT_FAILED;
    }
    return GS_EXIT_OK;
}

void gs_stored_set_close(gs_stored_set *set)
{
    gs_store_close(set->store);
    gs_arena_fini(&set->arena);
}

/* ---------------------------------------------------------------- measures */

gs_quality gs_set_target(const gs_stored_run *run, double *out_value)
{
    gs_json_at root = {0};
    gs_json_at at = {0};
    gs_json_at metric = {0};
    const char *name = "";
    int quality = GS_ACCURACY;
    *out_value = 0.0;
    const char *json = run->scenario.config_json;
    if (gs_json_parse(json, strlen(json), run->scenario.name, &root, NULL) != GS_OK) {
        return GS_ACCURACY;
    }
    if (gs_json_find(&root, "workload", &at) && gs_json_find(&at, "target", &at)) {
        bool has_name =
            gs_json_find(&at, "metric", &metric) && gs_json_text(&metric, &name, NULL) == GS_OK;
        for (int i = 0; has_name && gs_quality_names[i] != NULL; i++) {
            quality = strcmp(gs_quality_names[i], name) == 0 ? i : quality;
        }
        if (gs_json_find(&at, "value", &metric) &&
            gs_json_real(&metric, out_value, NULL) != GS_OK) {
            *out_value = 0.0;
        }
    }
    gs_json_free(root.value);
    return (gs_quality)quality;
}

double gs_set_learned(const gs_stored_run *run, gs_quality quality)
{
    return run->values[gs_metric_find(gs_quality_metric(quality))];
}

gs_set_measure gs_stored_set_measure(const gs_stored_set *set)
{
    bool learns = false;
    double target = 0.0;
    for (uint32_t i = 0; i < set->count; i++) {
        const gs_stored_run *run = &set->runs[i].run;
        learns = learns || isfinite(run->values[gs_metric_find("final_loss")]);
    }
    (void)gs_set_target(&set->runs[0].run, &target);
    return !learns ? GS_SET_SAMPLE_TIME : target > 0.0 ? GS_SET_TARGET_TIME : GS_SET_LOSS;
}

const char *gs_set_measure_title(gs_set_measure measure)
{
    static const char *const titles[] = {[GS_SET_SAMPLE_TIME] = "time per sample",
                                         [GS_SET_TARGET_TIME] = "time to the target",
                                         [GS_SET_LOSS] = "final loss"};
    return titles[measure];
}

double gs_set_score(gs_set_measure measure, const gs_set_run *run)
{
    const double *values = run->run.values;
    if (!run->is_good) {
        return (double)NAN;
    }
    switch (measure) {
    case GS_SET_TARGET_TIME:
        return run->run.target_censored ? (double)NAN : values[gs_metric_find("time_to_target_ns")];
    case GS_SET_LOSS:
        return values[gs_metric_find("final_loss")];
    case GS_SET_SAMPLE_TIME:
        break;
    }
    return 1e9 / values[gs_metric_find("samples_per_s")];
}

bool gs_stored_set_is_one_job(const gs_stored_set *set, const char *what)
{
    for (uint32_t i = 1; i < set->count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            const gs_stored_scenario *one = &set->runs[k].run.scenario;
            const gs_stored_scenario *other = &set->runs[i].run.scenario;
            if (set->runs[i].label == set->runs[k].label &&
                one->config_hash != other->config_hash) {
                char *words = gs_config_difference(one->config_json, other->config_json);
                gs_complain("%s: runs of %s are of different scenarios (%s); name those of one",
                            what, set->labels[set->runs[i].label],
                            words == NULL ? "their files differ" : words);
                free(words);
                return false;
            }
        }
    }
    return true;
}
