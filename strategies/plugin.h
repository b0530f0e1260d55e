/* What a shared object must have to bring strategies into the program: one symbol, gs_plugin.
 *
 * The program looks at `contract` first and at the sizes second, so that an object made for other
 * headers is refused before anything in it is called. docs/contract.md tells how to build one;
 * docs/plugin/every.c is a complete example. */
#ifndef GS_STRATEGIES_PLUGIN_H
#define GS_STRATEGIES_PLUGIN_H

#include "strategies/strategy.h"
#include "strategies/world.h"

/* Raised whenever a hook or a service changes its meaning or its parameters. */
enum { GS_CONTRACT = 2 };

/* What the program and an object must agree on beside it: changes with every member added to a
 * struct of the contract, and with every vector operation. */
enum {
    GS_CONTRACT_SIZES = (sizeof(gs_strategy) + sizeof(gs_layout) + sizeof(gs_communicator) +
                         sizeof(gs_job) + sizeof(gs_event) + sizeof(gs_plan) + sizeof(gs_field)) *
                            64 +
                        GS_VOP_COUNT
};

typedef struct gs_plugin_table {
    uint32_t contract; /* GS_CONTRACT */
    uint32_t sizes;    /* GS_CONTRACT_SIZES */
    uint32_t strategy_count;
    const gs_strategy *const *strategies; /* [strategy_count]; stay as they are to the end */
} gs_plugin_table;

/* The plug-in's; seen from outside whatever the compiler's default is. */
extern const gs_plugin_table gs_plugin __attribute__((visibility("default")));

#endif
