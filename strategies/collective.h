/* Collectives: one file for each algorithm, as a program per member, made up as it runs.
 *
 * A member's program is one or more lanes that run side by side, each a sequence of vertices: send
 * a part of the slice to a peer, or receive one from a peer and add it to, or put it over, what is
 * there. Sends do not block. What goes from one member to another on one channel comes in order;
 * channels do not wait for each other. Both hosts, and every way of timing, play the same program:
 * a vertex is a pure function of (shape, lane, index), nothing is stored. A lane sends only what
 * itself has received or added, or what was there at the start: lanes of a member do not wait for
 * each other. A program must be safe without buffering: a part that was sent, but as a copy, is
 * written over only by data that depends on the receipt of all its sends. Reductions happen in
 * program order: results are equal bit for bit in every host. */
#ifndef GS_STRATEGIES_COLLECTIVE_H
#define GS_STRATEGIES_COLLECTIVE_H

#include "base/units.h"
#include "strategies/strategy.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct gs_shape {
    uint32_t members;
    uint32_t self;    /* 0 to members - 1 */
    uint32_t root;    /* of a broadcast: the member whose data it is */
    int64_t elements; /* of the slice */
    uint32_t rings;   /* >= 1: channels side by side, each with its share of the slice */
    uint32_t inner;   /* >= 1: members of a node, who follow one another; divides members */
    uint32_t middle; /* >= 1: nodes of a group of nodes, for three levels; middle * inner divides */
    int64_t piece;   /* elements of a piece in pipelined programs; 0: the whole share */
    const uint32_t *order; /* [2 * members] of rings, as gs_job.ring_order; NULL: by number */
} gs_shape;

/* One ring, no nodes, no pieces. */
static inline gs_shape gs_shape_plain(uint32_t members, uint32_t self, int64_t elements)
{
    return (gs_shape){.members = members,
                      .self = self,
                      .elements = elements,
                      .rings = 1,
                      .inner = 1,
                      .middle = 1};
}

typedef enum gs_vertex_kind { GS_VERTEX_SEND, GS_VERTEX_ADD, GS_VERTEX_PUT } gs_vertex_kind;

typedef struct gs_vertex {
    gs_vertex_kind kind;
    uint32_t peer;
    uint32_t channel; /* 0 to gs_collective_channels - 1 */
    int64_t offset;   /* within the slice, in elements */
    int64_t length;   /* may be 0: the message is sent all the same */
    bool copied;      /* of a send: what is sent is a copy, the part may change at once */
} gs_vertex;

/* One end of a channel of a program. */
typedef struct gs_edge {
    uint32_t peer;
    uint32_t channel;
} gs_edge;

/* Turns round a ring of members `stride` apart, each of whom sends to the next; the stage's part of
 * the slice is cut for the ring's members, and in turn t the member at place r sends part
 * r + first - t. */
enum { GS_RING_STAGES_MAX = 5 };

typedef struct gs_ring_stage {
    uint32_t size, stride;
    uint32_t place;  /* of the member that was asked about */
    uint32_t target; /* which of the member's targets is the next one */
    uint64_t turns;
    uint32_t first;   /* below size */
    int64_t elements; /* of the ring */
} gs_ring_stage;

/* In which order the program of an all-reduce adds, where a word says it: a host that holds the
 * slices of all members may then form the sum at once, to the same bits. */
typedef enum gs_sum_order {
    GS_SUM_BY_PROGRAM, /* only the vertices say */
    GS_SUM_ROUND,      /* part m, as gs_part_of says, from member m on; the sum travels */
    GS_SUM_AT_ROOT     /* the whole, from member 0 on, which adds; the terms travel */
} gs_sum_order;

/* What a program looks at in a shape: rings, inner, middle, piece. */
enum { GS_TAKES_RINGS = 1, GS_TAKES_NODES = 2, GS_TAKES_LEVELS = 4, GS_TAKES_PIECES = 8 };

/* What a kind does to the slices of the members; part m is what gs_part_of says.
 * all-reduce: every slice becomes the sum. reduce-scatter: part m of member m's slice becomes that
 * of the sum, the rest of it is used up. all-gather: part m of member m's goes to all others.
 * broadcast: the root's slice goes to all others. all-to-all, of equal parts: part m of a member's
 * slice goes to member m, and what comes from member m into part m of another slice. reduce: the
 * root's slice becomes the sum, the others are used up. gather: part m of member m's goes to the
 * root, the rest of what others have is used up. scatter: part m of the root's goes to member m,
 * the rest of what others have is used up. */
typedef struct gs_collective {
    const char *name;
    const char *summary;
    const char *source;
    gs_collective_kind kind;
    /* Of a member's program, and of all members' together; NULL: 1. */
    uint32_t (*lanes)(const gs_shape *shape);
    uint32_t (*channels)(const gs_shape *shape);
    /* Writes vertex `index` of a lane of the member's program; false: the lane has ended before. */
    bool (*vertex)(const gs_shape *shape, uint32_t lane, uint64_t index, gs_vertex *out);
    /* What this member receives from, and sends to: distinct, each read by one lane only; up to
     * members - 1 for each channel. The same for every root, number of elements and piece. */
    uint32_t (*sources)(const gs_shape *shape, gs_edge *out);
    uint32_t (*targets)(const gs_shape *shape, gs_edge *out);
    /* Seconds where each channel has links of its own: latency_s a message, bandwidth in bytes/s,
     * no jitter; all members start at once. And where all channels of a member share one link out
     * and one in; NULL: the same. */
    double (*closed_s)(const gs_shape *shape, double bytes, double latency_s, double bytes_per_s);
    double (*shared_s)(const gs_shape *shape, double bytes, double latency_s, double bytes_per_s);
    gs_sum_order order;  /* of an all-reduce */
    unsigned takes;      /* sum of GS_TAKES_* */
    bool is_mutual;      /* two members add the same two terms, each by itself */
    int64_t piece_bytes; /* of a piece, where nobody says another; 0: the whole share */
    /* What is nothing but turns round a ring: how many, and the part that member 0 sends first, of
     * as many equal parts as members; in turn s member r sends part first + r - s to r + 1, then
     * receives from r - 1. NULL, or false for this shape: it is something else. */
    bool (*turns)(const gs_shape *shape, uint64_t *out_turns, uint32_t *out_first);
    /* Whether the program of shape->self is one lane of stages one after the other, each of turns
     * round a ring on channel 0; NULL: it is not. Their number, 0: not with this shape. */
    uint32_t (*stages)(const gs_shape *shape, gs_ring_stage out[GS_RING_STAGES_MAX]);
} gs_collective;

uint32_t gs_collective_count(void);
const gs_collective *gs_collective_at(uint32_t index);
const gs_collective *gs_collective_find(const char *name); /* NULL: no such name */

static inline uint32_t gs_collective_lanes(const gs_collective *collective, const gs_shape *shape)
{
    return collective->lanes == NULL ? 1 : collective->lanes(shape);
}

static inline uint32_t gs_collective_channels(const gs_collective *collective,
                                              const gs_shape *shape)
{
    return collective->channels == NULL ? 1 : collective->channels(shape);
}

/* The algorithm by which a communicator does what the kind says, where no rule says another
 * (strategies/selection.h). */
const gs_collective *gs_collective_for(const gs_communicator *communicator,
                                       gs_collective_kind kind);

/* What will be asked of a communicator: sum of 1 << gs_collective_kind; and whether its members
 * agree on values. */
static inline uint32_t gs_communicator_kinds(const gs_communicator *communicator)
{
    return communicator->kinds == 0 ? 1U << GS_ALL_REDUCE
                                    : communicator->kinds & ~(uint32_t)GS_AGREES;
}

static inline bool gs_communicator_agrees(const gs_communicator *communicator)
{
    return (communicator->kinds & GS_AGREES) != 0;
}

/* "all_reduce" */
const char *gs_collective_kind_name(gs_collective_kind kind);

/* Part `part` of `parts`: the first (elements mod parts) ones hold one element more than the
 * others. */
void gs_part_of(int64_t elements, uint32_t parts, uint32_t part, int64_t *out_offset,
                int64_t *out_length);

#endif
