/* Layer tables ("gradsync.layers/1"): the tensors of a model in forward order, their work, and what
 * times them; turned into a profile of one step that all ranks play.
 *
 * Times come from measured totals of a step, split over the layers in proportion to their FLOPs, or
 * from a device rate: FLOPs a sample x batch / rate, and twice that backward (a gradient for the
 * inputs and one for the weights). What has no FLOPs in the table takes no time of its own: its
 * time is in the measured totals. A table without times waits for the rate of a scenario's device.
 * Owner of everything: the arena of the reader. */
#ifndef GS_TRACES_LAYER_TABLE_H
#define GS_TRACES_LAYER_TABLE_H

#include "base/arena.h"
#include "base/json.h"
#include "base/status.h"
#include "base/units.h"
#include "models/layer.h"
#include "strategies/strategy.h"
#include "traces/profile.h"

#include <stdbool.h>
#include <stdint.h>

enum { GS_LAYER_ROWS_MAX = 1000000 };

/* One tensor, or work without parameters of its own (elements 0). */
typedef struct gs_layer_row {
    const char *name;
    int64_t elements;
    gs_unit_shape shape;
    double forward_flops; /* of one sample; a multiply-add counts as two */
    int64_t layer;        /* rows of one layer follow each other: weight and bias */
    int64_t activations;  /* elements of one sample that it leaves in memory for backward */
    int64_t boundary;     /* of these, the output of the block that ends here; 0: none ends */
} gs_layer_row;

typedef struct gs_layer_table {
    const char *name;
    const char *source;
    const gs_layer_row *rows; /* [row_count], forward order */
    uint32_t row_count;
    int32_t element_bytes;
    int64_t batch;      /* samples of the timed step; 0: the source does not say */
    double flops_per_s; /* 0: the totals below are measured, or all 0: not timed */
    bool recompute;     /* full checkpointing: each block's forward pass runs again in backward */
    gs_time_ns forward_ns, backward_ns, optimizer_ns;
} gs_layer_table;

/* Elements of one sample that lie in memory while backward begins. */
typedef struct gs_layer_activations {
    int64_t all;       /* everything that backward reads; 0: the table does not say */
    int64_t kept;      /* of these, the outputs of blocks: what full checkpointing keeps */
    int64_t block_max; /* most that one block makes beside its output, when it runs again */
    int64_t scores;    /* of attention, in the table: in `all` where the attention is not fused */
} gs_layer_activations;

/* Of a layer of a network that learns, which has parameters of its own or none. */
gs_unit_shape gs_layer_shape(const gs_layer *layer);

/* fused: kernels of attention that never write the scores; rows called "scores" keep nothing. */
gs_layer_activations gs_layer_table_activations(const gs_layer_table *table, bool fused);

/* Forward FLOPs of one sample. */
double gs_layer_table_flops(const gs_layer_table *table);

/* Does it say how long a step takes, or at which rate? */
bool gs_layer_table_is_timed(const gs_layer_table *table);

/* Reads a document. Errors: GS_EINVAL with file, key, value and what is allowed; GS_ENOMEM. */
GS_MUST_USE gs_status gs_layer_table_read(const gs_json_at *document, gs_arena *arena,
                                          gs_layer_table *out, gs_error *err);

/* One rank, one step: forward, then layer by layer from the last one backward time and the layer's
 * gradients, then the optimizer. Durations sum up to the totals exactly, those of a table without
 * times are 0. Errors: GS_EINVAL (times that do not fit), GS_ENOMEM. */
GS_MUST_USE gs_status gs_layer_table_profile(const gs_layer_table *table, gs_arena *arena,
                                             gs_profile *out, gs_error *err);

#endif
