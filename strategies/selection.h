/* Which program a collective is run by: rules per communicator and kind, by the bytes of the op.
 *
 * Rules are equal on all members, so all choose alike. Where a strategy names an algorithm that
 * stands; where no rule holds the kind's own algorithm does (gs_collective_for). Hosts number the
 * channels of all communicators one after the other: the streams. */
#ifndef GS_STRATEGIES_SELECTION_H
#define GS_STRATEGIES_SELECTION_H

#include "strategies/collective.h"

/* How an op is run. */
typedef struct gs_choice {
    const gs_collective *program;
    uint32_t rings;      /* >= 1 */
    uint32_t inner;      /* of gs_shape; 0: the ranks of a node, where the group is whole nodes */
    uint32_t middle;     /* of gs_shape; 0: 1 */
    int64_t piece_bytes; /* 0: the whole share */
} gs_choice;

typedef struct gs_selection_rule {
    uint32_t communicator; /* GS_ANY_COMMUNICATOR: of every one */
    gs_collective_kind kind;
    int64_t up_to_bytes; /* ops of at most so many; INT64_MAX: of any size */
    gs_choice choice;
} gs_selection_rule;

#define GS_ANY_COMMUNICATOR UINT32_MAX

/* The first rule that an op meets holds. Owner of the rules: whoever made them. */
typedef struct gs_selection {
    const gs_selection_rule *rules; /* [rule_count] */
    uint32_t rule_count;
} gs_selection;

/* By which program communicator `index` runs an op of that kind and size. selection NULL: no rules.
 */
gs_choice gs_selection_choose(const gs_selection *selection, const gs_communicator *communicator,
                              uint32_t index, gs_collective_kind kind, int64_t bytes);

/* The `number`th choice that an op of that kind may meet, whatever its size; false: there are
 * fewer. */
bool gs_selection_candidate(const gs_selection *selection, const gs_communicator *communicator,
                            uint32_t index, gs_collective_kind kind, uint32_t number,
                            gs_choice *out);

/* Members of a node who follow one another in a group; 1: there are none. */
uint32_t gs_group_inner(gs_group group, const gs_job *job);

/* As member `self` of such a group sees an op of so many elements. */
gs_shape gs_choice_shape(const gs_choice *choice, const gs_job *job, gs_group group, uint32_t self,
                         uint32_t root, int64_t elements);

/* The streams of all communicators; what is not of a communicator follows. */
typedef struct gs_streams {
    uint32_t first[GS_LINES_MAX + 1]; /* [communicator_count + 1] */
    uint32_t communicator_count;
} gs_streams;

gs_streams gs_streams_of(const gs_layout *layout, const gs_job *job, const gs_selection *selection);

static inline uint32_t gs_streams_count(const gs_streams *streams)
{
    return streams->first[streams->communicator_count];
}

/* The communicator that a stream is of, and its channel there. stream < gs_streams_count. */
uint32_t gs_streams_communicator(const gs_streams *streams, uint32_t stream, uint32_t *out_channel);

#endif
