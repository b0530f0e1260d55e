/* Reads a file in chunks, unpacked on the way when it is gzipped; memory does not grow with the
 * file. The only file that includes zlib. Knows nothing about formats. */
#ifndef GS_TRACES_GZIP_STREAM_H
#define GS_TRACES_GZIP_STREAM_H

#include "base/status.h"

#include <stddef.h>

typedef struct gs_gzip_stream gs_gzip_stream;

/* Opens a plain or gzipped file; which of the two is told from its content, not from its name.
 * Errors: GS_ENOTFOUND, GS_EIO, GS_ENOMEM, all naming the file. Owner: caller. `file` is borrowed.
 */
GS_MUST_USE gs_status gs_gzip_stream_open(const char *file, gs_gzip_stream **out, gs_error *err);

/* The next unpacked bytes, at most capacity_bytes (> 0); *out_bytes is 0 at the end of the file.
 * Errors: GS_EPARSE (packed data that are damaged or cut short), GS_EIO. */
GS_MUST_USE gs_status gs_gzip_stream_read(gs_gzip_stream *stream, void *buffer,
                                          size_t capacity_bytes, size_t *out_bytes, gs_error *err);

/* NULL is accepted. */
void gs_gzip_stream_close(gs_gzip_stream *stream);

#endif
