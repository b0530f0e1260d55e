/* The processes of `live` and `calibrate`: who they are, and what carries between them. */
#ifndef GS_TOOLS_LIVE_CREW_H
#define GS_TOOLS_LIVE_CREW_H

#include "live/crew.h"
#include "models/accelerator.h"
#include "tools/cli.h"
#include "tools/launcher.h"
#include "tools/scenario_load.h"
#include "traces/scenario/scenario.h"

typedef struct gs_live_crew {
    gs_launch launch;
    const char *transport;     /* name of transports.def: "loop", "mpi", ... */
    gs_crew *crew;             /* NULL: this process alone */
    const char *note;          /* why it is not the transport that was meant; NULL: it is */
    const gs_carrier *control; /* of nccl: what its heads travel on; NULL: none */
    void *control_net;
    const gs_accelerator *device; /* of nccl: that of each process holds its floats; NULL: none */
    gs_error no_device;           /* of the note */
} gs_live_crew;

/* Of several processes that a launcher has started for this verb all but 0 keep from now on what
 * they would say (tools/message.h). */
void gs_live_crew_hush(const gs_cli *cli);
/* This process runs nothing, with that code; the others, who may be about to meet it, hear of it.
 * Returns the code that all end with. */
int gs_live_crew_refuse(const gs_cli *cli, int code);

/* What this process finds wrong before anything runs: an exit code. */
typedef int gs_live_crew_check(const gs_cli *cli, const gs_loaded *loaded,
                               const gs_live_crew *crew);

/* Finds the launcher, reads the scenario, meets the others over what it (live.transport, .deadline,
 * .chunk, .poll) or --transport says, checks, and makes sure that all run the same: an exit code,
 * of all the same. Owner of *out_loaded and *crew in any case: caller, gs_scenario_unload and
 * close. */
int gs_live_crew_begin(gs_live_crew *crew, const gs_cli *cli, gs_live_crew_check *check,
                       gs_loaded *out_loaded);
void gs_live_crew_close(gs_live_crew *crew);
/* Says, unless --quiet, where this host has fewer processors than processes: they wait for each
 * other then. */
void gs_live_crew_tell_crowd(const gs_live_crew *crew, const gs_cli *cli);
/* Process 0 speaks for all. */
bool gs_live_crew_speaks(const gs_live_crew *crew);
/* All agree how they got here: code is that of this process, and becomes that of the first one that
 * did not end with 0, whose words process 0 then says. Returns it. */
int gs_live_crew_agree(gs_live_crew *crew, int code);

#endif
