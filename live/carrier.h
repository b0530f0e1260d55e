/* A carrier: how frames of bytes come from one process of a live run to another, over MPI, TCP or
 * NCCL.
 *
 * A carrier knows nothing of entities or strategies: live/live_net_carried.c makes a transport of
 * it. A frame is a short head and a body; between two processes frames arrive in the order in which
 * they were sent, and to several processes they go in turn, a piece of a body at a time. Nothing
 * here waits but open, wait and close. A carrier is used from one thread. What needs a library that
 * not every machine has (MPI, NCCL) is a module, loaded at run time by live/carrier_module.c; it
 * calls nothing of the program that loads it (what it needs of base/ is compiled into it). */
#ifndef GS_LIVE_CARRIER_H
#define GS_LIVE_CARRIER_H

#include "base/status.h"
#include "base/units.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GS_CARRIER_VERSION = 1, GS_FRAME_HEAD_BYTES = 256, GS_CARRIER_HOST_BYTES = 64 };

typedef struct gs_carrier_config {
    size_t chunk_bytes; /* bodies travel in pieces of at most so many; > 0 */
    gs_time_ns poll_ns; /* how long wait may sleep without a look at the network; > 0 */
    /* Open gives up after that, and close does without those who are gone. */
    gs_time_ns deadline_ns;
    uint32_t processes;     /* as the launcher says */
    uint32_t process;       /* this one's number among them */
    uint32_t local_process; /* and among those of its host */
    /* HOST:PORT of process 0, where the launcher says one; NULL: not said. tcp: process 0 listens
     * on the first free one of the eight ports from there. */
    const char *address;
    /* What all processes of this launch are told and no others, such as a job's number: keeps runs
     * apart that use one address; NULL: not said. */
    const char *job;
    /* Open, of the same processes, for one that needs another (nccl); NULL: not needed. */
    const struct gs_carrier *control;
    void *control_net;
} gs_carrier_config;

typedef struct gs_frame {
    const void *head;  /* [head_bytes], copied by send */
    size_t head_bytes; /* 1..GS_FRAME_HEAD_BYTES */
    void *body;        /* [body_bytes]; send: lent until LEFT comes, and only read */
    size_t body_bytes;
    size_t padding_bytes; /* travel behind the body and are dropped by the receiver */
} gs_frame;

typedef enum gs_carried_kind {
    GS_CARRIED_NOTHING,
    GS_CARRIED_FRAME, /* has come whole from process `peer` */
    GS_CARRIED_LEFT,  /* the body of a frame sent with that cookie may be used again */
    GS_CARRIED_DONE,  /* the collective begun with that cookie has ended here */
    GS_CARRIED_LOST   /* process `peer` is gone, or the network failed (peer: this process): text
                         says how. Said once for each; what was sent to it has LEFT */
} gs_carried_kind;

typedef struct gs_carried {
    gs_carried_kind kind;
    uint32_t peer;
    uint64_t cookie;
    gs_frame frame; /* FRAME: the carrier's memory until give_back; padding is not counted */
    void *handle;   /* of it, for give_back */
    char text[160];
} gs_carried;

typedef struct gs_carrier {
    uint32_t version; /* GS_CARRIER_VERSION */
    const char *name;
    const char *summary;
    /* Meets the other processes. Errors: GS_EUNSUPPORTED (no such library, device or launcher here:
     * one line that says what is missing), GS_EINVAL, GS_EIO (this process does not reach another
     * one, which may know nothing of it), GS_ENOMEM, GS_EDEADLOCK (not all came within the
     * deadline: which), GS_EMISMATCH (a process was started with other counts, options
     * or another version). mpi: once in a process. Owner of *out: caller, close or abort. */
    gs_status (*open)(const gs_carrier_config *config, void **out, gs_error *err);
    /* Queues a frame to another process. LEFT(cookie) comes by a later poll, also for an empty
     * body. false: no memory. */
    bool (*send)(void *carrier, uint32_t to, const gs_frame *frame, uint64_t cookie);
    /* Moves bytes on, and says the next thing that has happened; never waits. */
    void (*poll)(void *carrier, gs_carried *out);
    void (*give_back)(void *carrier, void *handle);
    /* Until something may have happened, `until_ns` (of CLOCK_MONOTONIC) or wake. */
    void (*wait)(void *carrier, gs_time_ns until_ns);
    /* Ends a wait, of any thread; NULL: wait never sleeps longer than poll_ns. */
    void (*wake)(void *carrier);
    /* Native collectives; all NULL: none. A group is made by all of its members (ascending process
     * numbers) in the same order, and may wait for them; asked for before any all_reduce. Sum in
     * place of count floats, one after the other on each group; DONE(cookie). false: refused. */
    bool (*group)(void *carrier, const uint32_t *members, uint32_t count, uint32_t *out);
    bool (*all_reduce)(void *carrier, uint32_t group, float *data, size_t count, uint64_t cookie);
    /* All processes call it: what was sent has arrived, then the network is left. */
    void (*close)(void *carrier);
    /* Leaves at once, without the others, for whom this process is lost. mpi: its launcher ends
     * them when this process ends. */
    void (*abort)(void *carrier);
} gs_carrier;

/* What a module exports by the name "gs_carrier_module"; all else of it is hidden. */
typedef const gs_carrier *gs_carrier_module_fn(void);

/* The carriers of live/carriers.def. */
uint32_t gs_carrier_count(void);
const char *gs_carrier_name(uint32_t index);

/* The carrier of that name: mpi (the module built for the MPI that started this process), tcp,
 * nccl. A module stays loaded. Errors: GS_ENOTFOUND (no such name), GS_EUNSUPPORTED (no module of
 * it was built, it cannot be loaded, or no launcher whose MPI it is: what to install or how to
 * start). */
GS_MUST_USE gs_status gs_carrier_find(const char *name, const gs_carrier **out, gs_error *err);

#endif
