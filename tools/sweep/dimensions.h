/* What a sweep varies: words KEY=a,b,c and KEY=LOW..HIGH:COUNT[:log], and values of the scenario
 * that are {"sweep": [...]}. */
#ifndef GS_TOOLS_SWEEP_DIMENSIONS_H
#define GS_TOOLS_SWEEP_DIMENSIONS_H

#include "base/arena.h"
#include "base/status.h"
#include "traces/scenario/scenario.h"

#include <stdbool.h>
#include <stdint.h>

enum { GS_DIMENSIONS_MAX = 16, GS_DIMENSION_VALUES_MAX = 4096 };

typedef enum gs_dimension_kind {
    GS_DIMENSION_KEY,       /* of the scenario */
    GS_DIMENSION_YEARS,     /* from now: compute and networks grow, see grid.h */
    GS_DIMENSION_STRATEGY,  /* texts as -s takes them */
    GS_DIMENSION_PARAMETER, /* of strategies, or of their codecs */
} gs_dimension_kind;

typedef struct gs_dimension_value {
    const char *text; /* as a word takes it */
    double number;    /* in ns, bytes or bit/s, or as it is; NAN: a word */
} gs_dimension_value;

typedef struct gs_dimension {
    gs_dimension_kind kind;
    const char *key;                  /* "cluster.links.nic.bandwidth", "years", "strategy",
                                         "strategy.period" */
    const char *unit;                 /* of the numbers: "ns", "bytes", "bit/s", "" */
    const gs_dimension_value *values; /* [count], all different */
    uint32_t count;
    /* PARAMETER: of the strategy of this index in the scenario's file; -1: of all that have it. */
    int64_t owner;
} gs_dimension;

typedef struct gs_dimensions {
    gs_dimension list[GS_DIMENSIONS_MAX];
    uint32_t count;
} gs_dimensions;

/* Is this word of the command line a dimension, not a value for all? "a=[1,2]" is one value. */
bool gs_dimension_is_word(const char *word);

/* Adds the dimension of a word. all [all_count]: what strategy=all stands for. Errors: GS_EINVAL
 * with the word and what is allowed, GS_ELIMIT. Owner of texts: the arena. */
GS_MUST_USE gs_status gs_dimension_add_word(gs_dimensions *dimensions, const char *word,
                                            const char *const *all, uint32_t all_count,
                                            gs_arena *arena, gs_error *err);
/* Adds one of the scenario's own; likewise. */
GS_MUST_USE gs_status gs_dimension_add_own(gs_dimensions *dimensions,
                                           const gs_scenario_dimension *own, gs_arena *arena,
                                           gs_error *err);
/* Adds the strategies where no word has: the next ones in the list. */
GS_MUST_USE gs_status gs_dimension_add_strategies(gs_dimensions *dimensions,
                                                  const char *const *texts, uint32_t count,
                                                  gs_arena *arena, gs_error *err);

/* The dimension of the strategies; NULL: none yet. */
const gs_dimension *gs_dimension_of_strategies(const gs_dimensions *dimensions);

/* Is its value a choice that whoever runs the job can make, not a part of what the job meets:
 * strategies and their parameters, optimizer, batch, accumulation, collectives? */
bool gs_dimension_is_choice(const gs_dimension *dimension);

/* All values are numbers, and there are `least` of them or more. */
bool gs_dimension_is_numeric(const gs_dimension *dimension, uint32_t least);

#endif
