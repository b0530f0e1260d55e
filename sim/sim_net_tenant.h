/* Other jobs on the same fabric (cluster.tenants): flows that share links with ours max-min fairly,
 * and that nobody waits for. Behind sim_net.c and sim_net_flow.c.
 *
 * A flow sends a message of so many bytes a period, the first one somewhere in its first period;
 * one that is not through when the next is due holds it up. Its route is drawn as that of a stream
 * of its own, so that on a fat tree it may meet us by ECMP; copies of nodes without GPUDirect are
 * not its. */
#ifndef GS_SIM_SIM_NET_TENANT_H
#define GS_SIM_SIM_NET_TENANT_H

#include "sim/sim_net.h"

typedef struct gs_sim_tenant {
    gs_route route;
    gs_sim_flow flow; /* of GS_SIM_LINK events beyond the links */
    int64_t bytes;
    gs_tick first, period;
    uint64_t sent; /* messages */
} gs_sim_tenant;

/* Finds places and routes. false: no memory. */
bool gs_sim_tenants_init(gs_sim_net *net);
/* Once there are flows. */
void gs_sim_tenants_start(gs_sim_net *net);
void gs_sim_tenant_event(gs_sim_net *net, uint32_t tenant, uint64_t handle);

#endif
