#include <criterion/criterion.h>

#include "base/rng.h"
#include "base/units.h"
#include "tests/support.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef gs_status parser(const char *text, int64_t *out, gs_error *err);

typedef struct sample {
    const char *text;
    int64_t value;
} sample;

static void expect_samples(parser *parse, const sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        gs_error err = {0};
        int64_t value = -1;
        cr_expect_eq(parse(samples[i].text, &value, &err), GS_OK, "%s", err.text);
        cr_expect_eq(value, samples[i].value, "%s gave %lld", samples[i].text, (long long)value);
    }
}

#define EXPECT_SAMPLES(parse, samples)                                                             \
    expect_samples(parse, samples, sizeof(samples) / sizeof((samples)[0]))

static void expect_error(parser *parse, const char *text, const char *wanted)
{
    gs_error err = {0};
    int64_t value = -1;
    cr_expect_eq(parse(text, &value, &err), GS_EINVAL, "%s", text);
    cr_expect_str_eq(err.text, wanted);
    cr_expect_eq(value, -1, "%s wrote its output", text);
}

/* --- parsing -------------------------------------------------------------------------------- */

Test(units, durations_are_read_in_every_unit)
{
    static const sample samples[] = {
        {"7ns", 7},
        {"10us", 10000},
        {"10 ms", 10000000},
        {"2s", 2000000000},
        {"3min", 180 * GS_NS_PER_S},
        {"2h", 7200 * GS_NS_PER_S},
        {"1.5d", 129600 * GS_NS_PER_S},
        {" \t1us\t ", 1000},
        {"0s", 0},
        {"0000000000000000000000000000000001us", 1000},
    };
    EXPECT_SAMPLES(gs_parse_duration, samples);
}

Test(units, decimals_are_exact_and_a_rest_rounds_up)
{
    static const sample samples[] = {
        {"1.5us", 1500},
        {".5us", 500},
        {"5.us", 5000},
        {"0.1ns", 1},
        {"1.0000000001us", 1001},
        {"0.000000001s", 1},
        {"1e3ns", 1000},
        {"2.5E-3s", 2500000},
        {"1e-9999d", 1},
        {"0e9999d", 0},
        /* 2^53 + 1: a double in between would lose the last digit. */
        {"9007199.254740993s", 9007199254740993},
        /* 25 digits are one more than are kept: the last one still rounds up. */
        {"1.000000000000000000000001us", 1001},
        {"1.0000000000000000000000001us", 1001},
        {"1.0000000000000000000000000us", 1000},
    };
    EXPECT_SAMPLES(gs_parse_duration, samples);
}

Test(units, sizes_tell_thousands_from_powers_of_two)
{
    static const sample samples[] = {
        {"9B", 9},
        {"1kB", 1000},
        {"1MB", 1000000},
        {"3GB", 3000000000},
        {"1TB", 1000000000000},
        {"1KiB", 1024},
        {"25MiB", 26214400},
        {"1GiB", 1073741824},
        {"1TiB", 1099511627776},
        {"1.5KiB", 1536},
        {"0.3B", 1},
    };
    EXPECT_SAMPLES(gs_parse_bytes, samples);
}

Test(units, rates_are_read_in_bits_and_bytes)
{
    static const sample samples[] = {
        {"7bit/s", 7},
        {"7kbit/s", 7000},
        {"7Mbit/s", 7000000},
        {"25Gbit/s", 25000000000},
        {"2Tbit/s", 2000000000000},
        {"7bps", 7},
        {"7kbps", 7000},
        {"7Mbps", 7000000},
        {"7Gbps", 7000000000},
        {"7Tbps", 7000000000000},
        {"7B/s", 56},
        {"7kB/s", 56000},
        {"7MB/s", 56000000},
        {"3.1GB/s", 24800000000},
        {"1TB/s", 8000000000000},
        {"1KiB/s", 8192},
        {"1MiB/s", 8388608},
        {"1 GiB/s", 8589934592},
    };
    EXPECT_SAMPLES(gs_parse_rate, samples);
}

Test(units, the_largest_value_is_read_and_the_next_one_refused)
{
    static const sample samples[] = {{"9223372036854775807ns", INT64_MAX}};
    EXPECT_SAMPLES(gs_parse_duration, samples);
    static const char end[] = " is too large; durations go up to 9223372036854775807ns";
    static const char *const texts[] = {
        "9223372036854775808ns",
        "9223372036854775806.5us",
        "1e30d",
        "99999999999999999999999999s",
        "1e9999ns",
        "9223372036854775807.1ns",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char wanted[200];
        snprintf(wanted, sizeof wanted, "\"%s\"%s", texts[i], end);
        expect_error(gs_parse_duration, texts[i], wanted);
    }
}

Test(units, errors_say_what_to_write)
{
    expect_error(gs_parse_duration, "10", "\"10\" has no unit; write 10us or 10ms");
    expect_error(gs_parse_duration, "2.5 ", "\"2.5 \" has no unit; write 2.5us or 2.5ms");
    expect_error(gs_parse_bytes, "10", "\"10\" has no unit; write 10B or 10MiB");
    expect_error(gs_parse_rate, "10", "\"10\" has no unit; write 10Gbit/s or 10GB/s");
    expect_error(gs_parse_duration, "-1us", "\"-1us\" is negative; durations are 0 or more");
    expect_error(gs_parse_bytes, "-.5B", "\"-.5B\" is negative; sizes are 0 or more");
    expect_error(gs_parse_rate, " -1bps", "\" -1bps\" is negative; rates are 0 or more");
    expect_error(gs_parse_bytes, "many",
                 "\"many\" is not a number with a unit; write 10B or 10MiB");
    expect_error(gs_parse_bytes, "", "\"\" is not a number with a unit; write 10B or 10MiB");
    expect_error(gs_parse_bytes, ".B", "\".B\" is not a number with a unit; write 10B or 10MiB");
}

Test(units, a_small_b_may_mean_bits_or_bytes)
{
    expect_error(gs_parse_rate, "25Gb/s",
                 "\"25Gb/s\" has the unknown unit \"Gb/s\"; write Gbit/s, or GB/s if bytes are "
                 "meant");
    expect_error(gs_parse_rate, "25 Kb/s",
                 "\"25 Kb/s\" has the unknown unit \"Kb/s\"; write kbit/s, or kB/s if bytes are "
                 "meant");
    expect_error(gs_parse_rate, "25b/s",
                 "\"25b/s\" has the unknown unit \"b/s\"; write bit/s, or B/s if bytes are meant");
}

Test(units, both_micro_signs_are_read)
{
    gs_time_ns ns = 0;
    cr_assert_eq(gs_parse_duration("5\xc2\xb5s", &ns, NULL), GS_OK, "U+00B5");
    cr_expect_eq(ns, 5000);
    cr_assert_eq(gs_parse_duration("7 \xce\xbcs", &ns, NULL), GS_OK, "U+03BC");
    cr_expect_eq(ns, 7000);
    cr_expect_eq(gs_parse_duration("7\xce\xbc", &ns, NULL), GS_EINVAL);
    cr_expect_eq(gs_parse_bytes("7\xc2\xb5"
                                "B",
                                &(int64_t){0}, NULL),
                 GS_EINVAL);
}

Test(units, an_unknown_unit_names_the_nearest)
{
    static const char bytes[] = "sizes take B kB MB GB TB KiB MiB GiB TiB";
    char wanted[200];
    snprintf(wanted, sizeof wanted, "\"5Mib\" has the unknown unit \"Mib\"; did you mean MiB? %s",
             bytes);
    expect_error(gs_parse_bytes, "5Mib", wanted);
    snprintf(wanted, sizeof wanted, "\"5 parsecs\" has the unknown unit \"parsecs\"; %s", bytes);
    expect_error(gs_parse_bytes, "5 parsecs", wanted);
    expect_error(gs_parse_duration, "10m",
                 "\"10m\" has the unknown unit \"m\"; did you mean ms? durations take ns us ms s "
                 "min h d");
    expect_error(gs_parse_duration, "1 us us",
                 "\"1 us us\" has the unknown unit \"us us\"; durations take ns us ms s min h d");
    expect_error(gs_parse_duration, "1minutes and more",
                 "\"1minutes and more\" has the unknown unit \"minutes and\"; durations take ns us "
                 "ms s min h d");
}

Test(units, an_error_may_be_left_out)
{
    int64_t value = 5;
    cr_expect_eq(gs_parse_bytes("10", &value, NULL), GS_EINVAL);
    cr_expect_eq(value, 5);
}

Test(units, ratios_are_numbers_or_percent)
{
    static const struct {
        const char *text;
        double value;
    } samples[] = {
        {"0.05", 0.05}, {"5 %", 0.05}, {"5%", 0.05},  {" 12.5 % ", 0.125},
        {"1e-3", 1e-3}, {"0", 0.0},    {"150%", 1.5}, {".5", 0.5},
    };
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        double value = -1.0;
        cr_expect_eq(gs_parse_ratio(samples[i].text, &value, NULL), GS_OK);
        cr_expect(memcmp(&value, &samples[i].value, sizeof value) == 0, "%s", samples[i].text);
    }
}

Test(units, what_is_no_ratio_is_refused)
{
    static const struct {
        const char *text;
        const char *error;
    } samples[] = {
        {"five", "\"five\" is not a ratio; write 0.05 or \"5 %\""},
        {"5 %%", "\"5 %%\" is not a ratio; write 0.05 or \"5 %\""},
        {"0x1", "\"0x1\" is not a ratio; write 0.05 or \"5 %\""},
        {"nan", "\"nan\" is not a ratio; write 0.05 or \"5 %\""},
        {"", "\"\" is not a ratio; write 0.05 or \"5 %\""},
        {"-5 %", "\"-5 %\" is negative; ratios are 0 or more"},
        {"1e999", "\"1e999\" is too large for a ratio"},
    };
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        gs_error err = {0};
        double value = -1.0;
        cr_expect_eq(gs_parse_ratio(samples[i].text, &value, &err), GS_EINVAL);
        cr_expect_str_eq(err.text, samples[i].error);
        cr_expect_lt(value, 0.0);
    }
}

/* --- transfer time -------------------------------------------------------------------------- */

Test(units, a_transfer_takes_its_bits_over_the_rate_rounded_up)
{
    cr_expect_eq(gs_transfer_ns(0, 7), 0);
    cr_expect_eq(gs_transfer_ns(125, 1000000000), 1000); /* 1,000 bits at 1 bit a ns */
    cr_expect_eq(gs_transfer_ns(1, INT64_MAX), 1);
    /* 26,214,400 B * 8 / 25 bit/ns = 8,388,608 ns exactly */
    cr_expect_eq(gs_transfer_ns(26214400, 25000000000), 8388608);
    /* 8 bit / 3 bit/s = 2.666... s */
    cr_expect_eq(gs_transfer_ns(1, 3), 2666666667);
}

Test(units, a_transfer_that_needs_128_bits_is_exact)
{
    /* 3 * 10^12 B * 8 * 10^9 overflows int64: 24 * 10^21 / 7 * 10^9 = 3428571428571.43 */
    cr_expect_eq(gs_transfer_ns(3000000000000, 7000000000), 3428571428572);
    /* Around the switch to the wide path, at 2^62 / (8 * 10^9) = 576460752.3 bytes, 3 bit/ns. */
    cr_expect_eq(gs_transfer_ns(576460752, 3000000000), 1537228672); /* .0 */
    cr_expect_eq(gs_transfer_ns(576460753, 3000000000),
                 1537228675); /* 4611686024 / 3 = ...674.67 */
    cr_expect_eq(gs_transfer_ns(INT64_MAX, 8000000000), INT64_MAX);
}

Test(units, a_transfer_longer_than_time_never_ends)
{
    cr_expect_eq(gs_transfer_ns(INT64_MAX, 1), GS_TIME_NEVER);
    cr_expect_eq(gs_transfer_ns(INT64_MAX, 7999999999), GS_TIME_NEVER);
}

Test(units, a_rate_of_zero_is_a_programmer_error, .signal = SIGABRT)
{
    gs_transfer_ns(1, 0);
}

Test(units, a_negative_size_is_a_programmer_error, .signal = SIGABRT)
{
    gs_transfer_ns(-1, 1);
}

/* --- writing -------------------------------------------------------------------------------- */

Test(units, people_read_three_digits_or_four)
{
    static const struct {
        int64_t ns;
        const char *text;
    } durations[] = {
        {0, "0 ns"},
        {417, "417 ns"},
        {999, "999 ns"},
        {1234, "1.23 us"},
        {41830000, "41.8 ms"},
        {999400, "999 us"},
        {999999, "1 ms"},
        {1500000000, "1.5 s"},
        {59900000000, "59.9 s"},
        {90 * GS_NS_PER_S, "1.5 min"},
        {5400 * GS_NS_PER_S, "1.5 h"},
        {36 * 3600 * GS_NS_PER_S, "1.5 d"},
        {-1500, "-1.5 us"},
        {GS_TIME_NEVER, "never"},
    };
    char out[GS_UNIT_TEXT_BYTES];
    for (size_t i = 0; i < sizeof durations / sizeof durations[0]; i++) {
        cr_expect_str_eq(gs_format_duration(durations[i].ns, out), durations[i].text);
    }
    cr_expect_str_eq(gs_format_rate(0, out), "0 bit/s");
    cr_expect_str_eq(gs_format_rate(10000000000, out), "10 Gbit/s");
    cr_expect_str_eq(gs_format_rate(9414000000, out), "9.41 Gbit/s");
    cr_expect_str_eq(gs_format_rate(INT64_MAX, out), "9223372 Tbit/s");
}

Test(units, sizes_stay_binary_where_that_is_exact)
{
    static const struct {
        int64_t bytes;
        const char *text;
    } sizes[] = {
        {0, "0 B"},
        {512, "512 B"},
        {1024, "1 KiB"},
        {26214400, "25 MiB"},
        {1047527424, "999 MiB"},
        {97500001, "97.5 MB"},
        {1000000, "1 MB"},
        {1536, "1.54 kB"},
        {1025 * 1024, "1.05 MB"},
        {3 * 1099511627776, "3 TiB"},
    };
    char out[GS_UNIT_TEXT_BYTES];
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        cr_expect_str_eq(gs_format_bytes(sizes[i].bytes, out), sizes[i].text);
    }
}

Test(units, files_get_the_largest_unit_that_is_exact)
{
    char out[GS_UNIT_TEXT_BYTES];
    cr_expect_str_eq(gs_exact_duration(0, out), "0ns");
    cr_expect_str_eq(gs_exact_duration(1500000, out), "1500us");
    cr_expect_str_eq(gs_exact_duration(60 * GS_NS_PER_S, out), "60s");
    cr_expect_str_eq(gs_exact_duration(1, out), "1ns");
    cr_expect_str_eq(gs_exact_bytes(26214400, out), "25MiB");
    cr_expect_str_eq(gs_exact_bytes(97500000, out), "97500kB");
    cr_expect_str_eq(gs_exact_bytes(1001, out), "1001B");
    cr_expect_str_eq(gs_exact_rate(10000000000, out), "10Gbit/s");
    cr_expect_str_eq(gs_exact_rate(8, out), "8bit/s");
    cr_expect_str_eq(gs_exact_rate(INT64_C(2400000000000), out), "300GB/s");
    cr_expect_str_eq(gs_exact_rate(INT64_C(8000000000000), out), "1TB/s");
    cr_expect_str_eq(gs_exact_rate(INT64_C(800000000000), out), "800Gbit/s", "a network card");
    cr_expect_str_eq(gs_exact_rate(INT64_C(1001000000000), out), "1001Gbit/s");
}

Test(units, what_is_written_for_files_reads_back)
{
    static const int64_t scales[] = {1, 1000, 1024, 1000000, 1048576, 1000000000, 1073741824};
    for (uint32_t i = 0; i < 20000; i++) {
        uint64_t bits = gs_rng_bits((gs_rng_key){3, GS_RNG_TEST, 0}, 0, i);
        int64_t value = (int64_t)(bits >> (1 + i % 63)); /* of every length */
        int64_t scale = scales[i % 7];
        value = value < INT64_MAX / scale ? value * scale : value;
        value = i == 0 ? INT64_MAX : value;
        char out[GS_UNIT_TEXT_BYTES];
        int64_t back = -1;
        TEST_REQUIRE(gs_parse_duration(gs_exact_duration(value, out), &back, NULL) == GS_OK &&
                         back == value,
                     "%s", out);
        TEST_REQUIRE(gs_parse_bytes(gs_exact_bytes(value, out), &back, NULL) == GS_OK &&
                         back == value,
                     "%s", out);
        TEST_REQUIRE(gs_parse_rate(gs_exact_rate(value, out), &back, NULL) == GS_OK &&
                         back == value,
                     "%s", out);
    }
}

Test(units, real_numbers_are_written_in_the_fewest_digits_that_read_back)
{
    static const struct {
        double value;
        const char *text;
    } samples[] = {
        {0.1, "0.1"},          {0.1 + 0.2, "0.30000000000000004"},
        {100000.0, "100000"},  {-2.5, "-2.5"},
        {1e15, "1e+15"},       {1e-7, "1e-07"},
        {0x1p-1074, "5e-324"}, {1.7976931348623157e308, "1.7976931348623157e+308"},
    };
    char out[GS_UNIT_TEXT_BYTES];
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        cr_expect_str_eq(gs_exact_real(samples[i].value, out), samples[i].text);
        double back = strtod(out, NULL);
        cr_expect(memcmp(&back, &samples[i].value, sizeof back) == 0, "%s", out);
    }
}
