/* The smallest host: one driver, nothing moves, tests deliver by hand. */
#ifndef GS_TESTS_STRATEGIES_PROBE_HOST_H
#define GS_TESTS_STRATEGIES_PROBE_HOST_H

#include "strategies/driver.h"

enum { PROBE_SLOTS_MAX = 64, PROBE_ELEMENTS = 60 };

typedef struct probe_host {
    gs_driver *driver;
    gs_arena arena;
    gs_job job; /* PROBE_ELEMENTS in units of 10, 20 and 30 */
    gs_layout layout;
    gs_strategy strategy;
    const void *strategy_config;
    gs_error error; /* code GS_OK: no rule was broken */
    int failures;
    uint32_t slots[PROBE_SLOTS_MAX]; /* of what the driver wants to be told of later, in order */
    int slot_count;
    int parts_sent, notes_sent, wakes, drained, vecs, steps_ended, cancelled;
    int64_t applied, dropped;         /* elements */
    gs_time_ns timer_ns;              /* of the last timer */
    double product;                   /* what every dot comes to */
    gs_message last_note;             /* that was sent */
    uint32_t open_from;               /* bucket that was opened last */
    int issued[GS_COMMUNICATORS_MAX]; /* collectives of each communicator */
    bool other_op;                    /* absorb finds a part of another op */
} probe_host;

/* Two ranks and one server, a strategy "wrong" whose hooks do nothing and whose steps go at PARAM;
 * tests change layout and strategy, then make the driver. */
void probe_host_init(probe_host *host);
void probe_host_make(probe_host *host, gs_peer self);
/* Instead of make: an entity of an earlier run goes on from what it exported. */
void probe_host_import(probe_host *host, gs_peer self, const void *exported, size_t bytes);
/* What its strategy would export now; asserts nothing about being drained. */
size_t probe_host_export(const probe_host *host, void *out, size_t out_bytes);
void probe_host_fini(probe_host *host);

/* Inputs, each at time 0. */
gs_plan probe_host_step(probe_host *host);
void probe_host_units(probe_host *host, uint32_t count); /* the last `count` units, from the end */
void probe_host_backward(probe_host *host); /* a whole step: begin, units, backward_done */
void probe_host_message(probe_host *host, gs_peer from, uint16_t tag, int64_t length);
void probe_host_note(probe_host *host, gs_peer from, uint16_t tag);
/* Of an agreement, as its peer sends it. */
void probe_host_voice(probe_host *host, gs_peer from, uint32_t communicator, gs_agree_kind kind,
                      const double values[GS_AGREE_VALUES], uint64_t label);
void probe_host_quiesce(probe_host *host);
/* Completes the oldest of slots. */
void probe_host_sent(probe_host *host);

#endif
