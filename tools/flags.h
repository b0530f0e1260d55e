/* The flags of the command line as one table (flags.def), and their values. */
#ifndef GS_TOOLS_FLAGS_H
#define GS_TOOLS_FLAGS_H

#include "base/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum gs_verb_id {
#define GS_VERB(name, words, summary) GS_VERB_##name,
#include "tools/verbs.def"
#undef GS_VERB
    GS_VERB_COUNT
} gs_verb_id;

enum { GS_FLAG_TEXT_BYTES = 1024, GS_LABEL_BYTES = 128 };

enum { GS_COLOR_AUTO, GS_COLOR_ALWAYS, GS_COLOR_NEVER };
enum { GS_PROGRESS_AUTO, GS_PROGRESS_PLAIN, GS_PROGRESS_JSON, GS_PROGRESS_NONE };
enum { GS_STEPS_SUM, GS_STEPS_ALL };
enum { GS_PRUNE_NONE, GS_PRUNE_HALVING };
enum { GS_INCONCLUSIVE_PASS, GS_INCONCLUSIVE_FAIL };

typedef struct gs_flags {
    bool json, csv, markdown, quiet, verbose, dry_run, strict, interrupted, man, help, version,
        rerun;
    int color, progress, log, steps, transport, network_mode, prune, inconclusive, objective;
    double alpha;
    int64_t seed, seeds, repeat, jobs, threads, gradients, step_limit, older_than, max_memory,
        budget, comparison;
    double min_accuracy, min_fidelity;
    char db[GS_FLAG_TEXT_BYTES], output[GS_FLAG_TEXT_BYTES], scenario[GS_FLAG_TEXT_BYTES],
        tolerance[GS_FLAG_TEXT_BYTES], recording[GS_FLAG_TEXT_BYTES], replay[GS_FLAG_TEXT_BYTES];
    char timeline[GS_FLAG_TEXT_BYTES], window[GS_LABEL_BYTES], shard[GS_LABEL_BYTES];
    char label[GS_LABEL_BYTES], format[GS_LABEL_BYTES], collective[GS_LABEL_BYTES],
        time_unit[GS_LABEL_BYTES], size[GS_LABEL_BYTES], limit[GS_LABEL_BYTES];
    char why[GS_FLAG_TEXT_BYTES], acks[GS_FLAG_TEXT_BYTES];
} gs_flags;

typedef enum gs_flag_id {
#define GS_FLAG(member, ...)      GS_FLAG_##member,
#define GS_FLAG_LIST(member, ...) GS_FLAG_##member,
#include "tools/flags.def"
#undef GS_FLAG
#undef GS_FLAG_LIST
    GS_FLAG_COUNT
} gs_flag_id;

typedef struct gs_flag {
    const char *name;
    char letter;           /* 0: none */
    const char *value;     /* word for its value; NULL: takes none */
    const char *variable;  /* of the environment; NULL */
    unsigned verbs;        /* bit 1 << gs_verb_id */
    bool in_configuration; /* of the user */
    const char *help;
    const gs_field *field; /* NULL: a list */
} gs_flag;

const gs_flag *gs_flag_at(gs_flag_id id);
bool gs_flag_is_of(gs_flag_id id, gs_verb_id verb);

/* Table of all flags that have a field, for defaults and parsing; and of those for the user
 * configuration. Both describe gs_flags. */
const gs_field_table *gs_flag_fields(void);
const gs_field_table *gs_flag_configuration(void);

#endif
