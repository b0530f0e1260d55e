/* The inside of the driver, shared by its five files and nobody else: driver.c (hooks and steps),
 * driver_requests.c (requests, lending, messages), driver_collectives.c (communicators),
 * driver_signals.c (sums of products, and what members agree on), driver_swap.c (from one leg of a
 * run to the next). */
#ifndef GS_STRATEGIES_DRIVER_PARTS_H
#define GS_STRATEGIES_DRIVER_PARTS_H

#include "base/assert.h"
#include "strategies/driver.h"
#include "strategies/group.h"
#include "strategies/swap.h"

#define GS_NO_SLOT UINT32_MAX

typedef enum request_kind {
    REQUEST_FREE,
    REQUEST_COLLECTIVE,
    REQUEST_SEND,
    REQUEST_RECV,
    REQUEST_TIMER,
    REQUEST_DOT,
    REQUEST_AGREE
} request_kind;

/* What a member brings to an agreement, or has of it so far. */
typedef struct voice {
    gs_agree_kind kind;
    uint64_t label;
    double values[GS_AGREE_VALUES];
} voice;

/* One outstanding request. A cache line: thousands of ranks have as many of them as a step has
 * buckets. */
typedef struct request {
    gs_op id;
    uint64_t cookie;
    int64_t offset, length; /* of its slice */
    uint32_t vector;        /* likewise */
    uint32_t next; /* of the free list, of the line of its communicator, of the posted receives */
    union {
        int64_t step;  /* of a collective's signature, as what follows; its number is its place in
                          the line */
        double scalar; /* dot */
    };
    uint64_t order;
    union {
        struct { /* collective; agree: its communicator */
            uint16_t root;
            uint8_t communicator, kind;
        } op;
        struct {
            gs_peer peer; /* send: to; recv: from */
            uint16_t tag;
        } message;
    } of;
    uint8_t kind;    /* request_kind */
    bool copied : 1; /* send: the slice is not lent */
    bool landed : 1; /* recv: the message is in the slice, its hook comes on a later turn */
} request;

/* What its hook is told of a message that has landed. */
typedef struct landing {
    gs_peer from;
    int64_t meta[4];
} landing;

static inline gs_slice gs_driver_request_slice(const request *of)
{
    return (gs_slice){of->vector, of->offset, of->length};
}

/* What of a vector is lent. */
typedef struct lending {
    int64_t high; /* no lent slice ends above it */
    uint32_t count;
} lending;

/* How far a lane of the program under way has come. */
typedef struct lane {
    uint64_t vertex;    /* next */
    gs_vertex next;     /* the vertex that waits, */
    uint32_t waits_for; /* for this inbox; GS_NO_SLOT: none waits */
} lane;

/* What programs of a line may receive from or send to, by member and channel. */
typedef struct edges {
    gs_edge *sorted; /* [count] */
    uint32_t count;
    uint32_t last; /* found */
} edges;

/* The line of requests of one communicator; the first one runs. What a host needs that runs ops
 * itself comes first. */
typedef struct line {
    gs_op_signature op;   /* of the first, once it has started */
    uint32_t first, last; /* slots, GS_NO_SLOT: empty */
    uint64_t issued, ended;
    uint32_t kinds; /* that may be asked for: sum of 1 << gs_collective_kind */
    gs_group group;
    bool running;           /* the first has started */
    bool native;            /* the host runs it */
    bool flushing;          /* its program has ended */
    gs_coding_plan *coding; /* of the first; stage_count 0: it travels dense; NULL: all do */
    uint32_t stage;
    const gs_collective *program; /* under way, */
    gs_shape shape;               /* as it sees the group, */
    gs_slice cut;                 /* and what its parts are cut from */
    lane *lanes;                  /* [lane_count] of it; as many as any program has */
    uint32_t lane_count;
    uint32_t lanes_left; /* that have not ended */
    edges targets;
    uint32_t *channels; /* [targets.count] the host's handles */
    edges sources;
    uint32_t first_inbox; /* of driver->inboxes: [sources.count] */
    const gs_communicator *of;
    const gs_selection *selection; /* of its leg, */
    uint32_t index;                /* where it has this number */
} line;

/* The line of agreements of one communicator; the first one runs. In stages: members above the
 * largest power of two tell one below it (0), those below double what they know with partners twice
 * as far apart each time, and tell those above (the last). A member cannot be a stage ahead of one
 * that it waits for, so one place for what came is enough for each partner. */
typedef struct round_line {
    uint32_t first, last; /* slots, GS_NO_SLOT: empty */
    uint32_t rounds;      /* of doubling */
    uint32_t stage;       /* of the first, 0 to rounds + 1; */
    bool has_told;        /* in it: its note has left, the partner's is waited for */
    bool running;
    bool *has_come; /* [rounds + 1], the last of who is above or below; NULL: none may be asked */
    voice *came;    /* likewise */
} round_line;

typedef struct inbox {
    uint32_t communicator;
    uint32_t rank;    /* whose parts come here */
    uint32_t channel; /* the host's handle */
    uint32_t parts;   /* arrived and not consumed */
    uint32_t lane;    /* that waits for the next one; GS_NO_SLOT: none */
} inbox;

/* Messages that have come and that nobody has taken, in order of arrival. */
typedef struct message_queue {
    gs_message *list;
    uint32_t count, capacity;
} message_queue;

/* Where an entity is in a run of several legs. */
typedef struct leg_state {
    uint32_t now;   /* of relay; their count: the handover */
    uint32_t timed; /* begins next by its time; their count: none */
    uint32_t epoch; /* legs and handovers left behind */
    bool absent;    /* a server that this leg does not use */
    bool swapping;  /* its strategy is quiescing, and another one follows */
    bool settling;  /* it is about to */
    bool due;       /* the host says: by time, here */
    bool is_asked;  /* by the strategy, */
    uint32_t asked; /* for this leg */
    bool stops;     /* the host has told the run to end in a handover */
    uint32_t heard; /* of a server: workers that go on to another leg */
    gs_swap swap;
    int64_t passes_more; /* that it counts on top since ranks agreed */
    void *kept;          /* state of the leg that follows itself */
    size_t kept_bytes;
    message_queue early; /* of entities that are further */
} leg_state;

struct gs_world {
    gs_driver *self;                /* of services that only look: they too hear of broken rules */
    const gs_driver_config *config; /* of the present leg; the same for all drivers of a run, but
                                       for its `self` */
    gs_time_ns now;
    void *state;
    void *state_spare; /* NULL unless swap_state */
    gs_peer entity;
    bool failed;
    bool drained;
    bool over; /* of its leg it has; what follows begins once the hook has returned */
    bool quiescing;
    bool held; /* step_begin said hold */
    bool wake_asked;
    bool in_backward; /* between GO and backward_done */
    bool cancelled;   /* the gradient begun last: GRAD holds what was announced and no more */
    uint8_t hooks_deep;
    int64_t steps_begun;
    int64_t steps_ended;
    int64_t begun_more, ended_more; /* that it counts on top since ranks agreed (gs_swap) */
    int64_t passes_begun;           /* and not cancelled */

    /* Requests. */
    request *requests;
    uint32_t request_capacity;
    uint32_t free_first;
    gs_op ops_issued;
    uint64_t collectives_issued;
    lending *lent;                   /* [vectors] */
    line *lines;                     /* [line_count] of all legs */
    uint32_t first_line, line_count; /* first: of the present leg's */

    /* Buckets of this step. */
    const gs_bucket_plan *buckets;
    const gs_bucket_plan *buckets_next;
    uint32_t *bucket_units_left;
    uint32_t bucket_launched; /* buckets [0, launched) were announced */
    uint32_t closed_buckets;  /* whose weights are still to come: [0, closed) */
    gs_plan plan;
    uint64_t services_called; /* whether a hold had side effects */

    /* Point to point. */
    uint32_t sends_outstanding;
    uint32_t copies_outstanding;
    uint64_t code_key; /* of the last gs_code */
    uint32_t posted_first, posted_last;
    landing *landed;      /* [request_capacity]; NULL: no layout has point to point */
    message_queue queued; /* arrived without a recv */
    gs_arena *arena;      /* for the queue to grow */

    round_line *rounds; /* [line_count] of agreements */
    voice *voices;      /* [request_capacity]; NULL: no communicator agrees */
    inbox *inboxes;
    uint32_t inbox_count;

    /* Legs. */
    const gs_layout *room;        /* for all of them */
    const gs_driver_config *legs; /* [legs + 1] what is different in each; NULL: there is one */
    leg_state leg;
};

/* Ends the run: "worker 3, step 12, allreduce: " and the text. */
void gs_driver_broke(gs_driver *driver, gs_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Hooks that inputs of several files lead to. Nothing happens after a failure or when drained. */
typedef void gs_hook(gs_world *world, void *state, const gs_event *event);
void gs_driver_call(gs_driver *driver, gs_hook *hook, gs_event *event);

/* Notes the time of an input; false: the driver takes none any more. */
bool gs_driver_take_input(gs_driver *driver, gs_time_ns at);
/* The step that hooks are told, and the state that they see is another place's from now on. */
int64_t gs_driver_step_now(const gs_driver *driver);
void gs_driver_move_state(gs_driver *driver);

/* What each leg, and the handover, makes of a driver's config. NULL: no memory. */
const gs_driver_config *gs_driver_legs(const gs_driver_config *config, gs_arena *arena);

/* Whether what the entity does at this place is another leg's begin: it has begun then. */
bool gs_driver_swaps_here(gs_driver *driver);
/* The run is to end: of workers at once, or once the handover is over; they tell the servers. */
void gs_driver_stop(gs_driver *driver);
/* After a hook: what is over makes place for what follows. */
void gs_driver_settle(gs_driver *driver);
/* Whether a message is not for the strategy of now; it was taken care of then. */
bool gs_driver_is_of_leg(gs_driver *driver, const gs_message *message);
/* A strategy has drained in a run that goes on: true. */
bool gs_driver_leg_ends(gs_driver *driver);
void gs_driver_keep(gs_driver *driver, message_queue *queue, const gs_message *message);
/* What receives are still posted for are of no use to what follows. */
void gs_driver_forget_receives(gs_driver *driver);

bool gs_driver_requests_create(gs_driver *driver, gs_arena *arena);
bool gs_driver_lines_create(gs_driver *driver, gs_arena *arena);

/* A slot with its id, or GS_NO_SLOT after a broken rule. */
uint32_t gs_driver_request_open(gs_driver *driver, request_kind kind, gs_slice slice, bool copied);
void gs_driver_request_close(gs_driver *driver, uint32_t slot);
/* Number of a collective on its communicator, from 0. */
uint64_t gs_driver_sequence(const gs_driver *driver, uint32_t slot);

/* Whether an index that a strategy gave is one of `count`: false after a broken rule. For every
 * service that takes one; slices and peers have their own. */
static inline bool gs_driver_has_index(const gs_driver *driver, const char *service,
                                       const char *what, uint32_t index, uint32_t count)
{
    if (index < count) {
        return true;
    }
    gs_driver_broke(driver->self, GS_ECONTRACT, "%s: no %s %u here; there are %u", service, what,
                    index, count);
    return false;
}

/* Whether there is such a slice: false after a broken rule. */
bool gs_driver_has_slice(gs_driver *driver, const char *service, gs_slice slice);

/* Whether two slices of equal length are the same or apart, as hosts need them: false after a
 * broken rule. */
bool gs_driver_are_apart(gs_driver *driver, const char *service, gs_slice a, gs_slice b);

/* Checks a slice and what it may be used for: false after a broken rule. `writes`: into the slice.
 */
bool gs_driver_may_use(gs_driver *driver, const char *service, gs_slice slice, bool writes);

/* A service was called: false when it must not do anything. */
bool gs_driver_enter(gs_driver *driver, const char *service);

/* The first request of a line has ended; the next one may start. */
void gs_driver_line_end(gs_driver *driver, uint32_t slot);
void gs_driver_line_start(gs_driver *driver, uint32_t communicator);

/* A message looks for its recv; and a recv has found its message. */
void gs_driver_match(gs_driver *driver, const gs_message *message);
void gs_driver_matched(gs_driver *driver, uint32_t slot);

/* driver_signals.c. The first agreement of a line has ended; the next one may start. */
bool gs_driver_rounds_create(gs_driver *driver, gs_arena *arena);
void gs_driver_rounds_end(gs_driver *driver, uint32_t slot);
void gs_driver_rounds_start(gs_driver *driver, uint32_t communicator);
/* Notes of agreements have the tags from GS_TAGS_MAX on. */
void gs_driver_rounds_note(gs_driver *driver, const gs_message *note);
/* The worker whose note the agreement that runs waits for. false: it waits for nobody. */
bool gs_driver_rounds_wait(const gs_driver *driver, uint32_t communicator, uint32_t *out_rank);
/* A worker whose note nobody has used. false: there is none. */
bool gs_driver_rounds_left(const gs_driver *driver, uint32_t *out_rank);
const char *gs_driver_agree_name(gs_agree_kind kind);

/* Servers are in none: false after a broken rule. */
bool gs_driver_has_communicator(const gs_driver *driver, const char *service,
                                uint32_t communicator);

/* Whether any of a slice is lent. */
bool gs_driver_is_lent(const gs_driver *driver, gs_slice slice);

uint32_t gs_driver_vector_count(const gs_driver *driver);

#endif
