/* Plain and gzipped files through zlib's file reader: it looks at the first bytes, follows several
 * members in one file and hands plain files through. */
#include "traces/importers/gzip_stream.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { INNER_BUFFER_BYTES = 64 * 1024 };

struct gs_gzip_stream {
    gzFile handle;
    const char *file;
};

gs_status gs_gzip_stream_open(const char *file, gs_gzip_stream **out, gs_error *err)
{
    gs_gzip_stream *stream = malloc(sizeof *stream);
    if (stream == NULL) {
        return gs_fail(err, GS_ENOMEM, "%s: no memory to open it", file);
    }
    errno = 0;
    stream->file = file;
    stream->handle = gzopen(file, "rb");
    if (stream->handle == NULL) {
        int reason = errno;
        free(stream);
        if (reason == ENOENT) {
            return gs_fail(err, GS_ENOTFOUND, "%s: no such file", file);
        }
        return gs_fail(err, reason == 0 ? GS_ENOMEM : GS_EIO, "%s: cannot be opened: %s", file,
                       reason == 0 ? "no memory" : strerror(reason));
    }
    if (gzbuffer(stream->handle, INNER_BUFFER_BYTES) != 0) {
        gs_gzip_stream_close(stream);
        return gs_fail(err, GS_ENOMEM, "%s: no memory to read it", file);
    }
    *out = stream;
    return GS_OK;
}

static gs_status read_failure(gs_gzip_stream *stream, int code, const char *text, gs_error *err)
{
    if (code == Z_ERRNO && errno == EISDIR) {
        return gs_fail(err, GS_EINVAL, "%s: is a folder; name its files, %s/*", stream->file,
                       stream->file);
    }
    if (code == Z_ERRNO) {
        return gs_fail(err, GS_EIO, "%s: cannot be read: %s", stream->file, strerror(errno));
    }
    if (code == Z_MEM_ERROR) {
        return gs_fail(err, GS_ENOMEM, "%s: no memory to unpack it", stream->file);
    }
    if (code == Z_BUF_ERROR) {
        return gs_fail(err, GS_EPARSE,
                       "%s: the gzip data end in the middle: the file was cut; copy it again",
                       stream->file);
    }
    return gs_fail(err, GS_EPARSE, "%s: the gzip data are damaged (%s); copy the file again",
                   stream->file, text);
}

gs_status gs_gzip_stream_read(gs_gzip_stream *stream, void *buffer, size_t capacity_bytes,
                              size_t *out_bytes, gs_error *err)
{
    unsigned wanted = capacity_bytes > INT_MAX ? (unsigned)INT_MAX : (unsigned)capacity_bytes;
    int got = gzread(stream->handle, buffer, wanted);
    int code = Z_OK;
    const char *text = gzerror(stream->handle, &code);
    /* A file cut in the middle still hands out what it has; the error shows with the last bytes. */
    if (got < 0 || (code != Z_OK && code != Z_STREAM_END)) {
        return read_failure(stream, code, text, err);
    }
    *out_bytes = (size_t)got;
    return GS_OK;
}

void gs_gzip_stream_close(gs_gzip_stream *stream)
{
    if (stream != NULL) {
        /* Read only: closing can only repeat an error that reading has told. */
        (void)gzclose_r(stream->handle);
        free(stream);
    }
}
