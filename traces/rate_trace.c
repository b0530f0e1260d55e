#include "traces/rate_trace.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/whole_file.h"

enum { LINE_BYTES = 128, UNIT_BYTES = 16, CELL_BYTES = 64 };

#define FACTOR_MIN 1e-6
#define FACTOR_MAX 1e6

typedef struct reader {
    const char *text;
    size_t length;
    size_t at;
    const char *file;
    size_t line; /* from 1 */
    int64_t bandwidth_bps;
    char time_unit[UNIT_BYTES];
    char rate_unit[UNIT_BYTES]; /* "": the column is a factor */
    gs_error *err;
} reader;

static gs_status fail(const reader *r, const char *cell, const char *wanted)
{
    return gs_fail(r->err, GS_EPARSE, "%s: line %zu: \"%.60s\" is not %s", r->file, r->line, cell,
                   wanted);
}

/* The next line that says something, without its end, cut to what fits; false at the end. */
static bool next_line(reader *r, char out[LINE_BYTES])
{
    while (r->at < r->length) {
        const char *start = r->text + r->at;
        const char *end = memchr(start, '\n', r->length - r->at);
        size_t length = end == NULL ? r->length - r->at : (size_t)(end - start);
        r->at += length + (end != NULL);
        r->line++;
        while (length > 0 && (start[length - 1] == '\r' || start[length - 1] == ' ')) {
            length--;
        }
        if (length > 0 && start[0] != '#') {
            length = length < LINE_BYTES ? length : LINE_BYTES - 1;
            memcpy(out, start, length);
            out[length] = '\0';
            return true;
        }
    }
    return false;
}

/* Splits "a , b" into two cells without the spaces around them; false where there are not two. */
static bool split(const char *line, char cells[2][CELL_BYTES])
{
    const char *comma = strchr(line, ',');
    if (comma == NULL || strchr(comma + 1, ',') != NULL) {
        return false;
    }
    const char *starts[2] = {line, comma + 1};
    const char *ends[2] = {comma, line + strlen(line)};
    for (int i = 0; i < 2; i++) {
        while (starts[i] < ends[i] && *starts[i] == ' ') {
            starts[i]++;
        }
        while (ends[i] > starts[i] && ends[i][-1] == ' ') {
            ends[i]--;
        }
        size_t length = (size_t)(ends[i] - starts[i]);
        if (length == 0 || length >= CELL_BYTES) {
            return false;
        }
        memcpy(cells[i], starts[i], length);
        cells[i][length] = '\0';
    }
    return true;
}

/* The unit of "name [unit]" into out; false where the cell is not of that form. */
static bool read_unit(const char *cell, const char *name, char out[UNIT_BYTES])
{
    size_t used = strlen(name);
    if (strncmp(cell, name, used) != 0) {
        return false;
    }
    const char *open = cell + used + strspn(cell + used, " ");
    const char *close = strchr(open, ']');
    if (*open != '[' || close == NULL || close[1] != '\0' || close - open - 1 >= UNIT_BYTES) {
        return false;
    }
    memset(out, 0, UNIT_BYTES);
    memcpy(out, open + 1, (size_t)(close - open - 1));
    return true;
}

static gs_status read_header(reader *r)
{
    char line[LINE_BYTES];
    char cells[2][CELL_BYTES];
    int64_t probe = 0;
    char one[CELL_BYTES];
    if (!next_line(r, line)) {
        return gs_fail(r->err, GS_EPARSE, "%s: the file holds no header and no rows", r->file);
    }
    if (!split(line, cells) || !read_unit(cells[0], "time", r->time_unit) ||
        !(strcmp(cells[1], "factor") == 0 || read_unit(cells[1], "rate", r->rate_unit))) {
        return fail(r, line, "a header; write \"time [s],factor\" or \"time [s],rate [Gbit/s]\"");
    }
    snprintf(one, sizeof one, "1%s", r->time_unit);
    if (gs_parse_duration(one, &probe, NULL) != GS_OK) {
        return fail(r, r->time_unit, "a unit of time; known are ns, us, ms, s, min, h, d");
    }
    snprintf(one, sizeof one, "1%s", r->rate_unit);
    if (r->rate_unit[0] != '\0' && gs_parse_rate(one, &probe, NULL) != GS_OK) {
        return fail(r, r->rate_unit, "a unit of rate, such as Gbit/s or MB/s");
    }
    return GS_OK;
}

static gs_status read_factor(const reader *r, const char *cell, double *out)
{
    int64_t rate_bps = 0;
    char text[CELL_BYTES + UNIT_BYTES];
    char *end = NULL;
    if (strspn(cell, "0123456789.eE+-") != strlen(cell)) {
        return fail(r, cell, "a number; its unit belongs in the header");
    }
    if (r->rate_unit[0] == '\0') {
        *out = strtod(cell, &end);
        if (*end != '\0') {
            return fail(r, cell, "a number");
        }
    } else {
        snprintf(text, sizeof text, "%s%s", cell, r->rate_unit);
        if (gs_parse_rate(text, &rate_bps, NULL) != GS_OK) {
            return fail(r, cell, "a rate of 0 or more that fits");
        }
        *out = (double)rate_bps / (double)r->bandwidth_bps;
    }
    if (!(*out >= FACTOR_MIN && *out <= FACTOR_MAX)) {
        return fail(r, cell,
                    "allowed: a link keeps between 1e-6 and 1e6 of its bandwidth (an outage is a "
                    "fault, not a rate)");
    }
    return GS_OK;
}

static gs_status read_row(const reader *r, const char *line, const gs_rate_point *before,
                          gs_rate_point *out)
{
    char cells[2][CELL_BYTES];
    char text[CELL_BYTES + UNIT_BYTES];
    if (!split(line, cells)) {
        return fail(r, line, "a row of two cells with a comma between them");
    }
    snprintf(text, sizeof text, "%s%s", cells[0], r->time_unit);
    if (strspn(cells[0], "0123456789.eE+-") != strlen(cells[0]) ||
        gs_parse_duration(text, &out->at_ns, NULL) != GS_OK) {
        return fail(r, cells[0], "a time of 0 or more");
    }
    if (before == NULL && out->at_ns != 0) {
        return fail(r, cells[0], "0, where the first row must start");
    }
    if (before != NULL && out->at_ns <= before->at_ns) {
        return fail(r, cells[0], "later than the row before; sort the rows by time");
    }
    /* Each row is an event for every link that others share: ns apart, a run would never end. */
    if (before != NULL && out->at_ns - before->at_ns < GS_NS_PER_US) {
        return fail(r, cells[0], "1us or more after the row before; take fewer rows");
    }
    return read_factor(r, cells[1], &out->factor);
}

static gs_status read_rows(reader *r, gs_arena *arena, gs_rate_trace *out)
{
    /* A row is a line: their number bounds the points. */
    size_t lines = 1;
    for (size_t i = r->at; i < r->length; i++) {
        lines += r->text[i] == '\n';
    }
    if (lines > GS_RATE_POINTS_MAX) {
        return gs_fail(r->err, GS_EPARSE, "%s: has %zu lines; at most %d are read", r->file, lines,
                       GS_RATE_POINTS_MAX);
    }
    gs_rate_point *points = GS_TAKE(arena, gs_rate_point, lines);
    if (points == NULL) {
        return gs_fail(r->err, GS_ENOMEM, "%s: no memory for %zu rows", r->file, lines);
    }
    char line[LINE_BYTES];
    uint32_t count = 0;
    while (next_line(r, line)) {
        GS_TRY(read_row(r, line, count == 0 ? NULL : &points[count - 1], &points[count]));
        count++;
    }
    if (count == 0) {
        return gs_fail(r->err, GS_EPARSE, "%s: holds no rows below its header", r->file);
    }
    /* A single value never changes; any period will do. */
    gs_time_ns last_ns = points[count - 1].at_ns;
    gs_time_ns gap_ns = count == 1 ? GS_NS_PER_S : last_ns - points[count - 2].at_ns;
    if (last_ns > GS_TIME_NEVER / 2 || gap_ns > GS_TIME_NEVER / 2) {
        return gs_fail(r->err, GS_EPARSE, "%s: lasts over 146 years", r->file);
    }
    *out = (gs_rate_trace){.points = points, .point_count = count, .period_ns = last_ns + gap_ns};
    return GS_OK;
}

gs_status gs_rate_trace_parse(const char *text, size_t length, const char *file,
                              int64_t bandwidth_bps, gs_arena *arena, gs_rate_trace *out,
                              gs_error *err)
{
    reader r = {
        .text = text, .length = length, .file = file, .bandwidth_bps = bandwidth_bps, .err = err};
    static const char MARK[] = "\xef\xbb\xbf"; /* of UTF-8, as spreadsheets write it */
    r.at =
        length >= sizeof MARK - 1 && memcmp(text, MARK, sizeof MARK - 1) == 0 ? sizeof MARK - 1 : 0;
    GS_TRY(read_header(&r));
    return read_rows(&r, arena, out);
}

gs_status gs_rate_trace_read(const char *file, int64_t bandwidth_bps, gs_arena *arena,
                             gs_rate_trace *out, gs_error *err)
{
    char *text = NULL;
    size_t bytes = 0;
    GS_TRY(gs_whole_file_read(file, GS_RATE_TRACE_BYTES_MAX, &text, &bytes, err));
    gs_status status = gs_rate_trace_parse(text, bytes, file, bandwidth_bps, arena, out, err);
    free(text);
    return status;
}
