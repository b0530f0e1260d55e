/* The controller of gradient synchronisation as a library of its own, libgradsync_hook: when to
 * average, over whom, and how, while a training job runs.
 *
 * It needs libc alone: no heap, clock, thread, file or message. The caller gives memory, measures,
 * and sends the few numbers of gradsync_hook_values between ranks, by whatever it trains with:
 *
 *     if (gradsync_hook_step(hook, &signals, &values)) {      each step, after the backward pass
 *         sum values.sums and take the maximum of values.maxima over all ranks;
 *         gradsync_hook_decide(hook, &values, &decision);
 *         if (decision.scope != GRADSYNC_HOOK_NONE) average over the ranks of that scope;
 *     }
 *
 * A decision is a function of values that all ranks have and of nothing else, and so is the step of
 * the next one: no rank ever decides alone. Ranks must call step in the same steps, and the sums
 * and maxima must have the same bits on all of them, as those of MPI, NCCL and gloo have.
 * The rule and its derivation: docs/controller.md. */
#ifndef GRADSYNC_HOOK_H
#define GRADSYNC_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GRADSYNC_HOOK_API __attribute__((visibility("default")))

/* Rungs of the ladder, from the one that sends most to the one that sends least. */
typedef enum gradsync_hook_rung {
    GRADSYNC_HOOK_DENSE,       /* the mean of gradients, every step */
    GRADSYNC_HOOK_COMPRESSED,  /* likewise, by the codec */
    GRADSYNC_HOOK_LOCAL,       /* local steps, now and then the mean of models */
    GRADSYNC_HOOK_LOCAL_NODES, /* likewise, more often inside nodes than between them */
    GRADSYNC_HOOK_PAUSE,       /* as dense, without the slowest rank */
    GRADSYNC_HOOK_STALE,       /* each on its own, no more than staleness_max updates late */
    GRADSYNC_HOOK_ASYNC,       /* each on its own */
    GRADSYNC_HOOK_RUNGS
} gradsync_hook_rung;

/* Over whom to average now. */
typedef enum gradsync_hook_scope {
    GRADSYNC_HOOK_NONE,
    GRADSYNC_HOOK_NODE,
    GRADSYNC_HOOK_SUBSET, /* all but decision.paused_rank */
    GRADSYNC_HOOK_ALL
} gradsync_hook_scope;

/* What the user says of this part of training. The largest of all ranks counts. */
typedef enum gradsync_hook_phase {
    GRADSYNC_HOOK_NORMAL,
    GRADSYNC_HOOK_SPARSE,   /* little is learned: nothing but period_max forces an average */
    GRADSYNC_HOOK_WARMUP,   /* averaged every step */
    GRADSYNC_HOOK_CRITICAL, /* likewise */
    GRADSYNC_HOOK_PHASES
} gradsync_hook_phase;

typedef enum gradsync_hook_reason {
    GRADSYNC_HOOK_WARMING_UP,    /* the first steps: costs are measured */
    GRADSYNC_HOOK_PAYS,          /* what was lost since the last average has come to its cost */
    GRADSYNC_HOOK_NOT_YET,       /* it has not */
    GRADSYNC_HOOK_EVERY_STEP,    /* the rung averages every step */
    GRADSYNC_HOOK_PERIOD_IS_MAX, /* no period is longer */
    GRADSYNC_HOOK_TOLD,          /* the phase says so */
    GRADSYNC_HOOK_NO_GRADIENT,   /* gradients are zero, or next to what they were */
    GRADSYNC_HOOK_NOT_A_NUMBER,  /* a signal of some rank is none */
    GRADSYNC_HOOK_IMPOSSIBLE,    /* values that no honest ranks can have */
    GRADSYNC_HOOK_REASONS
} gradsync_hook_reason;

typedef struct gradsync_hook_config {
    size_t struct_bytes;   /* sizeof(gradsync_hook_config) */
    uint32_t rank;         /* of this process, the one member that differs between ranks */
    uint32_t ranks;        /* 1 to 65535 */
    uint32_t node_ranks;   /* of each node; 0: not the same on all */
    uint32_t offered;      /* sum of 1 << rung: what the caller can do; at least one */
    int64_t period_max;    /* steps from one average of all to the next, at most */
    int64_t warm_up_steps; /* on the first offered rung, decided on each */
    int64_t look_steps;    /* from one decision to the next, at most */
    int64_t dwell;         /* decisions in a row that must want another rung, after the first */
    double margin;         /* by how much its rate must be higher: 0.1 is 10 % */
    double codec_share;    /* bytes with the codec over those without, before it is measured */
    double staleness_max;  /* of GRADSYNC_HOOK_STALE, in updates */
    double change;         /* relative change of the gradient in a step, before it is measured */
} gradsync_hook_config;

/* Of this rank. NAN: not known in this step, which must be so on all ranks or none; what is known
 * to be no finite number is INFINITY. Single signals are not sent; what is sent is in values. */
typedef struct gradsync_hook_signals {
    size_t struct_bytes;     /* sizeof(gradsync_hook_signals) */
    double loss;             /* mean over the samples of this step; costs nothing */
    double gradient_sq;      /* square of this rank's gradient's norm; one look at it */
    double mean_gradient_sq; /* of the mean over ranks, where this step has it; one look at it */
    double drift_sq;         /* square of how far this rank is from where it was after the last
                                average of all; two looks at the model */
    double mean_drift_sq;    /* of how far the last average of all moved the mean, in the first step
                                after it; two looks at the model */
    double residual_sq;      /* of what the codec holds back */
    double step_s;           /* computing this step, in seconds */
    double sync_s;           /* exposed communication of the average since the step before, with the
                                wait for the slowest; NAN: there was none */
    int32_t phase;           /* gradsync_hook_phase */
} gradsync_hook_signals;

enum { GRADSYNC_HOOK_SUMS = 6, GRADSYNC_HOOK_MAXIMA = 5 };

/* 88 bytes. Whatever a rank puts into its own, the outcome is defined. */
typedef struct gradsync_hook_values {
    double sums[GRADSYNC_HOOK_SUMS];
    double maxima[GRADSYNC_HOOK_MAXIMA];
} gradsync_hook_values;

typedef struct gradsync_hook_decision {
    size_t struct_bytes; /* sizeof(gradsync_hook_decision) */
    int32_t scope;       /* gradsync_hook_scope, now */
    int32_t rung;        /* gradsync_hook_rung, from the next step on */
    int32_t from_rung;   /* of until now */
    int32_t reason;      /* gradsync_hook_reason */
    int64_t period;      /* planned steps between averages of all on a local rung, else 1 */
    int64_t node_period; /* likewise inside nodes */
    int64_t paused_rank; /* of GRADSYNC_HOOK_PAUSE; -1: none */
    int64_t since;       /* steps since the last average of all, this one included; 1 where each
                            step is averaged */
    int64_t look_in;     /* steps until the next decision */
    /* The evidence, as all ranks have it: */
    double cost_s;       /* of an average of all on this rung, without waiting for the slowest */
    double step_s;       /* of a step without one */
    double lost_s;       /* seconds of progress lost to the disagreement of ranks since the last */
    double progress;     /* of this step, 1: as if all models were equal */
    double disagreement; /* mean square of what differs over square of the mean: (mean |g|^2 -
                            |mean g|^2) / |mean g|^2, of drifts likewise */
    double noise_scale;  /* trace of the gradient's covariance over its square, in batches of a
                            rank */
    double change;       /* relative change of the gradient in a step */
    double wait_s;       /* for the slowest rank, in a step */
    double link_ratio;   /* cost of now over the least that was seen on this rung */
    double rate;         /* steps' worth of progress a second, of the rung of now */
    double best_rate;    /* of the best offered one */
} gradsync_hook_decision;

typedef struct gradsync_hook gradsync_hook;

/* What the default caller would set: dense and local are offered, of equal ranks without nodes. */
GRADSYNC_HOOK_API gradsync_hook_config gradsync_hook_defaults(uint32_t rank, uint32_t ranks);

/* Signals of which nothing is known. */
GRADSYNC_HOOK_API gradsync_hook_signals gradsync_hook_unknown(void);

/* Bytes of a controller, a multiple of 8: plain values without pointers, so that a copy of them is
 * a checkpoint, which goes on where it was taken. */
GRADSYNC_HOOK_API size_t gradsync_hook_bytes(void);

/* In memory of the caller, aligned as double is. NULL: *out_why says which member is wrong and what
 * is allowed. Owner: the caller; nothing is to be freed. */
GRADSYNC_HOOK_API gradsync_hook *gradsync_hook_create(void *memory, size_t bytes,
                                                      const gradsync_hook_config *config,
                                                      const char **out_why);

/* A checkpoint's bytes in memory of the caller become a controller again. NULL: they are none, or
 * of another version or configuration, and *out_why says so. */
GRADSYNC_HOOK_API gradsync_hook *gradsync_hook_restore(void *memory, size_t bytes,
                                                       const gradsync_hook_config *config,
                                                       const char **out_why);

/* Once in each step of this rank. true: all ranks decide in this one, and *out is this rank's part.
 * false: *out is not set; the step is one without an average on a local rung, and else as the last
 * decision said. signals: its struct_bytes must be right, else the step counts as one of unknown
 * signals. */
GRADSYNC_HOOK_API bool gradsync_hook_step(gradsync_hook *hook, const gradsync_hook_signals *signals,
                                          gradsync_hook_values *out);

/* agreed: sums and maxima over all ranks, after each step that was true. A scope other than NONE
 * counts as averaged. out: its struct_bytes is set. */
GRADSYNC_HOOK_API void gradsync_hook_decide(gradsync_hook *hook, const gradsync_hook_values *agreed,
                                            gradsync_hook_decision *out);

/* That rung is no longer offered, because the caller cannot do it any more; without effect on the
 * last one. All ranks must say so after the same decision, and not of the rung it is on. */
GRADSYNC_HOOK_API void gradsync_hook_withdraw(gradsync_hook *hook, int32_t rung);

/* A few words, for logs; of no value of the enumeration: "?". */
GRADSYNC_HOOK_API const char *gradsync_hook_reason_text(int32_t reason);
GRADSYNC_HOOK_API const char *gradsync_hook_rung_text(int32_t rung);
GRADSYNC_HOOK_API const char *gradsync_hook_scope_text(int32_t scope);

#ifdef __cplusplus
}
#endif

#endif
