#include "traces/importers/job_sizes.h"

#include "traces/whole_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 64 * 1024, SIZE_MAX_OF_JOB = 1000 * 1000, SHOWN = 40 };

void gs_job_sizes_name(const char *trace, char *out, size_t out_bytes)
{
    static const char PREFIX[] = "trace-";
    const char *slash = strrchr(trace, '/');
    const char *base = slash == NULL ? trace : slash + 1;
    const char *end = strstr(base, ".csv");
    out[0] = '\0';
    if (strncmp(base, PREFIX, sizeof PREFIX - 1) != 0 || end == NULL) {
        return;
    }
    const char *name = base + sizeof PREFIX - 1;
    int written = snprintf(out, out_bytes, "%.*smeta-%.*s.yaml", (int)(base - trace), trace,
                           (int)(end - name), name);
    if (written < 0 || (size_t)written >= out_bytes) {
        out[0] = '\0';
    }
}

/* Where the value of a key goes; NULL: another key. */
static int32_t *slot_of(gs_job_sizes *sizes, const char *line, const char **value)
{
    const struct {
        const char *key;
        int32_t *slot;
    } keys[] = {{"dp_size:", &sizes->dp_size},
                {"dsp_size:", &sizes->dsp_size},
                {"pp_size:", &sizes->pp_size},
                {"vpp_size:", &sizes->vpp_size}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        size_t length = strlen(keys[i].key);
        if (strncmp(line, keys[i].key, length) == 0) {
            *value = line + length;
            return keys[i].slot;
        }
    }
    return NULL;
}

static gs_status take_line(const char *file, int number, char *line, gs_job_sizes *out,
                           gs_error *err)
{
    const char *value = NULL;
    int32_t *slot = slot_of(out, line + strspn(line, " "), &value);
    if (slot == NULL) {
        return GS_OK;
    }
    char *end = NULL;
    long size = strtol(value, &end, 10);
    const char *rest = end + strspn(end, " \t\r");
    if (end == value || (*rest != '\0' && *rest != '#') || size < 1 || size > SIZE_MAX_OF_JOB) {
        return gs_fail(err, GS_EPARSE,
                       "%s: line %d: \"%.*s\" is no size: allowed is a whole number from 1 to %d; "
                       "correct it or take the file away, then sizes are told from the trace",
                       file, number, SHOWN, line, SIZE_MAX_OF_JOB);
    }
    *slot = (int32_t)size;
    return GS_OK;
}

gs_status gs_job_sizes_read(const char *file, gs_job_sizes *out, gs_error *err)
{
    char *text = NULL;
    size_t bytes = 0;
    GS_TRY(gs_whole_file_read(file, BYTES_MAX, &text, &bytes, err));
    gs_job_sizes sizes = {0};
    gs_status status = GS_OK;
    char *line = text;
    for (int number = 1; line != NULL && status == GS_OK; number++) {
        char *newline = strchr(line, '\n');
        if (newline != NULL) {
            *newline = '\0';
        }
        line[strcspn(line, "\r")] = '\0';
        status = take_line(file, number, line, &sizes, err);
        line = newline == NULL ? NULL : newline + 1;
    }
    free(text);
    if (status == GS_OK) {
        *out = sizes;
    }
    return status;
}
