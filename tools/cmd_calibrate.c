/* calibrate: measures links, codecs, vector operations and the model where it is started, and
 * writes the scenario with what came out; process 0 alone prints and writes. */
#include "tools/calibrate.h"
#include "tools/calibrate_page.h"
#include "tools/live_crew.h"
#include "tools/message.h"
#include "tools/output.h"
#include "tools/scenario_load.h"
#include "tools/verbs.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---------------------------------------------------------------- files */

/* "dir/name" without ".json" and with another ending. Owner: caller, free(). */
static char *beside(const char *file, const char *ending)
{
    size_t length = strlen(file);
    if (length > 5 && strcmp(file + length - 5, ".json") == 0) {
        length -= 5;
    }
    return gs_text("%.*s%s", (int)length, file, ending);
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* Files of the scenario are named from this folder; what lies elsewhere names them in full. */
static gs_json *full_name(const gs_json_at *file)
{
    const char *text = NULL;
    if (gs_json_text(file, &text, NULL) != GS_OK || strpbrk(text, "./") == NULL || text[0] == '/') {
        return NULL; /* none, bundled, or in full already */
    }
    char folder[PATH_MAX];
    if (getcwd(folder, sizeof folder) == NULL) {
        return NULL;
    }
    char *path = gs_text("%s/%s", folder, text);
    gs_json *name = gs_need(gs_json_new_text(path));
    free(path);
    return name;
}

static bool find_path(const gs_json_at *root, const char *const *keys, gs_json_at *out)
{
    *out = *root;
    for (size_t i = 0; keys[i] != NULL; i++) {
        gs_json_at next;
        if (!gs_json_find(out, keys[i], &next)) {
            return false;
        }
        *out = next;
    }
    return true;
}

static void name_in_full(gs_json *scenario, const char *const *parents, const char *key)
{
    gs_json_at root = {.value = scenario, .file = "", .path = ""};
    gs_json_at parent;
    gs_json_at file;
    if (!find_path(&root, parents, &parent) || !gs_json_find(&parent, key, &file)) {
        return;
    }
    if (gs_json_kind_of(file.value) == GS_JSON_LIST) {
        gs_json_at item;
        for (size_t i = 0; gs_json_walk(&file, i, &item); i++) {
            gs_json *name = full_name(&item);
            if (name != NULL && !gs_json_put(file.value, i, name)) {
                gs_need(NULL);
            }
        }
        return;
    }
    gs_json *name = full_name(&file);
    if (name != NULL && !gs_json_set(parent.value, key, name)) {
        gs_need(NULL);
    }
}

/* profile_is_new: it lies beside the scenario. */
static void name_files_in_full(const gs_scenario *scenario, bool profile_is_new, gs_json *document)
{
    static const char *const workload[] = {"workload", NULL};
    static const char *const data[] = {"workload", "data", NULL};
    static const char *const nic[] = {"cluster", "links", "nic", NULL};
    static const char *const intra[] = {"cluster", "links", "intra", NULL};
    static const char *const bandwidth[] = {"noise", "bandwidth", NULL};
    const char *const *files = scenario->workload.task.data.source->files;
    if (!profile_is_new) {
        name_in_full(document, workload, "profile");
    }
    name_in_full(document, nic, "curve");
    name_in_full(document, intra, "curve");
    name_in_full(document, bandwidth, "trace");
    for (; files != NULL && *files != NULL; files++) {
        name_in_full(document, data, *files);
    }
}

static int write_document(const char *file, const gs_json *document)
{
    gs_output output;
    int code = document == NULL ? GS_EXIT_OK : gs_output_open(&output, file);
    if (document == NULL || code != GS_EXIT_OK) {
        return code;
    }
    char *text = gs_need(gs_json_write(document, true));
    fprintf(output.text, "%s\n", text);
    free(text);
    return gs_output_close(&output);
}

/* The scenario last: where it is, all that it names is there. */
static int write_files(const gs_cli *cli, const gs_scenario *scenario, gs_calibrated *calibrated)
{
    const char *file = cli->flags.output;
    char *profile = beside(file, ".profile.json");
    char *ring = beside(file, ".ring.json");
    char *native = beside(file, ".native.json");
    if (strchr(file, '/') != NULL) {
        name_files_in_full(scenario, calibrated->profile != NULL, calibrated->scenario);
    }
    int code = write_document(profile, calibrated->profile);
    code = code == GS_EXIT_OK ? write_document(ring, calibrated->ring) : code;
    code = code == GS_EXIT_OK ? write_document(native, calibrated->native) : code;
    code = code == GS_EXIT_OK ? write_document(file, calibrated->scenario) : code;
    free(profile);
    free(ring);
    free(native);
    return code;
}

/* ---------------------------------------------------------------- all of it */

static int check(const gs_cli *cli, const gs_loaded *loaded, const gs_live_crew *crew)
{
    const gs_scenario *scenario = &loaded->scenario;
    if (strcmp(cli->flags.output, "-") == 0) {
        gs_complain("-o -: standard output has the table; name a file");
        return GS_EXIT_USAGE;
    }
    if (crew->crew != NULL && gs_crew_size(crew->crew) < scenario->ranks) {
        gs_complain("%s: %u ranks, and %s started %u; start as many, or say other nodes",
                    scenario->name, scenario->ranks, crew->launch.launcher,
                    gs_crew_size(crew->crew));
        return GS_EXIT_USAGE;
    }
    gs_output output;
    int code = GS_EXIT_OK;
    if (cli->flags.output[0] != '\0' && gs_live_crew_speaks(crew)) {
        code = gs_output_open(&output, cli->flags.output);
        gs_output_drop(&output);
    }
    return code;
}

static int tell(const gs_cli *cli, const gs_scenario *scenario, const gs_live_crew *crew,
                const gs_measured_cluster *measured)
{
    gs_calibrated calibrated;
    bool is_written = cli->flags.output[0] != '\0';
    const char *file = last_part(cli->flags.output);
    gs_calibrated_names names = {NULL, NULL, NULL};
    if (is_written) {
        names = (gs_calibrated_names){beside(file, ".profile.json"), beside(file, ".ring.json"),
                                      beside(file, ".native.json")};
    }
    gs_calibrate(measured, scenario, crew->transport, &names, (int64_t)time(NULL), &calibrated);
    int code = is_written ? write_files(cli, scenario, &calibrated) : GS_EXIT_OK;
    if (code == GS_EXIT_OK) {
        code = gs_calibrate_page(cli, measured, scenario, crew->transport, &calibrated);
    }
    gs_calibrated_free(&calibrated);
    free(names.profile);
    free(names.ring);
    free(names.native);
    return code;
}

/* Who is gone has been named, and is asked for nothing any more. */
static int agree(gs_live_crew *crew, int code)
{
    bool is_broken = crew->crew != NULL && gs_crew_broken(crew->crew) != NULL;
    return is_broken ? code : gs_live_crew_agree(crew, code);
}

static int run(const gs_cli *cli, const gs_loaded *loaded, gs_live_crew *crew)
{
    gs_arena arena;
    gs_measured_cluster measured;
    gs_error err;
    gs_arena_init(&arena);
    int code = GS_EXIT_OK;
    if (gs_measure_cluster(crew->crew, crew->transport, &loaded->scenario, &arena, &measured,
                           &err) != GS_OK) {
        gs_complain("%s: %s", loaded->scenario.name, err.text);
        code = GS_EXIT_FAILED;
    }
    code = agree(crew, code);
    if (code == GS_EXIT_OK && gs_live_crew_speaks(crew)) {
        code = tell(cli, &loaded->scenario, crew, &measured);
    }
    gs_arena_fini(&arena);
    return agree(crew, code);
}

/* Before anything is measured: others that run here are in all that is. */
static void tell_load(const gs_live_crew *crew, const gs_cli *cli)
{
    double load = 0.0;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    FILE *in = fopen("/proc/loadavg", "r");
    bool is_known = in != NULL && fscanf(in, "%lf", &load) == 1;
    if (in != NULL) {
        fclose(in);
    }
    if (is_known && processors > 0 && load > (double)processors && gs_live_crew_speaks(crew) &&
        !cli->flags.quiet) {
        gs_complain(
            "note: the load of the last minute is %.3g on %ld processor%s: what is measured "
            "is what other programs leave; wait until they have ended",
            load, processors, processors == 1 ? "" : "s");
    }
}

int gs_cmd_calibrate(const gs_cli *cli)
{
    gs_live_crew crew;
    gs_loaded loaded;
    int code = gs_live_crew_begin(&crew, cli, check, &loaded);
    if (code == GS_EXIT_OK) {
        gs_live_crew_tell_crowd(&crew, cli);
        tell_load(&crew, cli);
        code = run(cli, &loaded, &crew);
    }
    gs_live_crew_close(&crew);
    gs_scenario_unload(&loaded);
    return code;
}
