/* The matrix of nvidia-smi topo -m as a node: which devices share a bridge, a socket, NVLinks.
 *
 * The matrix says how two devices meet, not through what; the least tree that fits is made of it.
 * PIX: a common bridge; PXB: a bridge above those; PHB and NODE: a common socket; SYS: different
 * ones. Between GPUs with NVLinks the matrix is silent about PCIe, there the affinity to processors
 * tells. Rates are not in it (the scenario gives them). */
#include "traces/importers/importer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/importers/import_notes.h"
#include "traces/importers/smi_topo_row.h"
#include "traces/whole_file.h"

enum {
    BYTES_MAX = 1024 * 1024,
    NVLINKS_OF_A_GPU = 18 /* the most that any has: H100, B200 */
};

/* Groups of devices that meet at a level or nearer: each points to the first of its group. */
typedef struct groups {
    uint32_t first[GS_SMI_DEVICES_MAX];
    uint32_t size[GS_SMI_DEVICES_MAX]; /* of the group of that first device */
} groups;

typedef struct reader {
    const char *file;
    gs_smi_matrix matrix;
    char legend[GS_SMI_DEVICES_MAX][GS_SMI_NAME_BYTES]; /* of a NIC, "mlx5_0"; "": none */
    groups sockets, upper, lower;                       /* of NODE, PXB and PIX or nearer */
    gs_node_graph *graph;
} reader;

/* --- lines ------------------------------------------------------------------------------------ */

/* "NIC0: mlx5_0" */
static void read_legend(reader *in, char *const *words, size_t count)
{
    size_t length = count == 2 ? strlen(words[0]) : 0;
    for (uint32_t i = 0; length > 1 && words[0][length - 1] == ':' && i < in->matrix.count; i++) {
        if (strlen(in->matrix.names[i]) == length - 1 &&
            strncmp(in->matrix.names[i], words[0], length - 1) == 0 &&
            strlen(words[1]) < GS_SMI_NAME_BYTES) {
            snprintf(in->legend[i], sizeof in->legend[i], "%s", words[1]);
        }
    }
}

static gs_status read_lines(reader *in, char *text, gs_error *err)
{
    char *words[GS_SMI_WORDS_MAX];
    uint32_t number = 0;
    for (char *line = text; line != NULL;) {
        char *end = strchr(line, '\n');
        char *next = end == NULL ? NULL : end + 1;
        if (end != NULL) {
            *end = '\0';
        }
        size_t count = gs_smi_words(line, words);
        number++;
        if (in->matrix.count == 0) {
            GS_TRY(gs_smi_read_header(words, count, number, &in->matrix, err));
        } else {
            GS_TRY(gs_smi_read_row(words, count, number, &in->matrix, err));
            read_legend(in, words, count);
        }
        line = next;
    }
    if (in->matrix.count == 0) {
        return gs_fail(err, GS_EPARSE, "no line of names that begins with GPU0");
    }
    return gs_smi_check(&in->matrix, err);
}

/* --- groups ----------------------------------------------------------------------------------- */

static bool is_gpu(const reader *in, uint32_t device)
{
    return strncmp(in->matrix.names[device], "GPU", 3) == 0;
}

/* Does the matrix say that two devices meet at this level or nearer? */
static bool meet(const reader *in, uint32_t a, uint32_t b, gs_smi_distance level)
{
    const gs_smi_cell *cell = &in->matrix.cells[a][b];
    if (cell->nvlinks == 0) {
        return cell->distance <= level;
    }
    return level == GS_SMI_NODE && strcmp(in->matrix.affinity[a], in->matrix.affinity[b]) == 0;
}

static void group(const reader *in, gs_smi_distance level, groups *out)
{
    uint32_t count = in->matrix.count;
    for (uint32_t i = 0; i < count; i++) {
        out->first[i] = i;
        out->size[i] = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            uint32_t from = out->first[i];
            uint32_t to = out->first[k];
            if (from == to || !meet(in, i, k, level)) {
                continue;
            }
            uint32_t low = from < to ? from : to;
            uint32_t high = from < to ? to : from;
            for (uint32_t m = 0; m < count; m++) {
                out->first[m] = out->first[m] == high ? low : out->first[m];
            }
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        out->size[out->first[i]]++;
    }
}

/* --- the graph -------------------------------------------------------------------------------- */

static uint32_t add_part(reader *in, gs_node_part_kind kind, const char *name, uint32_t number)
{
    gs_node_part *part = &in->graph->parts[in->graph->part_count];
    part->kind = kind;
    if (name != NULL) {
        snprintf(part->name, sizeof part->name, "%s", name);
    } else {
        snprintf(part->name, sizeof part->name, "%s%u", gs_node_part_names[kind], number);
    }
    return in->graph->part_count++;
}

static void add_edge(reader *in, uint32_t a, uint32_t b, gs_node_edge_kind kind, uint32_t count)
{
    in->graph->edges[in->graph->edge_count++] =
        (gs_node_edge){.a = a, .b = b, .kind = kind, .count = count};
}

/* Sockets, bridges above bridges, bridges; then each device below the nearest of them. */
static void make_tree(reader *in, uint32_t part_of[GS_SMI_DEVICES_MAX])
{
    uint32_t socket_of[GS_SMI_DEVICES_MAX];
    uint32_t above[GS_SMI_DEVICES_MAX];
    uint32_t sockets = 0;
    uint32_t bridges = 0;
    for (uint32_t i = 0; i < in->matrix.count; i++) {
        if (in->sockets.first[i] == i) {
            socket_of[i] = add_part(in, GS_NODE_SOCKET, NULL, sockets);
            for (uint32_t k = 0; k < sockets; k++) {
                add_edge(in, k, socket_of[i], GS_EDGE_SOCKETS, 1);
            }
            sockets++;
        }
    }
    for (uint32_t i = 0; i < in->matrix.count; i++) {
        uint32_t upper = in->upper.first[i];
        above[i] = socket_of[in->sockets.first[i]];
        if (upper != i) {
            above[i] = in->upper.size[upper] > in->lower.size[upper] ? above[upper] : above[i];
        } else if (in->upper.size[i] > in->lower.size[i]) { /* more than one bridge's devices */
            above[i] = add_part(in, GS_NODE_BRIDGE, NULL, bridges++);
            add_edge(in, socket_of[in->sockets.first[i]], above[i], GS_EDGE_PCIE, 1);
        }
    }
    uint32_t bridge_of[GS_SMI_DEVICES_MAX];
    for (uint32_t i = 0; i < in->matrix.count; i++) {
        uint32_t lower = in->lower.first[i];
        bridge_of[i] = above[i];
        if (lower != i) {
            bridge_of[i] = bridge_of[lower];
        } else if (in->lower.size[i] > 1) {
            bridge_of[i] = add_part(in, GS_NODE_BRIDGE, NULL, bridges++);
            add_edge(in, above[i], bridge_of[i], GS_EDGE_PCIE, 1);
        }
    }
    for (uint32_t i = 0; i < in->matrix.count; i++) {
        bool has_legend = in->legend[i][0] != '\0';
        part_of[i] = add_part(in, is_gpu(in, i) ? GS_NODE_GPU : GS_NODE_NIC,
                              has_legend ? in->legend[i] : in->matrix.names[i], 0);
        add_edge(in, bridge_of[i], part_of[i], GS_EDGE_PCIE, 1);
    }
}

/* NVLinks of every two GPUs where all have the same, more than a GPU could have one by one: they go
 * into a switch. 0: they do not. */
static uint32_t links_to_switch(const reader *in, uint32_t gpus)
{
    uint32_t links = 0;
    for (uint32_t i = 0; i < in->matrix.count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (is_gpu(in, i) && is_gpu(in, k)) {
                uint32_t own = in->matrix.cells[i][k].nvlinks;
                links = links == 0 ? own : links;
                if (own == 0 || own != links) {
                    return 0;
                }
            }
        }
    }
    return links * (gpus - 1) > NVLINKS_OF_A_GPU ? links : 0;
}

static void join_gpus(reader *in, const uint32_t part_of[GS_SMI_DEVICES_MAX],
                      gs_import_notes *notes)
{
    uint32_t gpus = 0;
    uint32_t middle = in->graph->part_count;
    for (uint32_t i = 0; i < in->matrix.count; i++) {
        gpus += is_gpu(in, i) ? 1 : 0;
    }
    uint32_t links = gpus > 1 ? links_to_switch(in, gpus) : 0;
    for (uint32_t i = 0; i < in->matrix.count && links > 0; i++) {
        if (is_gpu(in, i)) {
            add_edge(in, part_of[i], middle, GS_EDGE_NVLINK, links);
        }
    }
    if (links > 0) {
        (void)add_part(in, GS_NODE_NVSWITCH, NULL, 0);
        gs_import_notes_add(notes,
                            "NV%u between all %u GPUs would be %u links of each: they are taken to "
                            "meet in NVSwitches, %u links of each",
                            links, gpus, links * (gpus - 1), links);
        return;
    }
    for (uint32_t i = 0; i < in->matrix.count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (in->matrix.cells[i][k].nvlinks > 0) {
                add_edge(in, part_of[k], part_of[i], GS_EDGE_NVLINK,
                         in->matrix.cells[i][k].nvlinks);
            }
        }
    }
}

static gs_status make_graph(reader *in, gs_arena *arena, gs_import_notes *notes, gs_error *err)
{
    enum { PARTS = 4 * GS_SMI_DEVICES_MAX + 1 };
    uint32_t part_of[GS_SMI_DEVICES_MAX];
    uint32_t count = in->matrix.count;
    /* Sockets among each other and NVLinks: a pair each at most; and a link up from each part. */
    in->graph->parts = GS_TAKE(arena, gs_node_part, PARTS);
    in->graph->edges = GS_TAKE(arena, gs_node_edge, PARTS + (size_t)count * count);
    in->graph->source = gs_arena_text(arena, in->file);
    if (in->graph->parts == NULL || in->graph->edges == NULL || in->graph->source == NULL) {
        return gs_fail(err, GS_ENOMEM, "%s: no memory to read it", in->file);
    }
    group(in, GS_SMI_NODE, &in->sockets);
    group(in, GS_SMI_PXB, &in->upper);
    group(in, GS_SMI_PIX, &in->lower);
    make_tree(in, part_of);
    join_gpus(in, part_of, notes);
    return gs_node_graph_finish(in->graph, arena, err);
}

/* --- the importer ----------------------------------------------------------------------------- */

static int probe(const char *head, size_t head_bytes, const char *file)
{
    (void)head_bytes; /* head is terminated */
    (void)file;
    const char *first = strstr(head, "GPU0");
    const char *end = first == NULL ? NULL : strchr(first, '\n');
    if (first == NULL || end == NULL) {
        return 0;
    }
    /* Only blanks and escapes stand before the names, and its own row comes next. */
    for (const char *at = head; at < first; at++) {
        if (strchr(" \t\r\n\x1b[0123456789;m", *at) == NULL) {
            return 0;
        }
    }
    const char *row = end + 1 + strspn(end + 1, " \t\r\n\x1b[0123456789;m");
    return strncmp(row, "GPU0", 4) == 0 ? 90 : 0;
}

static gs_status read_file(reader *in, gs_arena *arena, gs_import_notes *notes, gs_error *err)
{
    char *text = NULL;
    size_t bytes = 0;
    GS_TRY(gs_whole_file_read(in->file, BYTES_MAX, &text, &bytes, err));
    gs_status status = memchr(text, '\0', bytes) == NULL
                           ? read_lines(in, text, err)
                           : gs_fail(err, GS_EPARSE, "it holds a NUL byte: no text");
    free(text);
    if (status != GS_OK) {
        return gs_fail_in(err, "%s", in->file);
    }
    return make_graph(in, arena, notes, err);
}

static gs_status read_node(const char *const *files, size_t file_count,
                           const gs_import_options *options, gs_arena *arena, gs_imported *out,
                           gs_error *err)
{
    (void)options;
    gs_import_notes notes = {.arena = arena};
    gs_arena scratch;
    if (file_count != 1) {
        return gs_fail(err, GS_EINVAL, "%s: a matrix is one node's; name one file, not %zu",
                       files[0], file_count);
    }
    gs_arena_init(&scratch);
    reader *in = GS_TAKE(&scratch, reader, 1);
    gs_node_graph *graph = GS_TAKE(arena, gs_node_graph, 1);
    gs_status status = GS_OK;
    if (in == NULL || graph == NULL) {
        status = gs_fail(err, GS_ENOMEM, "%s: no memory to read it", files[0]);
    } else {
        in->file = files[0];
        in->graph = graph;
        status = read_file(in, arena, &notes, err);
    }
    gs_arena_fini(&scratch);
    GS_TRY(status);
    if (notes.out_of_memory) {
        return gs_fail(err, GS_ENOMEM, "%s: no memory for its notes", files[0]);
    }
    *out = (gs_imported){
        .format = "smi_topo", .node = graph, .notes = notes.items, .note_count = notes.count};
    return GS_OK;
}

const gs_importer gs_importer_smi_topo = {
    .name = "smi_topo",
    .summary = "matrix of nvidia-smi topo -m: what is inside a node",
    .source = "nvidia-smi topo -m",
    .probe = probe,
    .read = read_node,
};
