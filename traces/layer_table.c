#include "traces/layer_table.h"

#include <math.h>
#include <string.h>

#include "base/config.h"

enum { NAME_BYTES = 128, SOURCE_BYTES = 1024 };

#define TIME_MAX_NS  3.6e12 /* an hour a step is no step */
#define ELEMENTS_MAX 1e13
#define FLOPS_MAX    1e18

typedef struct head_config {
    int schema;
    char name[NAME_BYTES];
    char source[SOURCE_BYTES];
    int64_t element_bytes;
    int64_t batch;
} head_config;

typedef struct times_config {
    gs_time_ns forward_ns, backward_ns, optimizer_ns;
    double flops_per_s;
    char source[SOURCE_BYTES];
} times_config;

typedef struct row_config {
    char name[NAME_BYTES];
    int64_t elements;
    int64_t rows;
    double forward_flops;
    int64_t layer;
    int64_t activations;
    int64_t boundary;
} row_config;

static const char *const schemas[] = {"gradsync.layers/1", NULL};

/* clang-format off */
static const gs_field head_fields[] = {
    {"schema", GS_FIELD_CHOICE, GS_FIELD_AT(head_config, schema), NULL, 0, 0, schemas,
     "form of this file"},
    {"name", GS_FIELD_TEXT, GS_FIELD_AT(head_config, name), NULL, 0, 0, NULL,
     "name of the model"},
    {"source", GS_FIELD_TEXT, GS_FIELD_AT(head_config, source), "", 0, 0, NULL,
     "where sizes and FLOPs come from"},
    {"element_bytes", GS_FIELD_INT, GS_FIELD_AT(head_config, element_bytes), "4", 1, 8, NULL,
     "bytes of a gradient element"},
    {"batch", GS_FIELD_INT, GS_FIELD_AT(head_config, batch), "0", 0, 1e9, NULL,
     "samples of the timed step; 0: not known"},
};
static const gs_field times_fields[] = {
    {"forward", GS_FIELD_DURATION, GS_FIELD_AT(times_config, forward_ns), "0s", 0, TIME_MAX_NS, NULL,
     "all of the forward pass, measured"},
    {"backward", GS_FIELD_DURATION, GS_FIELD_AT(times_config, backward_ns), "0s", 0, TIME_MAX_NS, NULL,
     "all of the backward pass, measured"},
    {"optimizer", GS_FIELD_DURATION, GS_FIELD_AT(times_config, optimizer_ns), "0s", 0, TIME_MAX_NS, NULL,
     "the optimizer, measured"},
    {"flops_per_s", GS_FIELD_REAL, GS_FIELD_AT(times_config, flops_per_s), "0", 0, 1e21, NULL,
     "rate of the device, instead of forward and backward; needs batch"},
    {"source", GS_FIELD_TEXT, GS_FIELD_AT(times_config, source), "", 0, 0, NULL,
     "where the times come from"},
};
static const gs_field row_fields[] = {
    {"name", GS_FIELD_TEXT, GS_FIELD_AT(row_config, name), NULL, 0, 0, NULL,
     "name of the tensor"},
    {"elements", GS_FIELD_INT, GS_FIELD_AT(row_config, elements), NULL, 0, ELEMENTS_MAX, NULL,
     "its elements; 0: work without parameters of its own"},
    {"rows", GS_FIELD_INT, GS_FIELD_AT(row_config, rows), "0", 0, ELEMENTS_MAX, NULL,
     "of the tensor as a matrix, which divide its elements: outputs of a linear layer or a "
     "convolution; 1: a vector; 0: not known"},
    {"forward_flops", GS_FIELD_REAL, GS_FIELD_AT(row_config, forward_flops), "0", 0, FLOPS_MAX, NULL,
     "forward FLOPs of one sample"},
    {"layer", GS_FIELD_INT, GS_FIELD_AT(row_config, layer), NULL, 0, 1e9, NULL,
     "number of its layer, never falling"},
    {"activations", GS_FIELD_INT, GS_FIELD_AT(row_config, activations), "0", 0, ELEMENTS_MAX, NULL,
     "elements of one sample that its operation leaves in memory for backward"},
    {"boundary", GS_FIELD_INT, GS_FIELD_AT(row_config, boundary), "0", 0, ELEMENTS_MAX, NULL,
     "at the last row of a block: its output, which checkpointing keeps; part of activations"},
};
/* clang-format on */

static const gs_field_table head_table = {"layers", sizeof(head_config), head_fields,
                                          sizeof head_fields / sizeof head_fields[0]};
static const gs_field_table times_table = {"layers.times", sizeof(times_config), times_fields,
                                           sizeof times_fields / sizeof times_fields[0]};
static const gs_field_table row_table = {"layers.tensors[]", sizeof(row_config), row_fields,
                                         sizeof row_fields / sizeof row_fields[0]};

static gs_status no_memory(gs_error *err)
{
    return gs_fail(err, GS_ENOMEM, "no memory for a layer table");
}

static gs_status check_times(const gs_json_at *at, const times_config *times, int64_t batch,
                             gs_error *err)
{
    bool has_totals = times->forward_ns > 0 || times->backward_ns > 0 || times->optimizer_ns > 0;
    if (has_totals == (times->flops_per_s > 0.0)) {
        return gs_json_fail(at, GS_EINVAL, err,
                            "says %s; give forward, backward and optimizer as measured, or "
                            "flops_per_s and batch",
                            has_totals ? "both durations and flops_per_s" : "no time at all");
    }
    if (!has_totals && batch == 0) {
        return gs_json_fail(at, GS_EINVAL, err,
                            "flops_per_s needs the batch it is for; add \"batch\" beside times");
    }
    return GS_OK;
}

static gs_unit_shape shape_of(const row_config *row)
{
    return (gs_unit_shape){row->rows, row->rows > 0 ? row->elements / row->rows : 0};
}

/* One row into out; `before` is the layer of the row in front of it, -1 at the start. */
static gs_status read_row(const gs_json_at *at, int64_t before, gs_arena *arena, gs_layer_row *out,
                          gs_error *err)
{
    row_config row;
    gs_config_defaults(&row_table, &row);
    GS_TRY(gs_config_read(&row_table, &row, at, NULL, err));
    if (row.layer < before) {
        return gs_json_fail(at, GS_EINVAL, err,
                            "layer %lld comes after layer %lld; list tensors in forward order",
                            (long long)row.layer, (long long)before);
    }
    if (row.elements == 0 && row.forward_flops <= 0.0) {
        return gs_json_fail(at, GS_EINVAL, err,
                            "has neither elements nor forward_flops; remove it");
    }
    if (row.rows > 0 && (row.elements == 0 || row.elements % row.rows != 0)) {
        return gs_json_fail(at, GS_EINVAL, err,
                            "has %lld rows, which do not divide its %lld elements; give the first "
                            "number of its shape, or 1 for a vector",
                            (long long)row.rows, (long long)row.elements);
    }
    *out = (gs_layer_row){.name = gs_arena_text(arena, row.name),
                          .elements = row.elements,
                          .shape = shape_of(&row),
                          .forward_flops = row.forward_flops,
                          .layer = row.layer,
                          .activations = row.activations,
                          .boundary = row.boundary};
    return out->name == NULL ? no_memory(err) : GS_OK;
}

/* A block ends with a layer, and keeps no more of itself than it makes. */
static gs_status check_boundaries(const gs_json_at *list, const gs_layer_row *rows, uint32_t count,
                                  gs_error *err)
{
    double made = 0.0;
    gs_json_at at;
    for (uint32_t i = 0; gs_json_walk(list, i, &at); i++) {
        made += (double)rows[i].activations;
        if (rows[i].boundary == 0) {
            continue;
        }
        if (i + 1 < count && rows[i + 1].layer == rows[i].layer) {
            return gs_json_fail(&at, GS_EINVAL, err,
                                "has a boundary inside layer %lld; put it at the layer's last row",
                                (long long)rows[i].layer);
        }
        if ((double)rows[i].boundary > made) {
            return gs_json_fail(&at, GS_EINVAL, err,
                                "keeps %lld elements of a block that makes %.0f activations",
                                (long long)rows[i].boundary, made);
        }
        made = 0.0;
    }
    return GS_OK;
}

static gs_status read_rows(const gs_json_at *document, gs_arena *arena, gs_layer_table *out,
                           gs_error *err)
{
    gs_json_at list;
    if (!gs_json_find(document, "tensors", &list)) {
        return gs_json_fail(document, GS_EINVAL, err,
                            "\"tensors\" is missing; list the tensors in forward order");
    }
    size_t count = gs_json_kind_of(list.value) == GS_JSON_LIST ? gs_json_count(list.value) : 0;
    if (count == 0 || count > GS_LAYER_ROWS_MAX) {
        return gs_json_fail(&list, GS_EINVAL, err, "must be a list of 1 to %d tensors",
                            GS_LAYER_ROWS_MAX);
    }
    gs_layer_row *rows = GS_TAKE(arena, gs_layer_row, count);
    if (rows == NULL) {
        return no_memory(err);
    }
    double elements = 0.0;
    double activations = 0.0;
    gs_json_at at;
    for (size_t i = 0; gs_json_walk(&list, i, &at); i++) {
        GS_TRY(read_row(&at, i == 0 ? -1 : rows[i - 1].layer, arena, &rows[i], err));
        elements += (double)rows[i].elements;
        activations += (double)rows[i].activations;
    }
    if (activations > ELEMENTS_MAX) {
        return gs_json_fail(&list, GS_EINVAL, err,
                            "leave %.3g activations together; at most %.0f may be", activations,
                            ELEMENTS_MAX);
    }
    if (elements < 1.0 || elements > ELEMENTS_MAX) {
        return gs_json_fail(&list, GS_EINVAL, err, "hold %.0f elements together; 1 to %.0f may be",
                            elements, ELEMENTS_MAX);
    }
    GS_TRY(check_boundaries(&list, rows, (uint32_t)count, err));
    out->rows = rows;
    out->row_count = (uint32_t)count;
    return GS_OK;
}

gs_status gs_layer_table_read(const gs_json_at *document, gs_arena *arena, gs_layer_table *out,
                              gs_error *err)
{
    static const char *const others[] = {"times", "tensors", NULL};
    head_config head;
    times_config times;
    gs_config_defaults(&head_table, &head);
    gs_config_defaults(&times_table, &times);
    GS_TRY(gs_config_read(&head_table, &head, document, others, err));
    gs_json_at at;
    if (gs_json_find(document, "times", &at)) {
        GS_TRY(gs_config_read(&times_table, &times, &at, NULL, err));
        GS_TRY(check_times(&at, &times, head.batch, err));
    }
    gs_layer_table table = {
        .name = gs_arena_text(arena, head.name),
        .source = gs_arena_text(arena, head.source),
        .element_bytes = (int32_t)head.element_bytes,
        .batch = head.batch,
        .flops_per_s = times.flops_per_s,
        .forward_ns = times.forward_ns,
        .backward_ns = times.backward_ns,
        .optimizer_ns = times.optimizer_ns,
    };
    if (table.name == NULL || table.source == NULL) {
        return no_memory(err);
    }
    GS_TRY(read_rows(document, arena, &table, err));
    *out = table;
    return GS_OK;
}

gs_unit_shape gs_layer_shape(const gs_layer *layer)
{
    return layer->rows > 0 ? (gs_unit_shape){layer->rows, layer->columns}
                           : (gs_unit_shape){1, layer->parameter_count};
}

double gs_layer_table_flops(const gs_layer_table *table)
{
    double flops = 0.0;
    for (uint32_t i = 0; i < table->row_count; i++) {
        flops += table->rows[i].forward_flops;
    }
    return flops;
}

bool gs_layer_table_is_timed(const gs_layer_table *table)
{
    return table->flops_per_s > 0.0 || table->forward_ns > 0 || table->backward_ns > 0 ||
           table->optimizer_ns > 0;
}

/* "scores", "gpt2.h.0.attn.scores" */
static bool is_scores(const char *name)
{
    const char *dot = strrchr(name, '.');
    return strcmp(dot == NULL ? name : dot + 1, "scores") == 0;
}

gs_layer_activations gs_layer_table_activations(const gs_layer_table *table, bool fused)
{
    gs_layer_activations sum = {0};
    int64_t block = 0;
    for (uint32_t i = 0; i < table->row_count; i++) {
        const gs_layer_row *row = &table->rows[i];
        int64_t scores = is_scores(row->name) ? row->activations : 0;
        int64_t activations = fused ? row->activations - scores : row->activations;
        sum.scores += scores;
        sum.all += activations;
        sum.kept += row->boundary;
        block += activations - row->boundary;
        sum.block_max = block > sum.block_max ? block : sum.block_max;
        block = row->boundary > 0 ? 0 : block;
    }
    return sum;
}

/* Forward, backward and optimizer time of a step. */
static gs_status totals(const gs_layer_table *table, gs_time_ns *forward_ns,
                        gs_time_ns *backward_ns, gs_error *err)
{
    double flops = gs_layer_table_flops(table);
    *forward_ns = table->forward_ns;
    *backward_ns = table->backward_ns;
    if (table->flops_per_s <= 0.0) {
        return GS_OK;
    }
    double forward = ceil(flops * (double)table->batch / table->flops_per_s * 1e9);
    if (!(forward <= TIME_MAX_NS)) {
        return gs_fail(err, GS_EINVAL,
                       "%s: a forward pass of %.3g FLOP takes over an hour at %.3g FLOP/s; raise "
                       "flops_per_s or lower the batch",
                       table->name, flops * (double)table->batch, table->flops_per_s);
    }
    *forward_ns = (gs_time_ns)forward;
    *backward_ns = 2 * *forward_ns;
    return GS_OK;
}

typedef struct segment_writer {
    gs_segment *segments;
    uint32_t count;
} segment_writer;

static void add_segment(segment_writer *writer, gs_segment_kind kind, uint32_t index,
                        gs_time_ns duration_ns)
{
    if (kind == GS_SEGMENT_GRADIENT || duration_ns > 0) {
        writer->segments[writer->count++] = (gs_segment){kind, index, duration_ns};
    }
}

/* FLOPs of the block whose last row is `last`: back to the row after the boundary before it. */
static double block_flops(const gs_layer_table *table, uint32_t last)
{
    double flops = table->rows[last].forward_flops;
    for (uint32_t i = last; i > 0 && table->rows[i - 1].boundary == 0; i--) {
        flops += table->rows[i - 1].forward_flops;
    }
    return flops;
}

static gs_time_ns share_ns(double part, double whole, gs_time_ns total_ns)
{
    double share = whole > 0.0 ? part / whole : 1.0;
    return share >= 1.0 ? total_ns : (gs_time_ns)(share * (double)total_ns);
}

/* Backward: layer after layer from the last one. Each layer ends at its share of the total, rounded
 * once, so that the parts sum up to the whole. With checkpointing the forward pass of a block is
 * run again before the block's last layer. unit_of [row_count]. */
static void add_backward(segment_writer *writer, const gs_layer_table *table, gs_time_ns forward_ns,
                         gs_time_ns backward_ns, const uint32_t *unit_of)
{
    double flops = gs_layer_table_flops(table);
    double done_flops = 0.0;
    double again_flops = 0.0;
    gs_time_ns again_ns = table->recompute ? forward_ns : 0;
    gs_time_ns done_ns = 0;
    uint32_t end = table->row_count;
    while (end > 0) {
        uint32_t begin = end;
        if (end == table->row_count || table->rows[end - 1].boundary > 0) {
            again_flops += block_flops(table, end - 1);
        }
        while (begin > 0 && table->rows[begin - 1].layer == table->rows[end - 1].layer) {
            begin--;
            done_flops += table->rows[begin].forward_flops;
        }
        gs_time_ns until_ns = begin == 0 ? backward_ns + again_ns
                                         : share_ns(done_flops, flops, backward_ns) +
                                               share_ns(again_flops, flops, again_ns);
        add_segment(writer, GS_SEGMENT_BACKWARD, 0, until_ns - done_ns);
        done_ns = until_ns;
        for (uint32_t row = end; row > begin; row--) {
            if (table->rows[row - 1].elements > 0) {
                add_segment(writer, GS_SEGMENT_GRADIENT, unit_of[row - 1], 0);
            }
        }
        end = begin;
    }
}

gs_status gs_layer_table_profile(const gs_layer_table *table, gs_arena *arena, gs_profile *out,
                                 gs_error *err)
{
    gs_time_ns forward_ns = 0;
    gs_time_ns backward_ns = 0;
    GS_TRY(totals(table, &forward_ns, &backward_ns, err));

    gs_profile_unit *units = GS_TAKE(arena, gs_profile_unit, table->row_count);
    uint32_t *unit_of = GS_TAKE(arena, uint32_t, table->row_count);
    /* At most one backward segment and one gradient a row, and two more. */
    gs_segment *segments = GS_TAKE(arena, gs_segment, 2 * (size_t)table->row_count + 2);
    gs_profile_step *step = GS_TAKE(arena, gs_profile_step, 1);
    gs_profile_rank *rank = GS_TAKE(arena, gs_profile_rank, 1);
    if (units == NULL || unit_of == NULL || segments == NULL || step == NULL || rank == NULL) {
        return no_memory(err);
    }
    uint32_t unit_count = 0;
    for (uint32_t i = 0; i < table->row_count; i++) {
        if (table->rows[i].elements > 0) {
            unit_of[i] = unit_count;
            units[unit_count++] = (gs_profile_unit){.name = table->rows[i].name,
                                                    .elements = table->rows[i].elements,
                                                    .shape = table->rows[i].shape};
        }
    }
    segment_writer writer = {.segments = segments};
    add_segment(&writer, GS_SEGMENT_FORWARD, 0, forward_ns);
    add_backward(&writer, table, forward_ns, backward_ns, unit_of);
    add_segment(&writer, GS_SEGMENT_OPTIMIZER, 0, table->optimizer_ns);
    *step = (gs_profile_step){.segments = segments, .segment_count = writer.count};
    *rank = (gs_profile_rank){.rank = 0, .steps = step, .step_count = 1};
    *out = (gs_profile){
        .source = table->name,
        .units = units,
        .unit_count = unit_count,
        .ranks = rank,
        .rank_count = 1,
        .element_bytes = table->element_bytes,
        .batch = table->batch,
    };
    return GS_OK;
}
