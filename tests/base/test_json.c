#include <criterion/criterion.h>

#include "base/json.h"
#include "tests/support.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static gs_json_at parse(const char *text)
{
    gs_error err = {0};
    gs_json_at at = {0};
    gs_status status = gs_json_parse(text, strlen(text), "a.json", &at, &err);
    cr_assert_eq(status, GS_OK, "%s", err.text);
    return at;
}

static void expect_refused(const char *text, size_t length, const char *wanted)
{
    gs_error err = {0};
    gs_json_at at = {.file = "untouched"};
    cr_expect_eq(gs_json_parse(text, length, "a.json", &at, &err), GS_EPARSE, "%s", text);
    cr_expect_str_eq(err.text, wanted);
    cr_expect_str_eq(at.file, "untouched");
}

static void expect_text(const gs_json *value, bool is_indented, const char *wanted)
{
    char *text = gs_json_write(value, is_indented);
    cr_assert_not_null(text);
    cr_expect_str_eq(text, wanted);
    free(text);
}

/* --- reading -------------------------------------------------------------------------------- */

Test(json, every_kind_of_value_is_read_and_written)
{
    const char *text = "{\"a\":[1,-2.5,\"t\",true,false,null,{},[]],\"b\":{\"c\":{\"d\":[[0]]}}}";
    gs_json_at at = parse(text);
    expect_text(at.value, false, text);
    gs_json_free(at.value);
}

Test(json, space_between_tokens_means_nothing)
{
    gs_json_at at = parse(" \t\r\n{ \"a\" :\n[ 1 , 2 ] , \"b\" : { } } \n");
    expect_text(at.value, false, "{\"a\":[1,2],\"b\":{}}");
    gs_json_free(at.value);
}

Test(json, escapes_become_utf8)
{
    gs_json_at at = parse("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20AC\\ud83d\\ude00\"");
    const char *text = NULL;
    cr_assert_eq(gs_json_text(&at, &text, NULL), GS_OK);
    /* U+00E9, U+20AC and U+1F600 by RFC 3629, byte by byte. */
    cr_expect_str_eq(text, "\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    expect_text(at.value, false,
                "\"\\\"\\\\/\\b\\f\\n\\r\\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
    gs_json_free(at.value);
}

Test(json, what_is_refused_is_named_with_its_place)
{
    static const struct {
        const char *text;
        const char *error;
    } samples[] = {
        {"", "a.json: line 1, column 1: expected a value, found the end of the text"},
        {"nul", "a.json: line 1, column 1: expected a value, found 'n'"},
        {"truer", "a.json: line 1, column 1: expected a value, found 't'"},
        {"NaN", "a.json: line 1, column 1: expected a value, found 'N'"},
        {"-Infinity", "a.json: line 1, column 2: expected a digit, found 'I'"},
        {"+1", "a.json: line 1, column 1: expected a value, found '+'"},
        {".5", "a.json: line 1, column 1: expected a value, found '.'"},
        {"1.", "a.json: line 1, column 3: expected a digit, found the end of the text"},
        {"1.e5", "a.json: line 1, column 3: expected a digit, found 'e'"},
        {"1e+", "a.json: line 1, column 4: expected a digit, found the end of the text"},
        {"01", "a.json: line 1, column 2: expected no digit after a leading 0, found '1'"},
        {"[1e999]", "a.json: line 1, column 2: a number too large for a double"},
        {"[-1e999]", "a.json: line 1, column 2: a number too large for a double"},
        {"{} {}", "a.json: line 1, column 4: expected nothing after the first value, found '{'"},
        {"[1 2]", "a.json: line 1, column 4: expected ',' or ']', found '2'"},
        {"[1,]", "a.json: line 1, column 4: expected a value, found ']'"},
        {"[1}", "a.json: line 1, column 3: expected ',' or ']', found '}'"},
        {"[", "a.json: line 1, column 2: expected a value, found the end of the text"},
        {"{\"a\":1,}", "a.json: line 1, column 8: expected a key in quotes, found '}'"},
        {"{a:1}", "a.json: line 1, column 2: expected a key in quotes, found 'a'"},
        {"{\"a\" 1}", "a.json: line 1, column 6: expected ':', found '1'"},
        {"{\"a\":1 \"b\":2}", "a.json: line 1, column 8: expected ',' or '}', found '\"'"},
        {"{\n \"a\": 1,\n \"a\": 2}", "a.json: line 3, column 2: the key \"a\" appears twice"},
        {"{\"a\":{\"b\":1,\"c\":2,\"b\":3}}",
         "a.json: line 1, column 19: the key \"b\" appears twice"},
        {"{\"A\":1,\"\\u0041\":2}", "a.json: line 1, column 8: the key \"A\" appears twice"},
        {"\"abc", "a.json: line 1, column 5: expected the end of a text (\"), found the end of "
                  "the text"},
        {"\"a\tb\"", "a.json: line 1, column 3: expected \\n, \\t or \\u for a control character, "
                     "found the byte 0x09"},
        {"\"\\x\"", "a.json: line 1, column 3: expected one of \" \\ / b f n r t u after \\, found "
                    "'x'"},
        {"\"\\u12g4\"", "a.json: line 1, column 6: expected four hexadecimal digits, found 'g'"},
        {"\"\\u0000\"", "a.json: line 1, column 2: \\u0000 is refused: texts end at a NUL"},
        {"\"\\ud83d\"", "a.json: line 1, column 2: half of a surrogate pair"},
        {"\"\\ude00\"", "a.json: line 1, column 2: half of a surrogate pair"},
        {"\"\\ud83d\\u0041\"", "a.json: line 1, column 2: half of a surrogate pair"},
        {"\"\xff\"", "a.json: line 1, column 2: expected UTF-8, found the byte 0xff"},
        {"\"\xc0\xaf\"", "a.json: line 1, column 2: expected UTF-8, found the byte 0xc0"},
        {"\"\xed\xa0\x80\"", "a.json: line 1, column 2: expected UTF-8, found the byte 0xed"},
        {"\"\xe2\x82\"", "a.json: line 1, column 2: expected UTF-8, found the byte 0xe2"},
        {"\"\xf4\x90\x80\x80\"", "a.json: line 1, column 2: expected UTF-8, found the byte 0xf4"},
        {"\n\n  \x01", "a.json: line 3, column 3: expected a value, found the byte 0x01"},
    };
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        expect_refused(samples[i].text, strlen(samples[i].text), samples[i].error);
    }
}

Test(json, equal_keys_in_different_objects_are_fine)
{
    gs_json_at at = parse("{\"a\":{\"a\":{\"a\":1},\"b\":2},\"b\":[{\"a\":1},{\"a\":2}]}");
    gs_json_free(at.value);
}

Test(json, a_nul_byte_is_refused)
{
    expect_refused("[1,\n\0 2]", 8,
                   "a.json: line 2, column 1: a NUL byte: this is not a text file");
    expect_refused("[1]\0", 4, "a.json: line 1, column 4: a NUL byte: this is not a text file");
}

Test(json, the_text_needs_no_end)
{
    gs_json_at at;
    cr_assert_eq(gs_json_parse("123", 2, "a.json", &at, NULL), GS_OK);
    expect_text(at.value, false, "12");
    gs_json_free(at.value);
}

Test(json, depth_64_is_read_and_65_refused)
{
    char text[131];
    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    gs_json_at at;
    cr_assert_eq(gs_json_parse(text, 128, "a.json", &at, NULL), GS_OK);
    gs_json_free(at.value);
    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    expect_refused(text, 130,
                   "a.json: line 1, column 65: lists and objects nested more than 64 deep");
}

Test(json, more_than_64_mib_is_refused_unread)
{
    expect_refused("", (size_t)GS_JSON_BYTES_MAX + 1,
                   "a.json: more than 64 MiB, the most a JSON document may have");
}

Test(json, a_number_of_more_than_400_characters_is_refused)
{
    char text[402];
    memset(text, '1', sizeof text);
    text[1] = '.';
    gs_json_at at;
    cr_assert_eq(gs_json_parse(text, 400, "a.json", &at, NULL), GS_OK);
    gs_json_free(at.value);
    expect_refused(text, 401, "a.json: line 1, column 1: a number of more than 400 characters");
}

/* --- files ---------------------------------------------------------------------------------- */

Test(json, a_file_is_read_by_name)
{
    char path[TEST_PATH_BYTES];
    test_temp_file(path, "{\"a\": 1}", 8);
    gs_json_at at;
    gs_error err = {0};
    cr_assert_eq(gs_json_read(path, &at, &err), GS_OK, "%s", err.text);
    cr_expect_str_eq(at.file, path);
    expect_text(at.value, false, "{\"a\":1}");
    gs_json_free(at.value);
}

Test(json, a_long_file_is_read_whole)
{
    enum { LENGTH = 300001 }; /* several reads: "[" spaces "]" */
    char *text = malloc(LENGTH);
    cr_assert_not_null(text);
    memset(text, ' ', LENGTH);
    text[0] = '[';
    text[LENGTH - 1] = ']';
    char path[TEST_PATH_BYTES];
    test_temp_file(path, text, LENGTH);
    gs_json_at at;
    cr_expect_eq(gs_json_read(path, &at, NULL), GS_OK);
    gs_json_free(at.value);
    free(text);
}

Test(json, standard_input_is_a_file_too)
{
    char path[TEST_PATH_BYTES];
    test_temp_file(path, "[2", 2);
    cr_assert_not_null(freopen(path, "rb", stdin));
    gs_json_at at;
    gs_error err = {0};
    cr_expect_eq(gs_json_read("-", &at, &err), GS_EPARSE);
    cr_expect_str_eq(err.text,
                     "<stdin>: line 1, column 3: expected ',' or ']', found the end of the text");
}

Test(json, a_missing_file_and_a_folder_are_told_apart)
{
    gs_json_at at;
    gs_error err = {0};
    cr_expect_eq(gs_json_read("no/such/file", &at, &err), GS_ENOTFOUND);
    cr_expect_str_eq(err.text, "no/such/file: No such file or directory");
    cr_expect_eq(gs_json_read("/", &at, &err), GS_EIO);
    cr_expect_str_eq(err.text, "/: Is a directory");
}

/* --- places --------------------------------------------------------------------------------- */

Test(json, a_value_knows_its_path)
{
    gs_json_at root = parse("{\"cluster\": {\"links\": [{\"nic\": 1}, {\"nic\": 2}]}}");
    gs_json_at at;
    cr_assert(gs_json_find(&root, "cluster", &at));
    cr_expect_str_eq(at.path, "cluster");
    cr_assert(gs_json_find(&at, "links", &at));
    cr_expect_eq(gs_json_count(at.value), 2);
    at = gs_json_element(&at, 1);
    cr_expect_str_eq(at.path, "cluster.links[1]");
    const char *key = NULL;
    at = gs_json_member(&at, 0, &key);
    cr_expect_str_eq(key, "nic");
    cr_expect_str_eq(at.path, "cluster.links[1].nic");
    int64_t value = 0;
    cr_expect_eq(gs_json_int(&at, &value, NULL), GS_OK);
    cr_expect_eq(value, 2);
    cr_expect_not(gs_json_find(&root, "Cluster", &at), "keys tell case");
    gs_json_free(root.value);
}

Test(json, a_walk_visits_every_child_in_order)
{
    gs_json_at list = parse("[5, 6, 7]");
    gs_json_at item;
    size_t visited = 0;
    for (size_t i = 0; gs_json_walk(&list, i, &item); i++) {
        gs_json_at same = gs_json_element(&list, i);
        cr_expect_eq(item.value, same.value);
        cr_expect_str_eq(item.path, same.path);
        visited++;
    }
    cr_expect_eq(visited, 3);
    gs_json_free(list.value);
    gs_json_at object = parse("{\"a\": 1}");
    cr_expect(gs_json_walk(&object, 0, &item));
    cr_expect_str_eq(item.path, "a");
    cr_expect_not(gs_json_walk(&object, 1, &item));
    gs_json_free(object.value);
}

Test(json, a_path_too_long_is_cut)
{
    char key[GS_JSON_PATH_BYTES + 100];
    memset(key, 'k', sizeof key);
    key[sizeof key - 1] = '\0';
    gs_json *object = gs_json_new_object();
    cr_assert(gs_json_set(object, key, gs_json_new_list()));
    gs_json_at root = {.value = object, .file = "a.json"};
    gs_json_at at = gs_json_member(&root, 0, NULL);
    cr_expect_eq(strlen(at.path), (size_t)GS_JSON_PATH_BYTES - 1);
    cr_assert(gs_json_add(at.value, gs_json_new_null()));
    at = gs_json_element(&at, 0);
    cr_expect_eq(strlen(at.path), (size_t)GS_JSON_PATH_BYTES - 1);
    gs_json_free(object);
}

/* --- typed reads ---------------------------------------------------------------------------- */

Test(json, a_read_of_the_wrong_kind_says_what_is_there)
{
    gs_json_at root = parse("{\"a\": [1, 2.5, \"t\", true, null, {}, []]}");
    gs_json_at list;
    cr_assert(gs_json_find(&root, "a", &list));
    gs_error err = {0};
    const char *text = NULL;
    bool flag = false;
    double real = 0.0;
    int64_t whole = 0;
    gs_json_at at = gs_json_element(&list, 0);
    cr_expect_eq(gs_json_text(&at, &text, &err), GS_EINVAL);
    cr_expect_str_eq(err.text, "a.json: a[0]: the number 1 is not a text");
    at = gs_json_element(&list, 1);
    cr_expect_eq(gs_json_int(&at, &whole, &err), GS_EINVAL);
    cr_expect_str_eq(err.text, "a.json: a[1]: the number 2.5 is not a whole number of 64 bits");
    at = gs_json_element(&list, 2);
    cr_expect_eq(gs_json_real(&at, &real, &err), GS_EINVAL);
    cr_expect_str_eq(err.text, "a.json: a[2]: \"t\" is not a number");
    cr_expect_eq(gs_json_int(&at, &whole, &err), GS_EINVAL);
    at = gs_json_element(&list, 3);
    cr_expect_eq(gs_json_real(&at, &real, &err), GS_EINVAL);
    cr_expect_str_eq(err.text, "a.json: a[3]: true is not a number");
    at = gs_json_element(&list, 4);
    cr_expect_eq(gs_json_bool(&at, &flag, &err), GS_EINVAL);
    cr_expect_str_eq(err.text, "a.json: a[4]: null is not true or false");
    at = gs_json_element(&list, 5);
    cr_expect_eq(gs_json_bool(&at, &flag, &err), GS_EINVAL);
    cr_expect_str_eq(err.text, "a.json: a[5]: an object is not true or false");
    at = gs_json_element(&list, 6);
    cr_expect_eq(gs_json_text(&at, &text, &err), GS_EINVAL);
    cr_expect_str_eq(err.text, "a.json: a[6]: a list is not a text");
    gs_json_free(root.value);
}

Test(json, whole_numbers_are_exact_to_64_bits)
{
    static const struct {
        const char *text;
        int64_t value;
    } samples[] = {
        {"0", 0},
        {"-0", 0},
        {"9007199254740993", 9007199254740993}, /* 2^53 + 1 */
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
        {"\"9223372036854775807\"", INT64_MAX},
        {"\"-5\"", -5},
        {"2.0", 2},
        {"1e3", 1000},
        {"9007199254740992.0", INT64_C(1) << 53},
    };
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        gs_json_at at = parse(samples[i].text);
        int64_t value = -1;
        cr_expect_eq(gs_json_int(&at, &value, NULL), GS_OK, "%s", samples[i].text);
        cr_expect_eq(value, samples[i].value, "%s", samples[i].text);
        gs_json_free(at.value);
    }
    static const char *const refused[] = {"9223372036854775808",
                                          "1e300",
                                          "9007199254740994.0",
                                          "\"5x\"",
                                          "\"\"",
                                          "\"-\"",
                                          "\" 5\"",
                                          "\"+5\"",
                                          "\"1e3\""};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        gs_json_at at = parse(refused[i]);
        int64_t value = -1;
        cr_expect_eq(gs_json_int(&at, &value, NULL), GS_EINVAL, "%s", refused[i]);
        cr_expect_eq(value, -1, "%s", refused[i]);
        gs_json_free(at.value);
    }
}

Test(json, descriptions_are_cut)
{
    char text[200];
    memset(text, 't', sizeof text);
    text[sizeof text - 1] = '\0';
    gs_json *value = gs_json_new_text(text);
    char out[100];
    cr_expect_eq(strlen(gs_json_describe(value, out, sizeof out)), 42); /* 40 and two quotes */
    cr_expect_eq(strlen(gs_json_describe(value, out, 10)), 9);
    gs_json_free(value);
}

Test(json, a_failure_at_the_root_has_no_path)
{
    gs_json_at at = parse("1");
    gs_error err = {0};
    cr_expect_eq(gs_json_fail(&at, GS_ELIMIT, &err, "%d too many", 3), GS_ELIMIT);
    cr_expect_str_eq(err.text, "a.json: 3 too many");
    gs_json_free(at.value);
}

/* --- building and writing ------------------------------------------------------------------- */

static gs_json *small_document(void)
{
    gs_json *object = gs_json_new_object();
    gs_json *list = gs_json_new_list();
    bool is_done = gs_json_add(list, gs_json_new_int(1));
    is_done = gs_json_add(list, gs_json_new_real(0.1)) && is_done;
    gs_json *inner = gs_json_new_object();
    is_done = gs_json_set(inner, "t", gs_json_new_text("a\"b\x01")) && is_done;
    is_done = gs_json_set(inner, "n", gs_json_new_null()) && is_done;
    is_done = gs_json_set(object, "list", list) && is_done;
    is_done = gs_json_set(object, "inner", inner) && is_done;
    is_done = gs_json_set(object, "empty", gs_json_new_object()) && is_done;
    is_done = gs_json_set(object, "flag", gs_json_new_bool(true)) && is_done;
    if (!is_done) {
        gs_json_free(object);
        return NULL;
    }
    return object;
}

Test(json, indented_text_keeps_short_plain_lists_on_a_line)
{
    gs_json *object = small_document();
    cr_assert_not_null(object);
    expect_text(object, true,
                "{\n"
                "  \"list\": [1, 0.1],\n"
                "  \"inner\": {\n"
                "    \"t\": \"a\\\"b\\u0001\",\n"
                "    \"n\": null\n"
                "  },\n"
                "  \"empty\": {},\n"
                "  \"flag\": true\n"
                "}");
    gs_json *list = gs_json_new_list();
    for (int i = 0; i < 17; i++) { /* one more than fits on a line */
        cr_assert(gs_json_add(list, gs_json_new_int(i % 10)));
    }
    char *text = gs_json_write(list, true);
    cr_expect_eq(strncmp(text, "[\n  0,\n  1,\n", 12), 0, "%s", text);
    free(text);
    gs_json_free(list);
    gs_json_free(object);
}

/* U+FFFD is ef bf bd. \xe2\x82 is a sequence cut short, \xc0\x80 an overlong one, and both are two
 * bytes that are no UTF-8; U+20AC behind them is whole. */
Test(json, bytes_that_are_no_utf8_are_written_as_replacements)
{
    gs_json *text = gs_json_new_text("a\xff\xe2\x82z\xc0\x80\xe2\x82\xac\xe2\x82");
    expect_text(text, false,
                "\"a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd\xef\xbf\xbd\xe2\x82\xac"
                "\xef\xbf\xbd\xef\xbf\xbd\"");
    gs_json_free(text);
}

Test(json, a_part_of_a_document_is_written_alone)
{
    gs_json_at root = parse("{\"a\": [1], \"b\": 2}");
    gs_json_at at = gs_json_member(&root, 0, NULL);
    expect_text(at.value, true, "[1]");
    gs_json_free(root.value);
}

Test(json, a_key_set_again_keeps_its_place)
{
    gs_json *object = gs_json_new_object();
    cr_assert(gs_json_set(object, "a", gs_json_new_int(1)));
    cr_assert(gs_json_set(object, "A", gs_json_new_int(2)));
    cr_assert(gs_json_set(object, "a", gs_json_new_int(3)));
    expect_text(object, false, "{\"a\":3,\"A\":2}");
    cr_assert(gs_json_set(object, "A", gs_json_new_list()));
    expect_text(object, false, "{\"a\":3,\"A\":[]}");
    gs_json_free(object);
}

Test(json, put_replaces_an_element)
{
    gs_json *list = gs_json_new_list();
    cr_assert(gs_json_add(list, gs_json_new_int(1)));
    cr_assert(gs_json_add(list, gs_json_new_int(2)));
    cr_expect(gs_json_put(list, 1, gs_json_new_text("b")));
    cr_expect(gs_json_put(list, 0, gs_json_new_text("a")));
    cr_expect_not(gs_json_put(list, 0, NULL));
    expect_text(list, false, "[\"a\",\"b\"]");
    gs_json_free(list);
}

Test(json, the_library_underneath_tells_its_version)
{
    cr_expect_str_eq(gs_json_library(), cJSON_Version());
}

Test(json, numbers_are_written_so_that_every_reader_gets_them_back)
{
    gs_json *list = gs_json_new_list();
    cr_assert(gs_json_add(list, gs_json_new_int(INT64_C(1) << 53)));
    cr_assert(gs_json_add(list, gs_json_new_int((INT64_C(1) << 53) + 1)));
    cr_assert(gs_json_add(list, gs_json_new_int(INT64_MIN)));
    cr_assert(gs_json_add(list, gs_json_new_real(1.0 / 3.0)));
    cr_assert(gs_json_add(list, gs_json_new_real(1e300)));
    cr_assert(gs_json_add(list, gs_json_new_real(nan(""))));
    cr_assert(gs_json_add(list, gs_json_new_real(-HUGE_VAL)));
    expect_text(list, false,
                "[9007199254740992,\"9007199254740993\",\"-9223372036854775808\","
                "0.3333333333333333,1e+300,null,null]");
    gs_json_free(list);
}

Test(json, a_copy_is_equal_and_apart)
{
    gs_json_at root = parse("{\"a\": [9223372036854775807, {\"b\": \"t\"}]}");
    gs_json *copy = gs_json_copy(root.value);
    gs_json_free(root.value);
    expect_text(copy, false, "{\"a\":[9223372036854775807,{\"b\":\"t\"}]}");
    gs_json_free(copy);
}

Test(json, null_anywhere_in_building_fails_in_peace)
{
    cr_expect_not(gs_json_set(NULL, "a", gs_json_new_int(1))); /* the sanitizer would see a leak */
    cr_expect_not(gs_json_add(NULL, gs_json_new_int(1)));
    gs_json *object = gs_json_new_object();
    cr_expect_not(gs_json_set(object, "a", NULL));
    cr_expect_not(gs_json_put(NULL, 0, gs_json_new_int(1)));
    expect_text(object, false, "{}");
    gs_json_free(object);
    gs_json_free(NULL);
}

/* --- allocations that fail ------------------------------------------------------------------ */

static int64_t nodes_left;

static void *node_memory(size_t bytes)
{
    if (nodes_left == 0) {
        return NULL;
    }
    nodes_left--;
    return malloc(bytes);
}

static void set_node_limit(int64_t limit)
{
    nodes_left = limit;
    cJSON_Hooks hooks = {node_memory, free};
    cJSON_InitHooks(limit < 0 ? NULL : &hooks);
}

Test(json, every_failing_node_ends_a_parse_and_leaks_nothing)
{
    const char *text = "{\"a\": [1, 12345678901234567890, \"t\", true, null, {\"b\": []}]}";
    gs_status status = GS_ENOMEM;
    int64_t limit = 0;
    for (; status != GS_OK; limit++) {
        cr_assert_lt(limit, 100);
        gs_json_at at = {0};
        gs_error err = {0};
        set_node_limit(limit);
        status = gs_json_parse(text, strlen(text), "a.json", &at, &err);
        set_node_limit(-1);
        cr_expect(status == GS_OK || status == GS_ENOMEM);
        cr_expect(status == GS_OK || strncmp(err.text, "a.json: out of memory", 21) == 0);
        gs_json_free(at.value);
    }
    cr_expect_gt(limit, 10);
}

Test(json, every_failing_node_ends_building_and_copying)
{
    gs_json *object = NULL;
    int64_t limit = 0;
    for (; object == NULL; limit++) {
        cr_assert_lt(limit, 100);
        set_node_limit(limit);
        object = small_document();
        set_node_limit(-1);
    }
    cr_expect_gt(limit, 10);
    gs_json *copy = NULL;
    for (limit = 0; copy == NULL; limit++) {
        cr_assert_lt(limit, 100);
        set_node_limit(limit);
        copy = gs_json_copy(object);
        set_node_limit(-1);
    }
    gs_json_free(copy);
    gs_json_free(object);
}

Test(json, every_failing_buffer_ends_reading_and_writing)
{
    char path[TEST_PATH_BYTES];
    test_temp_file(path, "{\"a\": [1]}", 10);
    gs_status status = GS_ENOMEM;
    gs_json_at at = {0};
    int64_t limit = 0;
    for (; status != GS_OK; limit++) {
        cr_assert_lt(limit, 100);
        gs_error err = {0};
        test_fail_allocations(limit);
        status = gs_json_read(path, &at, &err);
        test_fail_allocations(-1);
        cr_expect(status == GS_OK || status == GS_ENOMEM, "%s", err.text);
    }
    cr_expect_geq(limit, 4); /* the file, the texts, the keys: three buffers at least */
    test_fail_allocations(0);
    char *text = gs_json_write(at.value, true);
    test_fail_allocations(-1);
    cr_expect_null(text);
    gs_json_free(at.value);
}
