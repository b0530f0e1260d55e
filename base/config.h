/* Field tables: one table gives parser, defaults, bounds, help, JSON output and documentation.
 *
 * A table describes a plain C struct. Every value goes through gs_config_set_*, so that a JSON
 * file, the command line ("-s allreduce:bucket=10MiB") and a test are read by the same rules. */
#ifndef GS_BASE_CONFIG_H
#define GS_BASE_CONFIG_H

#include "base/json.h"
#include "base/nearest.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum gs_field_kind {
    GS_FIELD_BOOL,     /* bool */
    GS_FIELD_INT,      /* int64_t; bounds in minimum and maximum */
    GS_FIELD_REAL,     /* double, without unit */
    GS_FIELD_RATIO,    /* double; "5 %" or 0.05 */
    GS_FIELD_DURATION, /* int64_t ns; bounds in ns */
    GS_FIELD_BYTES,    /* int64_t bytes */
    GS_FIELD_RATE,     /* int64_t bit/s */
    GS_FIELD_TEXT,     /* char[size] */
    GS_FIELD_INT_LIST, /* gs_int_list; bounds hold for each; "[64, 32]", or 64/32 on the command
                          line */
    GS_FIELD_CHOICE,   /* int, index into choices */
    GS_FIELD_BYTES_OR_CHOICE, /* int64_t: bytes, or -(1 + index into choices): "25MiB" or "tensor"
                               */
    GS_FIELD_REAL_OR_CHOICE   /* double, >= 0, or -(1 + index into choices): 1024 or "dynamic" */
} gs_field_kind;

enum { GS_INT_LIST_MAX = 16 };

typedef struct gs_int_list {
    int64_t count;
    int64_t values[GS_INT_LIST_MAX];
} gs_int_list;

typedef struct gs_field {
    const char *name; /* JSON key and command-line key */
    gs_field_kind kind;
    size_t offset;              /* offsetof in the struct */
    size_t size;                /* sizeof the member; checked against kind */
    const char *default_text;   /* as a user would write it; NULL: required */
    double minimum, maximum;    /* inclusive, in the inner unit; both 0: unbounded */
    const char *const *choices; /* NULL-terminated, for the choice kinds */
    const char *help;           /* one line, with the unit and what it does */
} gs_field;

typedef struct gs_field_table {
    const char *name; /* for errors and docs: "allreduce", "cluster.links.*" */
    size_t struct_bytes;
    const gs_field *fields;
    size_t field_count;
} gs_field_table;

#define GS_FIELD_AT(type, member) offsetof(type, member), sizeof(((type *)0)->member)

/* Whether a table is well formed and takes its defaults, for those from outside. Errors: GS_EINVAL
 * naming the first field with a fault. */
GS_MUST_USE gs_status gs_config_check(const gs_field_table *table, gs_error *err);

/* Sets every field to its default; asserts that the table is well formed and each default parses.
 * Required fields become zero. */
void gs_config_defaults(const gs_field_table *table, void *out);

/* Index of the field of that name, or field_count. */
size_t gs_config_find(const gs_field_table *table, const char *name);

/* One field from a JSON value, or from text as on a command line. Errors: GS_EINVAL with the place,
 * the value, what is allowed; out keeps its old value then. */
GS_MUST_USE gs_status gs_config_set_json(const gs_field *field, void *out, const gs_json_at *value,
                                         gs_error *err);
GS_MUST_USE gs_status gs_config_set_text(const gs_field_table *table, void *out, const char *key,
                                         const char *text, gs_error *err);

/* Reads an object over the defaults already in out: unknown keys are errors with the nearest name;
 * "$comment" is skipped, and so are the keys of `others` (NULL-terminated; may be NULL), which the
 * caller reads itself. A missing required field is an error. */
GS_MUST_USE gs_status gs_config_read(const gs_field_table *table, void *out,
                                     const gs_json_at *object, const char *const *others,
                                     gs_error *err);

/* Adds every field to object in table order, exact, as gs_config_read takes it. false: no memory.
 */
bool gs_config_write(const gs_field_table *table, const void *in, gs_json *object);

/* The value of one field as a user would write it; returns out. */
char *gs_config_value_text(const gs_field *field, const void *in, char *out, size_t out_bytes);

/* What a field takes, for help: "a size such as 25MiB, 1B..1TiB" or "one of ring, naive"; returns
 * out. */
char *gs_config_allowed_text(const gs_field *field, char *out, size_t out_bytes);

#endif
