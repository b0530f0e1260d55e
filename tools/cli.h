/* The command line, resolved: which verb, its words, every flag and where its value came from.
 *
 * Precedence: flag, then environment, then (in the verbs) scenario, then user configuration, then
 * built-in. Every variable that counted is in `environment`, to be printed. */
#ifndef GS_TOOLS_CLI_H
#define GS_TOOLS_CLI_H

#include "tools/flags.h"
#include "tools/plugin.h"
#include "tools/table.h"
#include "traces/store/store.h"

enum { GS_CLI_STRATEGIES_MAX = 256, GS_CLI_GATES_MAX = 64 };

typedef enum gs_from {
    GS_FROM_BUILT_IN,
    GS_FROM_CONFIGURATION,
    GS_FROM_VARIABLE,
    GS_FROM_FLAG
} gs_from;

typedef struct gs_cli gs_cli;

typedef struct gs_verb {
    const char *name;
    const char *words;             /* what follows it, for help */
    const char *summary;           /* one line */
    int (*run)(const gs_cli *cli); /* returns the exit code */
} gs_verb;

struct gs_cli {
    gs_flags flags;
    gs_from from[GS_FLAG_COUNT];
    const char *strategies[GS_CLI_STRATEGIES_MAX];
    size_t strategy_count;
    const char *plugins[GS_PLUGINS_MAX]; /* files as they were named */
    size_t plugin_count;
    const char *gates[GS_CLI_GATES_MAX];
    size_t gate_count;
    gs_loaded_plugin *loaded; /* [plugin_count] */
    gs_verb_id verb;
    const char *const *words; /* after the verb */
    size_t word_count;
    char environment[2048]; /* "GRADSYNC_JOBS=4 ...", "" where none counted */
    bool bold;              /* the output may carry colour */
};

const gs_verb *gs_verb_at(gs_verb_id id);
/* Paragraphs for help and manual page, parted by empty lines; one that starts with spaces is an
 * example. */
const char *gs_verb_details(gs_verb_id id);
/* What the first word may be, NULL at the end; NULL: anything. */
const char *const *gs_verb_first_words(gs_verb_id id);

/* Reads the command line and runs it; the exit code. */
int gs_cli_run(int argc, char **argv);

/* Text, CSV or Markdown, as the flags say; JSON is the verb's own. */
gs_table_format gs_cli_table_format(const gs_cli *cli);

/* Where the database is: --db and its kin, else the default place. Errors: GS_ENOTFOUND.
 * *out_is_default: nobody has named it. */
GS_MUST_USE gs_status gs_cli_database(const gs_cli *cli, char *out, size_t out_bytes,
                                      bool *out_is_default, gs_error *err);

/* Opens it for a verb that reads or changes what is there: one that is not there yet is not made.
 * path: where it is. An exit code; errors are printed. Owner of *out: caller, gs_store_close. */
int gs_cli_open_store(const gs_cli *cli, char path[GS_FLAG_TEXT_BYTES], gs_store **out);

#endif
