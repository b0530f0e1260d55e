/* Any bytes as gradsync's own profile file: refused with a text, or written back to the same bytes.
 */
#include "tests/fuzz/fuzz.h"

#include "base/assert.h"
#include "tests/fuzz/fuzz_file.h"
#include "traces/importers/profile_json.h"
#include "traces/importers/trace_stat.h"

#include <stdlib.h>
#include <string.h>

static gs_status import_bytes(const void *data, size_t size, gs_arena *arena, gs_imported *out,
                              gs_error *err)
{
    const char *file = fuzz_file(data, size);
    gs_import_options options = {.format = "gradsync_profile"};
    gs_arena_init(arena);
    return gs_import(&file, 1, &options, arena, out, err);
}

static char *written(const gs_imported *imported)
{
    gs_json *object = gs_json_new_object();
    GS_ASSERT(gs_trace_import_json(imported, object) == GS_OK);
    char *text = gs_json_write(object, false);
    gs_json_free(object);
    GS_ASSERT(text != NULL);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gs_arena arena;
    gs_imported imported;
    gs_error err = {.code = GS_OK};
    gs_status status = import_bytes(data, size, &arena, &imported, &err);
    if (status == GS_OK) {
        gs_json *stat = gs_json_new_object();
        GS_ASSERT(gs_trace_stat(&imported, stat) == GS_OK);
        gs_json_free(stat);
        char *first = written(&imported);
        gs_arena_fini(&arena);
        GS_ASSERT(import_bytes(first, strlen(first), &arena, &imported, &err) == GS_OK);
        char *second = written(&imported);
        GS_ASSERT(strcmp(first, second) == 0);
        free(first);
        free(second);
    } else {
        GS_ASSERT(status == err.code);
        GS_ASSERT(err.text[0] != '\0');
    }
    gs_arena_fini(&arena);
    return 0;
}
