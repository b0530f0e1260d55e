/* strategies: from the file or from words of the command line, with labels that say only what
 * differs from the defaults. */
#include "traces/scenario/scenario_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/nearest.h"
#include "strategies/other_names.h"
#include "strategies/registry.h"
#include "traces/compose.h"

enum {
    STRATEGIES_MAX = 256,
    WORD_BYTES = 512,
    LABEL_BYTES = 512,
    VALUE_BYTES = 128,
    NAMES_MAX = 128
};

static const char *const other_keys[] = {"name", "codec", "then", NULL};
static const char *const leg_keys[] = {"name", "codec", "at", NULL};

/* --- one strategy --------------------------------------------------------------------------- */

static gs_status find_strategy(const char *name, const gs_strategy **out, gs_error *err)
{
    const char *names[NAMES_MAX];
    uint32_t count = gs_strategy_count();
    GS_ASSERT(count <= NAMES_MAX);
    *out = gs_strategy_find(name);
    if (*out != NULL) {
        return GS_OK;
    }
    if (gs_codec_find(name) != NULL) {
        return gs_fail(err, GS_ENOTFOUND, "no strategy \"%s\": that is a codec; write allreduce+%s",
                       name, name);
    }
    if (gs_collective_find(name) != NULL) {
        return gs_fail(err, GS_ENOTFOUND,
                       "no strategy \"%s\": that is an algorithm; write allreduce:algorithm=%s",
                       name, name);
    }
    const char *here = gs_other_name(name);
    if (here != NULL) {
        return gs_fail(err, GS_ENOTFOUND, "no strategy \"%s\": that is %s", name, here);
    }
    for (uint32_t i = 0; i < count; i++) {
        names[i] = gs_strategy_at(i)->name;
    }
    const char *near = gs_nearest_name(name, names, count);
    return gs_fail(err, GS_ENOTFOUND, "no strategy \"%.60s\"; %s%s%s", name,
                   near == NULL ? "see `gradsync list strategies`" : "did you mean \"",
                   near == NULL ? "" : near, near == NULL ? "" : "\"?");
}

/* A config with every default. NULL: no memory. */
static void *make_config(gs_scenario_reader *reader, const gs_strategy *strategy)
{
    void *config = gs_arena_take(reader->arena, 1, strategy->config->struct_bytes);
    if (config != NULL) {
        gs_config_defaults(strategy->config, config);
    }
    return config;
}

/* "NAME:key=value,..." with what differs from the defaults. Returns where the text ends, or NULL.
 */
static char *put_label(char *at, const char *end, const char *name, const gs_field_table *table,
                       const void *config, gs_arena *arena)
{
    char value[VALUE_BYTES];
    char usual[VALUE_BYTES];
    void *defaults = gs_arena_take(arena, 1, table->struct_bytes);
    if (defaults == NULL) {
        return NULL;
    }
    gs_config_defaults(table, defaults);
    at += snprintf(at, (size_t)(end - at), "%s", name);
    char separator = ':';
    for (size_t i = 0; i < table->field_count; i++) {
        const gs_field *field = &table->fields[i];
        gs_config_value_text(field, config, value, sizeof value);
        gs_config_value_text(field, defaults, usual, sizeof usual);
        if (strcmp(value, usual) != 0 && end - at > VALUE_BYTES + 64) {
            at += snprintf(at, (size_t)(end - at), "%c%s=%s", separator, field->name, value);
            separator = ',';
        }
    }
    return at;
}

char *gs_scenario_label(const char *name, const gs_field_table *table, const void *config,
                        gs_arena *arena)
{
    char label[LABEL_BYTES];
    char *at = put_label(label, label + sizeof label, name, table, config, arena);
    return at == NULL ? NULL : gs_arena_text(arena, label);
}

char *gs_strategy_label(const gs_strategy *strategy, const void *config, const gs_coding *coding,
                        gs_arena *arena)
{
    char label[LABEL_BYTES];
    char *at =
        put_label(label, label + sizeof label, strategy->name, strategy->config, config, arena);
    if (at != NULL && coding->codec != NULL && label + sizeof label - at > VALUE_BYTES) {
        *at++ = '+';
        at = put_label(at, label + sizeof label, coding->codec->name, coding->codec->config,
                       &coding->config, arena);
    }
    return at == NULL ? NULL : gs_arena_text(arena, label);
}

/* Of one leg of a stored run. NULL: not known here, or no memory. */
static char *label_of(const char *name, const gs_json_at *params, const char *const *others,
                      gs_arena *arena)
{
    const gs_strategy *strategy = gs_strategy_find(name);
    gs_coding coding;
    void *config =
        strategy == NULL ? NULL : gs_arena_take(arena, 1, strategy->config->struct_bytes);
    if (config == NULL) {
        return NULL;
    }
    gs_config_defaults(strategy->config, config);
    return gs_scenario_read_codec(params, &coding, NULL) == GS_OK &&
                   gs_config_read(strategy->config, config, params, others, NULL) == GS_OK
               ? gs_strategy_label(strategy, config, &coding, arena)
               : NULL;
}

/* The label of all legs of a stored run; likewise. */
static char *stored_label(const char *name, const gs_json_at *params, gs_arena *arena)
{
    gs_json_at list, at, key;
    gs_strategy_choice then[GS_LEGS_MAX];
    gs_strategy_choice first = {.label = label_of(name, params, other_keys, arena), .then = then};
    bool known = first.label != NULL;
    bool has_list = gs_json_find(params, "then", &list);
    for (size_t i = 0; known && has_list && i < GS_LEGS_MAX && gs_json_walk(&list, i, &at); i++) {
        const char *text;
        known = gs_json_find(&at, "name", &key) && gs_json_text(&key, &text, NULL) == GS_OK;
        then[i].label = known ? label_of(text, &at, leg_keys, arena) : NULL;
        known = then[i].label != NULL && gs_json_find(&at, "at", &key) &&
                gs_json_text(&key, &text, NULL) == GS_OK;
        then[i].from = known ? gs_arena_text(arena, text) : NULL;
        known = then[i].from != NULL;
        first.then_count++;
    }
    return known ? gs_scenario_relay_label(&first, arena) : NULL;
}

char *gs_strategy_stored_label(const char *name, const char *params_json, gs_arena *arena)
{
    gs_json_at params;
    if (gs_json_parse(params_json, strlen(params_json), "params", &params, NULL) != GS_OK) {
        return gs_arena_text(arena, name);
    }
    char *label = stored_label(name, &params, arena);
    gs_json_free(params.value);
    return label != NULL ? label : gs_arena_text(arena, name);
}

/* Every parameter of the strategy, those of its codec, and the legs that follow. */
static bool write_choice(const gs_strategy_choice *choice, gs_json *object)
{
    bool ok = gs_config_write(choice->strategy->config, choice->config, object);
    ok = gs_scenario_write_codec(&choice->coding, object) && ok;
    gs_json *list = choice->then_count > 0 ? gs_json_new_list() : NULL;
    for (uint32_t i = 0; ok && i < choice->then_count; i++) {
        const gs_strategy_choice *leg = &choice->then[i];
        gs_json *entry = gs_json_new_object();
        ok = gs_json_set(entry, "at", gs_json_new_text(leg->from));
        ok = gs_json_set(entry, "name", gs_json_new_text(leg->strategy->name)) && ok;
        ok = write_choice(leg, entry) && ok;
        ok = gs_json_add(list, entry) && ok;
    }
    return choice->then_count == 0 || (gs_json_set(object, "then", list) && ok) ? ok : false;
}

static char *make_params(gs_scenario_reader *reader, const gs_strategy_choice *choice)
{
    gs_json *object = gs_json_new_object();
    char *copy = NULL;
    if (write_choice(choice, object)) {
        char *text = gs_json_write(object, false);
        copy = text == NULL ? NULL : gs_arena_text(reader->arena, text);
        free(text);
    }
    gs_json_free(object);
    return copy;
}

static gs_status make_choice(gs_scenario_reader *reader, const gs_strategy *strategy,
                             const void *config, const gs_coding *coding, gs_strategy_choice *out,
                             gs_error *err)
{
    *out = (gs_strategy_choice){
        .strategy = strategy,
        .config = config,
        .coding = *coding,
        .label = gs_strategy_label(strategy, config, coding, reader->arena),
        .algorithm = "",
    };
    if (coding->codec != NULL) {
        GS_TRY(gs_scenario_apply_codec_cost(reader, &out->coding, err));
    }
    out->coding.momentum = gs_compose_momentum(&out->coding, &reader->out->workload.task.optimizer);
    out->params_json = make_params(reader, out);
    return out->label == NULL || out->params_json == NULL ? gs_scenario_no_memory(reader, err)
                                                          : GS_OK;
}

/* Other legs follow the first. */
static gs_status add_legs(gs_scenario_reader *reader, gs_strategy_choice *first,
                          gs_strategy_choice *then, uint32_t count, gs_error *err)
{
    first->first_label = first->label;
    first->then = then;
    first->then_count = count;
    first->label = gs_scenario_relay_label(first, reader->arena);
    first->params_json = make_params(reader, first);
    return first->label == NULL || first->params_json == NULL ? gs_scenario_no_memory(reader, err)
                                                              : GS_OK;
}

static gs_status set_from(gs_scenario_reader *reader, const char *text, gs_strategy_choice *leg,
                          gs_error *err)
{
    GS_TRY(gs_scenario_leg_from(text, reader->out->workload.budget_steps, &leg->from_step, err));
    leg->from = gs_arena_text(reader->arena, text);
    return leg->from == NULL ? gs_scenario_no_memory(reader, err) : GS_OK;
}

/* --- from the command line ------------------------------------------------------------------ */

/* Whether a key stands before `pair` in a text whose pairs so far are cut at "=" and ",". */
static bool was_given(const char *text, const char *pair)
{
    for (const char *key = text; key < pair;) {
        if (strcmp(key, pair) == 0) {
            return true;
        }
        const char *value = key + strlen(key) + 1;
        key = value + strlen(value) + 1;
    }
    return false;
}

gs_status gs_scenario_set_words(const gs_field_table *table, void *config, char *text,
                                gs_error *err)
{
    if (table->field_count == 0) {
        return gs_fail(err, GS_EINVAL, "%s takes no parameters; remove \":%.60s\"", table->name,
                       text);
    }
    for (char *pair = text; pair != NULL;) {
        char *comma = strchr(pair, ',');
        char *equals = strchr(pair, '=');
        if (comma != NULL) {
            *comma = '\0';
        }
        if (equals == NULL || (comma != NULL && equals > comma)) {
            return gs_fail(err, GS_EINVAL, "\"%.60s\" is not KEY=VALUE, such as %s=%s", pair,
                           table->fields[0].name, table->fields[0].default_text);
        }
        *equals = '\0';
        if (was_given(text, pair)) {
            return gs_fail(err, GS_EINVAL, "%s is given twice; remove one", pair);
        }
        const char *here = gs_other_parameter(pair);
        if (here != NULL && gs_config_find(table, pair) == table->field_count &&
            gs_config_find(table, here) < table->field_count) {
            return gs_fail(err, GS_EINVAL, "%s has no %s: that is %s; see `gradsync show %s`",
                           table->name, pair, here, table->name);
        }
        GS_TRY(gs_config_set_text(table, config, pair, equals + 1, err));
        pair = comma == NULL ? NULL : comma + 1;
    }
    return GS_OK;
}

/* A parameter of the strategy that stands behind the codec is refused with the word that was meant.
 * front: the word up to the '+', codec_text: what follows it. */
static gs_status check_place(const gs_strategy *strategy, const char *front, const char *codec_text,
                             gs_error *err)
{
    char text[WORD_BYTES];
    memcpy(text, codec_text, strlen(codec_text) + 1);
    char *pair = strchr(text, ':');
    if (pair == NULL) {
        return GS_OK;
    }
    *pair++ = '\0';
    const gs_codec *codec = gs_codec_find(text);
    char *equals;
    for (char *next; codec != NULL && pair != NULL && (equals = strchr(pair, '=')) != NULL;
         pair = next) {
        char *comma = strchr(pair, ',');
        next = comma == NULL ? NULL : comma + 1;
        if (comma != NULL) {
            *comma = '\0';
        }
        *equals = '\0';
        if (gs_config_find(codec->config, pair) == codec->config->field_count &&
            gs_config_find(strategy->config, pair) < strategy->config->field_count) {
            return gs_fail(
                err, GS_EINVAL,
                "\"%.60s\" is a parameter of %s, not of %s; write %.100s%c%.60s=%.60s+%s", pair,
                strategy->name, text, front, strchr(front, ':') == NULL ? ':' : ',', pair,
                equals + 1, text);
        }
    }
    return GS_OK;
}

/* Of one leg; shorter than WORD_BYTES. */
static gs_status parse_leg(gs_scenario_reader *reader, const char *word, gs_strategy_choice *out,
                           gs_error *err)
{
    char text[WORD_BYTES];
    const gs_strategy *strategy = NULL;
    memcpy(text, word, strlen(word) + 1);
    gs_coding coding = {.codec = NULL};
    char *plus = strchr(text, '+');
    if (plus != NULL) {
        *plus = '\0';
    }
    char *colon = strchr(text, ':');
    if (colon != NULL) {
        *colon = '\0';
    }
    GS_TRY(find_strategy(text, &strategy, err));
    if (plus != NULL) {
        char front[WORD_BYTES];
        snprintf(front, sizeof front, "%.*s", (int)(plus - text), word);
        GS_TRY(check_place(strategy, front, plus + 1, err));
        GS_TRY(gs_scenario_parse_codec(plus + 1, &coding, err));
    }
    void *config = make_config(reader, strategy);
    if (config == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    if (colon != NULL) {
        GS_TRY(gs_scenario_set_words(strategy->config, config, colon + 1, err));
    }
    return make_choice(reader, strategy, config, &coding, out, err);
}

/* What follows the first leg: "asp@25%>local_sgd@50%"; the text is cut up. */
static gs_status parse_then(gs_scenario_reader *reader, char *text, gs_strategy_choice *first,
                            gs_error *err)
{
    gs_strategy_choice *then = GS_TAKE(reader->arena, gs_strategy_choice, GS_LEGS_MAX);
    uint32_t count = 0;
    if (then == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    for (char *next; text != NULL; text = next) {
        next = strchr(text, '>');
        if (next != NULL) {
            *next++ = '\0';
        }
        char *at = strrchr(text, '@');
        if (at == NULL) {
            return gs_fail(err, GS_EINVAL,
                           "\">%.60s\" does not say when it begins; write >%.60s@25%%, a step, or "
                           "@request where the strategy before asks for it",
                           text, text);
        }
        if (count + 1 == GS_LEGS_MAX) {
            return gs_fail(err, GS_EINVAL, "over %d legs follow one another; use fewer",
                           GS_LEGS_MAX);
        }
        *at++ = '\0';
        GS_TRY(parse_leg(reader, text, &then[count], err));
        GS_TRY(set_from(reader, at, &then[count], err));
        count++;
    }
    return add_legs(reader, first, then, count, err);
}

static gs_status parse_word(gs_scenario_reader *reader, const char *word, gs_strategy_choice *out,
                            gs_error *err)
{
    char text[WORD_BYTES];
    if (strlen(word) >= sizeof text) {
        return gs_fail(err, GS_EINVAL, "is over %d bytes long", WORD_BYTES - 1);
    }
    memcpy(text, word, strlen(word) + 1);
    char *then = strchr(text, '>');
    if (then != NULL) {
        *then++ = '\0';
    }
    GS_TRY(parse_leg(reader, text, out, err));
    return then == NULL ? GS_OK : parse_then(reader, then, out, err);
}

static gs_status read_words(gs_scenario_reader *reader, gs_strategy_choice *choices, gs_error *err)
{
    const gs_scenario_options *options = reader->source.options;
    for (size_t i = 0; i < options->strategy_count; i++) {
        gs_error inner = {0};
        gs_status status = parse_word(reader, options->strategies[i], &choices[i], &inner);
        if (status != GS_OK) {
            return gs_fail(err, status, "%s: strategy \"%.100s\" on the command line: %s",
                           reader->out->file, options->strategies[i], inner.text);
        }
    }
    return GS_OK;
}

/* --- from the file -------------------------------------------------------------------------- */

static gs_status read_leg(gs_scenario_reader *reader, const gs_json_at *at,
                          const char *const *others, gs_strategy_choice *out, gs_error *err)
{
    gs_json_at name;
    const char *text = NULL;
    const gs_strategy *strategy = NULL;
    gs_error inner = {0};
    if (gs_json_kind_of(at->value) != GS_JSON_OBJECT || !gs_json_find(at, "name", &name)) {
        return gs_json_fail(at, GS_EINVAL, err,
                            "takes an object with a name, such as {\"name\": \"allreduce\"}");
    }
    GS_TRY(gs_json_text(&name, &text, err));
    gs_status status = find_strategy(text, &strategy, &inner);
    if (status != GS_OK) {
        return gs_json_fail(&name, status, err, "%s", inner.text);
    }
    void *config = make_config(reader, strategy);
    if (config == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    GS_TRY(gs_config_read(strategy->config, config, at, others, err));
    gs_coding coding;
    GS_TRY(gs_scenario_read_codec(at, &coding, err));
    return make_choice(reader, strategy, config, &coding, out, err);
}

/* When a leg of a file begins: a number, or a text. */
static gs_status read_from(gs_scenario_reader *reader, const gs_json_at *leg,
                           gs_strategy_choice *out, gs_error *err)
{
    gs_json_at at;
    gs_error inner = {0};
    char number[VALUE_BYTES];
    const char *text = number;
    if (!gs_json_find(leg, "at", &at)) {
        return gs_json_fail(leg, GS_EINVAL, err,
                            "does not say when it begins; give it an \"at\", such as \"25%%\"");
    }
    if (gs_json_kind_of(at.value) == GS_JSON_NUMBER) {
        double step;
        GS_TRY(gs_json_real(&at, &step, err));
        (void)snprintf(number, sizeof number, "%.17g", step);
    } else {
        GS_TRY(gs_json_text(&at, &text, err));
    }
    gs_status status = set_from(reader, text, out, &inner);
    return status == GS_OK ? GS_OK : gs_json_fail(&at, status, err, "%s", inner.text);
}

static gs_status read_entry(gs_scenario_reader *reader, const gs_json_at *at,
                            gs_strategy_choice *out, gs_error *err)
{
    gs_json_at list, leg;
    GS_TRY(read_leg(reader, at, other_keys, out, err));
    if (!gs_json_find(at, "then", &list)) {
        return GS_OK;
    }
    size_t count = gs_json_kind_of(list.value) == GS_JSON_LIST ? gs_json_count(list.value) : 0;
    if (count == 0 || count >= GS_LEGS_MAX) {
        return gs_json_fail(&list, GS_EINVAL, err,
                            "takes a list of 1 to %d strategies that follow, each with an \"at\"",
                            GS_LEGS_MAX - 1);
    }
    gs_strategy_choice *then = GS_TAKE(reader->arena, gs_strategy_choice, count);
    if (then == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    for (size_t i = 0; gs_json_walk(&list, i, &leg); i++) {
        GS_TRY(read_leg(reader, &leg, leg_keys, &then[i], err));
        GS_TRY(read_from(reader, &leg, &then[i], err));
    }
    return add_legs(reader, out, then, (uint32_t)count, err);
}

/* The list of the file; false: it has none. */
static gs_status find_list(gs_scenario_reader *reader, gs_json_at *list, bool *out_found,
                           gs_error *err)
{
    *out_found = gs_json_find(&reader->source.merged, "strategies", list);
    if (!*out_found) {
        return GS_OK;
    }
    size_t count = gs_json_kind_of(list->value) == GS_JSON_LIST ? gs_json_count(list->value) : 0;
    if (count == 0 || count > STRATEGIES_MAX) {
        return gs_json_fail(
            list, GS_EINVAL, err,
            "takes a list of 1 to %d objects%s; without the key it is allreduce", STRATEGIES_MAX,
            gs_json_kind_of(list->value) == GS_JSON_OBJECT ? ", write [ {...} ]" : "");
    }
    return GS_OK;
}

static gs_status read_entries(gs_scenario_reader *reader, const gs_json_at *list,
                              gs_strategy_choice *choices, gs_error *err)
{
    gs_json_at at;
    for (size_t i = 0; gs_json_walk(list, i, &at); i++) {
        GS_TRY(read_entry(reader, &at, &choices[i], err));
    }
    return GS_OK;
}

/* --- all together --------------------------------------------------------------------------- */

static gs_status check_twice(gs_scenario_reader *reader, const gs_strategy_choice *choices,
                             uint32_t count, gs_error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(choices[i].label, choices[k].label) == 0) {
                return gs_scenario_fail(reader, GS_EINVAL, "strategies", err,
                                        "\"%s\" stands twice (%u and %u); remove one",
                                        choices[i].label, k, i);
            }
        }
    }
    return GS_OK;
}

/* Of the first communicator's all-reduces; "auto": it depends on their size. */
static const char *algorithm_of(const gs_layout *layout, const gs_selection *selection)
{
    const gs_communicator *first = &layout->communicators[0];
    gs_choice choice, other;
    if (layout->communicator_count == 0) {
        return "";
    }
    (void)gs_selection_candidate(selection, first, 0, GS_ALL_REDUCE, 0, &choice);
    return gs_selection_candidate(selection, first, 0, GS_ALL_REDUCE, 1, &other)
               ? "auto"
               : choice.program->name;
}

/* A codec that does not get through its warm-up never sends what it is chosen for. */
static void note_warm_up(gs_scenario_reader *reader, const gs_strategy_choice *choice,
                         int64_t budget_steps)
{
    const gs_codec_config *config = &choice->coding.config;
    int64_t stages = config->warmup * config->warmup_steps;
    int64_t until = config->start_step > stages ? config->start_step : stages;
    if (choice->coding.codec == NULL || budget_steps <= 0 || until < budget_steps) {
        return;
    }
    gs_scenario_note(reader,
                     "strategy \"%s\": %s warms up for %lld steps and the run has %lld, so that it "
                     "never sends as little as it would; use a smaller %s, or raise "
                     "workload.budget.steps",
                     choice->label, choice->coding.codec->name, (long long)until,
                     (long long)budget_steps,
                     until == config->start_step ? "start_step" : "warmup_steps");
}

#define VOTE_RATE_LARGE 0.01 /* digits: 0.1 ends at accuracy 0.32, 0.001 at 0.95 */

/* All that comes out of a vote is 1 or -1: rates that fit gradients are far too large for it. */
static void note_vote(gs_scenario_reader *reader, const gs_strategy_choice *choice)
{
    const gs_workload *workload = &reader->out->workload;
    const gs_coding *coding = &choice->coding;
    if (coding->codec == NULL || !workload->real_gradients ||
        !gs_codec_is_vote(coding->codec, &coding->config) ||
        workload->task.optimizer.rate < VOTE_RATE_LARGE) {
        return;
    }
    gs_scenario_note(reader,
                     "strategy \"%s\": a vote says no length, each weight gets a gradient of 1 or "
                     "-1, and workload.optimizer.rate=%g is for gradients; try rates near 0.001, "
                     "or +%s:scale=mean",
                     choice->label, workload->task.optimizer.rate, coding->codec->name);
}

/* Asks a strategy, or one leg of those that `label` names, whether it can run this job. */
static gs_status check_choice(gs_scenario_reader *reader, const gs_job *job, const char *label,
                              gs_strategy_choice *choice, uint32_t *servers, gs_error *err)
{
    const gs_workload *workload = &reader->out->workload;
    gs_layout layout = {0};
    gs_error inner = {0};
    gs_status status = gs_strategy_layout(choice->strategy, choice->config, job, &layout, &inner);
    if (status == GS_OK) {
        gs_composition parts = {.strategy = choice->strategy,
                                .job = job,
                                .layout = &layout,
                                .coding = &choice->coding,
                                .optimizer =
                                    workload->real_gradients ? &workload->task.optimizer : NULL};
        status = gs_compose(&parts, &inner) == GS_FIT_YES ? GS_OK : inner.code;
    }
    if (status != GS_OK) {
        return gs_fail(err, status, "%s: strategy \"%s\": %s", reader->out->file, label,
                       inner.text[0] != '\0' ? inner.text
                                             : "its layout refuses this job without a reason");
    }
    note_warm_up(reader, choice, job->budget_steps);
    note_vote(reader, choice);
    GS_TRY(gs_scenario_choose_programs(reader, job, &layout, choice, err));
    GS_TRY(gs_scenario_tune(reader, job, &layout, &choice->selection, err));
    choice->algorithm = algorithm_of(&layout, &choice->selection);
    *servers = layout.servers > *servers ? layout.servers : *servers;
    return GS_OK;
}

/* Each leg that follows, and all of them together. */
static gs_status check_legs(gs_scenario_reader *reader, const gs_job *job,
                            gs_strategy_choice *first, uint32_t *servers, gs_error *err)
{
    gs_relay relay;
    gs_error inner = {0};
    for (uint32_t i = 0; i < first->then_count; i++) {
        GS_TRY(check_choice(reader, job, first->label, &first->then[i], servers, err));
    }
    gs_status status = gs_scenario_relay(first, job, &relay, &inner);
    return status == GS_OK ? GS_OK
                           : gs_fail(err, status, "%s: strategy \"%s\": %s", reader->out->file,
                                     first->label, inner.text);
}

/* Asks each strategy whether it can run this job. */
static gs_status check_layouts(gs_scenario_reader *reader, gs_strategy_choice *choices,
                               uint32_t count, gs_error *err)
{
    gs_job job;
    uint32_t servers = 0;
    GS_TRY(gs_scenario_job(reader->out, reader->arena, &job, err));
    for (uint32_t i = 0; i < count; i++) {
        GS_TRY(check_choice(reader, &job, choices[i].label, &choices[i], &servers, err));
        GS_TRY(check_legs(reader, &job, &choices[i], &servers, err));
    }
    if (reader->servers.count > 0 && servers == 0) {
        gs_scenario_note(reader, "cluster.servers: none of the strategies uses servers");
    }
    return GS_OK;
}

/* What a codec that looks at matrices makes of a profile that does not know them all. */
static void note_shapes(gs_scenario_reader *reader, const gs_strategy_choice *choices,
                        uint32_t count)
{
    const gs_profile *profile = reader->out->workload.profile;
    uint32_t unknown = 0;
    for (uint32_t i = 0; i < profile->unit_count; i++) {
        unknown += profile->units[i].shape.rows == 0 ? 1 : 0;
    }
    for (uint32_t i = 0; unknown > 0 && i < count; i++) {
        const gs_codec *codec = choices[i].coding.codec;
        if (codec != NULL && codec->travel == GS_TRAVEL_LOW_RANK) {
            gs_scenario_note(reader,
                             "workload.profile: the shapes of %u of %u tensors are not known, "
                             "which %s looks at: those of more than %d elements are assumed to be "
                             "square matrices, the others vectors",
                             unknown, profile->unit_count, codec->name, GS_TENSOR_VECTOR_MAX);
            return;
        }
    }
}

gs_status gs_scenario_read_strategies(gs_scenario_reader *reader, gs_error *err)
{
    gs_json_at list;
    bool has_list = false;
    GS_TRY(find_list(reader, &list, &has_list, err));
    size_t words = reader->source.options->strategy_count;
    size_t count = words > 0 ? words : (has_list ? gs_json_count(list.value) : 1);
    if (count > STRATEGIES_MAX) {
        return gs_fail(err, GS_EINVAL, "%s: %zu strategies on the command line; at most %d may be",
                       reader->out->file, count, STRATEGIES_MAX);
    }
    gs_strategy_choice *choices = GS_TAKE(reader->arena, gs_strategy_choice, count);
    if (choices == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    if (words > 0) {
        GS_TRY(read_words(reader, choices, err));
    } else if (has_list) {
        GS_TRY(read_entries(reader, &list, choices, err));
    } else {
        GS_TRY(parse_word(reader, "allreduce", &choices[0], err));
    }
    GS_TRY(check_twice(reader, choices, (uint32_t)count, err));
    GS_TRY(check_layouts(reader, choices, (uint32_t)count, err));
    note_shapes(reader, choices, (uint32_t)count);
    reader->out->strategies = choices;
    reader->out->strategy_count = (uint32_t)count;
    return GS_OK;
}

bool gs_scenario_write_strategies(const gs_scenario_reader *reader, gs_json *root)
{
    gs_json *list = gs_json_new_list();
    bool ok = list != NULL;
    for (uint32_t i = 0; i < reader->out->strategy_count; i++) {
        const gs_strategy_choice *choice = &reader->out->strategies[i];
        gs_json *entry = gs_json_new_object();
        ok = gs_json_set(entry, "name", gs_json_new_text(choice->strategy->name)) && ok;
        ok = write_choice(choice, entry) && ok;
        ok = gs_json_add(list, entry) && ok;
    }
    return gs_json_set(root, "strategies", list) && ok;
}
