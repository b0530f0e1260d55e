/* Flows of channels and sockets in the fluid (sim/fluid.h): their links, their room, and who waits
 * for their ends. Behind sim_net.c and sim_net_socket.c.
 *
 * Links of the fluid are those of the topology and, where connections have a rate of their own
 * (sim/sim_net_cost.h), one more for each flow that nobody else is on. */
#ifndef GS_SIM_SIM_NET_FLOW_H
#define GS_SIM_SIM_NET_FLOW_H

#include "sim/sim_net.h"

/* In gs_sim_net.owner_of_flow: twice the socket, and 1 for the receiver's end, plus this. */
#define GS_SIM_OF_SOCKET (UINT32_C(1) << 31)
/* Or the flow of another job plus this. */
#define GS_SIM_OF_TENANT (UINT32_C(1) << 30)

/* Links that hold a flow up, with that of its connection. */
enum { GS_SIM_SOURCES_MAX = GS_TOPOLOGY_ROUTE_MAX + 1 };

/* Room for so many flows; false: no memory. */
bool gs_sim_flows_make(gs_sim_net *net, uint32_t capacity);

/* Starts over links [link_count], goes on with other bytes, and stops. `owner`: as in
 * owner_of_flow. Without memory it does not start, and the run ends. */
void gs_sim_net_flow_begin(gs_sim_net *net, gs_sim_flow *flow, uint32_t owner,
                           const uint32_t *links, uint32_t link_count, double bytes);
void gs_sim_net_flow_next(gs_sim_net *net, gs_sim_flow *flow, int64_t bytes);
void gs_sim_net_flow_end(gs_sim_net *net, gs_sim_flow *flow);

/* Tells who wants to know that something is about to come on these links. */
void gs_sim_net_intrude(const gs_sim_net *net, const uint32_t *links, uint32_t link_count);

#endif
