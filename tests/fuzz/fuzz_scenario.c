/* A scenario file and words of the command line: a line each behind a NUL byte. What is accepted
 * must resolve to itself. */
#define _DEFAULT_SOURCE /* mkdtemp */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "traces/scenario/scenario.h"

enum { WORDS_MAX = 16, WORDS_BYTES = 4096 };

static char folder[] = "/tmp/gs_fuzz_scenario_XXXXXX";
static char file_name[64];

static void remove_folder(void)
{
    (void)remove(file_name);
    (void)remove(folder);
}

/* A folder of our own: relative names in the input open nothing else. */
static void make_folder(void)
{
    if (file_name[0] == '\0') {
        GS_ASSERT(mkdtemp(folder) != NULL);
        GS_ASSERT(atexit(remove_folder) == 0);
        snprintf(file_name, sizeof file_name, "%s/fuzz.json", folder);
    }
}

static void write_file(const void *bytes, size_t length)
{
    FILE *out = fopen(file_name, "wb");
    GS_ASSERT(out != NULL);
    GS_ASSERT(fwrite(bytes, 1, length, out) == length);
    GS_ASSERT(fclose(out) == 0);
}

static gs_status read_scenario(const gs_scenario_options *options, gs_arena *arena,
                               gs_scenario *out, gs_error *err)
{
    gs_status status = gs_scenario_read(file_name, options, arena, out, err);
    GS_ASSERT(status == GS_OK || err->text[0] != '\0');
    return status;
}

/* Cuts the lines into words; returns how many. */
static size_t split_words(char *text, const char *words[WORDS_MAX])
{
    size_t count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(text, "\n", &rest); word != NULL && count < WORDS_MAX;
         word = strtok_r(NULL, "\n", &rest)) {
        words[count++] = word;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = memchr(data, 0, size);
    size_t length = end == NULL ? size : (size_t)(end - data);
    char text[WORDS_BYTES] = "";
    const char *words[WORDS_MAX];
    if (end != NULL && size - length - 1 < sizeof text) {
        memcpy(text, end + 1, size - length - 1);
    }
    make_folder();
    write_file(data, length);
    gs_scenario_options options = {.data_dir = GS_TEST_SOURCE_DIR, .overrides = words};
    options.override_count = split_words(text, words);

    gs_arena arena;
    gs_error err = {0};
    gs_scenario first;
    gs_arena_init(&arena);
    if (read_scenario(&options, &arena, &first, &err) == GS_OK) {
        char *once = gs_json_write(first.resolved, true);
        GS_ASSERT(once != NULL);
        write_file(once, strlen(once));
        options.override_count = 0;
        gs_scenario second;
        gs_status status = read_scenario(&options, &arena, &second, &err);
        GS_ASSERT(status == GS_OK);
        char *twice = gs_json_write(second.resolved, true);
        GS_ASSERT(twice != NULL && strcmp(once, twice) == 0);
        GS_ASSERT(first.config_hash == second.config_hash);
        free(once);
        free(twice);
        gs_scenario_free(&first);
        gs_scenario_free(&second);
    }
    gs_arena_fini(&arena);
    return 0;
}
