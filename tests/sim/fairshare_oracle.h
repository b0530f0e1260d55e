/* Max-min rates by progressive filling of the whole network, from its routes: the plain solver that
 * tests hold the others against, with nothing in common with them. */
#ifndef GS_TESTS_FAIRSHARE_ORACLE_H
#define GS_TESTS_FAIRSHARE_ORACLE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { LINKS_MAX = 48, FLOWS_MAX = 96, ROUTE_MAX = 20 };

typedef struct oracle {
    uint32_t link_count, flow_count;
    double capacities[LINKS_MAX];
    uint32_t route_counts[FLOWS_MAX]; /* 0: closed */
    uint32_t routes[FLOWS_MAX][ROUTE_MAX];
    double rates[FLOWS_MAX];
} oracle;

static inline bool crosses(const oracle *net, uint32_t flow, uint32_t link)
{
    for (uint32_t hop = 0; hop < net->route_counts[flow]; hop++) {
        if (net->routes[flow][hop] == link) {
            return true;
        }
    }
    return false;
}

static inline void oracle_solve(oracle *net)
{
    double left[LINKS_MAX];
    uint32_t users[LINKS_MAX] = {0};
    bool fixed[FLOWS_MAX];
    uint32_t open = 0;
    memcpy(left, net->capacities, sizeof left);
    for (uint32_t flow = 0; flow < net->flow_count; flow++) {
        net->rates[flow] = 0.0;
        fixed[flow] = net->route_counts[flow] == 0;
        open += !fixed[flow];
        for (uint32_t hop = 0; hop < net->route_counts[flow]; hop++) {
            users[net->routes[flow][hop]]++;
        }
    }
    while (open > 0) {
        uint32_t narrowest = LINKS_MAX;
        for (uint32_t link = 0; link < net->link_count; link++) {
            if (users[link] > 0 &&
                (narrowest == LINKS_MAX ||
                 left[link] / users[link] < left[narrowest] / users[narrowest])) {
                narrowest = link;
            }
        }
        double level = left[narrowest] / users[narrowest];
        for (uint32_t flow = 0; flow < net->flow_count; flow++) {
            if (fixed[flow] || !crosses(net, flow, narrowest)) {
                continue;
            }
            fixed[flow] = true;
            open--;
            net->rates[flow] = level;
            for (uint32_t hop = 0; hop < net->route_counts[flow]; hop++) {
                uint32_t link = net->routes[flow][hop];
                users[link]--;
                left[link] = fmax(left[link] - level, 0.0);
            }
        }
    }
}

#endif
