#include "tools/scenario_load.h"

#include "base/log.h"
#include "models/dataset.h"
#include "tools/message.h"
#include "tools/verbs.h"
#include "tools/shell_text.h"
#include "tools/places.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FLAG_WORDS = 3 };

/* Its processes are ranks and servers: what is measured is what will run. */
static bool has_servers(const gs_cli *cli)
{
    return cli->verb == GS_VERB_live || cli->verb == GS_VERB_calibrate;
}

static bool is_live(const gs_cli *cli)
{
    return cli->verb == GS_VERB_live;
}

/* The launcher of these has started processes that share the runs, not the ranks of the job; and a
 * report is about runs whose ranks are known. */
static bool has_own_ranks(const gs_cli *cli)
{
    return cli->verb == GS_VERB_sweep || cli->verb == GS_VERB_recommend ||
           cli->verb == GS_VERB_report;
}

/* Words of the command line, then what flags say: the last one wins. */
static size_t gather_overrides(const gs_cli *cli, gs_arena *arena, const char **out)
{
    size_t count = 0;
    for (size_t i = 1; i < cli->word_count; i++) {
        out[count++] = cli->words[i];
    }
    char text[64];
    if (cli->from[GS_FLAG_seed] == GS_FROM_FLAG) {
        snprintf(text, sizeof text, "seed=%lld", (long long)cli->flags.seed);
        out[count++] = gs_need(gs_arena_text(arena, text));
    }
    if (cli->from[GS_FLAG_seeds] == GS_FROM_FLAG) {
        snprintf(text, sizeof text, "evaluate.seeds=%lld", (long long)cli->flags.seeds);
        out[count++] = gs_need(gs_arena_text(arena, text));
    }
    if (cli->from[GS_FLAG_network_mode] == GS_FROM_FLAG) {
        snprintf(text, sizeof text, "evaluate.network_mode=%s",
                 gs_network_mode_names[cli->flags.network_mode]);
        out[count++] = gs_need(gs_arena_text(arena, text));
    }
    return count;
}

int gs_scenario_tell_notes(const gs_cli *cli, const gs_scenario *scenario)
{
    for (uint32_t i = 0; i < scenario->note_count; i++) {
        const char *note = scenario->notes[i];
        if (cli->flags.strict) {
            gs_complain("%s: %s; --strict makes notes errors", scenario->name, note);
            return GS_EXIT_USAGE;
        }
        if (!cli->flags.quiet) {
            gs_complain("%s: note: %s", scenario->name, note);
        }
    }
    return GS_EXIT_OK;
}

static gs_status read(const gs_cli *cli, const char *file, const char *text, gs_loaded *out,
                      gs_error *err)
{
    if (!has_own_ranks(cli)) {
        GS_TRY(gs_launcher_find(&out->launcher, err));
    }
    const char **words = gs_need(GS_TAKE(&out->arena, const char *, cli->word_count + FLAG_WORDS));
    const char *user_dir = gs_places_scenarios();
    gs_scenario_options options = {
        .overrides = words,
        .override_count = gather_overrides(cli, &out->arena, words),
        .strategies = cli->strategies,
        .strategy_count = cli->strategy_count,
        .ranks = out->launcher.ranks,
        .with_servers = has_servers(cli),
        .data_dir = gs_places_data(),
        .user_dir = user_dir[0] == '\0' ? NULL : user_dir,
        .text = text,
    };
    return gs_scenario_read(file, &options, &out->arena, &out->scenario, err);
}

gs_status gs_scenario_try(const gs_cli *cli, const char *file, const char *text, gs_loaded *out,
                          gs_error *err)
{
    *out = (gs_loaded){0};
    gs_arena_init(&out->arena);
    return read(cli, file, text, out, err);
}

/* text NULL: the file is read. */
static int load(const gs_cli *cli, const char *file, const char *text, gs_loaded *out)
{
    gs_error err = {0};
    if (read(cli, file, text, out, &err) != GS_OK) {
        return gs_complain_error(&err);
    }
    if (out->launcher.variable != NULL) {
        gs_log(GS_LOG_INFO, "%s=%lld: ranks of the launcher", out->launcher.variable,
               (long long)out->launcher.ranks);
    }
    return gs_scenario_tell_notes(cli, &out->scenario);
}

int gs_scenario_load(const gs_cli *cli, gs_loaded *out)
{
    *out = (gs_loaded){0};
    gs_arena_init(&out->arena);
    if (cli->word_count == 0) {
        gs_complain("%s: which scenario? name a file, - or a bundled one (gradsync list scenarios)",
                    gs_verb_at(cli->verb)->name);
        return GS_EXIT_USAGE;
    }
    return load(cli, cli->words[0], NULL, out);
}

int gs_scenario_load_text(const gs_cli *cli, const char *name, const char *text, gs_loaded *out)
{
    *out = (gs_loaded){0};
    gs_arena_init(&out->arena);
    return load(cli, name, text, out);
}

void gs_scenario_unload(gs_loaded *loaded)
{
    if (loaded->scenario.resolved != NULL) {
        gs_scenario_free(&loaded->scenario);
    }
    gs_arena_fini(&loaded->arena);
    *loaded = (gs_loaded){0};
}

int64_t gs_scenario_gradient_bytes(const gs_scenario *scenario)
{
    const gs_profile *profile = scenario->workload.profile;
    int64_t elements = 0;
    for (uint32_t i = 0; i < profile->unit_count; i++) {
        elements += profile->units[i].elements;
    }
    return elements * scenario->workload.element_bytes;
}

char *gs_scenario_model_name(const gs_scenario *scenario)
{
    const gs_workload *workload = &scenario->workload;
    if (!workload->real_gradients) {
        return gs_text("%s", workload->profile->source);
    }
    return gs_text("%s on %s", workload->task.model->name, workload->task.data.source->name);
}

/* As the processes of a live run are started again. */
static const char *starter_of(const char *variable)
{
    static const char *const starters[][2] = {
        {"OMPI_COMM_WORLD_SIZE", "mpirun -n"},
        {"PMI_SIZE", "mpiexec -n"},
        {"SLURM_NTASKS", "srun -n"},
        {"WORLD_SIZE", "torchrun --no_python --nproc-per-node"}};
    for (size_t i = 0; i < sizeof starters / sizeof *starters; i++) {
        if (strcmp(variable, starters[i][0]) == 0) {
            return starters[i][1];
        }
    }
    return NULL;
}

void gs_scenario_put_command(const gs_cli *cli, const gs_loaded *loaded, FILE *out)
{
    const char *variable = loaded->launcher.variable;
    const char *starter = variable != NULL && is_live(cli) ? starter_of(variable) : NULL;
    if (starter != NULL) {
        fprintf(out, "%s %" PRId64 " ", starter, loaded->launcher.ranks);
    } else if (variable != NULL) {
        fprintf(out, "%s=%" PRId64 " ", variable, loaded->launcher.ranks);
    }
    fprintf(out, "gradsync %s", gs_verb_at(cli->verb)->name);
    for (size_t i = 0; i < cli->word_count; i++) {
        fputc(' ', out);
        gs_shell_put(cli->words[i], out);
    }
    for (size_t i = 0; i < cli->plugin_count; i++) {
        fputs(" --plugin ", out);
        gs_shell_put(cli->plugins[i], out);
    }
    for (size_t i = 0; i < cli->strategy_count; i++) {
        fputs(" -s ", out);
        gs_shell_put(cli->strategies[i], out);
    }
    if (cli->from[GS_FLAG_network_mode] == GS_FROM_FLAG) {
        fprintf(out, " --network-mode %s", gs_network_mode_names[cli->flags.network_mode]);
    }
    fprintf(out, " --seed %" PRIu64 " --seeds %" PRId64, loaded->scenario.seed,
            loaded->scenario.seeds);
}
