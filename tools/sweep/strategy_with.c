/* The text of a strategy with one parameter set. */
#include "base/config.h"
#include "strategies/codec.h"
#include "strategies/registry.h"
#include "tools/sweep/grid.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 4096 };

/* "NAME:a=b,c=d", the strategy or the codec of a text. */
typedef struct part {
    const char *begin;
    size_t length;
    size_t name_length;
} part;

static part part_of(const char *begin, size_t length)
{
    const char *colon = memchr(begin, ':', length);
    return (part){begin, length, colon == NULL ? length : (size_t)(colon - begin)};
}

static bool has_field(const gs_field_table *table, const char *key)
{
    return table != NULL && gs_config_find(table, key) < table->field_count;
}

static bool strategy_has(const part *one, const char *key)
{
    char name[TEXT_BYTES];
    (void)snprintf(name, sizeof name, "%.*s", (int)one->name_length, one->begin);
    const gs_strategy *strategy = gs_strategy_find(name);
    return strategy != NULL && has_field(strategy->config, key);
}

static bool codec_has(const part *one, const char *key)
{
    char name[TEXT_BYTES];
    (void)snprintf(name, sizeof name, "%.*s", (int)one->name_length, one->begin);
    const gs_codec *codec = gs_codec_find(name);
    return codec != NULL && has_field(codec->config, key);
}

/* Appends the part with key=value in the place of the pair that it has, or behind its pairs. */
static size_t put_part(const part *one, const char *key, const char *value, char *out, size_t used)
{
    const char *end = one->begin + one->length;
    size_t key_length = strlen(key);
    char mark = ':';
    used +=
        (size_t)snprintf(out + used, TEXT_BYTES - used, "%.*s", (int)one->name_length, one->begin);
    for (const char *pair = one->begin + one->name_length; pair < end;) {
        pair++;
        size_t length = strcspn(pair, ",");
        length = pair + length > end ? (size_t)(end - pair) : length;
        bool is_it = strncmp(pair, key, key_length) == 0 && pair[key_length] == '=';
        if (!is_it) {
            used +=
                (size_t)snprintf(out + used, TEXT_BYTES - used, "%c%.*s", mark, (int)length, pair);
            mark = ',';
        }
        pair += length;
    }
    return used + (size_t)snprintf(out + used, TEXT_BYTES - used, "%c%s=%s", mark, key, value);
}

const char *gs_strategy_with(const char *strategy, const char *key, const char *value,
                             gs_arena *arena, bool *ok)
{
    char text[TEXT_BYTES];
    size_t length = strlen(strategy);
    const char *plus = strchr(strategy, '+');
    part front = part_of(strategy, plus == NULL ? length : (size_t)(plus - strategy));
    part codec = part_of(plus == NULL ? "" : plus + 1, plus == NULL ? 0 : strlen(plus + 1));
    bool in_front = strategy_has(&front, key);
    *ok = true;
    if ((!in_front && !codec_has(&codec, key)) ||
        length + strlen(key) + strlen(value) + 3 > sizeof text) {
        return NULL;
    }
    size_t used = 0;
    if (in_front) {
        used = put_part(&front, key, value, text, used);
        (void)snprintf(text + used, sizeof text - used, "%s", plus == NULL ? "" : plus);
    } else {
        used = (size_t)snprintf(text, sizeof text, "%.*s+", (int)front.length, front.begin);
        (void)put_part(&codec, key, value, text, used);
    }
    const char *copy = gs_arena_text(arena, text);
    *ok = copy != NULL;
    return copy;
}
