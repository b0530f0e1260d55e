/* Small files as a whole: their text, or a hash of their contents. Gzipped ones are unpacked. */
#ifndef GS_TRACES_WHOLE_FILE_H
#define GS_TRACES_WHOLE_FILE_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* All bytes, with a NUL behind them that does not count. Errors: GS_ELIMIT (over bytes_max),
 * GS_ENOTFOUND, GS_EIO, GS_EPARSE (damaged gzip), GS_ENOMEM. Owner: caller, free(). */
GS_MUST_USE gs_status gs_whole_file_read(const char *file, size_t bytes_max, char **out,
                                         size_t *out_bytes, gs_error *err);

/* Hash of the unpacked contents, chained to `before`; memory does not grow with the file. */
GS_MUST_USE gs_status gs_whole_file_hash(const char *file, uint64_t before, uint64_t *out,
                                         gs_error *err);

#endif
