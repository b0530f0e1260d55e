/* Puts the ranks of one job side by side: which steps all of them have, which of their collectives
 * are the same one, and what each took on the wire. Refuses ranks that do not fit together. */
#ifndef GS_TRACES_KINETO_MATCH_H
#define GS_TRACES_KINETO_MATCH_H

#include "base/arena.h"
#include "traces/importers/import_notes.h"
#include "traces/importers/kineto_steps.h"

/* One step of all ranks. The k-th op of a kind (name, gradient or not) is the same op on every
 * rank. */
typedef struct gs_kineto_joint_step {
    const gs_kineto_step **steps; /* [rank_count], the same step of each rank */
    uint32_t **ids;         /* [rank_count][op_count]: each op's index among the first rank's ops */
    gs_time_ns *wire_ns;    /* [op_count] by id: least duration over ranks */
    int64_t *bytes;         /* [op_count] by id: most over ranks; -1 unknown */
    uint32_t *ordinals;     /* [op_count] by id: which of the step's gradients, or of its others */
    uint32_t *gradient_ids; /* [gradient_count] by ordinal */
    uint32_t op_count;      /* equal on all ranks */
} gs_kineto_joint_step;

typedef struct gs_kineto_joint {
    gs_kineto_joint_step *steps;
    uint32_t step_count; /* >= 1 */
    int64_t *gradients;  /* [gradient_count] elements, in the order in which they become ready */
    uint32_t gradient_count;
} gs_kineto_joint;

/* ranks [rank_count], by rank. Steps that a rank lacks, and steps without work in a set that has
 * gradients, are left out with a remark. Errors: GS_EMISMATCH (no common step; other collectives or
 * other gradients on a rank or in a step, named with their sizes), GS_ENOMEM. Owner: the arena. */
GS_MUST_USE gs_status gs_kineto_match(const gs_kineto_rank *ranks, uint32_t rank_count,
                                      gs_arena *arena, gs_import_notes *notes, gs_kineto_joint *out,
                                      gs_error *err);

#endif
