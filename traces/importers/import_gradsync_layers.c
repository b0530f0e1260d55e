/* Importer of layer tables ("gradsync.layers/1"): a profile without a trace. */
#include "traces/importers/importer.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "traces/whole_file.h"

static int probe(const char *head, size_t head_bytes, const char *file)
{
    (void)file;
    (void)head_bytes; /* head is terminated */
    return strstr(head, "\"gradsync.layers/1\"") != NULL ? 100 : 0;
}

static gs_status read_document(const char *file, gs_json_at *out, gs_error *err)
{
    char *text = NULL;
    size_t bytes = 0;
    GS_TRY(gs_whole_file_read(file, GS_JSON_BYTES_MAX, &text, &bytes, err));
    gs_status status = gs_json_parse(text, bytes, file, out, err);
    free(text);
    return status;
}

static gs_status read_table(const char *const *files, size_t file_count,
                            const gs_import_options *options, gs_arena *arena, gs_imported *out,
                            gs_error *err)
{
    (void)options;
    if (file_count != 1) {
        return gs_fail(err, GS_EINVAL, "%s: a layer table is for all ranks; name one file, not %zu",
                       files[0], file_count);
    }
    gs_json_at document;
    GS_TRY(read_document(files[0], &document, err));
    gs_layer_table *table = GS_TAKE(arena, gs_layer_table, 1);
    gs_profile *profile = GS_TAKE(arena, gs_profile, 1);
    gs_status status = table == NULL || profile == NULL
                           ? gs_fail(err, GS_ENOMEM, "%s: no memory for a profile", files[0])
                           : gs_layer_table_read(&document, arena, table, err);
    gs_json_free(document.value);
    GS_TRY(status);
    GS_TRY(gs_layer_table_profile(table, arena, profile, err));
    *out = (gs_imported){.format = "gradsync_layers", .profile = profile, .layers = table};
    if (!gs_layer_table_is_timed(table)) {
        static const char *const untimed[] = {
            "no times: a scenario times it by its FLOPs and the rate of its devices"};
        out->notes = untimed;
        out->note_count = 1;
    }
    return GS_OK;
}

const gs_importer gs_importer_gradsync_layers = {
    .name = "gradsync_layers",
    .summary = "layer table: tensors, FLOPs and what times them",
    .source = "gradsync's own, docs/formats.md",
    .probe = probe,
    .read = read_table,
};
