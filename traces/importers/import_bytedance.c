/* Straggler traces as ByteDance published them (CSV, one row an operation), with the sizes of the
 * job from the YAML file beside it.
 *
 * Lines are bytedance_row.c's. Rows are kept as they are; what they depend on is sim/op_replay.c's.
 */
#include "traces/importers/importer.h"

#include "traces/importers/bytedance_row.h"
#include "traces/importers/gzip_stream.h"
#include "traces/importers/import_notes.h"
#include "traces/importers/job_sizes.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 1024 * 1024, LINE_BYTES_MAX = 64 * 1024, PATH_BYTES = 4096 };

typedef struct reader {
    const char *file;
    gs_error *err;
    gs_op_gather gather;
    gs_bytedance_head head;
    uint64_t line;
    bool has_head;
    int32_t dp_max; /* highest seen */
    int32_t stage_max;
} reader;

static gs_status take_line(reader *in, const char *text, size_t length)
{
    in->line++;
    while (length > 0 && (text[length - 1] == '\r' || text[length - 1] == ' ')) {
        length--;
    }
    if (length == 0) {
        return GS_OK;
    }
    gs_traced_op op = {0};
    gs_status status = GS_OK;
    if (!in->has_head) {
        static const char MARK[] = "\xef\xbb\xbf";
        size_t skip = length >= 3 && memcmp(text, MARK, 3) == 0 ? 3 : 0;
        in->has_head = true;
        status = gs_bytedance_head_read(text + skip, length - skip, &in->head, in->err);
    } else {
        status = gs_bytedance_row_read(&in->head, text, length, &in->gather, &op, in->err);
        if (status == GS_OK) {
            in->dp_max = op.dp_rank > in->dp_max ? op.dp_rank : in->dp_max;
            in->stage_max = op.stage > in->stage_max ? op.stage : in->stage_max;
            return gs_op_gather_add(&in->gather, &op, in->err);
        }
    }
    return status == GS_EPARSE
               ? gs_fail_in(in->err, "%s: line %llu", in->file, (unsigned long long)in->line)
               : status;
}

/* Takes the whole lines of buffer [*have]; what is behind the last of them moves to its front. */
static gs_status take_lines(reader *in, char *buffer, size_t *have)
{
    const char *start = buffer;
    const char *newline = NULL;
    while ((newline = memchr(start, '\n', *have - (size_t)(start - buffer))) != NULL) {
        GS_TRY(take_line(in, start, (size_t)(newline - start)));
        start = newline + 1;
    }
    *have -= (size_t)(start - buffer);
    memmove(buffer, start, *have);
    if (*have > LINE_BYTES_MAX) {
        return gs_fail(in->err, GS_EPARSE, "%s: line %llu is longer than %d KiB: no CSV", in->file,
                       (unsigned long long)in->line + 1, LINE_BYTES_MAX / 1024);
    }
    return GS_OK;
}

static gs_status read_lines(reader *in, gs_gzip_stream *stream, char *buffer)
{
    size_t have = 0;
    bool at_end = false;
    while (!at_end) {
        size_t got = 0;
        GS_TRY(gs_gzip_stream_read(stream, buffer + have, CHUNK_BYTES, &got, in->err));
        have += got;
        at_end = got == 0;
        GS_TRY(take_lines(in, buffer, &have));
    }
    return have > 0 ? take_line(in, buffer, have) : GS_OK;
}

static gs_status read_csv(reader *in)
{
    gs_gzip_stream *stream = NULL;
    char *buffer = malloc(CHUNK_BYTES + LINE_BYTES_MAX);
    if (buffer == NULL) {
        return gs_fail(in->err, GS_ENOMEM, "%s: no memory to read it", in->file);
    }
    gs_status status = gs_gzip_stream_open(in->file, &stream, in->err);
    if (status == GS_OK) {
        status = read_lines(in, stream, buffer);
    }
    gs_gzip_stream_close(stream);
    free(buffer);
    return status;
}

/* The sizes of the job, and whether the rows agree with them. */
static gs_status take_sizes(const reader *in, gs_import_notes *notes, gs_op_trace *ops)
{
    char meta[PATH_BYTES];
    gs_job_sizes sizes = {0};
    gs_job_sizes_name(in->file, meta, sizeof meta);
    gs_status status = meta[0] == '\0' ? GS_ENOTFOUND : gs_job_sizes_read(meta, &sizes, in->err);
    if (status == GS_ENOTFOUND) {
        gs_import_notes_add(notes,
                            "%s: no file meta-NAME.yaml beside trace-NAME.csv: the job is taken "
                            "to have %d dp_ranks and %d stages, as the rows show",
                            in->file, (int)in->dp_max + 1, (int)in->stage_max + 1);
        return GS_OK;
    }
    GS_TRY(status);
    int64_t copies = sizes.dsp_size > 0 ? (int64_t)sizes.dp_size * sizes.dsp_size : sizes.dp_size;
    if ((copies > 0 && in->dp_max >= copies) ||
        (sizes.pp_size > 0 && in->stage_max >= sizes.pp_size)) {
        return gs_fail(
            in->err, GS_EPARSE,
            "%s: rows go up to dp_rank %d and stage %d, but %s says dp_size %d, dsp_size "
            "%d and pp_size %d: give the file that belongs to the trace",
            in->file, (int)in->dp_max, (int)in->stage_max, meta, (int)sizes.dp_size,
            (int)sizes.dsp_size, (int)sizes.pp_size);
    }
    ops->dp_size = sizes.dp_size;
    ops->dsp_size = sizes.dsp_size;
    ops->pp_size = sizes.pp_size;
    return GS_OK;
}

static gs_status read_bytedance(const char *const *files, size_t file_count,
                                const gs_import_options *options, gs_arena *arena, gs_imported *out,
                                gs_error *err)
{
    (void)options;
    if (file_count != 1) {
        return gs_fail(err, GS_EMISMATCH,
                       "%s and %zu more: a file of this format holds all ranks of a job: give one",
                       files[0], file_count - 1);
    }
    gs_error own = {.code = GS_OK};
    reader in = {.file = files[0],
                 .err = err == NULL ? &own : err,
                 .gather = {.file = files[0]},
                 .dp_max = -1,
                 .stage_max = -1};
    gs_import_notes notes = {.arena = arena};
    gs_op_trace *ops = GS_TAKE(arena, gs_op_trace, 1);
    gs_status status = GS_OK;
    if (ops == NULL) {
        status = gs_fail(in.err, GS_ENOMEM, "%s: no memory to read it", in.file);
    }
    if (status == GS_OK) {
        status = read_csv(&in);
    }
    if (status == GS_OK) {
        status = gs_op_gather_finish(&in.gather, arena, ops, in.err);
    }
    if (status == GS_OK) {
        status = take_sizes(&in, &notes, ops);
    }
    if (status == GS_OK && notes.out_of_memory) {
        status = gs_fail(in.err, GS_ENOMEM, "%s: no memory for the remarks on it", in.file);
    }
    gs_op_gather_fini(&in.gather);
    if (status == GS_OK) {
        *out = (gs_imported){
            .format = "bytedance", .ops = ops, .notes = notes.items, .note_count = notes.count};
    }
    return status;
}

/* Sure when the first line has this format's columns; half sure to say which one is missing. */
static int probe_bytedance(const char *head, size_t head_bytes, const char *file)
{
    (void)file;
    const char *newline = memchr(head, '\n', head_bytes);
    size_t length = newline == NULL ? head_bytes : (size_t)(newline - head);
    bool has_type = false;
    bool has_rank = false;
    for (size_t i = 0; i + 7 <= length; i++) {
        has_type = has_type || memcmp(head + i, "optype,", 7) == 0;
        has_rank = has_rank || memcmp(head + i, "dp_rank", 7) == 0;
    }
    return has_type && has_rank ? 95 : has_type ? 40 : 0;
}

const gs_importer gs_importer_bytedance = {
    .name = "bytedance",
    .summary = "straggler traces of pipelined jobs (CSV, one row an operation)",
    .source = "ByteDance-Seed/StragglerAnalysis, data/",
    .probe = probe_bytedance,
    .read = read_bytedance,
};
