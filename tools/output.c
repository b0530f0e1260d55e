#include "tools/output.h"

#include "tools/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether file, or the folder it would be made in, takes writing: better said before a long run. */
static int check_writable(const char *file)
{
    struct stat facts;
    int failed = access(file, W_OK);
    if (failed == 0 && stat(file, &facts) == 0 && S_ISDIR(facts.st_mode)) {
        failed = -1;
        errno = EISDIR;
    }
    if (failed != 0 && errno == ENOENT) {
        char *folder = gs_text("%s", file);
        char *slash = strrchr(folder, '/');
        if (slash != NULL) {
            slash[slash == folder ? 1 : 0] = '\0';
        }
        failed = access(slash == NULL ? "." : folder, W_OK | X_OK);
        int reason = errno;
        free(folder);
        errno = reason;
    }
    if (failed != 0) {
        gs_complain("%s: cannot be written (%s); choose another -o FILE", file, strerror(errno));
        return GS_EXIT_FAILED;
    }
    return GS_EXIT_OK;
}

int gs_output_open(gs_output *output, const char *file)
{
    *output = (gs_output){0};
    if (strcmp(file, "") != 0 && strcmp(file, "-") != 0) {
        if (check_writable(file) != GS_EXIT_OK) {
            return GS_EXIT_FAILED;
        }
        output->file = file;
    }
    output->text = gs_need(open_memstream(&output->buffer, &output->bytes));
    return GS_EXIT_OK;
}

static int fail(const char *name, int reason)
{
    if (reason == EPIPE) {
        return GS_EXIT_FAILED; /* the reader has seen enough */
    }
    gs_complain("%s: cannot be written (%s); free some space, or choose another -o FILE", name,
                strerror(reason));
    return GS_EXIT_FAILED;
}

/* 0, or the errno of what went wrong. */
static int put(const gs_output *output, FILE *to)
{
    errno = 0;
    size_t written = fwrite(output->buffer, 1, output->bytes, to);
    int flushed = fflush(to);
    return written == output->bytes && flushed == 0 ? 0 : errno != 0 ? errno : EIO;
}

static int write_all(const gs_output *output)
{
    int reason = 0;
    if (output->file == NULL) {
        reason = put(output, stdout);
        return reason == 0 ? GS_EXIT_OK : fail("standard output", reason);
    }
    FILE *to = fopen(output->file, "wb");
    if (to == NULL) {
        return fail(output->file, errno);
    }
    reason = put(output, to);
    if (fclose(to) != 0 && reason == 0) {
        reason = errno;
    }
    return reason == 0 ? GS_EXIT_OK : fail(output->file, reason);
}

int gs_output_close(gs_output *output)
{
    /* The one place that notices a print into memory that failed. */
    int failed = ferror(output->text);
    failed = fclose(output->text) != 0 || failed != 0;
    gs_need(failed == 0 ? output->buffer : NULL);
    int code = output->bytes == 0 && output->file == NULL ? GS_EXIT_OK : write_all(output);
    free(output->buffer);
    *output = (gs_output){0};
    return code;
}

void gs_output_drop(gs_output *output)
{
    if (output->text != NULL) {
        (void)fclose(output->text);
        free(output->buffer);
    }
    *output = (gs_output){0};
}
