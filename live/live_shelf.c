#include "live/live_shelf.h"

#include "base/assert.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *folder(void)
{
    const char *named = getenv("TMPDIR");
    return named != NULL && named[0] != '\0' ? named : "/tmp";
}

/* false: the name of the folder is too long. */
static bool set_path(gs_live_shelf *shelf, int64_t pid)
{
    int length = pid > 0
                     ? snprintf(shelf->path, sizeof shelf->path, "%s/gradsync-%lld.marks", folder(),
                                (long long)pid)
                     : snprintf(shelf->path, sizeof shelf->path, "%s/gradsync-XXXXXX", folder());
    return length > 0 && (size_t)length < sizeof shelf->path;
}

static gs_status fail_file(const char *doing, gs_error *err)
{
    return gs_fail(
        err, GS_EIO,
        "%s: models to be evaluated cannot be %s there (%s); set TMPDIR to a folder with "
        "room, or evaluate less often (evaluate.every)",
        folder(), doing, strerror(errno));
}

/* -1 and errno: none. */
static int make_file(gs_live_shelf *shelf, int64_t pid)
{
    if (!set_path(shelf, pid)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (pid > 0) {
        (void)unlink(shelf->path); /* of an earlier process of this number */
        return open(shelf->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    }
    int file = mkstemp(shelf->path);
    if (file >= 0) {
        (void)unlink(shelf->path);
        shelf->path[0] = '\0';
    }
    return file;
}

gs_status gs_live_shelf_create(gs_live_shelf *shelf, int64_t pid, size_t elements, gs_error *err)
{
    *shelf = (gs_live_shelf){.elements = elements};
    shelf->file_after = make_file(shelf, pid) + 1;
    if (shelf->file_after == 0) {
        shelf->path[0] = '\0';
        return fail_file("kept", err);
    }
    return GS_OK;
}

void gs_live_shelf_find(gs_live_shelf *shelf, int64_t pid, size_t elements)
{
    *shelf = (gs_live_shelf){.elements = elements};
    if (set_path(shelf, pid)) {
        shelf->file_after = open(shelf->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) + 1;
    }
    if (shelf->file_after > 0) {
        (void)unlink(shelf->path);
    }
    shelf->path[0] = '\0';
}

size_t gs_live_shelf_bytes(const gs_live_shelf *shelf)
{
    return sizeof(gs_live_mark) + shelf->elements * sizeof(float);
}

void gs_live_shelf_look(gs_live_shelf *shelf)
{
    struct stat told;
    if (shelf->file_after > 0 && fstat(shelf->file_after - 1, &told) == 0) {
        shelf->count = (uint32_t)((size_t)told.st_size / gs_live_shelf_bytes(shelf));
    }
}

void gs_live_shelf_close(gs_live_shelf *shelf)
{
    if (shelf->file_after > 0) {
        (void)close(shelf->file_after - 1);
    }
    if (shelf->path[0] != '\0') {
        (void)unlink(shelf->path); /* if nobody has found it */
    }
    *shelf = (gs_live_shelf){0};
}

static bool write_all(int file, const void *from, size_t bytes, off_t at)
{
    const unsigned char *rest = from;
    while (bytes > 0) {
        ssize_t written = pwrite(file, rest, bytes, at);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            errno = written == 0 ? ENOSPC : errno;
            return false;
        }
        rest += written;
        at += written;
        bytes -= (size_t)written;
    }
    return true;
}

gs_status gs_live_shelf_put(gs_live_shelf *shelf, uint32_t index, const gs_live_mark *mark,
                            const float *model, gs_error *err)
{
    GS_ASSERT(shelf->file_after > 0);
    GS_ASSERT(index <= shelf->count);
    int file = shelf->file_after - 1;
    off_t at = (off_t)(index * gs_live_shelf_bytes(shelf));
    if (!write_all(file, mark, sizeof *mark, at) ||
        !write_all(file, model, shelf->elements * sizeof *model, at + (off_t)sizeof *mark)) {
        return fail_file("kept", err);
    }
    shelf->count = index == shelf->count ? index + 1 : shelf->count;
    return GS_OK;
}

gs_status gs_live_shelf_get(const gs_live_shelf *shelf, uint32_t index, void *out, gs_error *err)
{
    GS_ASSERT(shelf->file_after > 0);
    GS_ASSERT(index < shelf->count);
    size_t bytes = gs_live_shelf_bytes(shelf), done = 0;
    while (done < bytes) {
        ssize_t got = pread(shelf->file_after - 1, (unsigned char *)out + done, bytes - done,
                            (off_t)(index * bytes + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            errno = got == 0 ? EIO : errno;
            return fail_file("read", err);
        }
        done += (size_t)got;
    }
    return GS_OK;
}
