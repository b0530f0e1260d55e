#include "traces/importers/kineto_number.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Half of int64, so that a start plus a duration never overflows. */
#define LIMIT (INT64_MAX / 2)

enum { TEXT_BYTES = 64 };

static bool by_double(const char *text, size_t length, double scale, int64_t *out)
{
    char copy[TEXT_BYTES];
    if (length == 0 || length >= sizeof copy) {
        return false;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    char *end = NULL;
    double value = strtod(copy, &end) * scale;
    if (end != copy + length || !(fabs(value) < (double)LIMIT)) {
        return false;
    }
    *out = (int64_t)llround(value);
    return true;
}

/* Digits from *at on, as a number <= LIMIT / 1000; false: none, or too many. */
static bool read_digits(const char **at, const char *end, int64_t *out)
{
    int64_t value = 0;
    const char *start = *at;
    while (*at < end && **at >= '0' && **at <= '9') {
        value = value * 10 + (**at - '0');
        if (value > LIMIT / 1000) {
            return false;
        }
        (*at)++;
    }
    *out = value;
    return *at > start;
}

bool gs_kineto_us(const char *text, size_t length, gs_time_ns *out_ns)
{
    const char *at = text;
    const char *end = text + length;
    bool negative = at < end && *at == '-';
    at += negative ? 1 : 0;
    int64_t whole_us = 0;
    if (!read_digits(&at, end, &whole_us)) {
        return false;
    }
    int64_t ns = whole_us * GS_NS_PER_US;
    if (at < end && *at == '.') {
        int64_t weight = 100;
        for (at++; at < end && *at >= '0' && *at <= '9'; at++) {
            ns += (*at - '0') * weight;
            /* The fourth digit rounds, those behind it say nothing below a nanosecond. */
            if (weight == 0 && at[-4] == '.' && *at >= '5') {
                ns++;
            }
            weight /= 10;
        }
    }
    if (at != end) {
        return by_double(text, length, 1000.0, out_ns);
    }
    *out_ns = negative ? -ns : ns;
    return true;
}

bool gs_kineto_whole(const char *text, size_t length, int64_t *out)
{
    const char *at = text;
    const char *end = text + length;
    bool negative = at < end && *at == '-';
    at += negative ? 1 : 0;
    int64_t value = 0;
    if (read_digits(&at, end, &value) && at == end) {
        *out = negative ? -value : value;
        return true;
    }
    int64_t rounded = 0;
    double fraction = 0.0;
    char copy[TEXT_BYTES];
    if (length >= sizeof copy || !by_double(text, length, 1.0, &rounded)) {
        return false;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    fraction = strtod(copy, NULL) - (double)rounded;
    if (fraction != 0.0) {
        return false;
    }
    *out = rounded;
    return true;
}

typedef struct type_name {
    const char *name;
    int32_t bytes;
    bool is_float;
} type_name;

/* clang-format off */
static const type_name TYPES[] = {
    {"float", 4, true},         {"double", 8, true},         {"half", 2, true},
    {"bfloat16", 2, true},      {"float8_e4m3fn", 1, true},  {"float8_e5m2", 1, true},
    {"long", 8, false},         {"long int", 8, false},      {"int", 4, false},
    {"short", 2, false},        {"short int", 2, false},     {"byte", 1, false},
    {"char", 1, false},         {"unsigned char", 1, false}, {"signed char", 1, false},
    {"bool", 1, false},
};
/* clang-format on */

int32_t gs_kineto_element_bytes(const char *name, bool *out_is_float)
{
    const char *bare = strncmp(name, "c10::", 5) == 0 ? name + 5 : name;
    for (size_t i = 0; i < sizeof TYPES / sizeof TYPES[0]; i++) {
        if (strcasecmp(TYPES[i].name, bare) == 0) {
            *out_is_float = TYPES[i].is_float;
            return TYPES[i].bytes;
        }
    }
    *out_is_float = false;
    return 0;
}
