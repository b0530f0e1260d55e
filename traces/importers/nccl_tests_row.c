#include "traces/importers/nccl_tests_row.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* size, count, type, redop, root and two halves of four columns; one more shows that a row is too
 * long. */
enum { WORDS_MAX = 14, HALF_COLUMNS = 4, BOTH_COLUMNS = 8 };

/* A prefix ends in a colon; only a table row or a comment behind it makes it one. */
static char *strip_prefix(char *line)
{
    char *at = line + strspn(line, " \t");
    char *end = strstr(at, ">:");
    if (*at == '[' && end != NULL) {
        return end + 2;
    }
    size_t word = strcspn(at, " \t");
    if (word > 1 && at[word] != '\0' && at[word - 1] == ':') {
        char *rest = at + word + strspn(at + word, " \t");
        if (*rest == '#' || isdigit((unsigned char)*rest)) {
            return rest;
        }
    }
    return at;
}

static size_t split(char *text, char *words[WORDS_MAX])
{
    size_t count = 0;
    for (char *at = text + strspn(text, " \t"); *at != '\0' && count < WORDS_MAX;) {
        words[count++] = at;
        at += strcspn(at, " \t");
        if (*at != '\0') {
            *at++ = '\0';
            at += strspn(at, " \t");
        }
    }
    return count;
}

static bool whole(const char *text, int64_t *out)
{
    int64_t value = 0;
    if (*text == '\0') {
        return false;
    }
    for (; *text != '\0'; text++) {
        if (!isdigit((unsigned char)*text) || value > (INT64_MAX - 9) / 10) {
            return false;
        }
        value = value * 10 + (*text - '0');
    }
    *out = value;
    return true;
}

static bool is_type(const char *text)
{
    static const char *const TYPES[] = {
        "float",  "double", "half",   "bfloat16", "int8", "uint8",    "int32",    "uint32", "int64",
        "uint64", "f8e4m3", "f8e5m2", "int",      "char", "fp8_e4m3", "fp8_e5m2", "uchar"};
    for (size_t i = 0; i < sizeof TYPES / sizeof TYPES[0]; i++) {
        if (strcmp(TYPES[i], text) == 0) {
            return true;
        }
    }
    return false;
}

/* "1950.5" is 1950.5 +- 0.05, "345216" +- 0.5, "1.6e+07" +- 5e5. */
static bool printed(const char *text, gs_nccl_printed *out)
{
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value) || value < 0.0) {
        return false;
    }
    size_t mantissa = strcspn(text, "eE");
    const char *point = memchr(text, '.', mantissa);
    double digits = point == NULL ? 0.0 : (double)(mantissa - (size_t)(point - text) - 1);
    double exponent = text[mantissa] == '\0' ? 0.0 : strtod(text + mantissa + 1, NULL);
    *out = (gs_nccl_printed){value, 0.5 * pow(10.0, exponent - digits)};
    return true;
}

static void broken(gs_nccl_line *out, const char *reason)
{
    out->kind = GS_NCCL_BROKEN_ROW;
    out->extra = reason;
}

static void read_row(char *words[WORDS_MAX], size_t count, gs_nccl_line *out)
{
    /* Behind the type stand redop and root or not, and one half or two: told apart from the right.
     */
    size_t behind = count - 3;
    size_t columns = behind >= BOTH_COLUMNS ? BOTH_COLUMNS : HALF_COLUMNS;
    if (behind < HALF_COLUMNS || behind > columns + 2) {
        broken(out, "it has not 4 or 8 columns behind the type");
        return;
    }
    char **half = words + count - columns;
    if (!printed(half[0], &out->time_us) || !printed(half[1], &out->alg_gbps) ||
        !printed(half[2], &out->bus_gbps)) {
        broken(out, "time, algbw or busbw is no number");
        return;
    }
    out->kind = GS_NCCL_ROW;
}

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* "Rank  0 [Group  0] Pid  3442 on hostname device  0 [0x10] A100-SXM4-40GB" */
static bool read_rank(char *text, gs_nccl_line *out)
{
    char *end = NULL;
    long long rank = strtoll(text + strlen("Rank "), &end, 10);
    char *host = strstr(text, " on ");
    char *device = host == NULL ? NULL : strstr(host, " device ");
    char *bus = device == NULL ? NULL : strchr(device, ']');
    if (end == text + strlen("Rank ") || rank < 0 || rank > INT32_MAX - 1 || bus == NULL) {
        return false;
    }
    host += strlen(" on ");
    *device = '\0';
    out->kind = GS_NCCL_RANK;
    out->rank = rank;
    out->text = host + strspn(host, " \t");
    out->extra = bus + 1 + strspn(bus + 1, " \t");
    return true;
}

static void read_comment(char *text, gs_nccl_line *out)
{
    static const char NAMED[] = "Collective test starting:";
    text += strspn(text, " \t");
    if (has_prefix(text, NAMED)) {
        out->kind = GS_NCCL_NAMED;
        out->text = text + sizeof NAMED - 1 + strspn(text + sizeof NAMED - 1, " \t");
    } else if (has_prefix(text, "nThread")) {
        out->kind = GS_NCCL_RUN;
    } else if (strstr(text, "algbw") != NULL && strstr(text, "busbw") != NULL) {
        out->kind = GS_NCCL_TABLE;
    } else if (has_prefix(text, "Rank ")) {
        (void)read_rank(text, out);
    }
}

static void trim_end(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1])) {
        text[--length] = '\0';
    }
}

void gs_nccl_line_read(char *line, gs_nccl_line *out)
{
    *out = (gs_nccl_line){.kind = GS_NCCL_OTHER};
    trim_end(line);
    char *text = strip_prefix(line);
    text += strspn(text, " \t");
    if (*text == '#') {
        read_comment(text + 1, out);
        return;
    }
    const char *failure = strstr(text, "Test NCCL failure");
    failure = failure == NULL ? strstr(text, "Test failure") : failure;
    failure = failure == NULL ? strstr(text, "Test CUDA failure") : failure;
    if (failure != NULL) {
        out->kind = GS_NCCL_FAILURE;
        out->text = text;
        return;
    }
    char *words[WORDS_MAX];
    int64_t elements = 0;
    size_t count = isdigit((unsigned char)*text) ? split(text, words) : 0;
    if (count >= 3 && is_type(words[2]) && whole(words[1], &elements)) {
        if (whole(words[0], &out->bytes)) {
            read_row(words, count, out);
        } else {
            broken(out, "its size is no whole number");
        }
    } else if (count >= 3 + HALF_COLUMNS && whole(words[0], &out->bytes) &&
               whole(words[1], &elements)) {
        broken(out, "its type is none of nccl-tests: float, half, bfloat16, ...");
    }
}

bool gs_nccl_row_holds(const gs_nccl_line *row)
{
    double least_us = row->time_us.value - row->time_us.half;
    double most_us = row->time_us.value + row->time_us.half;
    double bytes = (double)row->bytes;
    /* A thousandth of a digit more than half: the printed text itself was rounded from binary. */
    double slack = row->alg_gbps.half * 1.001;
    if (most_us <= 0.0) {
        return false;
    }
    double low = bytes / most_us / 1e3 - slack;
    double high = least_us <= 0.0 ? HUGE_VAL : bytes / least_us / 1e3 + slack;
    return low <= row->alg_gbps.value && row->alg_gbps.value <= high;
}
