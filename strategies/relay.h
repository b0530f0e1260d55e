/* A run in legs: strategies that follow one another in mid-run, each with its own codec and
 * rules of selection.
 *
 * Between two of them the entities hand over (strategies/handover.h): the old one quiesces and
 * exports, what ranks hold is made one neutral state, the new one starts from it. Hosts take memory
 * for all legs before the run. A leg has a step at which it begins, or none: then only
 * gs_ask_swap leads to it. */
#ifndef GS_STRATEGIES_RELAY_H
#define GS_STRATEGIES_RELAY_H

#include "base/arena.h"
#include "strategies/bucket.h"
#include "strategies/coding.h"
#include "strategies/selection.h"
#include "strategies/strategy.h"

enum { GS_LEGS_MAX = 8, GS_LEG_ON_REQUEST = -1 };

typedef struct gs_leg {
    const gs_strategy *strategy;
    const void *config;            /* owner of all pointers: caller, for the whole run */
    const gs_coding *coding;       /* NULL, or its codec NULL: dense */
    const gs_selection *selection; /* NULL: no rules */
    int64_t from_step; /* steps of the ranks' mean that were begun before it; 0: the first leg;
                          GS_LEG_ON_REQUEST */
    /* By gs_relay_make. */
    uint32_t same_as;           /* the first leg that does not differ: that one is entered again */
    gs_layout layout;           /* of the strategy */
    uint32_t first_line;        /* its communicator 0 has this number in the run */
    uint32_t first_code_vector; /* of what its codec keeps, behind the own vectors of all legs */
    /* By the host: of its first step at the start of a run, and of all others. */
    const gs_bucket_plan *buckets, *buckets_rebuilt;
} gs_leg;

typedef struct gs_relay {
    uint32_t count;               /* without the handover */
    gs_leg list[GS_LEGS_MAX + 1]; /* [count] is the handover, if there is more than one */
    gs_layout layout; /* room for each of them; its cut is own if that of one is; communicators are
                         those of all legs, coded where the leg has a codec */
    uint32_t code_vectors; /* of all legs together */
} gs_relay;

/* Fills in what depends on the job: layouts, and the handover. Errors: those of a layout, and
 * GS_EINVAL / GS_EUNSUPPORTED with what cannot follow what. */
GS_MUST_USE gs_status gs_relay_make(gs_relay *relay, const gs_job *job, gs_error *err);

/* The first leg at or behind `from` that begins by its time; their count: none. */
uint32_t gs_relay_timed(const gs_relay *relay, uint32_t from);

/* The leg that communicator `line` of the run belongs to. */
uint32_t gs_relay_of_line(const gs_relay *relay, uint32_t line);

/* As gs_selection_choose and gs_streams_of, over the communicators of the run. */
gs_choice gs_relay_choose(const gs_relay *relay, uint32_t line, gs_collective_kind kind,
                          int64_t bytes);
bool gs_relay_candidate(const gs_relay *relay, uint32_t line, gs_collective_kind kind,
                        uint32_t number, gs_choice *out);
gs_streams gs_relay_streams(const gs_relay *relay, const gs_job *job);

#endif
