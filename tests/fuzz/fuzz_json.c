/* Any bytes into the JSON reader: what is accepted must survive writing and reading again. */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gs_error err = {0};
    gs_json_at first;
    if (gs_json_parse((const char *)data, size, "fuzz", &first, &err) != GS_OK) {
        GS_ASSERT(err.text[0] != '\0');
        return 0;
    }
    char *once = gs_json_write(first.value, true);
    GS_ASSERT(once != NULL);
    gs_json_at second;
    gs_status status = gs_json_parse(once, strlen(once), "fuzz", &second, &err);
    GS_ASSERT(status == GS_OK);
    char *twice = gs_json_write(second.value, true);
    GS_ASSERT(twice != NULL && strcmp(once, twice) == 0);
    free(once);
    free(twice);
    gs_json_free(first.value);
    gs_json_free(second.value);
    return 0;
}
