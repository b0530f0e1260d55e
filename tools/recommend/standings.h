/* What paired seeds say of several arms, and who is recommended: today, and if each of them took so
 * many times as long.
 *
 * A factor of time moves the logarithm of every ratio by its own, and with it their mean and its
 * interval; so one set of runs says what would be decided where only speed is another one. */
#ifndef GS_TOOLS_RECOMMEND_STANDINGS_H
#define GS_TOOLS_RECOMMEND_STANDINGS_H

#include "tools/recommend/trial.h"

enum { GS_STANDINGS_MAX = 10 };

/* Seeds that two arms have in common, the best known first. */
typedef enum gs_seed_set {
    GS_SEEDS_CONFIRMED,
    GS_SEEDS_RACED,
    GS_SEEDS_TUNED,
    GS_SEED_SETS
} gs_seed_set;

/* One arm over another, all logarithms. */
typedef struct gs_pairing {
    gs_seed_set set;
    uint32_t seeds;         /* that both have there; 0: none, and the rest says nothing */
    uint32_t pairs;         /* of them both reached the target */
    uint32_t reached[2];    /* of the arm, and of the other */
    double score;           /* mean of all seeds, where a miss counts as in gs_trial_score */
    double mean, low, high; /* of the pairs, with the interval of gs_paired_ratio */
} gs_pairing;

typedef struct gs_standings {
    const gs_arm *arms[GS_STANDINGS_MAX];
    uint32_t simpler[GS_STANDINGS_MAX]; /* how many of the others are simpler */
    uint32_t count;
    /* Logarithms by arm, set and seed; INFINITY: missed. */
    double logs[GS_STANDINGS_MAX][GS_SEED_SETS][GS_CONFIRM_SEEDS_MAX];
    uint32_t seeds[GS_STANDINGS_MAX][GS_SEED_SETS];
    double missed[GS_STANDINGS_MAX]; /* what a miss counts as */
    gs_pairing pairings[GS_STANDINGS_MAX][GS_STANDINGS_MAX];
} gs_standings;

/* arms [count], count <= GS_STANDINGS_MAX. An arm that left in screening has the samples of the
 * exact arm that ran, at its own speed. */
void gs_standings_make(const gs_recommend *all, const gs_arm *const *arms, uint32_t count,
                       gs_standings *out);

/* The exact arm whose samples those have that left in screening; NULL: none has run. */
const gs_arm *gs_standings_exact(const gs_recommend *all);

/* With the seeds of a bootstrap round, the same ones for all arms: means move, and intervals with
 * them. Owner of nothing; out is not from. */
void gs_standings_resample(const gs_standings *from, uint32_t round, gs_standings *out);

typedef struct gs_standing {
    uint32_t winner, leader;
    bool ties[GS_STANDINGS_MAX]; /* with the leader, which does not with itself */
} gs_standing;

/* shifts [count], logarithms: so many times as long as was measured. The leader has the least mean
 * logarithm (of equal ones the first). One that reaches the target as often ties with it where the
 * interval of their ratio holds 1, or it is less than 1 % worse; of those the simplest wins, and of
 * those that are as simple the leader. */
gs_standing gs_standings_judge(const gs_standings *standings, const double *shifts);

#endif
