/* The processes of `live` and `calibrate`: who they are, and what carries between them. */
#ifndef GS_TOOLS_LIVE_CREW_H
#define GS_TOOLS_LIVE_CREW_H

#include "live/crew.h"
#include "models/accelerator.h"
#include "tools/cli.h"
#include "tools/launcher.h"
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

/* Finds the launcher; of its processes all but 0 keep what they would say (tools/message.h).
 * Errors: as of gs_launch_find. */
GS_MUST_USE gs_status gs_live_crew_find(gs_live_crew *out, gs_error *err);
/* Meets the others over what the scenario (live.transport, .deadline, .chunk, .poll) or --transport
 * says. Errors: those of gs_crew_open; GS_EINVAL: such a transport and no launcher, or the other
 * way round. Owner of *crew: caller, close. */
GS_MUST_USE gs_status gs_live_crew_open(gs_live_crew *crew, const gs_cli *cli,
                                        const gs_live_settings *settings, gs_error *err);
void gs_live_crew_close(gs_live_crew *crew);
/* Says, unless --quiet, where this host has fewer processors than processes: they wait for each
 * other then. */
void gs_live_crew_tell_crowd(const gs_live_crew *crew, const gs_cli *cli);
/* Process 0 speaks for all. */
bool gs_live_crew_speaks(const gs_live_crew *crew);
/* All agree how they got here: code is that of this process, and becomes that of the first one that
 * did not end with 0, whose words process 0 then says. Returns it. */
int gs_live_crew_agree(gs_live_crew *crew, int code);
/* All run the same program on the same scenario in the same way, or none does: an exit code, of all
 * the same. */
int gs_live_crew_same(const gs_live_crew *crew, const gs_cli *cli, const gs_scenario *scenario);

#endif
