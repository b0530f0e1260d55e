#include "traces/importers/step_csv_header.h"

#include <stdio.h>
#include <string.h>

/* What columns may be called; upper and lower case alike. */
typedef struct synonym {
    const char *name;
    int what; /* a gs_step_part, or one of the below */
} synonym;

enum { STEP = GS_STEP_PARTS, RANK, OTHER };

static const synonym SYNONYMS[] = {
    {"step", STEP},
    {"iteration", STEP},
    {"iter", STEP},
    {"rank", RANK},
    {"worker", RANK},
    {"time", GS_STEP_TIME},
    {"step_time", GS_STEP_TIME},
    {"duration", GS_STEP_TIME},
    {"batch_time_norm", GS_STEP_TIME},
    {"compute", GS_STEP_COMPUTE},
    {"input", GS_STEP_INPUT},
    {"wait", GS_STEP_WAIT},
    {"wire", GS_STEP_WIRE},
    {"exposed_comm", GS_STEP_WIRE},
};

int64_t gs_step_csv_unit(const char *word)
{
    static const struct {
        const char *word;
        int64_t ns;
    } UNITS[] = {{"ns", 1}, {"us", GS_NS_PER_US}, {"ms", GS_NS_PER_MS}, {"s", GS_NS_PER_S}};
    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++) {
        if (strcmp(word, UNITS[i].word) == 0) {
            return UNITS[i].ns;
        }
    }
    return 0;
}

char *gs_step_csv_cell(char **at, char separator)
{
    char *start = *at;
    if (start == NULL) {
        return NULL;
    }
    char *end = strchr(start, separator);
    *at = end == NULL ? NULL : end + 1;
    end = end == NULL ? start + strlen(start) : end;
    *end = '\0';
    start += strspn(start, " \t\r\"");
    while (end > start && strchr(" \t\r\"", end[-1]) != NULL) {
        *--end = '\0';
    }
    return start;
}

/* Takes a unit off the end of a name: "time_ms", "time (ms)", "time[ms]". 0: there is none. */
static int64_t take_unit(char *name)
{
    size_t length = strlen(name);
    char *from = strpbrk(name, "([");
    if (from != NULL && length > 0 && strchr(")]", name[length - 1]) != NULL) {
        name[length - 1] = '\0';
        int64_t unit = gs_step_csv_unit(from + 1);
        while (from > name && (from[-1] == ' ' || from[-1] == '_')) {
            from--;
        }
        *from = '\0';
        return unit;
    }
    from = strrchr(name, '_');
    int64_t unit = from == NULL ? 0 : gs_step_csv_unit(from + 1);
    if (unit != 0) {
        *from = '\0';
    }
    return unit;
}

static int meaning_of(char *name)
{
    for (char *c = name; *c != '\0'; c++) {
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    }
    for (size_t i = 0; i < sizeof SYNONYMS / sizeof *SYNONYMS; i++) {
        if (strcmp(name, SYNONYMS[i].name) == 0) {
            return SYNONYMS[i].what;
        }
    }
    return OTHER;
}

static void take_column(gs_step_csv_header *out, char *name, int column)
{
    bool is_norm = strcmp(name, "batch_time_norm") == 0;
    int64_t unit_ns = take_unit(name);
    int what = meaning_of(name);
    int *slot = what == STEP   ? &out->step_column
                : what == RANK ? &out->rank_column
                : what < STEP  ? &out->part_columns[what]
                               : NULL;
    if (is_norm && out->part_columns[GS_STEP_TIME] >= 0 && out->step_column < 0) {
        /* In that layout "time" counts iterations. */
        out->step_column = out->part_columns[GS_STEP_TIME];
        out->part_columns[GS_STEP_TIME] = -1;
    }
    out->is_relative = out->is_relative || is_norm;
    if (slot != NULL && *slot < 0) {
        *slot = column;
        if (what < STEP) {
            out->unit_ns[what] = unit_ns;
        }
    } else if (name[0] != '\0') {
        size_t used = strlen(out->ignored);
        snprintf(out->ignored + used, sizeof out->ignored - used, "%s%s", used == 0 ? "" : ", ",
                 name);
    }
}

bool gs_step_csv_header_read(char *text, gs_step_csv_header *out)
{
    *out = (gs_step_csv_header){.step_column = -1, .rank_column = -1};
    for (int p = 0; p < GS_STEP_PARTS; p++) {
        out->part_columns[p] = -1;
    }
    out->separator = strchr(text, ',') != NULL ? ',' : strchr(text, ';') != NULL ? ';' : '\t';
    bool is_of_operations = false;
    char *at = text;
    for (char *cell = NULL; (cell = gs_step_csv_cell(&at, out->separator)) != NULL;) {
        if (out->column_count == GS_STEP_CSV_COLUMNS_MAX) {
            return false;
        }
        is_of_operations = is_of_operations || strcmp(cell, "optype") == 0;
        take_column(out, cell, out->column_count++);
    }
    return !is_of_operations && out->step_column >= 0 && out->rank_column >= 0 &&
           out->part_columns[GS_STEP_TIME] >= 0;
}
