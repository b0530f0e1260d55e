/* The network of 4,096 hosts that benchmarks of sharing use. */
#ifndef GS_TESTS_FAT_TREE_H
#define GS_TESTS_FAT_TREE_H

#include <stdint.h>

enum {
    FAT_TREE_RADIX = 16,
    FAT_TREE_HOSTS = FAT_TREE_RADIX * FAT_TREE_RADIX * FAT_TREE_RADIX,
    FAT_TREE_LINKS = 6 * FAT_TREE_HOSTS,
    FAT_TREE_ROUTE_MAX = 6
};

/* Three levels of switches, 16 ports up and 16 down, no oversubscription; the way up is chosen by
 * the destination (d-mod-k). Links: up and down of each level, FAT_TREE_HOSTS of each. Returns the
 * length of the route [FAT_TREE_ROUTE_MAX]. */
static inline uint32_t fat_tree_route(uint32_t from, uint32_t to, uint32_t *route)
{
    uint32_t port = to % FAT_TREE_RADIX;
    uint32_t upper_port = to / FAT_TREE_RADIX % FAT_TREE_RADIX;
    uint32_t count = 0;
    route[count++] = from;
    if (from / FAT_TREE_RADIX != to / FAT_TREE_RADIX) {
        route[count++] = 2 * FAT_TREE_HOSTS + from / FAT_TREE_RADIX * FAT_TREE_RADIX + port;
        if (from / FAT_TREE_RADIX / FAT_TREE_RADIX != to / FAT_TREE_RADIX / FAT_TREE_RADIX) {
            uint32_t from_switch = from / FAT_TREE_RADIX / FAT_TREE_RADIX * FAT_TREE_RADIX + port;
            uint32_t to_switch = to / FAT_TREE_RADIX / FAT_TREE_RADIX * FAT_TREE_RADIX + port;
            route[count++] = 4 * FAT_TREE_HOSTS + from_switch * FAT_TREE_RADIX + upper_port;
            route[count++] = 5 * FAT_TREE_HOSTS + to_switch * FAT_TREE_RADIX + upper_port;
        }
        route[count++] = 3 * FAT_TREE_HOSTS + to / FAT_TREE_RADIX * FAT_TREE_RADIX + port;
    }
    route[count++] = FAT_TREE_HOSTS + to;
    return count;
}

#endif
