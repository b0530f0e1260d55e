/* doctor: what the program was built with, what it finds on this machine, and how well predictions
 * in the database have come true. Changes nothing but the schema of an older database. */
#include "base/json.h"
#include "models/blas.h"
#include "tools/ledger_page.h"
#include "tools/message.h"
#include "tools/page.h"
#include "tools/places.h"
#include "tools/scenario_list.h"
#include "tools/verbs.h"
#include "tools/version.h"
#include "traces/store/store.h"

#include <gsl/gsl_version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yajl/yajl_version.h>
#include <zlib.h>

static void add(gs_page *page, const char *key, const char *label, const char *text)
{
    gs_page_fact(page, key, label, text, NULL);
}

static void add_libraries(gs_page *page)
{
    char text[256];
    int yajl = yajl_version();
    add(page, "sqlite", "SQLite", gs_store_library());
    add(page, "cjson", "cJSON", gs_json_library());
    add(page, "gsl", "GSL", gsl_version);
    snprintf(text, sizeof text, "%d.%d.%d", yajl / 10000, yajl / 100 % 100, yajl % 100);
    add(page, "yajl", "yajl", text);
    add(page, "zlib", "zlib", zlibVersion());
    snprintf(text, sizeof text, "%s; 1 thread a product", gs_blas_kernel());
    add(page, "blas", "BLAS", text);
    add(page, "cuda_toolkit", "CUDA toolkit", gs_version_cuda_toolkit());
    add(page, "nccl", "NCCL", gs_version_nccl());
}

static void add_threads(gs_page *page)
{
    static const char *const variables[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                            "GOTO_NUM_THREADS", "OPENBLAS_CORETYPE"};
    char text[256];
    snprintf(text, sizeof text, "%ld online", sysconf(_SC_NPROCESSORS_ONLN));
    gs_page_fact(page, "processors", "processors", text,
                 gs_json_new_int(sysconf(_SC_NPROCESSORS_ONLN)));
    text[0] = '\0';
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        size_t used = strlen(text);
        if (value != NULL) {
            snprintf(text + used, sizeof text - used, "%s%s=%.40s", used == 0 ? "" : " ",
                     variables[i], value);
        }
    }
    add(page, "thread_variables", "thread variables", text[0] == '\0' ? "none set" : text);
}

static void add_places(gs_page *page)
{
    gs_arena arena;
    gs_arena_init(&arena);
    const gs_named_scenario *scenarios = NULL;
    size_t count = gs_scenario_list(&arena, &scenarios);
    char *text = gs_text("%s (%zu scenario%s)", gs_places_data(), count, count == 1 ? "" : "s");
    add(page, "data", "data", text);
    free(text);
    gs_arena_fini(&arena);
    const char *file = gs_places_config();
    text = gs_text("%s%s", file[0] == '\0' ? "no HOME" : file,
                   file[0] != '\0' && access(file, F_OK) != 0 ? " (absent)" : "");
    add(page, "configuration", "configuration", text);
    free(text);
    char *gnuplot = gs_places_program("gnuplot");
    add(page, "gnuplot", "gnuplot", gnuplot == NULL ? "not found in PATH" : gnuplot);
    free(gnuplot);
}

/* What opening it says, without making it, and what it holds of predictions. */
static void add_database_state(gs_page *page, const gs_cli *cli, const char *path)
{
    gs_error err = {0};
    gs_store *store = NULL;
    if (access(path, F_OK) != 0) {
        add(page, "database_state", "", "absent; made by the first run");
        return;
    }
    if (gs_store_open(path, GS_STORE_READ, &store, &err) != GS_OK) {
        add(page, "database_state", "", err.text);
        return;
    }
    char *text = gs_text("schema %lld, %s", (long long)gs_store_schema(),
                         access(path, W_OK) == 0 ? "writable" : "read only");
    add(page, "database_state", "", text);
    free(text);
    if (gs_ledger_page_add(page, cli, store, &err) != GS_OK) {
        add(page, "predictions_judged", "predictions", err.text);
    }
    gs_store_close(store);
}

static void add_database(gs_page *page, const gs_cli *cli)
{
    char path[GS_FLAG_TEXT_BYTES];
    bool is_default = false;
    gs_error err = {0};
    if (gs_cli_database(cli, path, sizeof path, &is_default, &err) != GS_OK) {
        add(page, "database", "database", err.text);
        return;
    }
    add(page, "database", "database", path);
    add_database_state(page, cli, path);
}

int gs_cmd_doctor(const gs_cli *cli)
{
    if (cli->word_count != 0) {
        gs_complain("doctor: takes no words, not %s", cli->words[0]);
        return GS_EXIT_USAGE;
    }
    gs_page page;
    gs_page_init(&page, "doctor", NULL);
    add(&page, "version", "version", gs_version_line());
    add_libraries(&page);
    add_threads(&page);
    add_places(&page);
    add_database(&page, cli);
    if (cli->environment[0] != '\0') {
        add(&page, "environment", "environment", cli->environment);
    }
    int code = gs_page_print(&page, cli);
    gs_page_fini(&page);
    return code;
}
