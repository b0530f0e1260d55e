#include <criterion/criterion.h>

#include <string.h>

#include "traces/rate_trace.h"

static gs_arena arena;
static gs_rate_trace trace;
static gs_error err;

static void setup(void)
{
    gs_arena_init(&arena);
    err = (gs_error){0};
}

static void teardown(void)
{
    gs_arena_fini(&arena);
}

TestSuite(rate_trace, .init = setup, .fini = teardown);

static gs_status parse(const char *text)
{
    return gs_rate_trace_parse(text, strlen(text), "bw.csv", INT64_C(10000000000), &arena, &trace,
                               &err);
}

Test(rate_trace, factors_hold_until_the_next_row_and_the_last_as_long_as_the_one_before)
{
    cr_assert_eq(parse("# own measurement\r\ntime [ms],factor\r\n0,1\r\n\r\n10, 0.5\r\n30,0.25\n"),
                 GS_OK, "%s", err.text);
    cr_assert_eq(trace.point_count, 3u);
    cr_expect_eq(trace.points[1].at_ns, 10000000);
    cr_expect_float_eq(trace.points[1].factor, 0.5, 0.0);
    cr_expect_eq(trace.points[2].at_ns, 30000000);
    cr_expect_eq(trace.period_ns, 50000000, "30 ms and another 20 ms");
}

Test(rate_trace, rates_become_factors_of_the_links_own_bandwidth)
{
    /* 625 MB/s = 5 Gbit/s, half of the 10 Gbit/s link. */
    cr_assert_eq(parse("time [s],rate [MB/s]\n0,625\n"), GS_OK, "%s", err.text);
    cr_assert_eq(trace.point_count, 1u);
    cr_expect_float_eq(trace.points[0].factor, 0.5, 0.0);
    cr_expect_eq(trace.period_ns, GS_NS_PER_S, "a single value never changes");
}

/* Spreadsheets begin a file of UTF-8 with its mark; anywhere else it is a character like others. */
Test(rate_trace, a_mark_of_utf_8_before_the_header_is_passed_over)
{
    cr_assert_eq(parse("\xef\xbb\xbftime [s],factor\n0,0.5\n"), GS_OK, "%s", err.text);
    cr_assert_eq(trace.point_count, 1u);
    cr_expect_float_eq(trace.points[0].factor, 0.5, 0.0);
    cr_expect_eq(parse("\xef\xbb\xbf\xef\xbb\xbftime [s],factor\n0,0.5\n"), GS_EPARSE);
}

static void expect_refusal(const char *text, const char *message)
{
    cr_expect_eq(parse(text), GS_EPARSE, "%s", message);
    cr_expect_str_eq(err.text, message);
}

Test(rate_trace, what_is_wrong_is_named_with_its_line)
{
    expect_refusal("", "bw.csv: the file holds no header and no rows");
    expect_refusal("time [s],factor\n", "bw.csv: holds no rows below its header");
    expect_refusal("0,1\n", "bw.csv: line 1: \"0,1\" is not a header; write \"time [s],factor\" or "
                            "\"time [s],rate [Gbit/s]\"");
    expect_refusal("time,factor\n0,1\n",
                   "bw.csv: line 1: \"time,factor\" is not a header; write \"time [s],factor\" or "
                   "\"time [s],rate [Gbit/s]\"");
    expect_refusal("time [fortnight],factor\n0,1\n",
                   "bw.csv: line 1: \"fortnight\" is not a unit of time; known are ns, us, ms, s, "
                   "min, h, d");
    expect_refusal("time [s],rate [Gb]\n0,1\n",
                   "bw.csv: line 1: \"Gb\" is not a unit of rate, such "
                   "as Gbit/s or MB/s");
    expect_refusal("time [s],factor\n1,1\n",
                   "bw.csv: line 2: \"1\" is not 0, where the first row must start");
    expect_refusal("time [s],factor\n0,1\n2,1\n2,1\n",
                   "bw.csv: line 4: \"2\" is not later than the row before; sort the rows by time");
    expect_refusal(
        "time [ns],factor\n0,1\n999,2\n",
        "bw.csv: line 3: \"999\" is not 1us or more after the row before; take fewer rows");
    expect_refusal("time [s],factor\n0\n",
                   "bw.csv: line 2: \"0\" is not a row of two cells with a comma between them");
    expect_refusal("time [s],factor\n0,1,2\n",
                   "bw.csv: line 2: \"0,1,2\" is not a row of two cells with a comma between them");
    expect_refusal("time [s],factor\n0,1s\n",
                   "bw.csv: line 2: \"1s\" is not a number; its unit belongs in the header");
    expect_refusal("time [s],factor\n0,1.2.3\n", "bw.csv: line 2: \"1.2.3\" is not a number");
    expect_refusal("time [s],factor\n-1,1\n", "bw.csv: line 2: \"-1\" is not a time of 0 or more");
    expect_refusal("time [s],factor\n0,nan\n",
                   "bw.csv: line 2: \"nan\" is not a number; its unit belongs in the header");
    expect_refusal("time [s],rate [Mbit/s]\n0,-5\n",
                   "bw.csv: line 2: \"-5\" is not a rate of 0 or more that fits");
    expect_refusal("time [s],factor\n0,0\n",
                   "bw.csv: line 2: \"0\" is not allowed: a link keeps between 1e-6 and 1e6 of its "
                   "bandwidth (an outage is a fault, not a rate)");
    expect_refusal("time [d],factor\n0,1\n60000,1\n", "bw.csv: lasts over 146 years");
}

Test(rate_trace, a_missing_file_is_named)
{
    cr_expect_eq(gs_rate_trace_read("no/such.csv", 1, &arena, &trace, &err), GS_ENOTFOUND);
    cr_expect(strstr(err.text, "no/such.csv") != NULL, "%s", err.text);
}

Test(rate_trace, running_out_of_memory_is_reported)
{
    arena.fail_after = 0;
    cr_expect_eq(parse("time [s],factor\n0,1\n"), GS_ENOMEM);
}
