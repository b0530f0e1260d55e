/* nccl-tests output (all_reduce_perf and its kin): a curve of time against size for each
 * collective.
 *
 * Lines are nccl_tests_row.c's. Rows that contradict themselves are left out with a remark; a
 * collective that failed is told with its line, and so is one that no sound network gives
 * (traces/curve_fit.h); a file without any row is refused, and one whose times halve as sizes grow.
 */
#include "traces/importers/importer.h"

#include "traces/importers/collective_name.h"
#include "traces/importers/gzip_stream.h"
#include "traces/importers/import_notes.h"
#include "traces/importers/nccl_tests_row.h"
#include "traces/curve_fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_BYTES = 64 * 1024,
    ROWS_MAX = 1000 * 1000, /* of one file */
    CURVES_MAX = 4096,
    HOSTS_MAX = 1024,
    NAME_BYTES = 128,
    FIRST_CAPACITY = 64
};

static const double NO_MEASUREMENT_RATIO = 0.5; /* of the time of a smaller size */

typedef struct row {
    uint32_t curve;
    uint32_t line;
    int64_t bytes;
    double time_us;
    double factor;      /* busbw over algbw */
    double factor_half; /* how far off the printed digits let it be */
} row;

/* A collective of a file while it is read. */
typedef struct draft {
    const char *collective; /* NULL: not said */
    char device[NAME_BYTES];
    int32_t ranks;
    int32_t hosts;
    uint32_t rows;
    uint32_t line; /* where it began */
} draft;

typedef struct reader {
    const char *file;
    const gs_import_options *options;
    gs_arena *arena;
    gs_import_notes *notes;
    gs_error *err;
    row *rows;
    uint32_t row_count;
    uint32_t row_capacity;
    draft *drafts;
    uint32_t draft_count;
    char (*hosts)[NAME_BYTES]; /* of the run being read */
    uint32_t host_count;
    uint32_t line;
    uint32_t failure_line; /* of the run being read; 0: none */
    uint32_t failed_runs;
    uint32_t left_out_line; /* the first row of the run being read that was left out; 0: none */
    char left_out[NAME_BYTES];
    bool is_output;              /* a head or a run was seen */
    bool names_runs;             /* a line names a test program */
    bool no_result;              /* the file was read to its end and gave no curve */
    char reason[2 * NAME_BYTES]; /* of the last run that gave nothing */
} reader;

static draft *current(reader *in)
{
    return in->draft_count == 0 ? NULL : &in->drafts[in->draft_count - 1];
}

static gs_status no_memory(const char *file, gs_error *err)
{
    return gs_fail(err, GS_ENOMEM, "%s: no memory to read it", file);
}

/* Closes the run being read: what came out of it, and whether it goes on an earlier one. */
static void end_run(reader *in)
{
    draft *run = current(in);
    if (run == NULL) {
        return;
    }
    if (run->rows == 0) {
        in->failed_runs++;
        if (in->failure_line > 0) {
            snprintf(in->reason, sizeof in->reason, "it failed (line %u)", in->failure_line);
        } else if (in->left_out_line > 0) {
            snprintf(in->reason, sizeof in->reason,
                     "no row of it can be used; the first, line %u: %s", in->left_out_line,
                     in->left_out);
        } else {
            snprintf(in->reason, sizeof in->reason, "a header without rows (line %u)", run->line);
        }
        gs_import_notes_add(in->notes, "%s: no result for %s: %s", in->file,
                            run->collective == NULL ? "its collective" : run->collective,
                            in->reason);
        in->draft_count--;
    } else if (in->failure_line > 0) {
        gs_import_notes_add(in->notes, "%s: line %u: the run failed after %u rows", in->file,
                            in->failure_line, run->rows);
    }
    in->failure_line = 0;
    in->left_out_line = 0;
    /* One run a size, one after the other, is one curve. */
    draft *before = in->draft_count < 2 ? NULL : &in->drafts[in->draft_count - 2];
    if (run->rows > 0 && before != NULL && before->collective == run->collective &&
        before->ranks == run->ranks && before->hosts == run->hosts &&
        strcmp(before->device, run->device) == 0) {
        for (uint32_t i = in->row_count; i > 0 && in->rows[i - 1].curve == in->draft_count - 1;
             i--) {
            in->rows[i - 1].curve--;
        }
        before->rows += run->rows;
        in->draft_count--;
    }
}

static gs_status begin_run(reader *in, const char *collective)
{
    end_run(in);
    if (in->draft_count == CURVES_MAX) {
        return gs_fail(in->err, GS_ELIMIT, "%s: line %u: more than %d collectives in one file",
                       in->file, in->line, CURVES_MAX);
    }
    in->drafts[in->draft_count++] = (draft){.collective = collective, .line = in->line};
    in->host_count = 0;
    in->is_output = true;
    return GS_OK;
}

static void take_rank_line(reader *in, const gs_nccl_line *line)
{
    draft *run = current(in);
    if (run == NULL) {
        return;
    }
    run->ranks = line->rank + 1 > run->ranks ? (int32_t)(line->rank + 1) : run->ranks;
    snprintf(run->device, sizeof run->device, "%s", line->extra);
    /* Ranks of a host come one after the other: the newest is the likely one. */
    for (uint32_t i = in->host_count; i > 0; i--) {
        if (strncmp(in->hosts[i - 1], line->text, NAME_BYTES - 1) == 0) {
            return;
        }
    }
    if (in->host_count < HOSTS_MAX) {
        snprintf(in->hosts[in->host_count++], NAME_BYTES, "%s", line->text);
        run->hosts = (int32_t)in->host_count;
    } else {
        run->hosts = 0;
    }
}

static void leave_out(reader *in, const char *why)
{
    gs_import_notes_add(in->notes, "%s: line %u: left out: %s", in->file, in->line, why);
    if (in->left_out_line == 0) {
        in->left_out_line = in->line;
        snprintf(in->left_out, sizeof in->left_out, "%s", why);
    }
}

static gs_status take_row(reader *in, const gs_nccl_line *line)
{
    if (current(in) == NULL) {
        GS_TRY(begin_run(in, NULL)); /* an excerpt without its header */
    }
    if (line->bytes == 0) {
        return GS_OK; /* sizes below one element an item: printed, but nothing was moved */
    }
    if (!gs_nccl_row_holds(line)) {
        char why[NAME_BYTES];
        snprintf(why, sizeof why, "algbw %.2f GB/s is not %lld B in %.6g us", line->alg_gbps.value,
                 (long long)line->bytes, line->time_us.value);
        leave_out(in, why);
        return GS_OK;
    }
    if (in->row_count == ROWS_MAX) {
        return gs_fail(in->err, GS_ELIMIT, "%s: line %u: more than %d rows", in->file, in->line,
                       ROWS_MAX);
    }
    if (in->row_count == in->row_capacity) {
        uint32_t wanted = in->row_capacity == 0 ? FIRST_CAPACITY : in->row_capacity * 2;
        row *grown = realloc(in->rows, wanted * sizeof *grown);
        if (grown == NULL) {
            return no_memory(in->file, in->err);
        }
        in->rows = grown;
        in->row_capacity = wanted;
    }
    row *added = &in->rows[in->row_count++];
    *added = (row){.curve = in->draft_count - 1,
                   .line = in->line,
                   .bytes = line->bytes,
                   .time_us = line->time_us.value,
                   .factor_half = HUGE_VAL};
    if (line->alg_gbps.value > line->alg_gbps.half) {
        double alg = line->alg_gbps.value;
        added->factor = line->bus_gbps.value / alg;
        added->factor_half =
            (line->bus_gbps.half + added->factor * line->alg_gbps.half) * 1.001 / alg;
    }
    in->drafts[in->draft_count - 1].rows++;
    return GS_OK;
}

static gs_status take_line(reader *in, char *text)
{
    gs_nccl_line line;
    in->line++;
    in->names_runs = in->names_runs || strstr(text, "_perf") != NULL;
    gs_nccl_line_read(text, &line);
    switch (line.kind) {
    case GS_NCCL_ROW:
        return take_row(in, &line);
    case GS_NCCL_BROKEN_ROW:
        leave_out(in, line.extra);
        return GS_OK;
    case GS_NCCL_NAMED:
        return begin_run(in, gs_collective_name(line.text));
    case GS_NCCL_RUN:
        /* Newer versions name the collective in the line before. */
        if (current(in) != NULL && current(in)->line + 1 == in->line && current(in)->rows == 0) {
            return GS_OK;
        }
        return begin_run(in, NULL);
    case GS_NCCL_TABLE:
        in->is_output = true;
        return current(in) == NULL ? begin_run(in, NULL) : GS_OK;
    case GS_NCCL_RANK:
        take_rank_line(in, &line);
        return GS_OK;
    case GS_NCCL_FAILURE:
        in->failure_line = in->failure_line == 0 ? in->line : in->failure_line;
        return GS_OK;
    case GS_NCCL_OTHER:
        break;
    }
    return GS_OK;
}

/* Takes the whole lines of buffer [*have]; what is behind the last of them moves to its front. */
static gs_status take_lines(reader *in, char *buffer, size_t *have)
{
    char *start = buffer;
    char *newline = NULL;
    while ((newline = memchr(start, '\n', *have - (size_t)(start - buffer))) != NULL) {
        *newline = '\0';
        GS_TRY(take_line(in, start));
        start = newline + 1;
    }
    *have -= (size_t)(start - buffer);
    memmove(buffer, start, *have);
    if (*have == LINE_BYTES) {
        return gs_fail(in->err, GS_ELIMIT,
                       "%s: line %u is longer than %d KiB: no nccl-tests output", in->file,
                       in->line + 1, LINE_BYTES / 1024);
    }
    return GS_OK;
}

static gs_status read_lines(reader *in, gs_gzip_stream *stream, char *buffer)
{
    size_t have = 0;
    bool at_end = false;
    while (!at_end) {
        size_t got = 0;
        GS_TRY(gs_gzip_stream_read(stream, buffer + have, LINE_BYTES - have, &got, in->err));
        at_end = got == 0;
        if (memchr(buffer + have, '\0', got) != NULL) {
            return gs_fail(in->err, GS_EPARSE,
                           "%s: line %u holds a zero byte: a binary file, not nccl-tests output",
                           in->file, in->line + 1);
        }
        have += got;
        GS_TRY(take_lines(in, buffer, &have));
    }
    if (have > 0) {
        buffer[have] = '\0';
        GS_TRY(take_line(in, buffer));
    }
    end_run(in);
    return GS_OK;
}

/* Members of the collective from busbw over algbw, where no line tells; 0: no telling. */
static int32_t ranks_from_factor(const char *collective, double factor)
{
    double ranks = 0.0;
    if (strcmp(collective, "all_reduce") == 0 && factor < 1.999) {
        ranks = 2.0 / (2.0 - factor);
    } else if (gs_collective_bus_factor(collective, 2) < 1.0 && factor < 0.999) {
        ranks = 1.0 / (1.0 - factor);
    }
    return ranks >= 1.5 && ranks < 4096.0 ? (int32_t)lround(ranks) : 0;
}

/* Of rows [first, end) the one whose printed digits tell most about the factor; NULL: none does. */
static const row *sharpest_row(const reader *in, uint32_t first, uint32_t end)
{
    const row *best = NULL;
    for (uint32_t i = first; i < end; i++) {
        const row *at = &in->rows[i];
        if (best == NULL || at->factor_half < best->factor_half) {
            best = at;
        }
    }
    return best == NULL || !(best->factor_half < 0.05) ? NULL : best;
}

/* Finds out what a draft does not say: its collective and how many ranks took part. */
static gs_status complete_draft(reader *in, draft *run, const row *sharp)
{
    const char *slash = strrchr(in->file, '/');
    if (run->collective == NULL && in->options->collective != NULL) {
        run->collective = gs_collective_name(in->options->collective);
    }
    if (run->collective == NULL) {
        run->collective = gs_collective_name(slash == NULL ? in->file : slash + 1);
    }
    if (run->collective == NULL && sharp != NULL && sharp->factor > 1.0 + sharp->factor_half) {
        run->collective = "all_reduce";
        gs_import_notes_add(
            in->notes, "%s: busbw over algbw is %.3f: taken as all_reduce, which alone exceeds 1",
            in->file, sharp->factor);
    }
    if (run->collective == NULL) {
        return gs_fail(
            in->err, GS_EPARSE,
            "%s: line %u: the output does not say which collective ran: name it in the file "
            "name (such as all_reduce) or by the option collective",
            in->file, run->line);
    }
    if (run->ranks == 0 && sharp != NULL) {
        run->ranks = ranks_from_factor(run->collective, sharp->factor);
        if (run->ranks > 0) {
            gs_import_notes_add(in->notes, "%s: %d ranks, told from busbw over algbw (%.3f)",
                                in->file, run->ranks, sharp->factor);
        }
    } else if (sharp != NULL && fabs(gs_collective_bus_factor(run->collective, run->ranks) -
                                     sharp->factor) > sharp->factor_half) {
        gs_import_notes_add(
            in->notes,
            "%s: line %u: busbw over algbw is %.3f, but %.3f for %s on %d ranks: is it "
            "another collective?",
            in->file, sharp->line, sharp->factor,
            gs_collective_bus_factor(run->collective, run->ranks), run->collective, run->ranks);
    }
    return GS_OK;
}

static int by_curve_and_bytes(const void *left, const void *right)
{
    const row *a = left;
    const row *b = right;
    if (a->curve != b->curve) {
        return a->curve < b->curve ? -1 : 1;
    }
    if (a->bytes != b->bytes) {
        return a->bytes < b->bytes ? -1 : 1;
    }
    return (a->line > b->line) - (a->line < b->line);
}

/* Points of rows [first, end), sorted: repeats of a size become their mean. */
static gs_status make_points(reader *in, uint32_t first, uint32_t end, gs_curve *curve)
{
    gs_curve_point *points = GS_TAKE(in->arena, gs_curve_point, end - first);
    if (points == NULL) {
        return no_memory(in->file, in->err);
    }
    uint32_t count = 0;
    for (uint32_t i = first; i < end;) {
        double sum_us = 0.0;
        uint32_t same = i;
        for (; same < end && in->rows[same].bytes == in->rows[i].bytes; same++) {
            sum_us += in->rows[same].time_us;
        }
        double time_ns = sum_us / (double)(same - i) * 1e3;
        points[count++] =
            (gs_curve_point){in->rows[i].bytes, time_ns < 1.0     ? 1
                                                : time_ns >= 9e18 ? INT64_MAX
                                                                  : (gs_time_ns)llround(time_ns)};
        i = same;
    }
    curve->points = points;
    curve->point_count = count;
    return GS_OK;
}

/* Line of the first row of that size; the rows [first, end) are sorted. */
static uint32_t line_of(const reader *in, uint32_t first, uint32_t end, int64_t bytes)
{
    while (first + 1 < end && in->rows[first].bytes < bytes) {
        first++;
    }
    return in->rows[first].line;
}

/* Says where a curve is not what a sound network gives; one that halves its time as the size grows
 * is no measurement. */
static gs_status check_curve(reader *in, uint32_t first, uint32_t end, const gs_curve *curve)
{
    uint32_t less = 0;
    uint32_t more = 0;
    gs_curve_fault fault = gs_curve_judge(curve, &less, &more);
    if (fault == GS_CURVE_SOUND) {
        return GS_OK;
    }
    const gs_curve_point *small = &curve->points[less];
    const gs_curve_point *large = &curve->points[more];
    uint32_t small_line = line_of(in, first, end, small->bytes);
    uint32_t large_line = line_of(in, first, end, large->bytes);
    if (fault == GS_CURVE_SLOWS) {
        gs_import_notes_add(
            in->notes,
            "%s: line %u: %s: anomalous: %.3g GB/s at %lld B, after %.3g GB/s at %lld B (line %u): "
            "a failing link, or others used it",
            in->file, large_line, curve->collective, (double)large->bytes / (double)large->time_ns,
            (long long)large->bytes, (double)small->bytes / (double)small->time_ns,
            (long long)small->bytes, small_line);
        return GS_OK;
    }
    double ratio = (double)large->time_ns / (double)small->time_ns;
    if (ratio < NO_MEASUREMENT_RATIO) {
        return gs_fail(in->err, GS_EPARSE,
                       "%s: line %u: %lld B took %.6g us, less than half of the %.6g us of %lld B "
                       "(line %u): time must not fall as the size grows; measure again",
                       in->file, large_line, (long long)large->bytes, (double)large->time_ns * 1e-3,
                       (double)small->time_ns * 1e-3, (long long)small->bytes, small_line);
    }
    gs_import_notes_add(
        in->notes,
        "%s: line %u: %s: anomalous: %lld B took %.0f %% less time than %lld B (line "
        "%u): not repeatable to 10 %%",
        in->file, large_line, curve->collective, (long long)large->bytes, 100.0 * (1.0 - ratio),
        (long long)small->bytes, small_line);
    return GS_OK;
}

static gs_status make_curves(reader *in, gs_curve *curves)
{
    qsort(in->rows, in->row_count, sizeof *in->rows, by_curve_and_bytes);
    uint32_t first = 0;
    for (uint32_t c = 0; c < in->draft_count; c++) {
        uint32_t end = first;
        while (end < in->row_count && in->rows[end].curve == c) {
            end++;
        }
        draft *run = &in->drafts[c];
        GS_TRY(complete_draft(in, run, sharpest_row(in, first, end)));
        curves[c] = (gs_curve){.collective = run->collective,
                               .ranks = run->ranks,
                               .hosts = run->hosts,
                               .device = gs_arena_text(in->arena, run->device),
                               .source = gs_arena_text(in->arena, in->file)};
        if (curves[c].device == NULL || curves[c].source == NULL) {
            return no_memory(in->file, in->err);
        }
        GS_TRY(make_points(in, first, end, &curves[c]));
        GS_TRY(check_curve(in, first, end, &curves[c]));
        first = end;
    }
    return GS_OK;
}

/* Why a file gave no curve at all. */
static gs_status nothing_found(reader *in)
{
    in->no_result = true;
    if (in->failed_runs > 0) {
        return gs_fail(in->err, GS_EPARSE, "%s: no result: %s; run the test again", in->file,
                       in->reason);
    }
    if (in->is_output) {
        return gs_fail(in->err, GS_EPARSE, "%s: no result: a table without rows", in->file);
    }
    if (in->names_runs) {
        return gs_fail(
            in->err, GS_EPARSE,
            "%s: not nccl-tests output but a summary of runs: give the log files it lists",
            in->file);
    }
    return gs_fail(in->err, GS_EPARSE,
                   "%s: not nccl-tests output: no table with algbw and busbw in it", in->file);
}

/* Reads one file; the curves are added to *curves [*count]. */
static gs_status read_file(reader *in, gs_curve **curves, uint32_t *count)
{
    gs_gzip_stream *stream = NULL;
    char *buffer = malloc(LINE_BYTES + 1);
    in->drafts = malloc(CURVES_MAX * sizeof *in->drafts);
    in->hosts = malloc(HOSTS_MAX * sizeof *in->hosts);
    gs_status status = GS_OK;
    if (buffer == NULL || in->drafts == NULL || in->hosts == NULL) {
        status = no_memory(in->file, in->err);
    }
    if (status == GS_OK) {
        status = gs_gzip_stream_open(in->file, &stream, in->err);
    }
    if (status == GS_OK) {
        status = read_lines(in, stream, buffer);
    }
    if (status == GS_OK && in->draft_count == 0) {
        status = nothing_found(in);
    }
    if (status == GS_OK) {
        gs_curve *grown = realloc(*curves, (*count + in->draft_count) * sizeof *grown);
        if (grown == NULL) {
            status = no_memory(in->file, in->err);
        } else {
            *curves = grown;
            status = make_curves(in, grown + *count);
            *count += status == GS_OK ? in->draft_count : 0;
        }
    }
    gs_gzip_stream_close(stream);
    free(buffer);
    free(in->drafts);
    free(in->hosts);
    free(in->rows);
    return status;
}

static gs_status read_nccl_tests(const char *const *files, size_t file_count,
                                 const gs_import_options *options, gs_arena *arena,
                                 gs_imported *out, gs_error *err)
{
    gs_error own = {.code = GS_OK};
    gs_error *said = err == NULL ? &own : err;
    gs_import_notes notes = {.arena = arena};
    gs_curve *curves = NULL;
    uint32_t count = 0;
    gs_status status = GS_OK;
    if (options->collective != NULL && gs_collective_name(options->collective) == NULL) {
        return gs_fail(err, GS_EINVAL, "collective \"%s\" is not known; say for example all_reduce",
                       options->collective);
    }
    for (size_t i = 0; i < file_count && status == GS_OK; i++) {
        reader in = {
            .file = files[i], .options = options, .arena = arena, .notes = &notes, .err = said};
        status = read_file(&in, &curves, &count);
        bool others = count > 0 || i + 1 < file_count;
        if (status != GS_OK && in.no_result && others) {
            gs_import_notes_add(&notes, "%s", said->text);
            status = GS_OK;
        }
    }
    if (status == GS_OK && count == 0) {
        status = gs_fail(said, GS_EPARSE, "%s and %zu more: none of the files holds a result",
                         files[0], file_count - 1);
    }
    gs_curve *kept = status == GS_OK ? GS_TAKE(arena, gs_curve, count) : NULL;
    if (status == GS_OK && (kept == NULL || notes.out_of_memory)) {
        status = no_memory(files[0], said);
    }
    if (status == GS_OK) {
        memcpy(kept, curves, count * sizeof *kept);
        *out = (gs_imported){.format = "nccl_tests",
                             .curves = kept,
                             .curve_count = count,
                             .notes = notes.items,
                             .note_count = notes.count};
    }
    free(curves);
    return status;
}

static int probe_nccl_tests(const char *head, size_t head_bytes, const char *file)
{
    (void)head_bytes;
    (void)file;
    bool table = strstr(head, "algbw") != NULL && strstr(head, "busbw") != NULL;
    bool run =
        strstr(head, "# nThread ") != NULL || strstr(head, "Collective test starting") != NULL;
    if (table || run) {
        return 90;
    }
    /* Enough to be told what is wrong with it. */
    return strstr(head, "_perf") != NULL ? 5 : 0;
}

const gs_importer gs_importer_nccl_tests = {
    .name = "nccl_tests",
    .summary = "output of NVIDIA's nccl-tests (text): time of a collective against size",
    .source = "NVIDIA/nccl-tests, doc/PERFORMANCE.md",
    .probe = probe_nccl_tests,
    .read = read_nccl_tests,
};
