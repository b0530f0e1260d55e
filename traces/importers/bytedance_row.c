#include "traces/importers/bytedance_row.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
/* name, least value of a number */
#define FIELD_LIST(X)                                                                              \
    X(DP_RANK,    "dp_rank",  0)                                                                   \
    X(STAGE,      "stage",    0)                                                                   \
    X(RANK,       "rank",     0)                                                                   \
    X(STEP,       "step",     0)                                                                   \
    X(TYPE,       "optype",   0)                                                                   \
    X(START,      "start_ts", 0)                                                                   \
    X(DURATION,   "duration", 0)                                                                   \
    X(SEQUENCE,   "seq_id",  -1)                                                                   \
    X(CHUNK,      "mc",      -1)                                                                   \
    X(MICRO_BATCH,"mb_id",   -1)
/* clang-format on */

typedef enum field {
#define FIELD_ENUM(name, text, least) FIELD_##name,
    FIELD_LIST(FIELD_ENUM)
#undef FIELD_ENUM
        FIELD_COUNT,
    FIELD_OTHER = FIELD_COUNT
} field;

static const struct {
    const char *name;
    int32_t least;
} FIELDS[] = {
#define FIELD_ROW(name, text, least) {text, least},
    FIELD_LIST(FIELD_ROW)
#undef FIELD_ROW
};

enum {
    SHOWN = 40,             /* characters of a bad value in a message */
    NUMBER_BYTES = 64,      /* longest number taken */
    WHOLE_MAX = 2000000000, /* below INT32_MAX, with room for sums */
    FRACTION_DIGITS = 9     /* a nanosecond */
};

#define SECONDS_MAX INT64_C(1000000000)

static int shown(size_t length)
{
    return length > SHOWN ? SHOWN : (int)length;
}

gs_status gs_bytedance_head_read(const char *text, size_t length, gs_bytedance_head *out,
                                 gs_error *err)
{
    bool has[FIELD_COUNT + 1] = {false};
    const char *at = text;
    const char *end = text + length;
    *out = (gs_bytedance_head){0};
    while (at <= end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        size_t name_bytes = (size_t)((comma == NULL ? end : comma) - at);
        if (out->column_count == GS_BYTEDANCE_COLUMNS_MAX) {
            return gs_fail(err, GS_EPARSE, "more than %d columns", GS_BYTEDANCE_COLUMNS_MAX);
        }
        uint8_t found = FIELD_OTHER;
        for (uint8_t i = 0; i < FIELD_COUNT; i++) {
            if (strlen(FIELDS[i].name) == name_bytes &&
                memcmp(at, FIELDS[i].name, name_bytes) == 0) {
                found = i;
            }
        }
        if (found != FIELD_OTHER && has[found]) {
            return gs_fail(err, GS_EPARSE, "the column \"%s\" is there twice", FIELDS[found].name);
        }
        has[found] = true;
        out->fields[out->column_count++] = found;
        at = comma == NULL ? end + 1 : comma + 1;
    }
    for (int i = 0; i < FIELD_COUNT; i++) {
        if (!has[i]) {
            return gs_fail(err, GS_EPARSE,
                           "no column \"%s\"; needed are dp_rank, stage, rank, step, optype, "
                           "start_ts, duration, seq_id, mc, mb_id",
                           FIELDS[i].name);
        }
    }
    return GS_OK;
}

/* A number with an exponent, or anything else: the slow and exact way. */
static bool slow_number(const char *text, size_t length, double *out)
{
    char copy[NUMBER_BYTES];
    if (length == 0 || length >= sizeof copy) {
        return false;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    char *end = NULL;
    double value = strtod(copy, &end);
    *out = value;
    return end == copy + length && fabs(value) < (double)SECONDS_MAX;
}

/* "12.0" is whole: tools that know only floating point write so. */
static bool read_whole(const char *text, size_t length, int32_t least, int32_t *out)
{
    const char *at = text;
    const char *end = text + length;
    bool negative = at < end && *at == '-';
    at += negative ? 1 : 0;
    int64_t value = 0;
    const char *digits = at;
    while (at < end && *at >= '0' && *at <= '9' && value <= WHOLE_MAX) {
        value = value * 10 + (*at++ - '0');
    }
    if (at == digits || at != end) {
        double real = 0.0;
        if (!slow_number(text, length, &real) || real != floor(real)) {
            return false;
        }
        value = (int64_t)real;
    } else if (negative) {
        value = -value;
    }
    *out = (int32_t)value;
    return value >= least && value <= WHOLE_MAX;
}

/* Seconds as ns, rounded to the nearest. */
static bool read_seconds(const char *text, size_t length, gs_time_ns *out_ns)
{
    const char *at = text;
    const char *end = text + length;
    bool negative = at < end && *at == '-';
    at += negative ? 1 : 0;
    int64_t value = 0;
    const char *digits = at;
    while (at < end && *at >= '0' && *at <= '9' && value < SECONDS_MAX) {
        value = value * 10 + (*at++ - '0');
    }
    /* What is too large goes the slow way, which looks at an exponent before it refuses. */
    bool is_simple = at > digits && value < SECONDS_MAX;
    int64_t ns = is_simple ? value * GS_NS_PER_S : 0;
    if (at < end && *at == '.') {
        int64_t weight = GS_NS_PER_S / 10;
        const char *fraction = ++at;
        for (; at < end && *at >= '0' && *at <= '9'; at++) {
            ns += (*at - '0') * weight;
            /* The tenth digit rounds, those behind it say nothing below a nanosecond. */
            ns += at - fraction == FRACTION_DIGITS && *at >= '5' ? 1 : 0;
            weight /= 10;
        }
    }
    if (!is_simple || at != end) {
        double real = 0.0;
        if (!slow_number(text, length, &real)) {
            return false;
        }
        *out_ns = (gs_time_ns)llround(real * 1e9);
        return true;
    }
    *out_ns = negative ? -ns : ns;
    return true;
}

static gs_status bad_value(field which, const char *text, size_t length, gs_error *err)
{
    if (which == FIELD_START || which == FIELD_DURATION) {
        return gs_fail(err, GS_EPARSE,
                       "%s is \"%.*s\": allowed are seconds%s below 1e9; export the trace again "
                       "or leave the row's step out",
                       FIELDS[which].name, shown(length), text,
                       which == FIELD_DURATION ? " of at least 0 and" : "");
    }
    return gs_fail(err, GS_EPARSE,
                   "%s is \"%.*s\": allowed is a whole number of at least %d; export the trace "
                   "again or leave the row's step out",
                   FIELDS[which].name, shown(length), text, (int)FIELDS[which].least);
}

static gs_status take_value(field which, const char *text, size_t length, gs_op_gather *gather,
                            gs_traced_op *out, gs_error *err)
{
    int32_t *const wholes[FIELD_COUNT] = {[FIELD_DP_RANK] = &out->dp_rank,
                                          [FIELD_STAGE] = &out->stage,
                                          [FIELD_RANK] = &out->rank,
                                          [FIELD_STEP] = &out->step,
                                          [FIELD_SEQUENCE] = &out->sequence,
                                          [FIELD_CHUNK] = &out->chunk,
                                          [FIELD_MICRO_BATCH] = &out->micro_batch};
    bool good = true;
    if (which == FIELD_TYPE) {
        if (length == 0 || length > SHOWN) {
            return gs_fail(err, GS_EPARSE,
                           "optype is \"%.*s\": allowed are names of 1 to %d "
                           "characters, such as forward-compute",
                           shown(length), text, SHOWN);
        }
        return gs_op_gather_type(gather, text, length, &out->type, err);
    }
    if (which == FIELD_START) {
        good = read_seconds(text, length, &out->start_ns);
    } else if (which == FIELD_DURATION) {
        good = read_seconds(text, length, &out->duration_ns) && out->duration_ns >= 0;
    } else if (which != FIELD_OTHER) {
        good = read_whole(text, length, FIELDS[which].least, wholes[which]);
    }
    return good ? GS_OK : bad_value(which, text, length, err);
}

gs_status gs_bytedance_row_read(const gs_bytedance_head *head, const char *text, size_t length,
                                gs_op_gather *gather, gs_traced_op *out, gs_error *err)
{
    const char *at = text;
    const char *end = text + length;
    uint32_t column = 0;
    for (; column < head->column_count && at <= end; column++) {
        const char *stop = at;
        while (stop < end && *stop != ',') {
            stop++;
        }
        GS_TRY(take_value((field)head->fields[column], at, (size_t)(stop - at), gather, out, err));
        at = stop + 1;
    }
    if (column < head->column_count || at <= end) {
        return gs_fail(err, GS_EPARSE,
                       "%s than the %u fields of the first line: the line is damaged; export the "
                       "trace again or leave the row's step out",
                       column < head->column_count ? "fewer" : "more", head->column_count);
    }
    return GS_OK;
}
