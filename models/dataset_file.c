#include "models/dataset_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

gs_status gs_data_no_memory(const char *what, gs_error *err)
{
    return gs_fail(err, GS_ENOMEM, "%s: out of memory for its rows", what);
}

static gs_status read_stream(FILE *stream, const char *file, gs_arena *arena,
                             const char **out_bytes, size_t *out_length, gs_error *err)
{
    struct stat about;
    if (fstat(fileno(stream), &about) != 0 || !S_ISREG(about.st_mode)) {
        return gs_fail(err, GS_EIO, "%s: is no regular file", file);
    }
    if (about.st_size > GS_DATA_BYTES_MAX) {
        return gs_fail(err, GS_ELIMIT, "%s: %lld bytes; at most %d are read, so cut it", file,
                       (long long)about.st_size, (int)GS_DATA_BYTES_MAX);
    }
    size_t length = (size_t)about.st_size;
    char *bytes = gs_arena_take(arena, length, 1);
    if (bytes == NULL) {
        return gs_data_no_memory(file, err);
    }
    if (fread(bytes, 1, length, stream) != length) {
        return gs_fail(err, GS_EIO, "%s: cannot be read", file);
    }
    if (length >= 2 && memcmp(bytes, "\x1f\x8b", 2) == 0) {
        return gs_fail(err, GS_EPARSE, "%s: is compressed by gzip; unpack it first", file);
    }
    *out_bytes = bytes;
    *out_length = length;
    return GS_OK;
}

gs_status gs_data_file_read(const char *file, const char *hint, gs_arena *arena,
                            const char **out_bytes, size_t *out_length, gs_error *err)
{
    int handle = open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a FIFO would wait for ever */
    if (handle < 0) {
        bool missing = errno == ENOENT;
        return gs_fail(err, missing ? GS_ENOTFOUND : GS_EIO, "%s: cannot be opened%s%s", file,
                       missing ? "" : ": ", missing ? hint : strerror(errno));
    }
    FILE *stream = fdopen(handle, "rb");
    if (stream == NULL) {
        close(handle);
        return gs_data_no_memory(file, err);
    }
    gs_status status = read_stream(stream, file, arena, out_bytes, out_length, err);
    fclose(stream);
    return status;
}

gs_status gs_data_file_bundled(const char *data_dir, const char *name, gs_arena *arena,
                               const char **out, gs_error *err)
{
    static const char folder[] = "/models/data/";
    size_t bytes = strlen(data_dir) + sizeof folder + strlen(name);
    char *path = gs_arena_take(arena, bytes, 1);
    if (path == NULL) {
        return gs_data_no_memory(name, err);
    }
    snprintf(path, bytes, "%s%s%s", data_dir, folder, name);
    *out = path;
    return GS_OK;
}
