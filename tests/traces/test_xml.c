#include "traces/xml.h"

#include "tests/support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static gs_arena arena;
static gs_error err;
static char file[TEST_PATH_BYTES];

static void setup(void)
{
    gs_arena_init(&arena);
}

static void teardown(void)
{
    gs_arena_fini(&arena);
}

TestSuite(xml, .init = setup, .fini = teardown);

static gs_status read_text(const char *text, gs_xml_element **out)
{
    test_temp_file(file, text, strlen(text));
    return gs_xml_read(file, &arena, out, &err);
}

static void expect_refused(gs_status code, const char *text, const char *message)
{
    char expected[sizeof err.text];
    gs_xml_element *root = NULL;
    gs_status status = read_text(text, &root);
    snprintf(expected, sizeof expected, "%.200s: %s", file, message);
    cr_expect_eq(status, code, "\"%s\" gives %d", text, status);
    cr_expect_str_eq(err.text, expected);
}

Test(xml, elements_keep_their_order_attributes_and_lines)
{
    gs_xml_element *root = NULL;
    static const char text[] = "\xef\xbb\xbf<?xml version=\"1.0\"?>\n"
                               "<!-- <not an=\"element\"> & no entity; -- -->\n"
                               "<a one='1' two = \"&lt;&amp;&gt;&quot;&apos;\">\n"
                               "  <b/><!-- between --><c-d.e:f x=\"\"\n y='\"'>\n"
                               "    <g></g>\n"
                               "  </c-d.e:f >\n"
                               "</a>\n";
    cr_assert_eq(read_text(text, &root), GS_OK, "%s", err.text);
    cr_expect_str_eq(root->name, "a");
    cr_expect_eq(root->line, 3);
    cr_expect_eq(root->attribute_count, 2);
    cr_expect_str_eq(gs_xml_get(root, "one"), "1");
    cr_expect_str_eq(gs_xml_get(root, "two"), "<&>\"'");
    cr_expect_null(gs_xml_get(root, "three"));
    static const char *const names[] = {"a", "b", "c-d.e:f", "g"};
    static const uint32_t lines[] = {3, 4, 4, 6};
    const gs_xml_element *at = root;
    for (size_t i = 0; i < 4; i++) {
        cr_assert_not_null(at);
        cr_expect_str_eq(at->name, names[i]);
        cr_expect_eq(at->line, lines[i], "%s", names[i]);
        at = gs_xml_next(root, at);
    }
    cr_expect_null(at);
    const gs_xml_element *third = root->first->next;
    cr_expect_str_eq(gs_xml_get(third, "y"), "\"");
    cr_expect_eq(third->first->parent, third);
    cr_expect_null(gs_xml_next(third, third->first));
}

Test(xml, hostile_files_are_refused)
{
    expect_refused(GS_EPARSE, "<!DOCTYPE a [<!ENTITY b \"bb\">]>\n<a>&b;</a>",
                   "line 1: \"<!\": document types, entities and CDATA are not read; remove them");
    expect_refused(GS_EPARSE, "<a>\n<![CDATA[x]]></a>",
                   "line 2: \"<!\": document types, entities and CDATA are not read; remove them");
    expect_refused(GS_EPARSE, "<a\n b=\"&lol9;\"/>",
                   "line 2: an entity other than &amp; &lt; &gt; &quot; &apos; is not read");
    expect_refused(GS_EPARSE, "<a b=\"&#65;\"/>",
                   "line 1: an entity other than &amp; &lt; &gt; &quot; &apos; is not read");
    expect_refused(GS_EPARSE, "<a><?php x ?></a>",
                   "line 1: \"<?\" other than <?xml ...?> at the start is not read; remove it");
    expect_refused(GS_EPARSE, "<a>text</a>", "line 1: text where only elements may be");
    expect_refused(GS_EPARSE, "<a b=\"\x01\"/>", "line 1: a control character (1) within a value");
}

Test(xml, cut_and_crooked_files_are_refused_with_the_line)
{
    expect_refused(GS_EPARSE, "", "line 1: no element is there");
    expect_refused(GS_EPARSE, "<a>\n<b>\n</b>\n",
                   "line 4: the file ends before <a> (line 1) does: it is cut");
    expect_refused(GS_EPARSE, "<a>\n<b></a>",
                   "line 2: the end of <b> (line 2) is expected, something else is there");
    expect_refused(GS_EPARSE, "<a b=\"1", "line 1: the file ends within a value");
    expect_refused(GS_EPARSE, "<a b=\"1>\n<c/></a>",
                   "line 2: \"<\" within a value; its closing quotation mark is missing");
    expect_refused(GS_EPARSE, "<a b=1/>", "line 1: a value without quotation marks");
    expect_refused(GS_EPARSE, "<a b/>", "line 1: an attribute of <a> without a value");
    expect_refused(GS_EPARSE, "<a b=\"1\"c=\"2\"/>", "line 1: no blank before an attribute of <a>");
    expect_refused(GS_EPARSE, "<a b=\"1\" b=\"2\"/>", "line 1: <a> says b twice");
    expect_refused(GS_EPARSE, "<a/><b/>",
                   "line 1: a second element beside <a>; a file has one root");
    expect_refused(GS_EPARSE, "</a>", "line 1: an end without an element that is open");
    expect_refused(GS_EPARSE, "<a", "line 1: <a> does not end with \">\"");
    expect_refused(GS_EPARSE, "<1/>", "line 1: \"<\" without the name of an element");
    expect_refused(GS_EPARSE, "<a><!-- x\n</a>", "line 2: the comment of line 1 does not end");
}

Test(xml, depth_and_number_of_attributes_have_limits)
{
    char text[4096];
    size_t used = 0;
    gs_xml_element *root = NULL;
    for (int i = 0; i < GS_XML_DEPTH_MAX; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "<a>");
    }
    size_t deepest = used;
    for (int i = 0; i < GS_XML_DEPTH_MAX; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "</a>");
    }
    cr_expect_eq(read_text(text, &root), GS_OK, "%s", err.text);
    snprintf(text + deepest, sizeof text - deepest, "<b/>");
    expect_refused(GS_ELIMIT, text,
                   "line 1: over 32 elements within each other, or over 65536 in all");
    used = (size_t)snprintf(text, sizeof text, "<a");
    for (int i = 0; i <= GS_XML_ATTRIBUTES_MAX; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, " x%d=\"\"", i);
    }
    snprintf(text + used, sizeof text - used, "/>");
    expect_refused(GS_ELIMIT, text, "line 1: <a> has over 64 attributes");
}
