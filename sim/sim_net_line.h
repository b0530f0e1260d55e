/* Links as queues, first-in first-out: what waits there in which order. Behind sim_net_socket.c and
 * nobody else.
 *
 * A turn is a piece of what a socket carries, at one of its ends, or news on its way back. Each
 * link has one turn under way at most; what that takes is the owner's business. Who joins or leaves
 * a line is followed by gs_sim_lines_next until that says NULL. */
#ifndef GS_SIM_SIM_NET_LINE_H
#define GS_SIM_SIM_NET_LINE_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

#define GS_NO_TURN UINT32_MAX
#define GS_NO_LINE UINT32_MAX

typedef enum gs_turn_kind {
    GS_TURN_SENDS,     /* at the sender's end */
    GS_TURN_TAKES,     /* at the receiver's */
    GS_TURN_NEWS,      /* that a chunk has begun to be taken, at the receiver's */
    GS_TURN_NEWS_BACK, /* at the sender's */
} gs_turn_kind;

typedef struct gs_sim_turn {
    gs_turn_kind kind;
    uint32_t socket;
    uint32_t link;
    uint32_t next; /* on its line, or of the free list */
    int64_t bytes; /* of news 0 */
    int64_t until; /* bytes of the socket since the start, with these */
} gs_sim_turn;

typedef struct gs_sim_line {
    uint32_t first, last; /* GS_NO_TURN: it is empty */
    bool is_served;       /* the first turn is under way */
    bool is_listed;
    uint32_t next_listed; /* GS_NO_LINE */
} gs_sim_line;

/* Open struct; owner of the arrays: the arena. */
typedef struct gs_sim_lines {
    gs_sim_line *of; /* [links]; NULL: there are none */
    gs_sim_turn *turns;
    uint32_t turn_count, turn_capacity, free_turn;
    uint32_t first_listed, last_listed; /* lines that somebody has joined or left */
    gs_arena *arena;
} gs_sim_lines;

/* false: no memory. */
bool gs_sim_lines_init(gs_sim_lines *lines, uint32_t link_count, gs_arena *arena);

/* At the end of the line of turn.link; turn.next is set. false: no memory. */
bool gs_sim_line_join(gs_sim_lines *lines, gs_sim_turn turn);

/* The turn under way on a link is through. */
void gs_sim_line_leave(gs_sim_lines *lines, uint32_t link);

/* The next turn that comes under way, anywhere; false: none. */
bool gs_sim_lines_next(gs_sim_lines *lines, gs_sim_turn *out);

#endif
