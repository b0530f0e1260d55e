/* Small operation traces for tests, written down row by row; times in ms. */
#ifndef GS_TESTS_OP_FIXTURE_H
#define GS_TESTS_OP_FIXTURE_H

#include "sim/op_what_if.h"
#include "tests/support.h"

#include <criterion/criterion.h>
#include <string.h>

/* The rows of one step; a row whose type is NULL ends them. */
typedef struct op_row {
    int32_t dp_rank;
    int32_t stage;
    const char *type;
    int32_t sequence;
    int64_t start_ms;
    int64_t duration_ms;
} op_row;

/* Two copies of one stage, one micro-batch. The second copy computes 4 and 14 ms instead of 2 and
 * 10, so the first waits 6 ms in the reduction, which then takes 5 ms on both. The optimizer begins
 * 2 ms later than it could. */
static const op_row TWO_COPIES[] = {{0, 0, "params-all-gather", 0, 0, 1},
                                    {0, 0, "forward-compute", 0, 1, 2},
                                    {0, 0, "backward-compute", 0, 3, 10},
                                    {0, 0, "grads-reduce-scatter", 0, 13, 11},
                                    {0, 0, "optimizer", 0, 26, 3},
                                    {1, 0, "params-all-gather", 0, 0, 1},
                                    {1, 0, "forward-compute", 0, 1, 4},
                                    {1, 0, "backward-compute", 0, 5, 14},
                                    {1, 0, "grads-reduce-scatter", 0, 19, 5},
                                    {1, 0, "optimizer", 0, 26, 3},
                                    {0}};

/* Two stages, two micro-batches, each stage in the order F0 F1 B0 B1. A transfer takes 1 ms; stage
 * 0 needs 2 ms forward and 3 backward, stage 1 needs 4 and 6. Written as it runs without a gap:
 * micro-batch 1 is received when stage 1 has done micro-batch 0, from 7 on, and its gradient is
 * sent at 24, when stage 0 has waited since 22. */
static const op_row TWO_STAGES[] = {{0, 0, "forward-compute", 0, 0, 2},
                                    {0, 0, "forward-compute", 1, 2, 2},
                                    {0, 0, "forward-send", 0, 2, 1},
                                    {0, 0, "forward-send", 1, 4, 4},
                                    {0, 0, "backward-recv", 0, 4, 15},
                                    {0, 0, "backward-compute", 0, 19, 3},
                                    {0, 0, "backward-recv", 1, 22, 3},
                                    {0, 0, "backward-compute", 1, 25, 3},
                                    {0, 1, "forward-recv", 0, 0, 3},
                                    {0, 1, "forward-compute", 0, 3, 4},
                                    {0, 1, "forward-recv", 1, 7, 1},
                                    {0, 1, "forward-compute", 1, 8, 4},
                                    {0, 1, "backward-compute", 0, 12, 6},
                                    {0, 1, "backward-send", 0, 18, 1},
                                    {0, 1, "backward-compute", 1, 18, 6},
                                    {0, 1, "backward-send", 1, 24, 1},
                                    {0}};

static inline void add_step(gs_op_gather *gather, const op_row *rows, int32_t step)
{
    for (const op_row *row = rows; row->type != NULL; row++) {
        gs_traced_op op = {.dp_rank = row->dp_rank,
                           .stage = row->stage,
                           .step = step,
                           .sequence = row->sequence,
                           .start_ns = row->start_ms * GS_NS_PER_MS,
                           .duration_ns = row->duration_ms * GS_NS_PER_MS};
        cr_assert_eq(gs_op_gather_type(gather, row->type, strlen(row->type), &op.type, NULL),
                     GS_OK);
        cr_assert_eq(gs_op_gather_add(gather, &op, NULL), GS_OK);
    }
}

static inline gs_op_trace finish(gs_op_gather *gather, gs_arena *arena)
{
    gs_op_trace trace;
    gs_error err;
    cr_assert_eq(gs_op_gather_finish(gather, arena, &trace, &err), GS_OK, "%s", err.text);
    gs_op_gather_fini(gather);
    return trace;
}

#endif
