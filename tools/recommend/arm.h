/* Arms: what `recommend` chooses from. An arm is a strategy with a codec and parameters, on one
 * scenario of its own that has it as the only strategy; it either runs there or says why not. */
#ifndef GS_TOOLS_RECOMMEND_ARM_H
#define GS_TOOLS_RECOMMEND_ARM_H

#include "tools/run_one.h"
#include "traces/scenario/scenario.h"

/* What an arm does to the updates of plain SGD, by which is known whether it can need fewer samples
 * than plain all-reduce. */
typedef enum gs_arm_family {
    GS_FAMILY_EXACT, /* the same updates, up to rounding: the same samples */
    GS_FAMILY_LOSSY, /* as many updates, each less exact: not fewer samples */
    GS_FAMILY_LOCAL, /* other updates, whatever the clock does: perhaps fewer samples */
    GS_FAMILY_TIMED, /* updates that depend on who is when where: perhaps fewer samples, and how
                        many is known for this timing only */
    GS_FAMILY_COUNT
} gs_arm_family;

extern const char *const gs_arm_family_keys[GS_FAMILY_COUNT];  /* for programs: "exact" */
extern const char *const gs_arm_family_words[GS_FAMILY_COUNT]; /* "the same updates as plain SGD" */

/* How far it came. */
typedef enum gs_arm_state {
    GS_ARM_IN,
    GS_ARM_REFUSED,   /* does not run here, or not within --max-memory */
    GS_ARM_DOMINATED, /* cannot win, by its time per sample */
    GS_ARM_OUT,       /* lost the race */
    GS_ARM_LIMIT,     /* below --min-accuracy or --min-fidelity */
    GS_ARM_FAILED,    /* no run ended well at any rate */
    GS_ARM_UNTRIED,   /* --budget had no time for it */
    GS_ARM_STATE_COUNT
} gs_arm_state;

extern const char *const gs_arm_state_keys[GS_ARM_STATE_COUNT];

enum { GS_RATES = 11, GS_RATE_SEEDS = 5, GS_RACE_SEEDS_MAX = 16, GS_CONFIRM_SEEDS_MAX = 30 };

/* An arm at one learning rate. Values are of the objective: lower is better, INFINITY: the target
 * was not reached. */
typedef struct gs_arm_rate {
    double factor; /* of the scenario's rate */
    uint32_t seeds;
    double values[GS_RATE_SEEDS];
    double samples[GS_RATE_SEEDS];  /* to the target; INFINITY */
    double finals[GS_RATE_SEEDS];   /* last value of the quality; NAN: it did not end well */
    double fidelity[GS_RATE_SEEDS]; /* cosine; NAN: not measured */
    double score; /* mean logarithm of values, see gs_trial_score; lower: better */
} gs_arm_rate;

typedef struct gs_arm {
    const char *label;
    bool is_named; /* by the scenario or -s */
    gs_arm_family family;
    gs_arm_state state;
    const char *reason;          /* why it is not in; NULL where it is */
    const gs_scenario *scenario; /* its own; NULL: it could not be read */
    double price;                /* what a ns of it costs in the objective */
    double sample_ns;            /* time per sample of the timing model, all ranks together */
    double wire_bytes;           /* likewise, per NIC and step */
    gs_arm_rate rates[GS_RATES]; /* [0]: the scenario's own rate; no seeds: not tried */
    uint32_t rate;               /* the chosen one */
    const char *first_error;     /* of a run at any of them, or NULL */
    bool is_shared_rate;         /* tuned through another arm with the same updates */
    double race[GS_RACE_SEEDS_MAX];
    double race_samples[GS_RACE_SEEDS_MAX];
    uint32_t race_seeds;
    const gs_scenario *tuned; /* its scenario at the chosen rate, as confirmed; NULL: was not */
    gs_outcome *outcomes;     /* [confirm_seeds] of full runs, in the arena; NULL */
    double confirm[GS_CONFIRM_SEEDS_MAX];
} gs_arm;

/* Reads scenarios for arms; all of them from one text. */
typedef struct gs_arm_reader {
    const char *name;         /* of the scenario, for errors */
    const char *text;         /* the resolved scenario */
    const char *overrides[4]; /* words for every arm */
    size_t override_count;
    const char *data_dir, *user_dir;
    gs_arena *arena; /* owner of what is read, but for scenario->resolved */
} gs_arm_reader;

/* The scenario with this strategy alone. rate_word: "workload.optimizer.rate=0.2", or NULL. Errors:
 * those of gs_scenario_read and gs_scenario_runnable. End with gs_scenario_free. */
GS_MUST_USE gs_status gs_arm_read(const gs_arm_reader *reader, const char *word,
                                  const char *rate_word, gs_scenario *out, gs_error *err);

/* Is the word itself wrong, whatever the job? gs_scenario_read says of those where they stand. */
bool gs_arm_is_misspelt(const gs_error *err);

/* words [word_count]: what the user or the scenario names; with only_named the list of arms.def is
 * left out but for plain all-reduce. Two words with one label are one arm. Refused arms are in the
 * list with their reason. *out_arms [return value]; owner: the reader's arena. End with
 * gs_arms_free. Out of memory ends the program. */
uint32_t gs_arms_make(const gs_arm_reader *reader, const char *const *words, size_t word_count,
                      bool only_named, gs_arm **out_arms);
void gs_arms_free(gs_arm *arms, uint32_t count, uint32_t confirm_seeds);

/* Takes it out of the choice, with a reason. */
void gs_arm_drop(gs_arm *arm, gs_arm_state state, gs_arena *arena, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* All-reduce with its defaults and no codec. */
bool gs_arm_is_plain(const gs_arm *arm);

/* Bytes that a rank, or a server where that is more, must hold. */
int64_t gs_arm_memory_bytes(const gs_arm *arm);

#endif
