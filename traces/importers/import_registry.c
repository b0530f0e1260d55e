/* The list of importers, made from importers.def, and the choice of one by looking at the files. */
#include "traces/importers/importer.h"

#include "traces/importers/gzip_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GS_IMPORTER(stem) extern const gs_importer gs_importer_##stem;
#include "traces/importers/importers.def"
#undef GS_IMPORTER

static const gs_importer *const IMPORTERS[] = {
#define GS_IMPORTER(stem) &gs_importer_##stem,
#include "traces/importers/importers.def"
#undef GS_IMPORTER
};

enum { HEAD_BYTES = 64 * 1024, KNOWN_TEXT_BYTES = 256 };

size_t gs_importer_count(void)
{
    return sizeof IMPORTERS / sizeof IMPORTERS[0];
}

const gs_importer *gs_importer_at(size_t index)
{
    return index < gs_importer_count() ? IMPORTERS[index] : NULL;
}

const gs_importer *gs_importer_find(const char *name)
{
    for (size_t i = 0; i < gs_importer_count(); i++) {
        if (strcmp(IMPORTERS[i]->name, name) == 0) {
            return IMPORTERS[i];
        }
    }
    return NULL;
}

static const char *known_formats(char out[KNOWN_TEXT_BYTES])
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < gs_importer_count() && used < KNOWN_TEXT_BYTES; i++) {
        int written = snprintf(out + used, KNOWN_TEXT_BYTES - used, "%s%s", i == 0 ? "" : ", ",
                               IMPORTERS[i]->name);
        used += written > 0 ? (size_t)written : 0;
    }
    return out;
}

/* The first HEAD_BYTES unpacked bytes of a file, terminated. head [HEAD_BYTES + 1]. */
static gs_status read_head(const char *file, char *head, size_t *out_bytes, gs_error *err)
{
    gs_gzip_stream *stream = NULL;
    GS_TRY(gs_gzip_stream_open(file, &stream, err));
    size_t have = 0;
    gs_status status = GS_OK;
    while (have < HEAD_BYTES) {
        size_t got = 0;
        status = gs_gzip_stream_read(stream, head + have, HEAD_BYTES - have, &got, err);
        if (status != GS_OK || got == 0) {
            break;
        }
        have += got;
    }
    gs_gzip_stream_close(stream);
    GS_TRY(status);
    head[have] = '\0';
    *out_bytes = have;
    return GS_OK;
}

static gs_status probe_file(const char *file, char *head, const gs_importer **out, gs_error *err)
{
    size_t head_bytes = 0;
    GS_TRY(read_head(file, head, &head_bytes, err));
    if (head_bytes == 0) {
        return gs_fail(err, GS_EPARSE, "%s: the file is empty", file);
    }
    const gs_importer *best = NULL;
    int best_sure = 0;
    for (size_t i = 0; i < gs_importer_count(); i++) {
        int sure = IMPORTERS[i]->probe(head, head_bytes, file);
        if (sure > best_sure) {
            best = IMPORTERS[i];
            best_sure = sure;
        }
    }
    if (best == NULL) {
        char known[KNOWN_TEXT_BYTES];
        return gs_fail(err, GS_EPARSE, "%s: not of a known format; known are: %s", file,
                       known_formats(known));
    }
    *out = best;
    return GS_OK;
}

gs_status gs_importer_probe(const char *const *files, size_t file_count, const gs_importer **out,
                            gs_error *err)
{
    if (file_count == 0) {
        return gs_fail(err, GS_EINVAL, "no file to import was named");
    }
    char *head = malloc(HEAD_BYTES + 1);
    if (head == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory to look at %s", files[0]);
    }
    const gs_importer *first = NULL;
    gs_status status = GS_OK;
    for (size_t i = 0; i < file_count && status == GS_OK; i++) {
        const gs_importer *found = NULL;
        status = probe_file(files[i], head, &found, err);
        if (status == GS_OK && i > 0 && found != first) {
            status = gs_fail(err, GS_EPARSE, "%s is %s, but %s is %s: import them one by one",
                             files[i], found->name, files[0], first->name);
        }
        first = i == 0 ? found : first;
    }
    free(head);
    if (status == GS_OK) {
        *out = first;
    }
    return status;
}

gs_status gs_import(const char *const *files, size_t file_count, const gs_import_options *options,
                    gs_arena *arena, gs_imported *out, gs_error *err)
{
    static const gs_import_options NOTHING_KNOWN = {0};
    const gs_import_options *known = options == NULL ? &NOTHING_KNOWN : options;
    const gs_importer *importer = NULL;
    if (file_count == 0) {
        return gs_fail(err, GS_EINVAL, "no file to import was named");
    }
    if (known->format != NULL) {
        importer = gs_importer_find(known->format);
        if (importer == NULL) {
            char text[KNOWN_TEXT_BYTES];
            return gs_fail(err, GS_ENOTFOUND, "no format \"%s\"; known are: %s", known->format,
                           known_formats(text));
        }
    } else {
        GS_TRY(gs_importer_probe(files, file_count, &importer, err));
    }
    return importer->read(files, file_count, known, arena, out, err);
}
