/* Facts of the machine. */
#include "traces/environment.h"

#include "models/blas.h"
#include "tests/support.h"

#include <criterion/criterion.h>
#include <regex.h>
#include <string.h>

static bool matches(const char *text, const char *pattern)
{
    regex_t compiled;
    cr_assert_eq(regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB), 0);
    bool found = regexec(&compiled, text, 0, NULL, 0) == 0;
    regfree(&compiled);
    return found;
}

Test(environment, the_facts_of_the_tool_and_of_the_machine_come_together)
{
    gs_arena arena;
    gs_arena_init(&arena);
    gs_environment facts;
    gs_tool_facts tool = {
        .version = "0.1.0", .commit = "3f2a91c00000", .dirty = true, .runner = "ci-1"};
    cr_assert_eq(gs_environment_collect(&tool, &arena, &facts), GS_OK);
    cr_assert_str_eq(facts.tool_version, "0.1.0");
    cr_assert_str_eq(facts.commit, "3f2a91c00000");
    cr_assert(facts.dirty);
    cr_assert_str_eq(facts.runner, "ci-1");
    cr_assert(matches(facts.compiler, "^(gcc|clang) [0-9]+\\.[0-9]+\\.[0-9]+$"), "%s",
              facts.compiler);
    cr_assert(matches(facts.os, "Linux [^ ]+ [^ ]+$"), "%s", facts.os);
    cr_assert_str_eq(facts.blas, gs_blas_kernel());
    gs_arena_fini(&arena);
}

Test(environment, a_tool_without_a_runner_has_none)
{
    gs_arena arena;
    gs_arena_init(&arena);
    gs_environment facts;
    gs_tool_facts tool = {.version = "0.1.0", .commit = "unknown"};
    cr_assert_eq(gs_environment_collect(&tool, &arena, &facts), GS_OK);
    cr_assert_null(facts.runner);
    cr_assert_not(facts.dirty);
    gs_arena_fini(&arena);
}

Test(environment, a_key_is_read_without_spaces_and_quotes)
{
    static const char text[] = "processor\t: 0\n"
                               "no separator here\n"
                               "model name\t: A 64-Core: Processor  \n"
                               "model name\t: second\n"
                               "PRETTY_NAME=\"An OS 12 (name)\"\n"
                               "EMPTY=\n";
    char path[TEST_PATH_BYTES];
    test_temp_file(path, text, sizeof text - 1);
    gs_arena arena;
    gs_arena_init(&arena);
    cr_assert_str_eq(gs_environment_read_key(path, "model name", ':', &arena),
                     "A 64-Core: Processor");
    cr_assert_str_eq(gs_environment_read_key(path, "PRETTY_NAME", '=', &arena), "An OS 12 (name)");
    cr_assert_str_eq(gs_environment_read_key(path, "EMPTY", '=', &arena), "");
    cr_assert_null(gs_environment_read_key(path, "model", ':', &arena));
    cr_assert_null(gs_environment_read_key("/nowhere/at/all", "model name", ':', &arena));
    gs_arena_fini(&arena);
}

Test(environment, running_out_of_memory_is_told)
{
    gs_tool_facts tool = {.version = "0.1.0", .commit = "unknown", .runner = "ci-1"};
    gs_environment facts;
    for (int64_t after = 0; after < 2; after++) {
        gs_arena arena;
        gs_arena_init(&arena);
        arena.fail_after = after;
        cr_assert_eq(gs_environment_collect(&tool, &arena, &facts), GS_ENOMEM);
        gs_arena_fini(&arena);
    }
}

Test(environment, the_time_is_utc_to_the_second)
{
    char text[GS_UTC_BYTES];
    cr_assert_str_eq(gs_utc_now(text), text);
    cr_assert(matches(text, "^20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]Z$"),
              "%s", text);
}
