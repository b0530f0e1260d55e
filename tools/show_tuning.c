/* show collective [KIND] [SCENARIO] [KEY=VALUE...]: what each algorithm and protocol takes for ops
 * of some sizes on a cluster, which is fastest, and which algorithm=auto takes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/message.h"
#include "tools/op_time.h"
#include "tools/scenario_load.h"
#include "tools/show.h"
#include "traces/importers/collective_name.h"

enum { SIZES_MAX = 64, CHOICES_MAX = 64 };

/* Programs that cut an op into pieces are timed piece by piece: on the demo a second at this size,
 * and minutes at some TiB, which no op has. */
#define SIZE_MAX_BYTES (INT64_C(64) << 30)

static const char *const default_scenario = "demo-ethernet";

/* Rows of the table all at once: who is fastest is known at the end of a size. */
typedef struct tuning_row {
    const char *algorithm, *protocol;
    uint32_t channels; /* 0: not known */
    double time_ns;
    double nic_bytes; /* of the busiest nic; < 0: not known, or nothing leaves the node */
    bool is_auto;
} tuning_row;

typedef struct asked {
    const gs_scenario *scenario;
    gs_collective_kind kind;
    uint32_t ranks, nodes;
    double node_nics;
    gs_nccl_model model;
    bool by_nccl; /* else by programs */
    gs_page *page;
    gs_arena *arena;
    tuning_row rows[CHOICES_MAX];
    uint32_t row_count;
} asked;

/* ---------------------------------------------------------------- words */

static bool find_kind(const char *word, gs_collective_kind *out)
{
    for (int kind = 0; kind < GS_COLLECTIVE_KIND_COUNT; kind++) {
        if (strcmp(gs_collective_kind_name((gs_collective_kind)kind), word) == 0) {
            *out = (gs_collective_kind)kind;
            return true;
        }
    }
    return false;
}

/* "A..B": powers of two of A up to B; "A": that size. Returns how many, 0 after a complaint. */
static uint32_t read_sizes(const char *text, int64_t sizes[SIZES_MAX])
{
    static const int64_t usual[] = {INT64_C(1) << 10,  INT64_C(1) << 15, INT64_C(1) << 20,
                                    INT64_C(25) << 20, INT64_C(1) << 28, INT64_C(1) << 30};
    enum { USUAL = sizeof usual / sizeof *usual, END_BYTES = 64 };
    if (text[0] == '\0') {
        memcpy(sizes, usual, sizeof usual);
        return USUAL;
    }
    const char *dots = strstr(text, "..");
    char first[END_BYTES];
    int64_t from = 0;
    int64_t to = 0;
    gs_error err = {0};
    size_t length = dots == NULL ? strlen(text) : (size_t)(dots - text);
    snprintf(first, sizeof first, "%.*s", (int)(length < END_BYTES ? length : END_BYTES - 1), text);
    if (gs_parse_bytes(first, &from, &err) != GS_OK ||
        gs_parse_bytes(dots == NULL ? first : dots + 2, &to, &err) != GS_OK) {
        gs_complain("show collective: --size %s: %s", text, err.text);
        return 0;
    }
    if (from < 1 || to < from || to > SIZE_MAX_BYTES) {
        gs_complain("show collective: --size %s: takes 1B..64GiB, the smaller one first", text);
        return 0;
    }
    uint32_t count = 0;
    for (int64_t bytes = from; bytes <= to && count < SIZES_MAX; bytes *= 2) {
        sizes[count++] = bytes;
    }
    return count;
}

/* ---------------------------------------------------------------- rows */

static void add_row(asked *of, tuning_row row)
{
    if (of->row_count < CHOICES_MAX) {
        of->rows[of->row_count++] = row;
    }
}

/* Bytes that the busiest nic sends by NCCL's algorithm. A ring passes each node once: (n-1)/n of
 * the bytes for each way round, all of them in a broadcast. Of two trees with half of the bytes
 * each, a node is inner node of one (once up, twice down) and leaf of the other: 2 S; two nodes are
 * once each root of one child: S. */
static double nccl_nic_bytes(const asked *of, gs_nccl_algorithm algorithm, double bytes)
{
    double n = of->ranks;
    if (of->nodes == 1) {
        return -1.0;
    }
    double sent = bytes;
    if (algorithm == GS_NCCL_TREE || algorithm == GS_NCCL_NVLS_TREE) {
        sent = of->nodes == 2 ? bytes : 2.0 * bytes;
    } else if (of->kind != GS_BROADCAST) {
        sent = (of->kind == GS_ALL_REDUCE ? 2.0 : 1.0) * (n - 1.0) / n * bytes;
    }
    return sent / of->node_nics;
}

static void add_nccl_rows(asked *of, const gs_selection *selection, int64_t bytes)
{
    static const gs_communicator all = {.kinds = 0};
    gs_nccl_function function;
    if (!gs_nccl_function_of(of->kind, &function)) {
        return;
    }
    gs_choice rule = gs_selection_choose(selection, &all, 0, of->kind, bytes);
    bool taken = false;
    for (int a = 0; a < GS_NCCL_ALGORITHM_COUNT; a++) {
        uint32_t first = of->row_count;
        for (int p = 0; p < GS_NCCL_PROTOCOL_COUNT; p++) {
            gs_nccl_algorithm algorithm = (gs_nccl_algorithm)a;
            gs_nccl_protocol protocol = (gs_nccl_protocol)p;
            double us = gs_nccl_time_us(&of->model, function, algorithm, protocol, bytes);
            if (us < 0.0) {
                continue;
            }
            add_row(of, (tuning_row){.algorithm = gs_nccl_algorithm_names[a],
                                     .protocol = gs_nccl_protocol_names[p],
                                     .channels =
                                         gs_nccl_channels(&of->model, algorithm, protocol, bytes),
                                     .time_ns = us * 1e3,
                                     .nic_bytes = nccl_nic_bytes(of, algorithm, (double)bytes)});
        }
        /* The rule names a program: of its protocols the fastest is meant. */
        tuning_row *best = NULL;
        for (uint32_t i = first; i < of->row_count; i++) {
            best = best == NULL || of->rows[i].time_ns < best->time_ns ? &of->rows[i] : best;
        }
        if (best != NULL && !taken &&
            gs_nccl_program((gs_nccl_algorithm)a, of->kind) == rule.program) {
            best->is_auto = taken = true;
        }
    }
}

static void add_table_rows(asked *of, int64_t bytes)
{
    const gs_tuning *tuning = &of->scenario->cluster.tuning;
    for (uint32_t i = 0; i < tuning->table_count; i++) {
        bool outside;
        add_row(of, (tuning_row){
                        .algorithm = tuning->tables[i].choice.program->name,
                        .protocol = "measured",
                        .channels = tuning->tables[i].choice.rings,
                        .time_ns = (double)gs_curve_time(tuning->tables[i].curve, bytes, &outside),
                        .nic_bytes = -1.0});
    }
}

/* Seconds on equal private links like the farthest ranks': what programs of other kinds take. */
static double closed_ns(const asked *of, const gs_collective *program, int64_t bytes)
{
    const gs_link *link = gs_scenario_outer_link(of->scenario);
    gs_shape shape = gs_shape_plain(of->ranks, 0, 0);
    return 1e9 * program->closed_s(&shape, (double)bytes, (double)link->latency_ns * 1e-9,
                                   (double)link->bandwidth_bps * link->efficiency / 8.0);
}

static int add_program_rows(asked *of, int64_t bytes)
{
    for (uint32_t i = 0; i < gs_collective_count(); i++) {
        const gs_collective *program = gs_collective_at(i);
        tuning_row row = {.algorithm = program->name, .protocol = "-", .nic_bytes = -1.0};
        if (program->kind != of->kind) {
            continue;
        }
        if (of->kind != GS_ALL_REDUCE) {
            row.time_ns = closed_ns(of, program, bytes);
            add_row(of, row);
            continue;
        }
        gs_time_ns time = 0;
        int64_t nic_bytes = 0;
        gs_error err = {0};
        gs_status status = gs_op_time(of->scenario, program->name, bytes, &time, &nic_bytes, &err);
        if (status == GS_EINVAL || status == GS_EUNSUPPORTED) {
            continue; /* it cannot run on so many ranks, or no strategy offers it */
        }
        if (status != GS_OK) {
            return gs_complain_error(&err);
        }
        row.time_ns = (double)time;
        row.nic_bytes = of->nodes == 1 ? -1.0 : (double)nic_bytes / (of->nodes * of->node_nics);
        add_row(of, row);
    }
    return GS_EXIT_OK;
}

/* ---------------------------------------------------------------- the table */

static void add_bytes(gs_table *table, double bytes)
{
    char shown[GS_UNIT_TEXT_BYTES];
    char exact[32];
    if (bytes < 0.0) {
        gs_table_add(table, "-", "");
        return;
    }
    snprintf(exact, sizeof exact, "%.0f", bytes);
    gs_table_add(table, gs_format_bytes((int64_t)(bytes + 0.5), shown), exact);
}

static void add_gbps(gs_table *table, double bytes, double ns)
{
    char shown[32];
    char exact[GS_UNIT_TEXT_BYTES];
    if (!(ns > 0.0)) { /* of one rank */
        gs_table_add(table, "-", "");
        return;
    }
    snprintf(shown, sizeof shown, "%.3g GB/s", bytes / ns);
    gs_table_add(table, shown, gs_exact_real(8e9 * bytes / ns, exact));
}

static void put_rows(const asked *of, int64_t bytes)
{
    gs_table *table = &of->page->table;
    const char *name = gs_collective_kind_name(of->kind);
    double factor = gs_collective_bus_factor(name, (int32_t)of->ranks);
    uint32_t fastest = 0;
    for (uint32_t i = 1; i < of->row_count; i++) {
        fastest = of->rows[i].time_ns < of->rows[fastest].time_ns ? i : fastest;
    }
    for (uint32_t i = 0; i < of->row_count; i++) {
        const tuning_row *row = &of->rows[i];
        char text[GS_UNIT_TEXT_BYTES];
        char exact[GS_UNIT_TEXT_BYTES];
        bool best = i == fastest;
        add_bytes(table, (double)bytes);
        gs_table_add(table, row->algorithm, NULL);
        gs_table_add(table, row->protocol, NULL);
        snprintf(exact, sizeof exact, "%u", row->channels);
        gs_table_add(table, row->channels == 0 ? "-" : exact, row->channels == 0 ? "" : exact);
        gs_table_add(table, gs_format_duration((gs_time_ns)(row->time_ns + 0.5), text),
                     gs_exact_real(row->time_ns, exact));
        add_gbps(table, (double)bytes, row->time_ns);
        add_gbps(table, factor * (double)bytes, row->time_ns);
        add_bytes(table, row->nic_bytes);
        gs_table_add(table,
                     best && row->is_auto ? "fastest, auto"
                     : best               ? "fastest"
                     : row->is_auto       ? "auto"
                                          : "",
                     NULL);
    }
}

static void mark_auto(asked *of, const gs_selection *selection, int64_t bytes)
{
    static const gs_communicator all = {.kinds = 0};
    gs_choice rule = gs_selection_choose(selection, &all, 0, of->kind, bytes);
    for (uint32_t i = 0; i < of->row_count; i++) {
        of->rows[i].is_auto = strcmp(of->rows[i].algorithm, rule.program->name) == 0;
    }
}

static int add_size(asked *of, const gs_selection *selection, int64_t bytes)
{
    int code = GS_EXIT_OK;
    of->row_count = 0;
    if (of->by_nccl) {
        add_nccl_rows(of, selection, bytes);
    } else if (of->scenario->cluster.tuning.follow == GS_TUNE_MEASURED &&
               of->kind == GS_ALL_REDUCE) {
        add_table_rows(of, bytes);
        mark_auto(of, selection, bytes);
    } else {
        code = add_program_rows(of, bytes);
        mark_auto(of, selection, bytes);
    }
    put_rows(of, bytes);
    return code;
}

/* ---------------------------------------------------------------- the page */

static void add_columns(gs_page *page)
{
    static const gs_table_column columns[] = {
        {"size", "bytes", true},         {"algorithm", "algorithm", false},
        {"protocol", "protocol", false}, {"channels", "channels", true},
        {"time", "time_ns", true},       {"algbw", "algbw_bps", true},
        {"busbw", "busbw_bps", true},    {"sent per nic", "nic_bytes", true},
        {"choice", "choice", false},
    };
    page->table_key = "times";
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        gs_table_add_column(&page->table, columns[i]);
    }
}

static void add_nccl_facts(asked *of, const gs_nccl_machine *machine)
{
    static const gs_nccl_algorithm shown[] = {GS_NCCL_RING, GS_NCCL_NVLS};
    char text[160];
    const gs_nccl_graph *ring = &machine->graphs[shown[0]];
    snprintf(text, sizeof text, "%s, %u channels of %.3g GB/s found, ops over up to %u",
             gs_nccl_generation_names[machine->generation], ring->channels, ring->intra_gbps,
             machine->channels);
    gs_page_fact(of->page, "nccl", "nccl sees", text, NULL);
    if (of->scenario->cluster.tuning.nccl.times == 0) {
        gs_page_note(
            of->page,
            "Times are NCCL 2.30.7's own estimate, by which it chooses; a run times the "
            "sends of the algorithm over the scenario's links, without what protocols cost. "
            "cluster.nccl.times=model takes these times.");
    }
    if (machine->nvls) {
        gs_page_note(of->page,
                     "nvls and nvlstree: the switch sums; ranks cannot by sending, so that "
                     "auto takes the best of the others.");
    }
}

static const char *source_text(const gs_scenario *scenario)
{
    switch ((gs_tuning_source)scenario->cluster.tuning.follow) {
    case GS_TUNE_NCCL:
        return "NCCL's tuning model (cluster.tuning.follow=nccl)";
    case GS_TUNE_MPICH:
        return "MPICH's defaults (cluster.tuning.follow=mpich)";
    case GS_TUNE_MEASURED:
        return "the measured tables (cluster.tuning.measured)";
    case GS_TUNE_FIXED:
        break;
    }
    return "one algorithm for all sizes (cluster.tuning.follow=fixed)";
}

/* The selection of a strategy that leaves the choice open, or of none. */
static gs_selection selection_of(const gs_scenario *scenario)
{
    for (uint32_t i = 0; i < scenario->strategy_count; i++) {
        if (strcmp(scenario->strategies[i].strategy->name, "allreduce") == 0) {
            return scenario->strategies[i].selection;
        }
    }
    return (gs_selection){.rules = NULL};
}

static int fill(asked *of, const gs_cli *cli)
{
    int64_t sizes[SIZES_MAX];
    uint32_t count = read_sizes(cli->flags.size, sizes);
    gs_nccl_machine machine;
    const gs_scenario *scenario = of->scenario;
    const gs_tuning *tuning = &scenario->cluster.tuning;
    uint32_t node_ranks = (uint32_t)scenario->cluster.groups[0].ranks;
    bool has_machine = gs_scenario_nccl_machine(scenario, scenario->ranks, node_ranks, &machine);
    char text[32];
    if (count == 0) {
        return GS_EXIT_USAGE;
    }
    of->ranks = scenario->ranks;
    of->nodes = gs_cluster_has_nodes(&scenario->cluster) ? scenario->nodes : scenario->ranks;
    of->node_nics = gs_scenario_node_nics(scenario);
    of->by_nccl = has_machine && (tuning->follow == GS_TUNE_NCCL || tuning->nccl.times == 1);
    if (has_machine) {
        gs_nccl_model_init(&of->model, &machine, &tuning->nccl.settings);
    }
    gs_page_fact(of->page, "name", "collective", gs_collective_kind_name(of->kind), NULL);
    gs_page_fact(of->page, "scenario", "scenario", scenario->name, NULL);
    snprintf(text, sizeof text, "%u", of->ranks);
    gs_page_fact(of->page, "ranks", "ranks", text, gs_json_new_int(of->ranks));
    snprintf(text, sizeof text, "%u", of->nodes);
    gs_page_fact(of->page, "nodes", "nodes", text, gs_json_new_int(of->nodes));
    gs_page_fact(of->page, "follows", "auto follows", source_text(scenario), NULL);
    if (of->by_nccl) {
        add_nccl_facts(of, &machine);
    } else if (of->kind != GS_ALL_REDUCE) {
        gs_page_note(of->page, "Closed forms on equal private links like the nodes'.");
    }
    add_columns(of->page);
    gs_selection selection = selection_of(scenario);
    int code = GS_EXIT_OK;
    for (uint32_t i = 0; i < count && code == GS_EXIT_OK; i++) {
        code = add_size(of, &selection, sizes[i]);
    }
    gs_page_note(
        of->page,
        "algbw = size / time, busbw = what links carry of it, as nccl-tests counts; sent per "
        "nic: %s.",
        of->by_nccl ? "by the busiest node" : "the mean of all");
    return code;
}

int gs_show_tuning(gs_page *page, const gs_cli *cli)
{
    asked of = {.kind = GS_ALL_REDUCE, .page = page};
    size_t at = 1;
    at += cli->word_count > at && find_kind(cli->words[at], &of.kind);
    bool named = cli->word_count > at && strchr(cli->words[at], '=') == NULL;
    gs_cli rest = *cli;
    const char **words = gs_need(calloc(cli->word_count + 1, sizeof *words));
    words[0] = named ? cli->words[at++] : default_scenario;
    rest.word_count = 1;
    while (at < cli->word_count) {
        words[rest.word_count++] = cli->words[at++];
    }
    rest.words = words;
    gs_loaded loaded;
    int code = gs_scenario_load(&rest, &loaded);
    if (code == GS_EXIT_OK) {
        of.scenario = &loaded.scenario;
        of.arena = &loaded.arena;
        code = fill(&of, cli);
    }
    gs_scenario_unload(&loaded);
    free(words);
    return code;
}
