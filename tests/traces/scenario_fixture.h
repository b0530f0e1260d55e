/* A scenario in memory for the tests of its reader: text in, scenario or error out. */
#ifndef GS_TESTS_SCENARIO_FIXTURE_H
#define GS_TESTS_SCENARIO_FIXTURE_H

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "tests/support.h"
#include "traces/scenario/scenario.h"

static gs_arena arena;
static gs_scenario scenario;
static gs_error err;
static gs_scenario_options options;
static char file[TEST_PATH_BYTES];

static inline void scenario_setup(void)
{
    gs_arena_init(&arena);
    scenario = (gs_scenario){0};
    err = (gs_error){0};
    options = (gs_scenario_options){.data_dir = GS_TEST_SOURCE_DIR};
}

static inline void scenario_teardown(void)
{
    gs_scenario_free(&scenario);
    gs_arena_fini(&arena);
}

static inline gs_status read_file(const char *name)
{
    gs_scenario_free(&scenario);
    return gs_scenario_read(name, &options, &arena, &scenario, &err);
}

/* The scenario lies in a temporary file, whose name is in `file` then. */
static inline gs_status read_text(const char *text)
{
    test_temp_file(file, text, strlen(text));
    return read_file(file);
}

/* The demo with words of the command line. */
static inline gs_status read_demo(const char *const *words, size_t count)
{
    options.overrides = words;
    options.override_count = count;
    return read_file("demo-ethernet");
}

#define READ_DEMO(...)                                                                             \
    read_demo((const char *const[]){__VA_ARGS__},                                                  \
              sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* text is refused with "FILE: message". */
static inline void expect_refused(gs_status code, const char *text, const char *message)
{
    char expected[sizeof err.text + TEST_PATH_BYTES];
    options.override_count = 0;
    gs_status status = read_text(text);
    snprintf(expected, sizeof expected, "%s: %s", file, message);
    cr_expect_eq(status, code, "%s: %s", message, err.text);
    cr_expect_str_eq(err.text, expected);
}

/* The demo with this word is refused with "demo-ethernet: message". */
static inline void expect_word_refused(gs_status code, const char *word, const char *message)
{
    char expected[sizeof err.text];
    gs_status status = READ_DEMO(word);
    snprintf(expected, sizeof expected, "demo-ethernet: %s", message);
    cr_expect_eq(status, code, "%s gives %d, %s", word, status, err.text);
    cr_expect_str_eq(err.text, expected);
}

#endif
