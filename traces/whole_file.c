#include "traces/whole_file.h"

#include <stdlib.h>

#include "base/hash.h"
#include "traces/importers/gzip_stream.h"

enum { CHUNK_BYTES = 64 * 1024 };

/* Reads until capacity_bytes are there or the file ends: chunks are equal however they arrive. */
static gs_status read_chunk(gs_gzip_stream *stream, char *out, size_t capacity_bytes,
                            size_t *out_bytes, gs_error *err)
{
    size_t have = 0;
    while (have < capacity_bytes) {
        size_t got = 0;
        GS_TRY(gs_gzip_stream_read(stream, out + have, capacity_bytes - have, &got, err));
        if (got == 0) {
            break;
        }
        have += got;
    }
    *out_bytes = have;
    return GS_OK;
}

static gs_status read_all(gs_gzip_stream *stream, const char *file, size_t bytes_max, char **text,
                          size_t *have, gs_error *err)
{
    size_t got = CHUNK_BYTES;
    while (got == CHUNK_BYTES) {
        char *grown = realloc(*text, *have + CHUNK_BYTES + 1);
        if (grown == NULL) {
            return gs_fail(err, GS_ENOMEM, "%s: no memory after %zu bytes", file, *have);
        }
        *text = grown;
        GS_TRY(read_chunk(stream, *text + *have, CHUNK_BYTES, &got, err));
        *have += got;
        if (*have > bytes_max) {
            return gs_fail(err, GS_ELIMIT, "%s: has over %zu bytes, the most that is read", file,
                           bytes_max);
        }
    }
    (*text)[*have] = '\0';
    return GS_OK;
}

gs_status gs_whole_file_read(const char *file, size_t bytes_max, char **out, size_t *out_bytes,
                             gs_error *err)
{
    gs_gzip_stream *stream = NULL;
    GS_TRY(gs_gzip_stream_open(file, &stream, err));
    char *text = NULL;
    size_t have = 0;
    gs_status status = read_all(stream, file, bytes_max, &text, &have, err);
    gs_gzip_stream_close(stream);
    if (status != GS_OK) {
        free(text);
        return status;
    }
    *out = text;
    *out_bytes = have;
    return GS_OK;
}

gs_status gs_whole_file_hash(const char *file, uint64_t before, uint64_t *out, gs_error *err)
{
    gs_gzip_stream *stream = NULL;
    GS_TRY(gs_gzip_stream_open(file, &stream, err));
    char *chunk = malloc(CHUNK_BYTES);
    gs_status status =
        chunk == NULL ? gs_fail(err, GS_ENOMEM, "%s: no memory to hash it", file) : GS_OK;
    uint64_t hash = before;
    size_t got = CHUNK_BYTES;
    while (status == GS_OK && got == CHUNK_BYTES) {
        status = read_chunk(stream, chunk, CHUNK_BYTES, &got, err);
        if (status == GS_OK) {
            hash = gs_hash(hash, chunk, got);
        }
    }
    free(chunk);
    gs_gzip_stream_close(stream);
    if (status == GS_OK) {
        *out = hash;
    }
    return status;
}
