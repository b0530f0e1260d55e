#include "tools/trace_page.h"

#include "tools/message.h"
#include "traces/curve_fit.h"
#include "traces/importers/trace_stat.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the line -------------------------------------------------------------------------------- */

static bool has_rank(const gs_profile *profile, int32_t rank)
{
    for (uint32_t i = 0; i < profile->rank_count; i++) {
        if (profile->ranks[i].rank == rank) {
            return true;
        }
    }
    return false;
}

/* "; missing ranks: 1, 3" or nothing; what that means is in the notes. */
static void put_missing(const gs_profile *profile, FILE *out)
{
    enum { SHOWN_MAX = 8 };
    int32_t missing = 0;
    for (int32_t rank = 0; rank < profile->world_size; rank++) {
        if (has_rank(profile, rank)) {
            continue;
        }
        missing++;
        if (missing <= SHOWN_MAX) {
            fprintf(out, "%s%d", missing == 1 ? "; missing ranks: " : ", ", (int)rank);
        }
    }
    if (missing > SHOWN_MAX) {
        fprintf(out, " and %d more", (int)(missing - SHOWN_MAX));
    }
}

static void put_profile(const gs_profile *profile, FILE *out)
{
    uint32_t steps = profile->rank_count == 0 ? 0 : profile->ranks[0].step_count;
    if (profile->world_size == 0) {
        fprintf(out, ", %u rank%s", profile->rank_count, profile->rank_count == 1 ? "" : "s");
    } else if (profile->rank_count == 1) {
        fprintf(out, ", rank %d of %d", (int)profile->ranks[0].rank, (int)profile->world_size);
    } else {
        fprintf(out, ", %u of %d ranks", profile->rank_count, (int)profile->world_size);
    }
    fprintf(out, ", %u step%s, %u gradient unit%s, %u blocking op%s per step", steps,
            steps == 1 ? "" : "s", profile->unit_count, profile->unit_count == 1 ? "" : "s",
            steps == 0 ? 0 : profile->blocking_count / steps,
            steps != 0 && profile->blocking_count / steps == 1 ? "" : "s");
    put_missing(profile, out);
}

static void put_curve(const gs_curve *curve, FILE *out)
{
    char least[GS_UNIT_TEXT_BYTES];
    char most[GS_UNIT_TEXT_BYTES];
    fprintf(out, ", %s", curve->collective);
    if (curve->ranks > 0) {
        fprintf(out, " on %d ranks", (int)curve->ranks);
    }
    if (curve->point_count > 0) {
        fprintf(out, " from %s to %s (%u sizes)", gs_format_bytes(curve->points[0].bytes, least),
                gs_format_bytes(curve->points[curve->point_count - 1].bytes, most),
                curve->point_count);
    }
}

static void put_node(const gs_node_graph *node, FILE *out)
{
    uint32_t sockets = 0;
    for (uint32_t i = 0; i < node->part_count; i++) {
        sockets += node->parts[i].kind == GS_NODE_SOCKET ? 1 : 0;
    }
    fprintf(out, ", %u GPU%s, %u nic%s, %u socket%s, %u link%s", node->gpu_count,
            node->gpu_count == 1 ? "" : "s", node->nic_count, node->nic_count == 1 ? "" : "s",
            sockets, sockets == 1 ? "" : "s", node->edge_count, node->edge_count == 1 ? "" : "s");
}

char *gs_trace_line(const gs_imported *imported)
{
    char *line = NULL;
    size_t bytes = 0;
    FILE *out = gs_need(open_memstream(&line, &bytes));
    fputs(imported->format, out);
    if (imported->profile != NULL) {
        put_profile(imported->profile, out);
    }
    for (uint32_t i = 0; i < imported->curve_count; i++) {
        put_curve(&imported->curves[i], out);
    }
    if (imported->node != NULL) {
        put_node(imported->node, out);
    }
    if (imported->ops != NULL) {
        fprintf(out, ", %u operations of %u types", imported->ops->op_count,
                imported->ops->type_count);
    }
    for (uint32_t i = 0; i < imported->note_count; i++) {
        fprintf(out, "; %s", imported->notes[i]);
    }
    fclose(out);
    return gs_need(line);
}

/* --- the page -------------------------------------------------------------------------------- */

typedef enum column_kind { TEXT, PLAIN, KNOWN, TIME, BYTES, RATE } column_kind;

typedef struct stat_column {
    const char *title;
    const char *name; /* in the table */
    const char *key;  /* in gs_trace_stat's document */
    column_kind kind;
} stat_column;

static const stat_column rank_columns[] = {
    {"rank", "rank", "rank", PLAIN},
    {"steps", "steps", "steps", PLAIN},
    {"step p50", "step_p50_ns", "p50", TIME},
    {"compute", "compute_ns", "compute_ns", TIME},
    {"host+gaps", "input_ns", "input_ns", TIME},
    {"wait", "wait_ns", "wait_ns", TIME},
    {"wire", "wire_ns", "wire_ns", TIME},
    {"hidden", "hidden_ns", "hidden_ns", TIME},
};

static const stat_column curve_columns[] = {
    {"collective", "collective", "collective", TEXT},
    {"ranks", "ranks", "ranks", KNOWN},
    {"hosts", "hosts", "hosts", KNOWN},
    {"sizes", "points", "points", PLAIN},
    {"from", "least_bytes", "least_bytes", BYTES},
    {"to", "most_bytes", "most_bytes", BYTES},
    {"smallest takes", "latency_ns", "latency_ns", TIME},
    {"algbw", "rate_bps", "rate_bps", RATE},
};

static const stat_column op_columns[] = {
    {"type", "type", "type", TEXT},
    {"operations", "count", "count", PLAIN},
    {"time in all", "total_ns", "total_ns", TIME},
};

static const stat_column link_columns[] = {
    {"from", "from", "from", TEXT},
    {"to", "to", "to", TEXT},
    {"kind", "kind", "kind", TEXT},
    {"links", "count", "count", PLAIN},
    {"rate each way", "rate_bps", "rate_bps", RATE},
};

static void add_cell(gs_table *table, const stat_column *column, const gs_json_at *row)
{
    gs_json_at value;
    gs_json_at whole;
    const char *text = "";
    int64_t number = 0;
    bool found =
        gs_json_find(row, column->key, &value) ||
        (gs_json_find(row, "step_ns", &whole) && gs_json_find(&whole, column->key, &value));
    if (!found || gs_json_int(&value, &number, NULL) != GS_OK) {
        bool is_text = found && gs_json_text(&value, &text, NULL) == GS_OK;
        gs_table_add(table, is_text ? text : "", NULL);
        return;
    }
    char exact[32];
    char shown[GS_UNIT_TEXT_BYTES];
    char exact_rate[GS_UNIT_TEXT_BYTES];
    snprintf(exact, sizeof exact, "%lld", (long long)number);
    switch (column->kind) {
    case TIME:
        gs_format_duration(number, shown);
        break;
    case BYTES:
        gs_format_bytes(number, shown);
        break;
    case RATE:
        snprintf(shown, sizeof shown, "%s", number == 0 ? "-" : gs_format_rate(number, exact_rate));
        break;
    case TEXT:
    case PLAIN:
        snprintf(shown, sizeof shown, "%s", exact);
        break;
    case KNOWN:
        snprintf(shown, sizeof shown, "%s", number == 0 ? "-" : exact);
        break;
    }
    gs_table_add(table, shown, exact);
}

static void fill_rows(gs_table *table, const stat_column *columns, size_t count,
                      const gs_json_at *rows)
{
    for (size_t c = 0; c < count; c++) {
        bool is_text = columns[c].kind == TEXT;
        gs_table_add_column(table, (gs_table_column){columns[c].title, columns[c].name, !is_text});
    }
    gs_json_at row;
    for (size_t i = 0; gs_json_walk(rows, i, &row); i++) {
        for (size_t c = 0; c < count; c++) {
            add_cell(table, &columns[c], &row);
        }
    }
}

/* How few numbers say a curve, and how well half of its sizes foretells the others by them. */
static void add_fit(gs_page *page, const gs_curve *curve)
{
    char text[512] = "";
    size_t used = 0;
    gs_curve_forecast half;
    if (!gs_curve_foretell(curve, &half)) {
        gs_page_note(page, "fit of %s: %u sizes are too few to foretell half of them by the others",
                     curve->collective, curve->point_count);
        return;
    }
    gs_curve_fit fit = gs_curve_fit_make(curve, 0, 1);
    for (uint32_t r = 0; r < fit.count && used < sizeof text; r++) {
        const gs_curve_regime *regime = &fit.regimes[r];
        char latency[GS_UNIT_TEXT_BYTES];
        char rate[48] = "";
        char to[GS_UNIT_TEXT_BYTES];
        gs_format_duration(llround(regime->latency_ns), latency);
        if (regime->ns_per_byte > 0.0) {
            snprintf(rate, sizeof rate, " + size / %.3g GB/s", 1.0 / regime->ns_per_byte);
        }
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s%s%s to %s", r == 0 ? "" : "; ",
                             latency, rate, gs_format_bytes(regime->to_bytes, to));
    }
    gs_page_note(
        page,
        "fit of %s: %s. Every other size foretells those between to %.1f %% in the median, "
        "%.1f %% at most",
        curve->collective, text, 100.0 * half.median_ratio, 100.0 * half.worst_ratio);
}

/* "nearest nics: gpu0 mlx5_0 (PIX), ..." */
static void add_nics(gs_page *page, const gs_node_graph *node)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = gs_need(open_memstream(&text, &bytes));
    for (uint32_t gpu = 0; gpu < node->gpu_count && node->nic_count > 0; gpu++) {
        char distance[16];
        uint32_t nic = gs_node_graph_nearest_nic(node, gpu);
        const gs_node_path *path = &node->to_nic[(size_t)gpu * node->nic_count + nic];
        fprintf(out, "%s%s %s (%s)", gpu == 0 ? "" : ", ", node->parts[node->gpus[gpu]].name,
                node->parts[node->nics[nic]].name,
                gs_node_graph_distance(node, path, distance, sizeof distance));
    }
    fclose(out);
    (void)gs_need(text);
    if (node->nic_count > 0) {
        gs_page_note(page, "nearest nics: %s", text);
    }
    free(text);
}

void gs_trace_fill(gs_page *page, const gs_imported *imported)
{
    gs_json_at document = {.value = gs_need(gs_json_new_object()), .file = "trace"};
    gs_json_at rows;
    gs_json_at profile;
    gs_json_at node;
    if (gs_trace_stat(imported, document.value) != GS_OK) {
        gs_need(NULL);
    }
    gs_page_fact(page, "format", "format", imported->format, NULL);
    if (imported->profile != NULL) {
        const gs_profile *from = imported->profile;
        int64_t elements = 0;
        for (uint32_t i = 0; i < from->unit_count; i++) {
            elements += from->units[i].elements;
        }
        char bytes[GS_UNIT_TEXT_BYTES];
        char text[128];
        snprintf(text, sizeof text, "%s in %u units of %d-byte elements",
                 gs_format_bytes(elements * from->element_bytes, bytes), from->unit_count,
                 (int)from->element_bytes);
        gs_page_fact(page, "source", "source", from->source, NULL);
        gs_page_fact(page, "gradients", "gradients", text, NULL);
    }
    if (gs_json_find(&document, "profile", &profile) && gs_json_find(&profile, "ranks", &rows)) {
        fill_rows(&page->table, rank_columns, sizeof rank_columns / sizeof *rank_columns, &rows);
    } else if (gs_json_find(&document, "curves", &rows)) {
        fill_rows(&page->table, curve_columns, sizeof curve_columns / sizeof *curve_columns, &rows);
    } else if (gs_json_find(&document, "node", &node) && gs_json_find(&node, "links", &rows)) {
        fill_rows(&page->table, link_columns, sizeof link_columns / sizeof *link_columns, &rows);
        add_nics(page, imported->node);
    } else if (gs_json_find(&document, "ops", &rows)) {
        fill_rows(&page->table, op_columns, sizeof op_columns / sizeof *op_columns, &rows);
    }
    for (uint32_t i = 0; i < imported->curve_count; i++) {
        add_fit(page, &imported->curves[i]);
    }
    for (uint32_t i = 0; i < imported->note_count; i++) {
        gs_page_note(page, "note: %s", imported->notes[i]);
    }
    gs_json_free(document.value);
}
