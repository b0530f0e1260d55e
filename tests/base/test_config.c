#include <criterion/criterion.h>

#include "base/config.h"
#include "base/units.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

typedef struct example {
    bool flag;
    int64_t count;
    double factor;
    double share;
    int64_t delay_ns;
    int64_t bucket_bytes;
    int64_t rate_bps;
    char name[8];
    gs_int_list widths;
    int algorithm;
    int64_t unit;
    int64_t needed;
} example;

static const char *const algorithms[] = {"ring", "naive", NULL};
static const char *const units[] = {"tensor", "model", NULL};

/* clang-format off */
static const gs_field fields[] = {
    {"flag", GS_FIELD_BOOL, GS_FIELD_AT(example, flag), "true", 0, 0, NULL, "on or off"},
    {"count", GS_FIELD_INT, GS_FIELD_AT(example, count), "-3", -10, 10, NULL, "how many"},
    {"factor", GS_FIELD_REAL, GS_FIELD_AT(example, factor), "0.1", -1, 1e9, NULL, "how much"},
    {"share", GS_FIELD_RATIO, GS_FIELD_AT(example, share), "5 %", 0, 1, NULL, "part"},
    {"delay", GS_FIELD_DURATION, GS_FIELD_AT(example, delay_ns), "10us", 1, 1e9, NULL, "wait"},
    {"bucket", GS_FIELD_BYTES, GS_FIELD_AT(example, bucket_bytes), "25MiB", 1, 1099511627776.0,
     NULL, "bucket"},
    {"rate", GS_FIELD_RATE, GS_FIELD_AT(example, rate_bps), "10Gbit/s", 0, 0, NULL, "speed"},
    {"name", GS_FIELD_TEXT, GS_FIELD_AT(example, name), "x", 0, 0, NULL, "name"},
    {"widths", GS_FIELD_INT_LIST, GS_FIELD_AT(example, widths), "64/32", 1, 100, NULL, "layers"},
    {"algorithm", GS_FIELD_CHOICE, GS_FIELD_AT(example, algorithm), "naive", 0, 0, algorithms,
     "how"},
    {"unit", GS_FIELD_BYTES_OR_CHOICE, GS_FIELD_AT(example, unit), "model", 1, 1048576, units,
     "grain"},
};
static const gs_field needed_fields[] = {
    {"needed", GS_FIELD_INT, GS_FIELD_AT(example, needed), NULL, 0, 0, NULL, "no default"},
    {"count", GS_FIELD_INT, GS_FIELD_AT(example, count), "1", 0, 0, NULL, "default"},
};
/* clang-format on */

static const gs_field_table table = {"allreduce", sizeof(example), fields,
                                     sizeof fields / sizeof fields[0]};
static const gs_field_table needed_table = {"probe", sizeof(example), needed_fields, 2};

static gs_status read_text(const gs_field_table *of, example *out, const char *text,
                           const char *const *others, gs_error *err)
{
    gs_json_at at;
    cr_assert_eq(gs_json_parse(text, strlen(text), "a.json", &at, err), GS_OK, "%s", err->text);
    gs_status status = gs_config_read(of, out, &at, others, err);
    gs_json_free(at.value);
    return status;
}

static void expect_json_error(const char *text, const char *wanted)
{
    example before;
    gs_config_defaults(&table, &before);
    example after = before;
    gs_error err = {0};
    cr_expect_eq(read_text(&table, &after, text, NULL, &err), GS_EINVAL, "%s", text);
    cr_expect_str_eq(err.text, wanted);
    cr_expect_eq(memcmp(&before, &after, sizeof before), 0, "%s left a trace", text);
}

static void expect_text_error(const char *key, const char *text, const char *wanted)
{
    example before;
    gs_config_defaults(&table, &before);
    example after = before;
    gs_error err = {0};
    cr_expect_eq(gs_config_set_text(&table, &after, key, text, &err), GS_EINVAL);
    cr_expect_str_eq(err.text, wanted);
    cr_expect_eq(memcmp(&before, &after, sizeof before), 0, "%s=%s left a trace", key, text);
}

/* --- values --------------------------------------------------------------------------------- */

Test(config, defaults_are_what_the_table_says)
{
    example e;
    memset(&e, 0xff, sizeof e);
    gs_config_defaults(&table, &e);
    cr_expect_eq(e.flag, true);
    cr_expect_eq(e.count, -3);
    cr_expect(e.factor >= 0.1 && e.factor <= 0.1);
    cr_expect(e.share >= 0.05 && e.share <= 0.05);
    cr_expect_eq(e.delay_ns, 10000);
    cr_expect_eq(e.bucket_bytes, 26214400);
    cr_expect_eq(e.rate_bps, 10000000000);
    cr_expect_str_eq(e.name, "x");
    cr_expect_eq(e.widths.count, 2);
    cr_expect_eq(e.widths.values[0], 64);
    cr_expect_eq(e.widths.values[1], 32);
    cr_expect_eq(e.algorithm, 1);
    cr_expect_eq(e.unit, -2); /* -(1 + 1) */
    cr_expect_eq(e.needed, 0, "not in the table: zero");
}

Test(config, every_kind_is_read_from_json)
{
    example e;
    gs_config_defaults(&table, &e);
    gs_error err = {0};
    const char *text =
        "{\"$comment\": [\"free\"], \"flag\": false, \"count\": 7, \"factor\": 2.5e3,"
        "\"share\": 0.25, \"delay\": \"1.5us\", \"bucket\": \"1kB\","
        "\"rate\": \"3.1GB/s\", \"name\": \"seven77\", \"widths\": [5],"
        "\"algorithm\": \"ring\", \"unit\": \"3kB\"}";
    cr_assert_eq(read_text(&table, &e, text, NULL, &err), GS_OK, "%s", err.text);
    cr_expect_eq(e.flag, false);
    cr_expect_eq(e.count, 7);
    cr_expect(e.factor >= 2500.0 && e.factor <= 2500.0);
    cr_expect(e.share >= 0.25 && e.share <= 0.25);
    cr_expect_eq(e.delay_ns, 1500);
    cr_expect_eq(e.bucket_bytes, 1000);
    cr_expect_eq(e.rate_bps, 24800000000);
    cr_expect_str_eq(e.name, "seven77");
    cr_expect_eq(e.widths.count, 1);
    cr_expect_eq(e.widths.values[0], 5);
    cr_expect_eq(e.widths.values[1], 0, "the old second width is gone");
    cr_expect_eq(e.algorithm, 0);
    cr_expect_eq(e.unit, 3000);
}

Test(config, texts_in_json_obey_the_rules_of_the_command_line)
{
    example e;
    gs_config_defaults(&table, &e);
    gs_error err = {0};
    cr_assert_eq(read_text(&table, &e, "{\"share\": \"50 %\", \"count\": \"9\", \"widths\": []}",
                           NULL, &err),
                 GS_OK, "%s", err.text);
    cr_expect(e.share >= 0.5 && e.share <= 0.5);
    cr_expect_eq(e.count, 9);
    cr_expect_eq(e.widths.count, 0);
}

Test(config, every_kind_is_read_from_text)
{
    static const char *const pairs[][2] = {
        {"flag", "false"},   {"count", "-10"},      {"factor", "-1e-3"}, {"share", "100 %"},
        {"delay", "1s"},     {"bucket", "1TiB"},    {"rate", "1bit/s"},  {"name", ""},
        {"widths", "1/2/3"}, {"algorithm", "ring"}, {"unit", "tensor"},
    };
    example e;
    gs_config_defaults(&table, &e);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        gs_error err = {0};
        cr_expect_eq(gs_config_set_text(&table, &e, pairs[i][0], pairs[i][1], &err), GS_OK, "%s",
                     err.text);
    }
    cr_expect_eq(e.flag, false);
    cr_expect_eq(e.count, -10);
    cr_expect(e.factor >= -1e-3 && e.factor <= -1e-3);
    cr_expect(e.share >= 1.0 && e.share <= 1.0);
    cr_expect_eq(e.delay_ns, GS_NS_PER_S);
    cr_expect_eq(e.bucket_bytes, INT64_C(1) << 40);
    cr_expect_eq(e.rate_bps, 1);
    cr_expect_str_eq(e.name, "");
    cr_expect_eq(e.widths.count, 3);
    cr_expect_eq(e.algorithm, 0);
    cr_expect_eq(e.unit, -1);
    cr_expect_eq(gs_config_set_text(&table, &e, "widths", "", NULL), GS_OK);
    cr_expect_eq(e.widths.count, 0);
}

/* --- errors --------------------------------------------------------------------------------- */

Test(config, json_errors_name_place_value_and_what_is_allowed)
{
    static const struct {
        const char *text;
        const char *error;
    } samples[] = {
        {"[]", "a.json: a list is not an object ({...})"},
        {"{\"flag\": 1}", "a.json: flag: the number 1 is not true or false"},
        {"{\"flag\": \"true\"}", "a.json: flag: \"true\" is not true or false"},
        {"{\"count\": 2.5}", "a.json: count: the number 2.5 is not a whole number, -10..10"},
        {"{\"count\": 11}",
         "a.json: count: 11 is out of range; allowed is a whole number, -10..10"},
        {"{\"count\": null}", "a.json: count: null is not a whole number, -10..10"},
        {"{\"count\": \"x\"}", "a.json: count: \"x\" is not a whole number, -10..10"},
        {"{\"factor\": \"1\"}", "a.json: factor: \"1\" is not a number, -1..1000000000"},
        {"{\"factor\": -2}",
         "a.json: factor: -2 is out of range; allowed is a number, -1..1000000000"},
        {"{\"share\": 1.5}", "a.json: share: 1.5 is out of range; allowed is a ratio such as 0.05 "
                             "or \"5 %\", 0..1"},
        {"{\"share\": -0.5}", "a.json: share: \"-0.5\" is negative; ratios are 0 or more"},
        {"{\"delay\": 10}", "a.json: delay: \"10\" has no unit; write 10us or 10ms"},
        {"{\"delay\": 1.5}", "a.json: delay: \"1.5\" has no unit; write 1.5us or 1.5ms"},
        {"{\"delay\": true}", "a.json: delay: true is not a duration such as 10us, 1ns..1s"},
        {"{\"delay\": \"2s\"}",
         "a.json: delay: 2s is out of range; allowed is a duration such as 10us, 1ns..1s"},
        {"{\"bucket\": \"0B\"}",
         "a.json: bucket: 0B is out of range; allowed is a size such as 25MiB, 1B..1TiB"},
        {"{\"bucket\": {}}", "a.json: bucket: an object is not a size such as 25MiB, 1B..1TiB"},
        {"{\"rate\": []}", "a.json: rate: a list is not a rate such as 10Gbit/s"},
        {"{\"name\": \"eight888\"}", "a.json: name: \"eight888...\" is too long; at most 7 bytes"},
        {"{\"name\": 3}", "a.json: name: the number 3 is not a text of at most 7 bytes"},
        {"{\"widths\": 64}", "a.json: widths: the number 64 is not a list of whole numbers such as "
                             "64/32, 1..100"},
        {"{\"widths\": \"64/32\"}", "a.json: widths: \"64/32\" is not a list of whole numbers such "
                                    "as 64/32, 1..100"},
        {"{\"widths\": [1, 0]}", "a.json: widths[1]: 0 is out of range; allowed is a list of whole "
                                 "numbers such as 64/32, 1..100"},
        {"{\"widths\": [1.5]}",
         "a.json: widths[0]: the number 1.5 is not a whole number of 64 bits"},
        {"{\"widths\": [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}",
         "a.json: widths: more than 16 numbers"},
        {"{\"algorithm\": \"rign\"}",
         "a.json: algorithm: \"rign\" is not one of ring, naive; did you mean ring?"},
        {"{\"algorithm\": \"butterfly\"}",
         "a.json: algorithm: \"butterfly\" is not one of ring, naive"},
        {"{\"algorithm\": 0}", "a.json: algorithm: the number 0 is not one of ring, naive"},
        {"{\"unit\": \"tensr\"}", "a.json: unit: \"tensr\" is not a size such as 25MiB, 1B..1MiB "
                                  "or one of tensor, model; did you mean tensor?"},
        {"{\"unit\": \"2MiB\"}", "a.json: unit: 2MiB is out of range; allowed is a size such as "
                                 "25MiB, 1B..1MiB or one of tensor, model"},
        {"{\"unit\": 5}", "a.json: unit: \"5\" has no unit; write 5B or 5MiB"},
        {"{\"unit\": \"-5B\"}", "a.json: unit: \"-5B\" is negative; sizes are 0 or more"},
    };
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        expect_json_error(samples[i].text, samples[i].error);
    }
}

Test(config, unknown_keys_name_the_nearest_or_all)
{
    expect_json_error("{\"bukcet\": 1}", "a.json: unknown key \"bukcet\"; did you mean "
                                         "\"bucket\"?");
    expect_json_error(
        "{\"zzzzzz\": 1}",
        "a.json: unknown key \"zzzzzz\"; known are flag, count, factor, share, delay, "
        "bucket, rate, name, widths, algorithm, unit");
    expect_json_error("{\"$comments\": 1, \"flag\": false}",
                      "a.json: unknown key \"$comments\"; known are flag, count, factor, share, "
                      "delay, bucket, rate, name, widths, algorithm, unit");
}

Test(config, text_errors_name_table_and_key)
{
    expect_text_error("bukcet", "1",
                      "allreduce: there is no key \"bukcet\"; did you mean bucket? "
                      "known are flag, count, factor, share, delay, "
                      "bucket, rate, name, widths, algorithm, unit");
    expect_text_error("zzzzzz", "1",
                      "allreduce: there is no key \"zzzzzz\"; "
                      "known are flag, count, factor, share, delay, "
                      "bucket, rate, name, widths, algorithm, unit");
    expect_text_error("bucket", "3", "allreduce.bucket: \"3\" has no unit; write 3B or 3MiB");
    expect_text_error("flag", "yes", "allreduce.flag: \"yes\" is not true or false");
    expect_text_error("count", "3x", "allreduce.count: \"3x\" is not a whole number, -10..10");
    expect_text_error("count", "9223372036854775808",
                      "allreduce.count: \"9223372036854775808\" is not a whole number, -10..10");
    expect_text_error("factor", "nan", "allreduce.factor: \"nan\" is not a number, -1..1000000000");
    expect_text_error("factor", "1e999",
                      "allreduce.factor: \"1e999\" is not a number, -1..1000000000");
    expect_text_error("factor", "0x1", "allreduce.factor: \"0x1\" is not a number, -1..1000000000");
    expect_text_error("widths", "1/2/",
                      "allreduce.widths: \"1/2/\" is not a list of whole numbers "
                      "such as 64/32, 1..100");
    expect_text_error("widths", "1//2",
                      "allreduce.widths: \"1//2\" is not a list of whole numbers "
                      "such as 64/32, 1..100");
    expect_text_error("widths", "1/101",
                      "allreduce.widths: 1/101 is out of range; allowed is a "
                      "list of whole numbers such as 64/32, 1..100");
    expect_text_error("widths", "1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1",
                      "allreduce.widths: \"1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1/1\" has more than 16 "
                      "numbers");
}

Test(config, an_error_may_be_left_out)
{
    example e;
    gs_config_defaults(&table, &e);
    cr_expect_eq(gs_config_set_text(&table, &e, "bucket", "3", NULL), GS_EINVAL);
    cr_expect_eq(gs_config_set_text(&table, &e, "nothing", "3", NULL), GS_EINVAL);
    cr_expect_eq(e.bucket_bytes, 26214400);
}

Test(config, a_missing_required_field_is_an_error)
{
    example e;
    gs_config_defaults(&needed_table, &e);
    gs_error err = {0};
    cr_expect_eq(read_text(&needed_table, &e, "{}", NULL, &err), GS_EINVAL);
    cr_expect_str_eq(err.text, "a.json: the key \"needed\" is missing; it takes a whole number");
    cr_expect_eq(read_text(&needed_table, &e, "{\"needed\": 0}", NULL, &err), GS_OK);
}

Test(config, keys_of_others_are_passed_over_and_can_be_meant)
{
    static const char *const others[] = {"links", "nodes", NULL};
    example e;
    gs_config_defaults(&table, &e);
    gs_error err = {0};
    cr_expect_eq(read_text(&table, &e, "{\"links\": {\"a\": 1}, \"count\": 2}", others, &err),
                 GS_OK);
    cr_expect_eq(e.count, 2);
    cr_expect_eq(read_text(&table, &e, "{\"lniks\": {}}", others, &err), GS_EINVAL);
    cr_expect_str_eq(err.text, "a.json: unknown key \"lniks\"; did you mean \"links\"?");
}

/* --- writing -------------------------------------------------------------------------------- */

Test(config, a_table_is_written_in_its_order_and_reads_back)
{
    example e;
    gs_config_defaults(&table, &e);
    e.factor = 1.0 / 3.0;
    e.delay_ns = 999999999;
    e.rate_bps = INT64_MAX;
    gs_json *object = gs_json_new_object();
    cr_assert(gs_config_write(&table, &e, object));
    char *text = gs_json_write(object, false);
    gs_json_free(object);
    cr_expect_str_eq(text,
                     "{\"flag\":true,\"count\":-3,\"factor\":0.3333333333333333,\"share\":0.05,"
                     "\"delay\":\"999999999ns\",\"bucket\":\"25MiB\","
                     "\"rate\":\"9223372036854775807bit/s\",\"name\":\"x\",\"widths\":[64,32],"
                     "\"algorithm\":\"naive\",\"unit\":\"model\"}");
    example back;
    memset(&back, 0, sizeof back);
    gs_error err = {0};
    cr_assert_eq(read_text(&table, &back, text, NULL, &err), GS_OK, "%s", err.text);
    example zero;
    memset(&zero, 0, sizeof zero);
    gs_config_defaults(&table, &zero);
    cr_expect_eq(memcmp(&back, &e, sizeof e), 0);
    cr_expect_neq(memcmp(&back, &zero, sizeof e), 0);
    free(text);
}

Test(config, every_value_text_reads_back_by_the_command_line)
{
    static const char *const wanted[] = {"true",     "-3", "0.1",   "0.05",  "10us", "25MiB",
                                         "10Gbit/s", "x",  "64/32", "naive", "model"};
    example e;
    gs_config_defaults(&table, &e);
    example back;
    memset(&back, 0, sizeof back);
    for (size_t i = 0; i < table.field_count; i++) {
        char text[64];
        cr_expect_str_eq(gs_config_value_text(&fields[i], &e, text, sizeof text), wanted[i]);
        cr_expect_eq(gs_config_set_text(&table, &back, fields[i].name, text, NULL), GS_OK);
    }
    cr_expect_eq(memcmp(&back, &e, sizeof e), 0);
    e.unit = 4096;
    char text[64];
    cr_expect_str_eq(gs_config_value_text(&fields[10], &e, text, sizeof text), "4KiB");
}

Test(config, texts_are_cut_to_their_buffers)
{
    example e;
    gs_config_defaults(&table, &e);
    for (size_t i = 0; i < table.field_count; i++) {
        char text[8];
        memset(text, '#', sizeof text);
        gs_config_value_text(&fields[i], &e, text, 4);
        cr_expect_leq(strlen(text), 3);
        cr_expect_eq(text[4], '#');
        memset(text, '#', sizeof text);
        gs_config_allowed_text(&fields[i], text, 4);
        cr_expect_leq(strlen(text), 3);
        cr_expect_eq(text[4], '#');
    }
}

Test(config, allowed_texts_say_what_a_field_takes)
{
    static const char *const wanted[] = {
        "true or false",
        "a whole number, -10..10",
        "a number, -1..1000000000",
        "a ratio such as 0.05 or \"5 %\", 0..1",
        "a duration such as 10us, 1ns..1s",
        "a size such as 25MiB, 1B..1TiB",
        "a rate such as 10Gbit/s",
        "a text of at most 7 bytes",
        "a list of whole numbers such as 64/32, 1..100",
        "one of ring, naive",
        "a size such as 25MiB, 1B..1MiB or one of tensor, model",
    };
    for (size_t i = 0; i < table.field_count; i++) {
        char text[128];
        cr_expect_str_eq(gs_config_allowed_text(&fields[i], text, sizeof text), wanted[i]);
    }
}

Test(config, fields_are_found_by_name)
{
    cr_expect_eq(gs_config_find(&table, "flag"), 0);
    cr_expect_eq(gs_config_find(&table, "unit"), 10);
    cr_expect_eq(gs_config_find(&table, "Flag"), table.field_count);
}

/* --- tables that are wrong are programmer errors -------------------------------------------- */

static void use(gs_field field)
{
    const gs_field_table wrong = {"wrong", sizeof(example), &field, 1};
    example e;
    gs_config_defaults(&wrong, &e);
}

Test(config, a_default_out_of_bounds_aborts, .signal = SIGABRT)
{
    gs_field field = fields[1];
    field.default_text = "11";
    use(field);
}

Test(config, a_member_of_the_wrong_size_aborts, .signal = SIGABRT)
{
    gs_field field = fields[1];
    field.size = 4;
    use(field);
}

Test(config, a_choice_without_choices_aborts, .signal = SIGABRT)
{
    gs_field field = fields[9];
    field.choices = NULL;
    use(field);
}

Test(config, a_name_given_twice_aborts, .signal = SIGABRT)
{
    const gs_field twice[] = {fields[1], fields[1]};
    const gs_field_table wrong = {"wrong", sizeof(example), twice, 2};
    example e;
    gs_config_defaults(&wrong, &e);
}

static void expect_fault(gs_field field, const char *text)
{
    const gs_field_table wrong = {"wrong", sizeof(example), &field, 1};
    gs_error err = {0};
    cr_expect_eq(gs_config_check(&wrong, &err), GS_EINVAL);
    cr_expect_str_eq(err.text, text);
}

/* --- tables from outside are looked at first ------------------------------------------------ */

Test(config, a_table_is_checked_without_an_abort)
{
    gs_error err = {0};
    cr_expect_eq(gs_config_check(&table, &err), GS_OK);
    gs_field field = fields[1];
    field.default_text = "11";
    expect_fault(field, "field 0 (\"count\") has a default that it does not take");
    field = fields[1];
    field.size = 4;
    expect_fault(field, "field 0 (\"count\") is not as large as its kind");
    field = fields[1];
    field.offset = SIZE_MAX - 3; /* plus its size: 4 */
    expect_fault(field, "field 0 (\"count\") lies outside its struct");
    field = fields[1];
    field.kind = (gs_field_kind)99;
    expect_fault(field, "field 0 (\"count\") is of no kind");
    field = fields[1];
    field.name = NULL;
    expect_fault(field, "field 0 (\"\") has no name");
    field = fields[1];
    field.help = NULL;
    expect_fault(field, "field 0 (\"count\") has no help");
    field = fields[1];
    field.minimum = field.maximum + 1.0;
    expect_fault(field, "field 0 (\"count\") has a minimum above its maximum");
    field = fields[9];
    field.choices = NULL;
    expect_fault(field, "field 0 (\"algorithm\") has no choices");
    gs_field_table nowhere = {"nowhere", sizeof(example), NULL, 3};
    cr_expect_eq(gs_config_check(&nowhere, &err), GS_EINVAL);
    cr_expect_str_eq(err.text, "3 fields at NULL; at most 128, and a name for the table");
    nowhere.field_count = 0;
    cr_expect_eq(gs_config_check(&nowhere, &err), GS_OK);
}

/* ---------------------------------------------------------------- numbers or words */

typedef struct scaled {
    double scale;
} scaled;

static const char *const scale_words[] = {"dynamic", "none", NULL};
static const gs_field scaled_fields[] = {{"scale", GS_FIELD_REAL_OR_CHOICE,
                                          GS_FIELD_AT(scaled, scale), "1.5", 1, 1e9, scale_words,
                                          "how much"}};
static const gs_field_table scaled_table = {"scaled", sizeof(scaled), scaled_fields, 1};

static gs_status read_scale(const char *text, scaled *out, gs_error *err)
{
    gs_json_at at;
    cr_assert_eq(gs_json_parse(text, strlen(text), "a.json", &at, err), GS_OK);
    gs_status status = gs_config_read(&scaled_table, out, &at, NULL, err);
    gs_json_free(at.value);
    return status;
}

Test(config, a_number_or_a_word_is_read_and_written)
{
    char text[32];
    gs_error err;
    scaled read;
    gs_config_defaults(&scaled_table, &read);
    cr_expect_eq(read.scale, 1.5);
    cr_assert_eq(read_scale("{\"scale\": \"none\"}", &read, &err), GS_OK);
    cr_expect_eq(read.scale, -2.0); /* -(1 + 1) */
    cr_expect_str_eq(gs_config_value_text(scaled_fields, &read, text, sizeof text), "none");
    gs_json *object = gs_json_new_object();
    cr_assert(gs_config_write(&scaled_table, &read, object));
    char *written = gs_json_write(object, false);
    cr_expect_str_eq(written, "{\"scale\":\"none\"}");
    free(written);
    gs_json_free(object);
    cr_assert_eq(read_scale("{\"scale\": 1024}", &read, &err), GS_OK);
    cr_expect_eq(read.scale, 1024.0);
    cr_expect_str_eq(gs_config_value_text(scaled_fields, &read, text, sizeof text), "1024");
    cr_assert_eq(gs_config_set_text(&scaled_table, &read, "scale", "dynamic", &err), GS_OK);
    cr_expect_eq(read.scale, -1.0);
    cr_expect_eq(read_scale("{\"scale\": 0.5}", &read, &err), GS_EINVAL);
    cr_expect_str_eq(err.text,
                     "a.json: scale: 0.5 is out of range; allowed is a number, 1..1000000000 or "
                     "one of dynamic, none");
    cr_expect_eq(read_scale("{\"scale\": \"dynamc\"}", &read, &err), GS_EINVAL);
    cr_expect_str_eq(err.text,
                     "a.json: scale: \"dynamc\" is not a number, 1..1000000000 or one of dynamic, "
                     "none; did you mean dynamic?");
    cr_expect_eq(read.scale, -1.0);
}
