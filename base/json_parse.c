/* A strict JSON reader (RFC 8259), without recursion, that knows where it is.
 *
 * cJSON's own parser takes "01", raw control characters and 1e999, and tells neither line nor key.
 */
#include "base/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/json_tree.h"

enum { NUMBER_BYTES_MAX = 400, PLAIN_DIGITS_MAX = 15, READ_BYTES = 64 * 1024, KEYS_MIN = 64 };

typedef struct seen_key {
    const char *key; /* owner: the tree */
    size_t offset;
} seen_key;

typedef struct open_value {
    gs_json *value;
    size_t first_key; /* index into parser.keys */
} open_value;

typedef struct parser {
    const char *text;
    size_t length;
    size_t at;
    const char *file;
    gs_error *err;
    open_value stack[GS_JSON_DEPTH_MAX];
    size_t depth;
    gs_json *root;
    seen_key *keys; /* of all open objects, innermost last */
    size_t key_count;
    size_t key_capacity;
    char *scratch; /* the text being read; never longer than the document */
} parser;

/* --- errors --------------------------------------------------------------------------------- */

static gs_status fail_at(const parser *p, size_t offset, const char *message)
{
    size_t line = 1;
    size_t line_start = 0;
    for (size_t i = 0; i < offset; i++) {
        if (p->text[i] == '\n') {
            line++;
            line_start = i + 1;
        }
    }
    return gs_fail(p->err, GS_EPARSE, "%s: line %zu, column %zu: %s", p->file, line,
                   offset - line_start + 1, message);
}

static gs_status fail_memory(const parser *p)
{
    return gs_fail(p->err, GS_ENOMEM, "%s: out of memory after %zu bytes", p->file, p->at);
}

/* "expected WANTED, found X" at the place of the reader. */
static gs_status fail_wanted(const parser *p, const char *wanted)
{
    char message[96];
    if (p->at == p->length) {
        snprintf(message, sizeof message, "expected %s, found the end of the text", wanted);
        return fail_at(p, p->at, message);
    }
    unsigned char c = (unsigned char)p->text[p->at];
    if (c > 0x20 && c < 0x7f) {
        snprintf(message, sizeof message, "expected %s, found '%c'", wanted, c);
    } else {
        snprintf(message, sizeof message, "expected %s, found the byte 0x%02x", wanted, c);
    }
    return fail_at(p, p->at, message);
}

/* --- tokens --------------------------------------------------------------------------------- */

/* The byte at the reader, or 0 at the end; a NUL byte in the text is refused before parsing. */
static char peek(const parser *p)
{
    return p->at < p->length ? p->text[p->at] : '\0';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void skip_space(parser *p)
{
    while (peek(p) == ' ' || peek(p) == '\t' || peek(p) == '\n' || peek(p) == '\r') {
        p->at++;
    }
}

static bool take(parser *p, char c)
{
    bool is_there = peek(p) == c;
    p->at += is_there;
    return is_there;
}

static size_t skip_digits(parser *p)
{
    size_t start = p->at;
    while (is_digit(peek(p))) {
        p->at++;
    }
    return p->at - start;
}

static gs_status read_number(parser *p, gs_json **out)
{
    size_t start = p->at;
    take(p, '-');
    size_t digits_start = p->at;
    size_t digits = skip_digits(p);
    if (digits == 0 || (digits > 1 && p->text[digits_start] == '0')) {
        p->at = digits_start + (digits > 1);
        return fail_wanted(p, digits == 0 ? "a digit" : "no digit after a leading 0");
    }
    bool is_whole = true;
    if (take(p, '.')) {
        is_whole = false;
        if (skip_digits(p) == 0) {
            return fail_wanted(p, "a digit");
        }
    }
    if (peek(p) == 'e' || peek(p) == 'E') {
        is_whole = false;
        p->at++;
        p->at += peek(p) == '+' || peek(p) == '-';
        if (skip_digits(p) == 0) {
            return fail_wanted(p, "a digit");
        }
    }
    if (p->at - start > NUMBER_BYTES_MAX) {
        return fail_at(p, start, "a number of more than 400 characters");
    }
    char text[NUMBER_BYTES_MAX + 1];
    memcpy(text, p->text + start, p->at - start);
    text[p->at - start] = '\0';
    double value = strtod(text, NULL);
    if (!isfinite(value)) {
        return fail_at(p, start, "a number too large for a double");
    }
    *out = gs_json_tree_new_number(value, is_whole && digits > PLAIN_DIGITS_MAX ? text : NULL);
    return *out == NULL ? fail_memory(p) : GS_OK;
}

/* Four hexadecimal digits at the reader; -1 where they are not there. */
static int read_hex(parser *p)
{
    int value = 0;
    for (int i = 0; i < 4; i++) {
        char c = peek(p);
        int digit = is_digit(c)            ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) {
            return -1;
        }
        value = value * 16 + digit;
        p->at++;
    }
    return value;
}

static size_t put_utf8(char *out, unsigned code)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* What follows "\u" into out. */
static gs_status read_code_point(parser *p, char *out, size_t *out_count)
{
    size_t start = p->at - 2;
    int high = read_hex(p);
    if (high < 0) {
        return fail_wanted(p, "four hexadecimal digits");
    }
    if (high == 0) {
        return fail_at(p, start, "\\u0000 is refused: texts end at a NUL");
    }
    unsigned code = (unsigned)high;
    if (high >= 0xd800 && high <= 0xdfff) {
        int low = -1;
        if (high < 0xdc00 && take(p, '\\') && take(p, 'u')) {
            low = read_hex(p);
        }
        if (low < 0xdc00 || low > 0xdfff) {
            return fail_at(p, start, "half of a surrogate pair");
        }
        code = 0x10000 + (((unsigned)high - 0xd800) << 10) + ((unsigned)low - 0xdc00);
    }
    *out_count = put_utf8(out, code);
    return GS_OK;
}

static gs_status read_escape(parser *p, char *out, size_t *out_count)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    p->at++;
    char c = peek(p);
    if (c == 'u') {
        p->at++;
        return read_code_point(p, out, out_count);
    }
    const char *found = c == '\0' ? NULL : strchr(letters, c);
    if (found == NULL) {
        return fail_wanted(p, "one of \" \\ / b f n r t u after \\");
    }
    p->at++;
    *out = meanings[found - letters];
    *out_count = 1;
    return GS_OK;
}

size_t gs_json_tree_utf8_bytes(const char *text, size_t left)
{
    const unsigned char *c = (const unsigned char *)text;
    if (c[0] < 0x80) {
        return 1;
    }
    size_t count = c[0] >= 0xf0 ? 4 : c[0] >= 0xe0 ? 3 : 2;
    if (c[0] < 0xc2 || c[0] > 0xf4 || left < count) {
        return 0;
    }
    unsigned char least = c[0] == 0xe0 ? 0xa0 : c[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char most = c[0] == 0xed ? 0x9f : c[0] == 0xf4 ? 0x8f : 0xbf;
    if (c[1] < least || c[1] > most) {
        return 0;
    }
    for (size_t i = 2; i < count; i++) {
        if (c[i] < 0x80 || c[i] > 0xbf) {
            return 0;
        }
    }
    return count;
}

/* A quoted text into p->scratch, unescaped and terminated. */
static gs_status read_quoted(parser *p)
{
    size_t used = 0;
    p->at++;
    while (!take(p, '"')) {
        if (p->at == p->length) {
            return fail_wanted(p, "the end of a text (\")");
        }
        size_t count = 1;
        if (peek(p) == '\\') {
            GS_TRY(read_escape(p, p->scratch + used, &count));
        } else {
            if ((unsigned char)peek(p) < 0x20) {
                return fail_wanted(p, "\\n, \\t or \\u for a control character");
            }
            count = gs_json_tree_utf8_bytes(p->text + p->at, p->length - p->at);
            if (count == 0) {
                return fail_wanted(p, "UTF-8");
            }
            memcpy(p->scratch + used, p->text + p->at, count);
            p->at += count;
        }
        used += count;
    }
    p->scratch[used] = '\0';
    return GS_OK;
}

static gs_status read_word(parser *p, gs_json **out)
{
    static const char *const words[] = {"true", "false", "null"};
    size_t start = p->at;
    size_t count = 0;
    while (p->at + count < p->length && p->text[start + count] >= 'a' &&
           p->text[start + count] <= 'z') {
        count++;
    }
    for (size_t i = 0; i < 3; i++) {
        if (count == strlen(words[i]) && memcmp(p->text + start, words[i], count) == 0) {
            p->at += count;
            *out = i == 2 ? gs_json_new_null() : gs_json_new_bool(i == 0);
            return *out == NULL ? fail_memory(p) : GS_OK;
        }
    }
    return fail_wanted(p, "a value");
}

/* --- structure ------------------------------------------------------------------------------ */

static gs_status remember_key(parser *p, const char *key, size_t offset)
{
    if (p->key_count == p->key_capacity) {
        size_t capacity = p->key_capacity == 0 ? KEYS_MIN : 2 * p->key_capacity;
        seen_key *grown = realloc(p->keys, capacity * sizeof *grown);
        if (grown == NULL) {
            return fail_memory(p);
        }
        p->keys = grown;
        p->key_capacity = capacity;
    }
    p->keys[p->key_count++] = (seen_key){key, offset};
    return GS_OK;
}

static int compare_keys(const void *left, const void *right)
{
    const seen_key *a = left;
    const seen_key *b = right;
    int order = strcmp(a->key, b->key);
    return order != 0 ? order : (a->offset > b->offset) - (a->offset < b->offset);
}

/* The keys of one object are compared once, at its end, by sorting. */
static gs_status check_keys(const parser *p, seen_key *keys, size_t count)
{
    qsort(keys, count, sizeof *keys, compare_keys);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(keys[i - 1].key, keys[i].key) == 0) {
            char message[128];
            snprintf(message, sizeof message, "the key \"%.60s\" appears twice", keys[i].key);
            return fail_at(p, keys[i].offset, message);
        }
    }
    return GS_OK;
}

/* Closes the innermost value. */
static gs_status close_value(parser *p)
{
    size_t first_key = p->stack[p->depth - 1].first_key;
    if (p->key_count > first_key) {
        GS_TRY(check_keys(p, p->keys + first_key, p->key_count - first_key));
    }
    p->key_count = first_key;
    p->depth--;
    return GS_OK;
}

/* The value at the reader; lists and objects come back open and empty. */
static gs_status read_value(parser *p, gs_json **out)
{
    char c = peek(p);
    if (c == '{' || c == '[') {
        if (p->depth == GS_JSON_DEPTH_MAX) {
            return fail_at(p, p->at, "lists and objects nested more than 64 deep");
        }
        p->at++;
        *out = c == '{' ? gs_json_new_object() : gs_json_new_list();
        return *out == NULL ? fail_memory(p) : GS_OK;
    }
    if (c == '"') {
        GS_TRY(read_quoted(p));
        *out = gs_json_new_text(p->scratch);
        return *out == NULL ? fail_memory(p) : GS_OK;
    }
    return c == '-' || is_digit(c) ? read_number(p, out) : read_word(p, out);
}

/* One value, with its key where it is a member, into the innermost open value. */
static gs_status read_child(parser *p)
{
    gs_json *parent = p->depth == 0 ? NULL : p->stack[p->depth - 1].value;
    bool is_member = parent != NULL && gs_json_kind_of(parent) == GS_JSON_OBJECT;
    size_t key_offset = p->at;
    char *key = NULL;
    if (is_member) {
        if (peek(p) != '"') {
            return fail_wanted(p, "a key in quotes");
        }
        GS_TRY(read_quoted(p));
        key = strdup(p->scratch);
        if (key == NULL) {
            return fail_memory(p);
        }
        skip_space(p);
    }
    gs_status status = GS_OK;
    gs_json *value = NULL;
    if (is_member && !take(p, ':')) {
        status = fail_wanted(p, "':'");
    }
    skip_space(p);
    if (status == GS_OK) {
        status = read_value(p, &value);
    }
    if (status == GS_OK && parent == NULL) {
        p->root = value;
    } else if (status == GS_OK && !gs_json_tree_append(parent, key, value)) {
        status = fail_memory(p);
    }
    free(key);
    if (status == GS_OK && is_member) {
        status = remember_key(p, gs_json_tree_key(value), key_offset);
    }
    if (status == GS_OK && gs_json_kind_of(value) >= GS_JSON_LIST) {
        p->stack[p->depth++] = (open_value){value, p->key_count};
    }
    return status;
}

/* After a value: closes what ends here; leaves the reader at the next child, or depth 0. */
static gs_status read_separators(parser *p)
{
    while (p->depth > 0) {
        const gs_json *open = p->stack[p->depth - 1].value;
        bool is_list = gs_json_kind_of(open) == GS_JSON_LIST;
        skip_space(p);
        if (take(p, is_list ? ']' : '}')) {
            GS_TRY(close_value(p));
        } else if (gs_json_tree_first(open) == NULL) {
            return GS_OK; /* just opened */
        } else if (take(p, ',')) {
            skip_space(p);
            return GS_OK;
        } else {
            return fail_wanted(p, is_list ? "',' or ']'" : "',' or '}'");
        }
    }
    return GS_OK;
}

static gs_status parse_document(parser *p)
{
    const char *nul = memchr(p->text, '\0', p->length);
    if (nul != NULL) {
        return fail_at(p, (size_t)(nul - p->text), "a NUL byte: this is not a text file");
    }
    skip_space(p);
    do {
        GS_TRY(read_child(p));
        GS_TRY(read_separators(p));
    } while (p->depth > 0);
    skip_space(p);
    return p->at == p->length ? GS_OK : fail_wanted(p, "nothing after the first value");
}

gs_status gs_json_parse(const char *text, size_t length, const char *file, gs_json_at *out,
                        gs_error *err)
{
    if (length > GS_JSON_BYTES_MAX) {
        return gs_fail(err, GS_EPARSE, "%s: more than 64 MiB, the most a JSON document may have",
                       file);
    }
    parser p = {.text = text, .length = length, .file = file, .err = err};
    p.scratch = malloc(length + 1);
    gs_status status = p.scratch == NULL ? fail_memory(&p) : parse_document(&p);
    free(p.scratch);
    free(p.keys);
    if (status != GS_OK) {
        gs_json_free(p.root);
        return status;
    }
    *out = (gs_json_at){.value = p.root, .file = file};
    return GS_OK;
}

/* --- files ---------------------------------------------------------------------------------- */

static gs_status read_stream(FILE *stream, const char *file, char **out, size_t *out_length,
                             gs_error *err)
{
    char *text = NULL;
    size_t length = 0;
    size_t capacity = 0;
    for (;;) {
        if (capacity - length < READ_BYTES) {
            capacity = 2 * capacity + READ_BYTES;
            char *grown = realloc(text, capacity);
            if (grown == NULL) {
                free(text);
                return gs_fail(err, GS_ENOMEM, "%s: out of memory", file);
            }
            text = grown;
        }
        size_t count = fread(text + length, 1, READ_BYTES, stream);
        length += count;
        if (count == 0 || length > GS_JSON_BYTES_MAX) {
            break;
        }
    }
    if (ferror(stream)) {
        gs_status status = gs_fail(err, GS_EIO, "%s: %s", file, strerror(errno));
        free(text);
        return status;
    }
    *out = text;
    *out_length = length;
    return GS_OK;
}

gs_status gs_json_read(const char *file, gs_json_at *out, gs_error *err)
{
    bool is_stdin = strcmp(file, "-") == 0;
    const char *name = is_stdin ? "<stdin>" : file;
    FILE *stream = is_stdin ? stdin : fopen(file, "rb");
    if (stream == NULL) {
        gs_status code = errno == ENOENT ? GS_ENOTFOUND : GS_EIO;
        return gs_fail(err, code, "%s: %s", name, strerror(errno));
    }
    char *text = NULL;
    size_t length = 0;
    gs_status status = read_stream(stream, name, &text, &length, err);
    if (!is_stdin) {
        fclose(stream);
    }
    if (status == GS_OK) {
        status = gs_json_parse(text, length, name, out, err);
        free(text);
    }
    return status;
}
