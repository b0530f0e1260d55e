/* The state of the NCCL carrier, and its turns: what all of its files share.
 *
 * Notes on the control carrier announce what comes over the lanes. A turn takes the notes that have
 * come and goes on with every lane. */
#ifndef GS_LIVE_CARRIERS_NCCL_NCCL_NET_H
#define GS_LIVE_CARRIERS_NCCL_NCCL_NET_H

#include "live/carriers/nccl/nccl_lane.h"

enum {
    GS_NCCL_PROCESSES_MAX =
        16, /* each takes two lanes to each other, and staging memory for them */
    GS_NCCL_GROUPS_MAX = 16,
    GS_NCCL_LINES_MAX = 2 * GS_NCCL_PROCESSES_MAX + GS_NCCL_GROUPS_MAX,
    GS_NCCL_LANE_BLOCKS = 1,
    GS_NCCL_GROUP_BLOCKS = 8, /* or fewer, where the device has not so many for each group */
    GS_NCCL_SUM_PIECES = 64,  /* that a sum moves at once: it takes no turns with frames */
    GS_NCCL_SUM_BYTES_MAX = 4 << 20
};

typedef enum gs_nccl_note_kind {
    GS_NCCL_NOTE_HELLO, /* number: chunk_bytes; blocks of its device */
    GS_NCCL_NOTE_LANE,  /* bytes: id of the lane from its sender to its receiver */
    GS_NCCL_NOTE_GROUP, /* bytes: id of the next group that its first member makes with this one;
                           number */
    GS_NCCL_NOTE_FRAME, /* number on the lane; its head is the next thing to come */
    GS_NCCL_NOTE_BYE,   /* no more frames */
    GS_NCCL_NOTE_FAILED /* why open failed: status, and bytes as text */
} gs_nccl_note_kind;

typedef struct gs_nccl_note {
    uint32_t kind;
    int32_t blocks, status;
    uint64_t number;
    uint64_t body_bytes, total_bytes;
    uint8_t bytes[GS_NCCL_TEXT_BYTES];
} gs_nccl_note;

_Static_assert(sizeof(gs_nccl_note) <= GS_FRAME_HEAD_BYTES,
               "a note is the head of a control frame");
_Static_assert(GS_NCCL_TEXT_BYTES >= GS_NCCL_ID_BYTES, "a note holds an id");

typedef struct gs_nccl_edge {
    gs_nccl_lane out, in;
    gs_nccl_item *headless;  /* a frame whose head is still to come; NULL: none */
    gs_nccl_queue ids;       /* of groups that the peer is the first member of */
    uint64_t sent, received; /* frames so far */
    uint8_t lane_id[GS_NCCL_ID_BYTES];
    bool has_lane_id, has_hello, has_bye, is_lost;
} gs_nccl_edge;

typedef struct gs_nccl_group {
    gs_nccl_lane lane;
    uint32_t member_count; /* 0: its line waits for members */
    uint32_t members[GS_NCCL_PROCESSES_MAX];
} gs_nccl_group;

typedef struct gs_nccl_net {
    gs_carrier_config config;
    gs_nccl_edge edges[GS_NCCL_PROCESSES_MAX];
    gs_nccl_group groups[GS_NCCL_GROUPS_MAX];
    uint32_t group_max; /* that the device can run beside the lanes; their lines are open */
    uint32_t group_count;
    int group_blocks;
    int blocks; /* thread blocks that the smallest device runs at once */
    gs_nccl_items items;
    gs_nccl_queue ready;
    /* What keeps open from going on: GS_OK: nothing. */
    gs_status failed;
    uint32_t failed_process;
    char failed_text[GS_NCCL_TEXT_BYTES];
} gs_nccl_net;

gs_time_ns gs_nccl_now(void); /* of CLOCK_MONOTONIC */
/* The lines that are open; returns how many. */
uint32_t gs_nccl_lines(const gs_nccl_net *net, gs_nccl_line *out[GS_NCCL_LINES_MAX]);
/* Thread blocks that the lanes of a process occupy. */
int gs_nccl_lane_blocks(const gs_carrier_config *config);

/* Sends a note. Nothing is lent to the control carrier, so either may end before the other.
 * false: no memory. */
GS_MUST_USE bool gs_nccl_say(gs_nccl_net *net, uint32_t to, const gs_nccl_note *note);
bool gs_nccl_say_to_all(gs_nccl_net *net, const gs_nccl_note *note);
/* Breaks off all that waits for a process, so that its kernels leave the device, and tells so. */
void gs_nccl_lose(gs_nccl_net *net, uint32_t peer, const char *why);

/* Takes notes and moves every lane on; never waits. */
void gs_nccl_step(gs_nccl_net *net);
/* A lane out or a group moves something; also_in: or a lane in. */
bool gs_nccl_is_busy(const gs_nccl_net *net, bool also_in);
/* Until something may have happened, or until_ns. */
void gs_nccl_rest(gs_nccl_net *net, gs_time_ns until_ns);
/* A step and a rest, for what waits. false: the deadline has passed. */
GS_MUST_USE bool gs_nccl_turn(gs_nccl_net *net, gs_time_ns deadline_ns);

/* As in live/carrier.h. */
gs_status gs_nccl_open(const gs_carrier_config *config, void **out, gs_error *err);
void gs_nccl_close(void *carrier);
void gs_nccl_abort(void *carrier);
/* Joins the line of a lane, and moves a first piece, at which NCCL makes its connections and takes
 * its memory: a later one waits for nothing but its match. peer: who else is on it, for the error.
 * Errors: those of open. */
GS_MUST_USE gs_status gs_nccl_join_lane(gs_nccl_net *net, gs_nccl_lane *lane,
                                        const gs_nccl_members *members, uint32_t peer,
                                        gs_time_ns deadline_ns, gs_error *err);

#endif
