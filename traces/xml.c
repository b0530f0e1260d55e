#include "traces/xml.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "traces/whole_file.h"

/* The text is cut up in place: names and values are terminated where they stand. */
typedef struct reader {
    const char *file;
    gs_arena *arena;
    gs_error *err;
    char *at;
    const char *end;
    uint32_t line;
    uint32_t depth;
    uint32_t count;
    gs_xml_element *open; /* the innermost that is not closed */
    gs_xml_element *last; /* child of it */
    gs_xml_element *root;
} reader;

#define FAIL(in, ...) fail_at((in), GS_EPARSE, __VA_ARGS__)

__attribute__((format(printf, 3, 4))) static gs_status fail_at(const reader *in, gs_status code,
                                                               const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    gs_status status = gs_fail_list(in->err, code, format, arguments);
    va_end(arguments);
    (void)gs_fail_in(in->err, "%s: line %u", in->file, in->line);
    return status;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool starts_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
}

static bool is_of_name(char c)
{
    return starts_name(c) || (c >= '0' && c <= '9') || c == '-' || c == '.';
}

/* The end of the text reads as NUL. */
static char peek(const reader *in)
{
    return in->at < in->end ? *in->at : '\0';
}

static void step(reader *in)
{
    in->line += *in->at == '\n' ? 1 : 0;
    in->at++;
}

static bool skip_blanks(reader *in)
{
    const char *start = in->at;
    while (is_blank(peek(in))) {
        step(in);
    }
    return in->at > start;
}

static bool begins(const reader *in, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(in->end - in->at) >= length && memcmp(in->at, text, length) == 0;
}

/* Goes past the next `text`; false: there is none. */
static bool skip_past(reader *in, const char *text)
{
    while (in->at < in->end) {
        if (begins(in, text)) {
            in->at += strlen(text);
            return true;
        }
        step(in);
    }
    return false;
}

static char *read_name(reader *in)
{
    char *start = in->at;
    if (!starts_name(peek(in))) {
        return NULL;
    }
    while (is_of_name(peek(in))) {
        in->at++;
    }
    return start;
}

/* --- attributes ------------------------------------------------------------------------------- */

/* Puts the character that an entity stands for at *to. */
static gs_status read_entity(reader *in, char *to)
{
    static const struct {
        const char *text;
        char stands_for;
    } known[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (begins(in, known[i].text)) {
            in->at += strlen(known[i].text);
            *to = known[i].stands_for;
            return GS_OK;
        }
    }
    return FAIL(in, "an entity other than &amp; &lt; &gt; &quot; &apos; is not read");
}

static gs_status read_value(reader *in, const char **out)
{
    char quote = peek(in);
    if (quote != '"' && quote != '\'') {
        return FAIL(in, "a value without quotation marks");
    }
    in->at++;
    char *to = in->at;
    *out = to;
    while (peek(in) != quote) {
        char c = peek(in);
        if (in->at == in->end) {
            return FAIL(in, "the file ends within a value");
        }
        if (c == '<') {
            return FAIL(in, "\"<\" within a value; its closing quotation mark is missing");
        }
        if ((unsigned char)c < ' ' && !is_blank(c)) {
            return FAIL(in, "a control character (%d) within a value", c);
        }
        if (c == '&') {
            GS_TRY(read_entity(in, to));
            to++;
        } else {
            *to++ = c;
            step(in);
        }
    }
    in->at++;
    *to = '\0';
    return GS_OK;
}

/* Attributes up to ">" or "/>", at which it stays. */
static gs_status read_attributes(reader *in, gs_xml_element *element)
{
    gs_xml_attribute found[GS_XML_ATTRIBUTES_MAX];
    uint32_t count = 0;
    bool blank = skip_blanks(in);
    while (starts_name(peek(in))) {
        char *name = read_name(in);
        char *name_end = in->at;
        if (!blank) {
            return FAIL(in, "no blank before an attribute of <%s>", element->name);
        }
        (void)skip_blanks(in);
        if (peek(in) != '=') {
            return FAIL(in, "an attribute of <%s> without a value", element->name);
        }
        in->at++;
        (void)skip_blanks(in);
        if (count == GS_XML_ATTRIBUTES_MAX) {
            return fail_at(in, GS_ELIMIT, "<%s> has over %d attributes", element->name,
                           GS_XML_ATTRIBUTES_MAX);
        }
        GS_TRY(read_value(in, &found[count].value));
        *name_end = '\0';
        found[count].name = name;
        for (uint32_t i = 0; i < count; i++) {
            if (strcmp(found[i].name, name) == 0) {
                return FAIL(in, "<%s> says %s twice", element->name, name);
            }
        }
        count++;
        blank = skip_blanks(in);
    }
    gs_xml_attribute *kept = GS_TAKE(in->arena, gs_xml_attribute, count);
    if (kept == NULL) {
        return fail_at(in, GS_ENOMEM, "no memory");
    }
    memcpy(kept, found, count * sizeof *kept);
    element->attributes = kept;
    element->attribute_count = count;
    return GS_OK;
}

/* --- elements --------------------------------------------------------------------------------- */

static gs_status new_element(reader *in, gs_xml_element **out)
{
    if (in->open == NULL && in->root != NULL) {
        return FAIL(in, "a second element beside <%s>; a file has one root", in->root->name);
    }
    if (in->depth == GS_XML_DEPTH_MAX || in->count == GS_XML_ELEMENTS_MAX) {
        return fail_at(in, GS_ELIMIT, "over %d elements within each other, or over %d in all",
                       GS_XML_DEPTH_MAX, GS_XML_ELEMENTS_MAX);
    }
    gs_xml_element *element = GS_TAKE(in->arena, gs_xml_element, 1);
    if (element == NULL) {
        return fail_at(in, GS_ENOMEM, "no memory");
    }
    in->count++;
    element->line = in->line;
    element->parent = in->open;
    if (in->open == NULL) {
        in->root = element;
    } else if (in->last == NULL) {
        in->open->first = element;
    } else {
        in->last->next = element;
    }
    *out = element;
    return GS_OK;
}

/* From behind "<". Names and values are terminated once what follows them has been read. */
static gs_status read_start(reader *in)
{
    gs_xml_element *element = NULL;
    GS_TRY(new_element(in, &element));
    char *name = read_name(in);
    if (name == NULL) {
        return FAIL(in, "\"<\" without the name of an element");
    }
    size_t length = (size_t)(in->at - name);
    memmove(name - 1, name, length); /* over the "<": the place behind it is the terminator's */
    name[length - 1] = '\0';
    element->name = name - 1;
    GS_TRY(read_attributes(in, element));
    bool is_closed = peek(in) == '/';
    in->at += is_closed ? 1 : 0;
    if (peek(in) != '>') {
        return FAIL(in, "<%s> does not end with \">\"", element->name);
    }
    in->at++;
    if (is_closed) {
        in->last = element;
    } else {
        in->open = element;
        in->last = NULL;
        in->depth++;
    }
    return GS_OK;
}

/* From behind "</". */
static gs_status read_end(reader *in)
{
    char *name = read_name(in);
    size_t length = name == NULL ? 0 : (size_t)(in->at - name);
    (void)skip_blanks(in);
    if (in->open == NULL) {
        return FAIL(in, "an end without an element that is open");
    }
    if (name == NULL || strlen(in->open->name) != length ||
        memcmp(name, in->open->name, length) != 0 || peek(in) != '>') {
        return FAIL(in, "the end of <%s> (line %u) is expected, something else is there",
                    in->open->name, in->open->line);
    }
    in->at++;
    in->last = in->open;
    in->open = in->open->parent;
    in->depth--;
    return GS_OK;
}

/* What begins with "<". */
static gs_status read_markup(reader *in)
{
    if (begins(in, "<!--")) {
        uint32_t line = in->line;
        in->at += 4;
        return skip_past(in, "-->") ? GS_OK : FAIL(in, "the comment of line %u does not end", line);
    }
    if (begins(in, "</")) {
        in->at += 2;
        return read_end(in);
    }
    if (begins(in, "<!")) {
        return FAIL(in, "\"<!\": document types, entities and CDATA are not read; remove them");
    }
    if (begins(in, "<?")) {
        return FAIL(in, "\"<?\" other than <?xml ...?> at the start is not read; remove it");
    }
    in->at++;
    return read_start(in);
}

static gs_status read_all(reader *in)
{
    if (begins(in, "\xef\xbb\xbf")) {
        in->at += 3;
    }
    if (begins(in, "<?xml ") && !skip_past(in, "?>")) {
        return FAIL(in, "<?xml does not end with \"?>\"");
    }
    while (in->at < in->end) {
        char c = peek(in);
        if (is_blank(c)) {
            step(in);
        } else if (c == '<') {
            GS_TRY(read_markup(in));
        } else {
            return FAIL(in, "text where only elements may be");
        }
    }
    if (in->open != NULL) {
        return FAIL(in, "the file ends before <%s> (line %u) does: it is cut", in->open->name,
                    in->open->line);
    }
    return in->root != NULL ? GS_OK : FAIL(in, "no element is there");
}

gs_status gs_xml_read(const char *file, gs_arena *arena, gs_xml_element **out, gs_error *err)
{
    char *text = NULL;
    size_t bytes = 0;
    GS_TRY(gs_whole_file_read(file, GS_XML_BYTES_MAX, &text, &bytes, err));
    char *copy = gs_arena_take(arena, bytes + 1, 1);
    if (copy == NULL) {
        free(text);
        return gs_fail(err, GS_ENOMEM, "%s: no memory to read it", file);
    }
    memcpy(copy, text, bytes);
    free(text);
    reader in = {
        .file = file, .arena = arena, .err = err, .at = copy, .end = copy + bytes, .line = 1};
    GS_TRY(read_all(&in));
    *out = in.root;
    return GS_OK;
}

/* --- questions -------------------------------------------------------------------------------- */

const char *gs_xml_get(const gs_xml_element *element, const char *name)
{
    for (uint32_t i = 0; i < element->attribute_count; i++) {
        if (strcmp(element->attributes[i].name, name) == 0) {
            return element->attributes[i].value;
        }
    }
    return NULL;
}

const gs_xml_element *gs_xml_next(const gs_xml_element *root, const gs_xml_element *element)
{
    if (element->first != NULL) {
        return element->first;
    }
    while (element != root && element->next == NULL) {
        element = element->parent;
    }
    return element == root ? NULL : element->next;
}
