/* A team of threads that runs small jobs for one owner.
 *
 * The owner submits jobs and later joins each of them; while it waits it runs queued jobs itself,
 * so a team of one has no thread and runs a job where it is joined. Jobs are structs of the owner's
 * and nothing is allocated for them. Whose turn it is depends on the machine: a job must give the
 * same bits whoever runs it and whenever, and that is all that makes a run independent of threads.
 *
 * Member 0 is the owner. A thread without work looks for more for a few microseconds, which is what
 * a gradient of a small model takes, and then sleeps. */
#ifndef GS_MODELS_TEAM_H
#define GS_MODELS_TEAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

enum { GS_TEAM_MEMBERS_MAX = 1024 };

typedef struct gs_team gs_team;
typedef struct gs_team_job gs_team_job;

/* Runs on one member, whose index (0..members - 1) says which scratch memory is its own. */
typedef void gs_team_run(gs_team_job *job, uint32_t member);

/* The first member of the owner's struct, or found from it. Only run is the owner's to set. */
struct gs_team_job {
    gs_team_run *run;
    gs_team_job *previous, *next; /* in the queue */
    atomic_int state;
};

/* members: 1..GS_TEAM_MEMBERS_MAX, the caller included. The caller's thread owns the team: only it
 * submits, joins and destroys. fork() keeps no threads: make the team in the child. Errors:
 * GS_ENOMEM (also where the system gives no thread). Owner of the memory: the arena;
 * gs_team_destroy must come before its end. */
GS_MUST_USE gs_status gs_team_create(uint32_t members, gs_arena *arena, gs_team **out,
                                     gs_error *err);
/* Waits for jobs under way; those still queued never run. NULL is accepted. */
void gs_team_destroy(gs_team *team);

uint32_t gs_team_members(const gs_team *team);

/* The job, and what it works on, belongs to the team until it is joined. */
void gs_team_submit(gs_team *team, gs_team_job *job);
/* true: the job had not begun, and will not: it is the owner's again. false: it is to be joined. */
bool gs_team_withdraw(gs_team *team, gs_team_job *job);
/* After this the job has run, and what it wrote is seen by the owner. Joined once. */
void gs_team_join(gs_team *team, gs_team_job *job);

#endif
