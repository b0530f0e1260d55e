#include <criterion/criterion.h>

#include "base/status.h"

#include <string.h>

Test(status, every_code_has_a_text_of_its_own)
{
#define COLLECT(name, value, text) GS_##name,
    static const gs_status codes[] = {GS_STATUS_LIST(COLLECT)};
#undef COLLECT
    size_t count = sizeof codes / sizeof codes[0];
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            cr_expect_neq(codes[i], codes[j]);
            cr_expect_str_neq(gs_status_text(codes[i]), gs_status_text(codes[j]));
        }
    }
    cr_expect_str_eq(gs_status_text(GS_OK), "ok");
    cr_expect_str_eq(gs_status_text((gs_status)-99), "unknown status");
}

Test(status, fail_writes_code_and_text_and_returns_the_code)
{
    gs_error err = {0};
    cr_expect_eq(gs_fail(&err, GS_EINVAL, "%s: %d", "bucket", 7), GS_EINVAL);
    cr_expect_eq(err.code, GS_EINVAL);
    cr_expect_str_eq(err.text, "bucket: 7");
}

Test(status, fail_without_an_error_still_returns_the_code)
{
    cr_expect_eq(gs_fail(NULL, GS_ENOMEM, "%d", 1), GS_ENOMEM);
}

Test(status, a_text_too_long_is_cut_and_terminated)
{
    gs_error err;
    memset(&err, 'x', sizeof err);
    char text[2 * GS_ERROR_TEXT_BYTES];
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    gs_fail(&err, GS_EIO, "%s", text);
    cr_expect_eq(strlen(err.text), (size_t)GS_ERROR_TEXT_BYTES - 1);
}

Test(status, fail_in_puts_the_place_in_front_and_keeps_the_code)
{
    gs_error err;
    gs_fail(&err, GS_EPARSE, "line 3");
    cr_expect_eq(gs_fail_in(&err, "%s", "a.json"), GS_EPARSE);
    cr_expect_str_eq(err.text, "a.json: line 3");
}

Test(status, fail_in_with_a_full_text_stays_terminated)
{
    gs_error err;
    char text[GS_ERROR_TEXT_BYTES];
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    gs_fail(&err, GS_EIO, "%s", text);
    gs_fail_in(&err, "%s", text);
    cr_expect_eq(strlen(err.text), (size_t)GS_ERROR_TEXT_BYTES - 1);
    gs_fail_in(&err, "f");
    cr_expect_eq(strlen(err.text), (size_t)GS_ERROR_TEXT_BYTES - 1);
    cr_expect_eq(strncmp(err.text, "f: aaa", 6), 0);
}

static gs_status forward(gs_status status, int *reached)
{
    GS_TRY(status);
    *reached = 1;
    return GS_OK;
}

Test(status, try_forwards_a_failure_and_nothing_else)
{
    int reached = 0;
    cr_expect_eq(forward(GS_EBUSY, &reached), GS_EBUSY);
    cr_expect_eq(reached, 0);
    cr_expect_eq(forward(GS_OK, &reached), GS_OK);
    cr_expect_eq(reached, 1);
}
