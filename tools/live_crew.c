#include "tools/live_crew.h"

#include "base/hash.h"
#include "live/accelerator_module.h"
#include "tools/interrupt.h"
#include "tools/message.h"
#include "tools/version.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of its processes all but 0 keep what they would say. */
static gs_status find(gs_live_crew *out, gs_error *err)
{
    *out = (gs_live_crew){.transport = "loop"};
    GS_TRY(gs_launch_find(&out->launch, err));
    if (out->launch.rank > 0) {
        gs_message_keep();
    }
    return GS_OK;
}

void gs_live_crew_tell_crowd(const gs_live_crew *crew, const gs_cli *cli)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t processes = crew->crew == NULL ? 1 : gs_crew_on_host(crew->crew);
    if (!cli->flags.quiet && processors > 0 && processes > (uint32_t)processors) {
        gs_complain("note: %u processes on %ld processors of one host: while one computes another "
                    "waits, and what is measured is that; on machines of their own they are faster",
                    processes, processors);
    }
}

bool gs_live_crew_speaks(const gs_live_crew *crew)
{
    return crew->launch.rank == 0;
}

/* ---------------------------------------------------------------- opening */

static gs_status transport_of(const gs_live_crew *crew, const gs_cli *cli,
                              const gs_live_settings *settings, int *out, gs_error *err)
{
    int chosen = settings->transport;
    if (cli->from[GS_FLAG_transport] == GS_FROM_FLAG) {
        chosen = cli->flags.transport;
    }
    bool is_launched = crew->launch.launcher != NULL;
    bool is_torchrun = is_launched && strcmp(crew->launch.launcher, "torchrun") == 0;
    if (chosen == GS_TRANSPORT_AUTO) {
        chosen = !is_launched  ? GS_TRANSPORT_LOOP
                 : is_torchrun ? GS_TRANSPORT_NCCL
                               : GS_TRANSPORT_MPI;
    }
    if (chosen == GS_TRANSPORT_LOOP && is_launched && crew->launch.ranks > 1) {
        return gs_fail(err, GS_EINVAL,
                       "transport loop is threads of one process, and %s started %u; start one, or "
                       "choose mpi, tcp or nccl",
                       crew->launch.launcher, crew->launch.ranks);
    }
    *out = chosen;
    return GS_OK;
}

static bool is_interrupted(void)
{
    return gs_interrupt_signal() != 0;
}

static gs_crew_config config_of(const gs_live_crew *crew, const gs_live_settings *settings)
{
    const gs_launch *launch = &crew->launch;
    return (gs_crew_config){
        .carried = {.chunk_bytes = (size_t)settings->chunk_bytes,
                    .poll_ns = settings->poll_ns,
                    .deadline_ns = settings->deadline_ns,
                    .processes = launch->ranks,
                    .process = launch->rank,
                    .local_process = launch->local_rank,
                    .address = launch->address[0] == '\0' ? NULL : launch->address,
                    .job = launch->job[0] == '\0' ? NULL : launch->job},
        .interrupted = is_interrupted,
    };
}

/* nccl moves data; what announces it travels on a carrier of the launcher's. */
static gs_status open_control(gs_live_crew *crew, gs_crew_config *config, gs_error *err)
{
    bool is_torchrun =
        crew->launch.launcher == NULL || strcmp(crew->launch.launcher, "torchrun") == 0;
    GS_TRY(gs_carrier_find(is_torchrun ? "tcp" : "mpi", &crew->control, err));
    gs_status status = crew->control->open(&config->carried, &crew->control_net, err);
    if (status != GS_OK) {
        crew->control = NULL;
        return status;
    }
    config->carried.control = crew->control;
    config->carried.control_net = crew->control_net;
    return GS_OK;
}

/* Before the others are met: a host without a device says so at once. */
static gs_status find_device(gs_live_crew *crew, gs_error *err)
{
    gs_error why;
    void *probe;
    GS_TRY(gs_accelerator_find("cuda", &crew->device, err));
    if (crew->device->open(crew->launch.local_rank, &probe, &why) != GS_OK) {
        return gs_fail(err, GS_EUNSUPPORTED,
                       "nccl: no CUDA device on this host for its process %u: %s",
                       crew->launch.local_rank, why.text);
    }
    crew->device->close(probe);
    return GS_OK;
}

static gs_status open_as(gs_live_crew *crew, int transport, const gs_live_settings *settings,
                         gs_error *err)
{
    gs_crew_config config = config_of(crew, settings);
    crew->transport = gs_live_transport_names[transport];
    if (transport == GS_TRANSPORT_LOOP) {
        return GS_OK;
    }
    GS_TRY(gs_carrier_find(crew->transport, &config.carrier, err));
    if (transport == GS_TRANSPORT_NCCL) {
        GS_TRY(find_device(crew, err));
        GS_TRY(open_control(crew, &config, err));
    }
    return gs_crew_open(&config, &crew->crew, err);
}

static void close_control(gs_live_crew *crew, bool is_broken)
{
    if (crew->control != NULL && is_broken) {
        crew->control->abort(crew->control_net);
    } else if (crew->control != NULL) {
        crew->control->close(crew->control_net);
    }
    crew->control = NULL;
}

static gs_status open_crew(gs_live_crew *crew, const gs_cli *cli, const gs_live_settings *settings,
                           gs_error *err)
{
    int transport = GS_TRANSPORT_LOOP;
    bool is_auto =
        settings->transport == GS_TRANSPORT_AUTO && cli->from[GS_FLAG_transport] != GS_FROM_FLAG;
    GS_TRY(transport_of(crew, cli, settings, &transport, err));
    gs_status status = open_as(crew, transport, settings, err);
    if (status == GS_EUNSUPPORTED && is_auto && transport == GS_TRANSPORT_NCCL) {
        close_control(crew, false);
        crew->device = NULL;
        crew->no_device = *err;
        crew->note = crew->no_device.text;
        status = open_as(crew, GS_TRANSPORT_TCP, settings, err);
    }
    return status;
}

void gs_live_crew_close(gs_live_crew *crew)
{
    bool is_broken = crew->crew != NULL && gs_crew_broken(crew->crew) != NULL;
    gs_crew_close(crew->crew);
    crew->crew = NULL;
    close_control(crew, is_broken);
}

/* ---------------------------------------------------------------- one voice */

typedef struct ending {
    int code;
    char text[GS_ERROR_TEXT_BYTES];
} ending;

static void say_first(gs_live_crew *crew, const gs_crew_bytes *all, ending *out)
{
    for (uint32_t i = 0; i < gs_crew_size(crew->crew); i++) {
        ending other = {.code = GS_EXIT_FAILED, .text = "it runs something else"};
        if (all[i].count == sizeof other) {
            memcpy(&other, all[i].data, sizeof other);
        }
        if (other.code != GS_EXIT_OK && out->code == GS_EXIT_OK) {
            *out = other;
            if (i > 0 && other.text[0] != '\0') {
                gs_complain("%s: %s", gs_crew_name(crew->crew, i), other.text);
            }
        }
    }
}

int gs_live_crew_agree(gs_live_crew *crew, int code)
{
    if (crew->crew == NULL) {
        return code;
    }
    ending mine = {.code = code};
    gs_error err;
    snprintf(mine.text, sizeof mine.text, "%s", gs_message_kept());
    gs_crew_bytes *all = gs_need(calloc(gs_crew_size(crew->crew), sizeof *all));
    gs_status status = gs_crew_gather(crew->crew, &mine, sizeof mine, all, &err);
    ending agreed = {.code = GS_EXIT_OK};
    if (status == GS_OK && gs_live_crew_speaks(crew)) {
        say_first(crew, all, &agreed);
    }
    if (status == GS_OK) {
        status = gs_crew_share(crew->crew, &agreed, sizeof agreed, &err);
    }
    for (uint32_t i = 0; i < gs_crew_size(crew->crew); i++) {
        free(all[i].data);
    }
    free(all);
    if (status != GS_OK) {
        bool is_told = gs_interrupt_signal() != 0;
        if (gs_crew_lost(crew->crew) == 0 && crew->launch.rank == 1 && !is_told) {
            gs_message_speak(); /* process 0 cannot, and one is enough */
        }
        gs_complain("%s", err.text);
        return code == GS_EXIT_OK ? GS_EXIT_FAILED : code;
    }
    return agreed.code;
}

/* ---------------------------------------------------------------- before anything runs */

/* Of the same program on the same scenario in the same way, or none runs. */
static int check_same(const gs_live_crew *crew, const gs_cli *cli, const gs_scenario *scenario)
{
    gs_tool_facts facts = gs_version_facts();
    gs_error err;
    if (crew->crew == NULL) {
        return GS_EXIT_OK;
    }
    /* What else decides which calls of the crew follow. */
    char *way = gs_text("--repeat %" PRId64 "%s%s", cli->flags.repeat,
                        cli->flags.dry_run ? " --dry-run" : "",
                        cli->flags.recording[0] != '\0' ? " --recording" : "");
    char *resolved = gs_need(gs_json_write(scenario->resolved, false));
    char *build = gs_text("%s%s, %s", facts.commit, facts.dirty ? " changed" : "", facts.version);
    char *config = gs_text("%s, %016" PRIx64, scenario->name,
                           gs_hash(scenario->config_hash, resolved, strlen(resolved)));
    gs_status status = gs_crew_same(crew->crew, "build", build, &err);
    if (status == GS_OK) {
        status = gs_crew_same(crew->crew, "scenario", config, &err);
    }
    if (status == GS_OK) {
        status = gs_crew_same(crew->crew, "command", way, &err);
    }
    free(way);
    free(resolved);
    free(build);
    free(config);
    return status == GS_OK ? GS_EXIT_OK : gs_complain_error(&err);
}

/* The others hear nothing of this process: process 0 does not know why, if it knows at all. */
static int cannot_meet(const gs_error *err, int code)
{
    if (err->code == GS_EIO) {
        bool is_first = gs_message_kept()[0] == '\0';
        gs_message_speak();
        gs_complain("%s", is_first ? err->text : gs_message_kept());
        return code == GS_EXIT_OK ? GS_EXIT_USAGE : code;
    }
    return code == GS_EXIT_OK ? gs_complain_error(err) : code;
}

int gs_live_crew_begin(gs_live_crew *crew, const gs_cli *cli, gs_live_crew_check *check,
                       gs_loaded *out_loaded)
{
    gs_error err;
    *out_loaded = (gs_loaded){0};
    if (find(crew, &err) != GS_OK) {
        return gs_complain_error(&err);
    }
    int code = gs_scenario_load(cli, out_loaded);
    const gs_live_settings fallback = gs_live_settings_default();
    const gs_live_settings *settings = code == GS_EXIT_OK ? &out_loaded->scenario.live : &fallback;
    if (open_crew(crew, cli, settings, &err) != GS_OK) {
        return cannot_meet(&err, code);
    }
    code = code == GS_EXIT_OK ? check(cli, out_loaded, crew) : code;
    code = gs_live_crew_agree(crew, code);
    return code == GS_EXIT_OK ? check_same(crew, cli, &out_loaded->scenario) : code;
}

static bool has_others(const gs_cli *cli, gs_live_crew *crew)
{
    gs_error err;
    return (cli->verb == GS_VERB_live || cli->verb == GS_VERB_calibrate) &&
           find(crew, &err) == GS_OK && crew->launch.launcher != NULL && crew->launch.ranks > 1;
}

void gs_live_crew_hush(const gs_cli *cli)
{
    gs_live_crew crew;
    (void)has_others(cli, &crew);
}

int gs_live_crew_refuse(const gs_cli *cli, int code)
{
    gs_live_crew crew;
    gs_error err;
    if (!has_others(cli, &crew)) {
        return code;
    }
    const gs_live_settings settings = gs_live_settings_default();
    if (open_crew(&crew, cli, &settings, &err) != GS_OK) {
        return cannot_meet(&err, code);
    }
    code = gs_live_crew_agree(&crew, code);
    gs_live_crew_close(&crew);
    return code;
}
