/* A scenario as the command line asks for it: file, KEY=VALUE words, flags, launcher. */
#ifndef GS_TOOLS_SCENARIO_LOAD_H
#define GS_TOOLS_SCENARIO_LOAD_H

#include "base/arena.h"
#include "tools/cli.h"
#include "tools/launcher.h"
#include "traces/scenario/scenario.h"

#include <stdio.h>

typedef struct gs_loaded {
    gs_arena arena;
    gs_scenario scenario;
    gs_launcher launcher;
} gs_loaded;

/* Reads words[0] with words[1..] as overrides. An exit code; errors are printed. Notes go to
 * standard error, or are an error with --strict. End with gs_scenario_unload, also after errors. */
int gs_scenario_load(const gs_cli *cli, gs_loaded *out);
/* The same for a scenario that the store kept: `text`, called `name`. */
int gs_scenario_load_text(const gs_cli *cli, const char *name, const char *text, gs_loaded *out);
/* What the input lacks: for people, or with --strict a reason to stop. An exit code. */
int gs_scenario_tell_notes(const gs_cli *cli, const gs_scenario *scenario);
/* Reads `file`, or `text` where that is no NULL, as above, and says nothing. */
GS_MUST_USE gs_status gs_scenario_try(const gs_cli *cli, const char *file, const char *text,
                                      gs_loaded *out, gs_error *err);
void gs_scenario_unload(gs_loaded *loaded);

/* "gradsync VERB WORDS -s ... --seed 1 --seeds 5": makes the same runs again; database, label and
 * format do not matter for that. */
void gs_scenario_put_command(const gs_cli *cli, const gs_loaded *loaded, FILE *out);

/* "small: 2 nodes x 4 ranks, tcp 10 Gbit/s; ...": what the job is. Owner: caller, free(). */
char *gs_scenario_headline(const gs_scenario *scenario);

/* Lines on what is assumed, what varies, the loader, and what the profile does not say. */
void gs_scenario_put_details(const gs_scenario *scenario, FILE *out);

/* Samples that a run takes, all ranks together: the same for every strategy. */
int64_t gs_scenario_budget_samples(const gs_scenario *scenario);

/* Bytes of the gradient of one rank. */
int64_t gs_scenario_gradient_bytes(const gs_scenario *scenario);

/* "mlp on digits" where gradients are real, else the profile's source. Owner: caller, free(). */
char *gs_scenario_model_name(const gs_scenario *scenario);

#endif
