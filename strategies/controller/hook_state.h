/* What a controller holds: what this rank has seen since the last decision, and what all ranks know
 * alike. Decisions read and write the second alone. */
#ifndef GRADSYNC_HOOK_STATE_H
#define GRADSYNC_HOOK_STATE_H

#include "strategies/controller/gradsync_hook.h"
#include "strategies/controller/hook_model.h"

/* Of this rank; nothing of it is equal on others. */
typedef struct gs_hook_local {
    double loss, losses;       /* since the last decision: their sum, and how many */
    double loss_before;        /* mean of the window before; 0: none */
    double gradient_sq;        /* smoothed; 0: none yet */
    double gradient_sq_before; /* likewise, at the last decision */
    double gradient_sq_peak;   /* largest of these */
    double gradients;          /* heard since the last decision */
    double step_s, steps;      /* likewise, their sum and how many */
    double sync_s, syncs;      /* likewise */
    double told_step_s;        /* what was told in the last decision */
    double spread;             /* to tell in the next one; NAN: none */
    double drift_sq;           /* in this step; NAN: not known */
    double averaged_drift_sq;  /* when the last average of all began */
    double averaged_steps;     /* after so many steps */
    double pace_sq;            /* of the mean's move in that period, a step; 0: none yet */
    double residual;           /* norm of what is held back over that of the gradient */
    bool is_broken;            /* a signal was infinite */
    bool was_slowest;
    int32_t phase;
} gs_hook_local;

typedef struct gs_hook_cost {
    double now_s;  /* smoothed; 0: never seen */
    double best_s; /* least of these */
    double unit_s; /* where links between nodes are as they were at first */
} gs_hook_cost;

/* Equal on all ranks. */
typedef struct gs_hook_agreed {
    int64_t steps;      /* begun */
    int64_t look_at;    /* step of the next decision */
    int64_t looked;     /* step of the last one */
    int64_t since;      /* steps since models were equal on all ranks */
    int64_t node_since; /* likewise inside nodes */
    int64_t period, node_period;
    int64_t dwelt;                     /* decisions in a row that wanted rung `wanted` */
    int64_t paused_rank, slowest_rank; /* -1: none */
    uint32_t withdrawn;                /* of the offered rungs */
    int32_t rung, wanted;
    int32_t measured_before;  /* whose cost told of the link last */
    int32_t measured;         /* whose cost: GS_HOOK_COST_*; GS_HOOK_COSTS: nobody's */
    bool has_rank_spread;     /* the spread of the next decision is one between ranks when they
                                 averaged, else of a drift under way over what was foretold */
    bool has_pace;            /* models have been averaged before */
    double averaged_steps;    /* of the period whose spread it is; 1 on rungs of every step */
    double step_s, slowest_s; /* smoothed; 0: none yet */
    double last_slowest_s;    /* as told last; 0: not known */
    double change;
    double link; /* time for the same bytes over that at first */
    gs_hook_cost costs[GS_HOOK_COSTS];
    gs_hook_spread spread;
} gs_hook_agreed;

struct gradsync_hook {
    uint64_t magic;
    uint64_t bytes;
    gradsync_hook_config config;
    gs_hook_local local;
    gs_hook_agreed agreed;
};

/* Rungs that average every step. */
#define GS_HOOK_EVERY_STEP                                                                         \
    (1U << GRADSYNC_HOOK_DENSE | 1U << GRADSYNC_HOOK_COMPRESSED | 1U << GRADSYNC_HOOK_PAUSE)

/* Rungs of models that are averaged now and then. */
static inline bool gs_hook_is_local(int32_t rung)
{
    return rung == GRADSYNC_HOOK_LOCAL || rung == GRADSYNC_HOOK_LOCAL_NODES;
}

/* The rung that sends most of those. */
static inline int32_t gs_hook_safest(uint32_t offered)
{
    int32_t rung = 0;
    while ((offered >> rung & 1U) == 0) {
        rung++;
    }
    return rung;
}

/* Where the cost of a rung's average of all is kept. */
static inline int32_t gs_hook_cost_of_rung(int32_t rung)
{
    if (gs_hook_is_local(rung)) {
        return GS_HOOK_COST_ALL;
    }
    return rung == GRADSYNC_HOOK_COMPRESSED ? GS_HOOK_COST_COMPRESSED : GS_HOOK_COST_DENSE;
}

static inline uint32_t gs_hook_offered(const gradsync_hook *hook)
{
    return hook->config.offered & ~hook->agreed.withdrawn;
}

/* Signals of one step go into the local part. */
void gs_hook_hear(gradsync_hook *hook, const gradsync_hook_signals *signals);
/* The local part becomes this rank's share of a decision, and a new window begins. */
void gs_hook_tell(gradsync_hook *hook, gradsync_hook_values *out);

/* Which fields are numbers on all ranks. */
typedef struct gs_hook_known {
    bool loss, gradient, spread;
} gs_hook_known;

/* What all ranks say together, as means over them and largest of them. */
typedef struct gs_hook_seen {
    gs_hook_known known;
    double spread;
    double change;
    double step_s, slowest_s;
    double sync_s;   /* 0: none */
    double activity; /* of the gradient's square: over its largest, of the rank with the most */
    double residual;
    int32_t phase;
    int64_t slowest_rank; /* in the decision before; -1: not known */
} gs_hook_seen;

/* GRADSYNC_HOOK_REASONS: sound, and *out is set; else why they are of no use. */
int32_t gs_hook_read(const gradsync_hook *hook, const gradsync_hook_values *agreed,
                     gs_hook_seen *out);

#endif
