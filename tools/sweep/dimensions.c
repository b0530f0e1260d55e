#include "tools/sweep/dimensions.h"

#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_BYTES = 4096, RANGE_DIGITS = 4 };

static const char years_key[] = "years";
static const char strategy_key[] = "strategy";
static const char parameter_prefix[] = "strategy.";

static gs_status no_memory(gs_error *err)
{
    return gs_fail(err, GS_ENOMEM, "no memory for the dimensions of a sweep");
}

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* --- commas and ranges ------------------------------------------------------------------------ */

/* The next comma that stands in no bracket and no quotes; NULL: none. */
static const char *next_comma(const char *text)
{
    int depth = 0;
    bool quoted = false;
    for (; *text != '\0'; text++) {
        if (quoted && *text == '\\' && text[1] != '\0') {
            text++;
        } else if (quoted) {
            quoted = *text != '"';
        } else if (*text == '"') {
            quoted = true;
        } else if (*text == '[' || *text == '{') {
            depth++;
        } else if (*text == ']' || *text == '}') {
            depth--;
        } else if (*text == ',' && depth == 0) {
            return text;
        }
    }
    return NULL;
}

/* "LOW..HIGH" that begins with a number: a file may be called "a..b". */
static const char *range_dots(const char *value)
{
    char *end = NULL;
    (void)strtod(value, &end);
    const char *dots = strstr(value, "..");
    /* strtod takes "1." of "1..5". */
    return end != value && dots != NULL && next_comma(value) == NULL ? dots : NULL;
}

static const char *value_of(const char *word)
{
    const char *equals = strchr(word, '=');
    return equals == NULL ? NULL : equals + 1;
}

static bool is_key(const char *word, const char *key)
{
    size_t length = strlen(key);
    return strncmp(word, key, length) == 0 && word[length] == '=';
}

bool gs_dimension_is_word(const char *word)
{
    const char *value = value_of(word);
    return value != NULL && (is_key(word, strategy_key) || is_key(word, years_key) ||
                             starts(word, parameter_prefix) || next_comma(value) != NULL ||
                             range_dots(value) != NULL);
}

/* --- numbers ---------------------------------------------------------------------------------- */

typedef enum unit_kind { UNIT_NONE, UNIT_RATIO, UNIT_TIME, UNIT_BYTES, UNIT_RATE } unit_kind;

static const char *const unit_names[] = {"", "", "ns", "bytes", "bit/s"};

/* What a text is a number of; false: it is none. */
static bool read_number(const char *text, double *out, unit_kind *out_unit)
{
    char *end = NULL;
    int64_t whole = 0;
    double value = strtod(text, &end);
    if (end != text && *end == '\0' && isfinite(value)) {
        *out = value;
        *out_unit = UNIT_NONE;
        return true;
    }
    if (strchr(text, '%') != NULL && gs_parse_ratio(text, out, NULL) == GS_OK) {
        *out_unit = UNIT_RATIO;
        return true;
    }
    *out_unit = gs_parse_duration(text, &whole, NULL) == GS_OK ? UNIT_TIME
                : gs_parse_bytes(text, &whole, NULL) == GS_OK  ? UNIT_BYTES
                : gs_parse_rate(text, &whole, NULL) == GS_OK   ? UNIT_RATE
                                                               : UNIT_NONE;
    *out = (double)whole;
    return *out_unit != UNIT_NONE;
}

static char *number_text(double value, unit_kind unit, char out[GS_UNIT_TEXT_BYTES])
{
    switch (unit) {
    case UNIT_TIME:
        return gs_exact_duration((gs_time_ns)llround(value), out);
    case UNIT_BYTES:
        return gs_exact_bytes((int64_t)llround(value), out);
    case UNIT_RATE:
        return gs_exact_rate((int64_t)llround(value), out);
    case UNIT_NONE:
    case UNIT_RATIO:
        break;
    }
    return gs_exact_real(value, out);
}

/* --- values ----------------------------------------------------------------------------------- */

typedef struct value_list {
    gs_dimension_value *values; /* [GS_DIMENSION_VALUES_MAX] */
    uint32_t count;
    unit_kind unit;
    gs_arena *arena;
    const char *word; /* for errors */
} value_list;

static gs_status add_value(value_list *list, const char *text, gs_error *err)
{
    if (list->count == GS_DIMENSION_VALUES_MAX) {
        return gs_fail(err, GS_ELIMIT, "%.100s: a dimension has at most %d values", list->word,
                       GS_DIMENSION_VALUES_MAX);
    }
    if (text[0] == '\0') {
        return gs_fail(err, GS_EINVAL, "%.100s: a value is empty; write KEY=a,b,c", list->word);
    }
    gs_dimension_value value = {.text = gs_arena_text(list->arena, text), .number = (double)NAN};
    unit_kind unit = UNIT_NONE;
    if (value.text == NULL) {
        return no_memory(err);
    }
    if (read_number(text, &value.number, &unit)) {
        list->unit = unit;
    } else {
        value.number = (double)NAN;
    }
    for (uint32_t i = 0; i < list->count; i++) {
        if (strcmp(list->values[i].text, text) == 0) {
            return gs_fail(err, GS_EINVAL, "%.100s: %.60s is given twice; remove one", list->word,
                           text);
        }
    }
    list->values[list->count++] = value;
    return GS_OK;
}

static gs_status fail_range(const value_list *list, gs_error *err)
{
    return gs_fail(err, GS_EINVAL,
                   "%.100s: not a range; write LOW..HIGH:COUNT or LOW..HIGH:COUNT:log, such as "
                   "1..100Gbit/s:9:log",
                   list->word);
}

typedef struct range {
    double low, high;
    unit_kind unit;
    uint32_t count;
    bool is_log;
    bool is_whole; /* of a key that takes whole numbers */
} range;

/* "HIGH[:COUNT[:log]]" behind the dots. */
static gs_status read_high(const value_list *list, const char *text, const char **out_unit,
                           range *out, gs_error *err)
{
    char high[GS_UNIT_TEXT_BYTES];
    const char *colon = strchr(text, ':');
    size_t length = colon == NULL ? strlen(text) : (size_t)(colon - text);
    if (length >= sizeof high) {
        return fail_range(list, err);
    }
    memcpy(high, text, length);
    high[length] = '\0';
    char *end = NULL;
    (void)strtod(high, &end);
    *out_unit = text + (end - high);
    if (!read_number(high, &out->high, &out->unit)) {
        return fail_range(list, err);
    }
    if (colon == NULL) {
        double span = out->high - out->low;
        if (out->unit != UNIT_NONE || !(span >= 1.0) || span != floor(span) ||
            span >= GS_DIMENSION_VALUES_MAX) {
            return gs_fail(err, GS_EINVAL,
                           "%.100s: how many values? write LOW..HIGH:COUNT; only whole numbers "
                           "go without, one by one",
                           list->word);
        }
        out->count = (uint32_t)span + 1;
        return GS_OK;
    }
    long count = strtol(colon + 1, &end, 10);
    out->is_log = strcmp(end, ":log") == 0;
    if (end == colon + 1 || (*end != '\0' && !out->is_log) || count < 2 ||
        count > GS_DIMENSION_VALUES_MAX) {
        return gs_fail(err, GS_EINVAL,
                       "%.100s: COUNT is a whole number, 2..%d, and :log may follow; write "
                       "LOW..HIGH:COUNT:log",
                       list->word, GS_DIMENSION_VALUES_MAX);
    }
    out->count = (uint32_t)count;
    return GS_OK;
}

static gs_status read_range(const value_list *list, const char *text, const char *dots, range *out,
                            gs_error *err)
{
    char low[2 * GS_UNIT_TEXT_BYTES];
    size_t length = (size_t)(dots - text);
    if (length >= GS_UNIT_TEXT_BYTES) {
        return fail_range(list, err);
    }
    memcpy(low, text, length);
    low[length] = '\0';
    char *end = NULL;
    out->low = strtod(low, &end); /* without its unit: what a range without a count goes by */
    const char *unit = NULL;
    GS_TRY(read_high(list, dots + 2, &unit, out, err));
    if (*end == '\0') {
        size_t unit_length = strcspn(unit, ":"); /* the unit of HIGH holds for both */
        (void)snprintf(low + length, sizeof low - length, "%.*s", (int)unit_length, unit);
    }
    unit_kind unit_of_low = UNIT_NONE;
    if (!read_number(low, &out->low, &unit_of_low) || unit_of_low != out->unit) {
        return fail_range(list, err);
    }
    if (!(out->low < out->high) || (out->is_log && !(out->low > 0.0))) {
        return gs_fail(err, GS_EINVAL, "%.100s: LOW must be %sbelow HIGH", list->word,
                       out->is_log ? "above 0 and " : "");
    }
    return GS_OK;
}

/* Values between the ends have four digits: people read them, and they are named by them. Between
 * whole KiB these are digits of KiB. */
static double range_value(const range *part, uint32_t index)
{
    if (index == 0 || index + 1 == part->count) {
        return index == 0 ? part->low : part->high;
    }
    double share = (double)index / (double)(part->count - 1);
    double value = part->is_log ? part->low * pow(part->high / part->low, share)
                                : part->low + (part->high - part->low) * share;
    if (part->is_whole) {
        return round(value);
    }
    char text[GS_UNIT_TEXT_BYTES];
    bool is_binary = part->unit == UNIT_BYTES && fmod(part->low, 1024.0) == 0.0 &&
                     fmod(part->high, 1024.0) == 0.0;
    double scale = is_binary ? 1024.0 : 1.0;
    (void)snprintf(text, sizeof text, "%.*g", RANGE_DIGITS, value / scale);
    return strtod(text, NULL) * scale;
}

static gs_status add_range(value_list *list, const char *text, const char *dots,
                           const gs_field *field, gs_error *err)
{
    range part = {.low = 0.0};
    GS_TRY(read_range(list, text, dots, &part, err));
    bool ends_whole = part.low == floor(part.low) && part.high == floor(part.high);
    part.is_whole =
        part.unit == UNIT_NONE && ends_whole &&
        (field == NULL ? part.high - part.low >= part.count - 1.0 : field->kind == GS_FIELD_INT);
    double before = (double)NAN;
    for (uint32_t i = 0; i < part.count; i++) {
        char number[GS_UNIT_TEXT_BYTES];
        double value = range_value(&part, i);
        if (value != before) {
            GS_TRY(add_value(list, number_text(value, part.unit, number), err));
        }
        before = value;
    }
    return GS_OK;
}

/* "period=4" belongs to the value before it: "strategy=local_sgd:overlap=false,period=4,asp". */
static bool goes_on(const char *text)
{
    size_t name = strcspn(text, ":=,+");
    return text[name] == '=';
}

static gs_status add_listed(value_list *list, const char *text, bool are_strategies, gs_error *err)
{
    char one[WORD_BYTES];
    for (const char *comma = text; text != NULL; text = comma == NULL ? NULL : comma + 1) {
        comma = next_comma(text);
        while (are_strategies && comma != NULL && goes_on(comma + 1)) {
            comma = next_comma(comma + 1);
        }
        size_t length = comma == NULL ? strlen(text) : (size_t)(comma - text);
        if (length >= sizeof one) {
            return gs_fail(err, GS_ELIMIT, "%.100s: a value is over %d bytes long", list->word,
                           WORD_BYTES - 1);
        }
        memcpy(one, text, length);
        one[length] = '\0';
        GS_TRY(add_value(list, one, err));
    }
    return GS_OK;
}

/* --- dimensions ------------------------------------------------------------------------------- */

static gs_status begin(gs_dimensions *dimensions, const char *key, const char *word,
                       gs_arena *arena, value_list *out, gs_error *err)
{
    for (uint32_t i = 0; i < dimensions->count; i++) {
        if (strcmp(dimensions->list[i].key, key) == 0) {
            return gs_fail(err, GS_EINVAL,
                           "%.100s: %s is a dimension twice; write all values in "
                           "one word",
                           word, key);
        }
    }
    if (dimensions->count == GS_DIMENSIONS_MAX) {
        return gs_fail(err, GS_ELIMIT, "%.100s: a sweep has at most %d dimensions", word,
                       GS_DIMENSIONS_MAX);
    }
    *out = (value_list){.values = GS_TAKE(arena, gs_dimension_value, GS_DIMENSION_VALUES_MAX),
                        .arena = arena,
                        .word = word};
    return out->values == NULL ? no_memory(err) : GS_OK;
}

static gs_status end(gs_dimensions *dimensions, gs_dimension_kind kind, const char *key,
                     const value_list *list, int64_t owner, gs_error *err)
{
    char *own_key = gs_arena_text(list->arena, key);
    if (own_key == NULL) {
        return no_memory(err);
    }
    dimensions->list[dimensions->count++] = (gs_dimension){.kind = kind,
                                                           .key = own_key,
                                                           .unit = unit_names[list->unit],
                                                           .values = list->values,
                                                           .count = list->count,
                                                           .owner = owner};
    return GS_OK;
}

static gs_status check_years(const value_list *list, gs_error *err)
{
    for (uint32_t i = 0; i < list->count; i++) {
        double years = list->values[i].number;
        if (!(years >= 0.0 && years <= 50.0) || list->unit != UNIT_NONE) {
            return gs_fail(err, GS_EINVAL,
                           "%.100s: \"%s\" is no number of years from now; allowed is 0..50, such "
                           "as years=0..10",
                           list->word, list->values[i].text);
        }
    }
    return GS_OK;
}

gs_status gs_dimension_add_word(gs_dimensions *dimensions, const char *word, const char *const *all,
                                uint32_t all_count, gs_arena *arena, gs_error *err)
{
    char key[GS_JSON_PATH_BYTES];
    const char *text = value_of(word);
    size_t length = (size_t)(text - word) - 1;
    if (length >= sizeof key) {
        return gs_fail(err, GS_EINVAL, "%.100s: no key is that long", word);
    }
    memcpy(key, word, length);
    key[length] = '\0';
    gs_dimension_kind kind = strcmp(key, strategy_key) == 0  ? GS_DIMENSION_STRATEGY
                             : strcmp(key, years_key) == 0   ? GS_DIMENSION_YEARS
                             : starts(key, parameter_prefix) ? GS_DIMENSION_PARAMETER
                                                             : GS_DIMENSION_KEY;
    value_list list;
    GS_TRY(begin(dimensions, key, word, arena, &list, err));
    const char *dots = range_dots(text);
    if (kind == GS_DIMENSION_STRATEGY && strcmp(text, "all") == 0) {
        for (uint32_t i = 0; i < all_count; i++) {
            GS_TRY(add_value(&list, all[i], err));
        }
    } else if (dots != NULL) {
        GS_TRY(add_range(&list, text, dots, gs_scenario_field(key), err));
    } else {
        GS_TRY(add_listed(&list, text, kind == GS_DIMENSION_STRATEGY, err));
    }
    if (kind == GS_DIMENSION_YEARS) {
        GS_TRY(check_years(&list, err));
    }
    return end(dimensions, kind, key, &list, -1, err);
}

/* A JSON value as a word takes it: a text without its quotes. */
static gs_status plain_text(const char *json, char out[WORD_BYTES], gs_error *err)
{
    gs_json_at at;
    const char *text = json;
    GS_TRY(gs_json_parse(json, strlen(json), "the scenario", &at, err));
    gs_status status =
        gs_json_kind_of(at.value) == GS_JSON_TEXT ? gs_json_text(&at, &text, err) : GS_OK;
    (void)snprintf(out, WORD_BYTES, "%s", text);
    gs_json_free(at.value);
    return status;
}

/* "strategies[2].codec.ratio" is "ratio" of strategy 2; false: another key. */
static bool read_owner(const char *path, int64_t *out_owner, char out_key[GS_JSON_PATH_BYTES])
{
    static const char list[] = "strategies[";
    static const char codec[] = "codec.";
    char *end = NULL;
    if (!starts(path, list)) {
        return false;
    }
    *out_owner = strtol(path + sizeof list - 1, &end, 10);
    const char *rest = *end == ']' && end[1] == '.' ? end + 2 : end;
    rest += starts(rest, codec) ? sizeof codec - 1 : 0;
    (void)snprintf(out_key, GS_JSON_PATH_BYTES, "%s%s", parameter_prefix, rest);
    return true;
}

gs_status gs_dimension_add_own(gs_dimensions *dimensions, const gs_scenario_dimension *own,
                               gs_arena *arena, gs_error *err)
{
    char key[GS_JSON_PATH_BYTES];
    int64_t owner = -1;
    bool is_parameter = read_owner(own->path, &owner, key);
    if (is_parameter && (strcmp(key, "strategy.name") == 0 || strchr(key, ']') != NULL)) {
        return gs_fail(err, GS_EINVAL,
                       "%s: strategies are swept by naming several of them in the list", own->path);
    }
    for (uint32_t i = 0; i < dimensions->count && is_parameter; i++) {
        if (strcmp(dimensions->list[i].key, key) == 0 && dimensions->list[i].owner < 0) {
            return GS_OK; /* a word of the command line takes its place */
        }
    }
    value_list list;
    GS_TRY(begin(dimensions, own->path, own->path, arena, &list, err));
    for (uint32_t i = 0; i < own->count; i++) {
        char text[WORD_BYTES];
        GS_TRY(plain_text(own->values[i], text, err));
        GS_TRY(add_value(&list, text, err));
    }
    return end(dimensions, is_parameter ? GS_DIMENSION_PARAMETER : GS_DIMENSION_KEY,
               is_parameter ? key : own->path, &list, owner, err);
}

gs_status gs_dimension_add_strategies(gs_dimensions *dimensions, const char *const *texts,
                                      uint32_t count, gs_arena *arena, gs_error *err)
{
    value_list list;
    GS_TRY(begin(dimensions, strategy_key, strategy_key, arena, &list, err));
    for (uint32_t i = 0; i < count; i++) {
        GS_TRY(add_value(&list, texts[i], err));
    }
    return end(dimensions, GS_DIMENSION_STRATEGY, strategy_key, &list, -1, err);
}

const gs_dimension *gs_dimension_of_strategies(const gs_dimensions *dimensions)
{
    for (uint32_t i = 0; i < dimensions->count; i++) {
        if (dimensions->list[i].kind == GS_DIMENSION_STRATEGY) {
            return &dimensions->list[i];
        }
    }
    return NULL;
}

bool gs_dimension_is_choice(const gs_dimension *dimension)
{
    static const char *const choices[] = {"workload.optimizer.",   "workload.batch_per_rank",
                                          "workload.accumulation", "workload.memory.",
                                          "cluster.collectives",   "cluster.tuning",
                                          "cluster.nccl"};
    bool is_choice =
        dimension->kind == GS_DIMENSION_STRATEGY || dimension->kind == GS_DIMENSION_PARAMETER;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        is_choice = is_choice || starts(dimension->key, choices[i]);
    }
    return is_choice;
}

bool gs_dimension_is_numeric(const gs_dimension *dimension, uint32_t least)
{
    uint32_t numbers = 0;
    for (uint32_t i = 0; i < dimension->count; i++) {
        numbers += isfinite(dimension->values[i].number) ? 1 : 0;
    }
    return numbers == dimension->count && numbers >= least;
}
