/* What all stages of `recommend` share: the arms, the limits of the user, and how a set of runs is
 * made and judged. Every run is one of tools/run_pool.h, so that no stage depends on how many
 * processes there are. */
#ifndef GS_TOOLS_RECOMMEND_TRIAL_H
#define GS_TOOLS_RECOMMEND_TRIAL_H

#include "base/arena.h"
#include "tools/cli.h"
#include "tools/progress.h"
#include "tools/recommend/arm.h"

typedef enum gs_objective {
    GS_OBJECTIVE_TIME,
    GS_OBJECTIVE_COST,
    GS_OBJECTIVE_ENERGY,
    GS_OBJECTIVE_SAMPLES
} gs_objective;

extern const char
    *const gs_objective_names[]; /* by gs_objective, NULL-terminated: of --objective */
extern const char *const gs_objective_words[]; /* "time"; of samples "count" */

/* Seeds of a stage are the scenario's and the ones after it, moved by so much: what a rate was
 * tuned or an arm was chosen by is never what its interval is made of. Those of the confirmation
 * are the scenario's own, so that `sim` makes the same runs. */
enum { GS_TUNING_SEEDS = 1000000, GS_RACING_SEEDS = 2000000 };

/* Share of --budget that is kept for the confirmation. */
#define GS_BUDGET_KEPT 0.3

typedef struct gs_recommend {
    const gs_cli *cli;
    const gs_scenario *scenario; /* as the user says it */
    gs_arm_reader reader;
    gs_arena arena;
    gs_objective objective;
    double min_accuracy, min_fidelity; /* NAN: none */
    int64_t max_memory_bytes;          /* 0: none */
    int64_t jobs, threads;             /* as gs_pool_config has them; jobs of all processes */
    int64_t own_jobs;                  /* of this process */
    struct gs_troupe *troupe;          /* other processes of this command; NULL: none */
    bool learns;                       /* there is a target to reach with real gradients */
    int64_t evaluation_steps;          /* of its runs: the scenario's, or fewer */
    double target;                     /* the scenario's, or --min-accuracy where that is more */
    gs_arm *arms;
    uint32_t arm_count;
    gs_time_ns began_ns;             /* of the wall clock */
    uint64_t runs;                   /* that were made */
    double wall_ns;                  /* their sum */
    gs_progress progress;            /* of the whole command */
    uint64_t stage_runs, stage_done; /* that the stage makes at most, and has made */
    double stage_from, stage_to;     /* shares of all work */
    bool interrupted;
    bool may_cut;         /* the stage can do without runs that --budget has no time for */
    const char *left_out; /* what --budget had no time for; NULL: nothing */
    struct gs_keep *keep; /* where confirmed runs go */
    bool keeps;           /* the stage makes them: its runs go there as they end */
    uint32_t confirm_seeds;
} gs_recommend;

gs_time_ns gs_wall_ns(void);

/* From here on runs are of a stage that begins and ends at so much of all the work, and makes so
 * many runs at most: for the progress line, which goes on where the stage before ended. */
void gs_trial_begin_stage(gs_recommend *all, double from, double to, uint64_t runs);

/* Runs variants [count], each with one strategy, `seeds` times from scenario->seed + moved on.
 * outcomes [count * seeds], all seeds of the first variant first; those of the last variants are
 * not started where all->may_cut and their time is over. false: a signal came. Owner of what is in
 * outcomes: caller. */
bool gs_trial_run(gs_recommend *all, const gs_scenario *const *variants, uint32_t count,
                  uint64_t moved, uint32_t seeds, gs_outcome *outcomes);

/* Is there time for so many runs more, if they take as long as those so far? Without --budget there
 * always is. Else `what` is noted as left out. */
bool gs_trial_affords(gs_recommend *all, uint64_t runs, bool is_last, const char *what);

/* The arm at `factor` times the rate, up to its target. Owner: the arena. */
const gs_scenario *gs_trial_learning(gs_recommend *all, const gs_arm *arm, double factor);

/* The arm without numbers for at most `steps` steps of the budget. Owner: the arena, which is the
 * caller's own. */
gs_scenario *gs_trial_timing(const gs_arm *arm, int64_t steps, gs_arena *arena);

/* Did the run come to its end, and did it learn? */
bool gs_trial_is_good(const gs_outcome *outcome);
double gs_trial_metric(const gs_outcome *outcome, const char *name);

/* The objective of a run: INFINITY where the target was not reached or the run is not good. Without
 * a target it is that of one sample. */
double gs_trial_value(const gs_recommend *all, const gs_arm *arm, const gs_outcome *outcome);
double gs_trial_samples(const gs_outcome *outcome); /* to the target; likewise */

/* Drops the arm where its fidelity is below --min-fidelity, or is not known (NAN): ranks that step
 * on their own have none. */
void gs_trial_check_fidelity(gs_recommend *all, gs_arm *arm, double fidelity);

/* What so many samples of the arm are in the objective, by the timing model. */
double gs_trial_of_samples(const gs_recommend *all, const gs_arm *arm, double samples);

/* Mean logarithm of the values, where INFINITY counts as twice the whole budget of the arm (PAR2 of
 * solver contests): lower is better. */
double gs_trial_score(const gs_recommend *all, const gs_arm *arm, const double *values,
                      uint32_t count);

#endif
