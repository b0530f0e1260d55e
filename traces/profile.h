/* A workload profile: what each rank computes in a step, and when each piece of gradient is ready.
 *
 * Made from profiler traces (traces/importers/import_kineto.c) or from a layer table
 * (traces/layer_table.c); played by sim's and live's workers. Times are durations on the rank's own
 * device without any waiting for other ranks: the wait inside a collective's kernel is taken out
 * and kept apart (measured_*).
 *
 * A step is a list of segments, played in order on one rank. A gradient segment takes no time: it
 * says that unit `index` is ready. A blocking op (an all-to-all, a broadcast of buffers) stops the
 * rank until all members have come and the wire time has passed. Owner of all arrays: the arena of
 * the reader. */
#ifndef GS_TRACES_PROFILE_H
#define GS_TRACES_PROFILE_H

#include "base/units.h"
#include "strategies/strategy.h"

#include <stdbool.h>
#include <stdint.h>

enum { GS_PROFILE_BATCH_MAX = 1000000000 };

typedef enum gs_segment_kind {
    GS_SEGMENT_INPUT,    /* the host waits for its loader; no device makes it longer */
    GS_SEGMENT_FORWARD,  /* compute; also whatever runs before the first gradient */
    GS_SEGMENT_BACKWARD, /* compute between gradients */
    GS_SEGMENT_GRADIENT, /* unit `index` is ready now; duration 0 */
    GS_SEGMENT_BLOCKING, /* blocking op `index`; duration 0, the op's wire_ns counts */
    GS_SEGMENT_OPTIMIZER /* compute after the gradients are reduced */
} gs_segment_kind;

typedef struct gs_segment {
    gs_segment_kind kind;
    uint32_t index;         /* of units or blocking ops, else 0 */
    gs_time_ns duration_ns; /* >= 0 */
} gs_segment;

/* A piece of gradient that becomes ready as one: a tensor, or a recorded bucket where only those
 * are known. Never split. In parameter order: unit 0 belongs to the first parameters of the model.
 */
typedef struct gs_profile_unit {
    const char *name;
    int64_t elements;
    gs_unit_shape shape; /* rows 0: not known */
    gs_time_ns wire_ns;  /* least collective time over ranks, median over steps; 0: not known */
} gs_profile_unit;

/* Each step has its own entries (sizes and times differ by step); in a step all ranks name the
 * same. */
typedef struct gs_profile_blocking {
    const char *name;   /* "all_to_all", "broadcast" */
    int64_t bytes;      /* of the rank that has most, as the trace counts; -1 unknown */
    gs_time_ns wire_ns; /* least kernel time over ranks of this op; 0: not known */
} gs_profile_blocking;

typedef struct gs_profile_step {
    const gs_segment *segments;
    uint32_t segment_count;
    /* As recorded, for comparison with what the simulator says; all 0 where the source has no
     * times. compute + input + wait + wire = the whole step, exactly; and the segments' durations
     * sum up to compute + input: what the rank does by itself, whatever the others do. */
    gs_time_ns measured_ns;         /* the whole step */
    gs_time_ns measured_compute_ns; /* a kernel runs that is no collective */
    gs_time_ns measured_input_ns;   /* none, and no op holds the rank up: host, loader, gaps */
    gs_time_ns measured_wait_ns;    /* held up by an op whose last rank had not come yet */
    gs_time_ns measured_wire_ns;    /* held up by an op after that */
    gs_time_ns measured_hidden_ns;  /* ops beside compute or host work: in none of the others */
} gs_profile_step;

typedef struct gs_profile_rank {
    int32_t rank; /* as recorded */
    const gs_profile_step *steps;
    uint32_t step_count; /* >= 1; played in turn, over and over */
} gs_profile_rank;

typedef struct gs_profile {
    const char *source; /* "kineto: 8 files", "layer table resnet50" */
    const gs_profile_unit *units;
    uint32_t unit_count;
    const gs_profile_blocking *blocking;
    uint32_t blocking_count;
    const gs_profile_rank *ranks; /* rank r of a job plays ranks[r % rank_count] */
    uint32_t rank_count;
    int32_t world_size;       /* of the recorded job; 0 unknown */
    int32_t element_bytes;    /* of a gradient element: 4 fp32, 2 fp16 and bf16 */
    int64_t batch;            /* samples that a rank's timed step is of; 0 unknown */
    bool is_of_run;           /* durations as they were in a run, with its noise, its loader and the
                                 speeds of its nodes: a scenario applies none of them again */
    const char *run_of;       /* the strategy of that run; NULL: not said */
    const char *const *notes; /* what the trace lacks or what was assumed: "1 step, no variance" */
    uint32_t note_count;
} gs_profile;

#endif
