#include "tools/recommend/arm.h"

#include "tools/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const gs_arm_family_keys[GS_FAMILY_COUNT] = {"exact", "lossy", "local", "timed"};
const char *const gs_arm_family_words[GS_FAMILY_COUNT] = {
    "the same updates as plain SGD", "as many updates, less exact", "other updates than plain SGD",
    "updates that depend on timing"};
const char *const gs_arm_state_keys[GS_ARM_STATE_COUNT] = {"in",    "refused", "dominated", "out",
                                                           "limit", "failed",  "untried"};

static const char *const bundled[] = {
#define GS_ARM(word) word,
#include "tools/recommend/arms.def"
#undef GS_ARM
};
enum { BUNDLED = sizeof bundled / sizeof *bundled };

/* --- one arm ---------------------------------------------------------------------------------- */

gs_status gs_arm_read(const gs_arm_reader *reader, const char *word, const char *rate_word,
                      gs_scenario *out, gs_error *err)
{
    const char *overrides[sizeof reader->overrides / sizeof *reader->overrides + 1];
    size_t count = reader->override_count;
    memcpy(overrides, reader->overrides, count * sizeof *overrides);
    if (rate_word != NULL) {
        overrides[count++] = rate_word;
    }
    gs_scenario_options options = {
        .overrides = overrides,
        .override_count = count,
        .strategies = &word,
        .strategy_count = 1,
        .data_dir = reader->data_dir,
        .user_dir = reader->user_dir,
        .text = reader->text,
    };
    *out = (gs_scenario){0};
    GS_TRY(gs_scenario_read(reader->name, &options, reader->arena, out, err));
    gs_status status = gs_scenario_runnable(out, err);
    if (status != GS_OK) {
        gs_scenario_free(out);
    }
    return status;
}

bool gs_arm_is_misspelt(const gs_error *err)
{
    return strstr(err->text, "\" on the command line: ") != NULL;
}

/* Does it take more micro-steps into an update than the scenario says? */
static bool accumulates_otherwise(const gs_scenario *scenario)
{
    const gs_strategy_choice *choice = &scenario->strategies[0];
    const gs_field_table *table = choice->strategy->config;
    size_t field = gs_config_find(table, "accumulation");
    int64_t passes = 0;
    if (field < table->field_count && table->fields[field].kind == GS_FIELD_INT) {
        memcpy(&passes, (const char *)choice->config + table->fields[field].offset, sizeof passes);
    }
    return passes > 0 && passes != scenario->workload.accumulation;
}

static gs_arm_family family_of(const gs_scenario *scenario)
{
    static const struct {
        const char *strategy;
        gs_arm_family family;
    } families[] = {
#define GS_FAMILY(strategy, family) {#strategy, GS_FAMILY_##family},
#include "tools/recommend/families.def"
#undef GS_FAMILY
    };
    const gs_strategy_choice *choice = &scenario->strategies[0];
    gs_arm_family family = GS_FAMILY_TIMED;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (strcmp(families[i].strategy, choice->strategy->name) == 0) {
            family = families[i].family;
        }
    }
    if (family == GS_FAMILY_EXACT && accumulates_otherwise(scenario)) {
        return GS_FAMILY_LOCAL;
    }
    bool is_coded = choice->coding.codec != NULL && strcmp(choice->coding.codec->name, "none") != 0;
    return family == GS_FAMILY_EXACT && is_coded ? GS_FAMILY_LOSSY : family;
}

bool gs_arm_is_plain(const gs_arm *arm)
{
    return strcmp(arm->label, "allreduce") == 0;
}

static int64_t most_bytes(const gs_memory_job *job, int64_t batch)
{
    return gs_memory_of(job, batch).total_bytes;
}

int64_t gs_arm_memory_bytes(const gs_arm *arm)
{
    const gs_scenario *scenario = arm->scenario;
    int64_t batch = scenario->workload.batch_per_rank;
    int64_t rank = most_bytes(&scenario->memory[0], batch);
    int64_t server = scenario->servers[0] > 0 ? most_bytes(&scenario->server_memory[0], batch) : 0;
    return rank > server ? rank : server;
}

void gs_arm_drop(gs_arm *arm, gs_arm_state state, gs_arena *arena, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    arm->state = state;
    arm->reason = gs_need(gs_arena_text(arena, text));
}

/* What an error says behind the names of file and strategy, with "it" for the strategy: those that
 * are refused for one reason say the same. Owner: the arena. */
static const char *own_words(const char *text, const char *word, gs_arena *arena)
{
    size_t length = strcspn(word, ":+");
    char out[512] = "";
    size_t used = 0;
    const char *at = strstr(text, word);
    at = at == NULL ? NULL : strstr(at + strlen(word), ": ");
    at = at == NULL ? text : at + 2;
    while (*at != '\0' && used + 3 < sizeof out) {
        char before = used == 0 ? ' ' : out[used - 1];
        if (before == ' ' && strncmp(at, word, length) == 0 && at[length] == ' ') {
            memcpy(out + used, "it", 3);
            used += 2;
            at += length;
        } else {
            out[used++] = *at++;
        }
    }
    out[used] = '\0';
    return gs_need(gs_arena_text(arena, out));
}

/* --- the list --------------------------------------------------------------------------------- */

static bool has_label(const gs_arm *arms, uint32_t count, const char *label)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(arms[i].label, label) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_word_of(const char *label, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i], label) == 0) {
            return true;
        }
    }
    return false;
}

static uint32_t add_arm(const gs_arm_reader *reader, const char *word, bool is_named, gs_arm *arms,
                        uint32_t count)
{
    gs_error err = {0};
    gs_scenario *own = gs_need(GS_TAKE(reader->arena, gs_scenario, 1));
    gs_arm arm = {.is_named = is_named, .label = gs_need(gs_arena_text(reader->arena, word))};
    gs_status status = gs_arm_read(reader, word, NULL, own, &err);
    if (status == GS_ENOMEM) {
        gs_need(NULL);
    }
    if (status != GS_OK) {
        gs_arm_drop(&arm, GS_ARM_REFUSED, reader->arena, "%s",
                    own_words(err.text, word, reader->arena));
    } else {
        arm.scenario = own;
        arm.label = own->strategies[0].label;
        arm.family = family_of(own);
        arm.rates[0].factor = 1.0;
    }
    if (has_label(arms, count, arm.label)) {
        if (status == GS_OK) {
            gs_scenario_free(own);
        }
        return count;
    }
    arms[count] = arm;
    return count + 1;
}

uint32_t gs_arms_make(const gs_arm_reader *reader, const char *const *words, size_t word_count,
                      bool only_named, gs_arm **out_arms)
{
    gs_arm *arms = gs_need(GS_TAKE(reader->arena, gs_arm, BUNDLED + word_count));
    uint32_t count = 0;
    size_t from_list = only_named ? 1 : BUNDLED; /* plain all-reduce is the first */
    for (size_t i = 0; i < from_list; i++) {
        count = add_arm(reader, bundled[i], false, arms, count);
        arms[count - 1].is_named = is_word_of(arms[count - 1].label, words, word_count);
    }
    for (size_t i = 0; i < word_count; i++) {
        count = add_arm(reader, words[i], true, arms, count);
    }
    *out_arms = arms;
    return count;
}

void gs_arms_free(gs_arm *arms, uint32_t count, uint32_t confirm_seeds)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t seed = 0; arms[i].outcomes != NULL && seed < confirm_seeds; seed++) {
            gs_outcome_fini(&arms[i].outcomes[seed]);
        }
        if (arms[i].tuned != NULL) {
            gs_json_free(arms[i].tuned->resolved);
        }
        if (arms[i].scenario != NULL) {
            gs_json_free(arms[i].scenario->resolved);
        }
    }
}
