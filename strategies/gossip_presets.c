/* Published names of synchronous gossip, each a rule of the engine with the parameters that mean
 * something for it. */
#include "strategies/gossip.h"
#include "strategies/preset.h"
#include "strategies/whole_model.h"

/* A list's first names are its first values. */
static const char *const undirected[] = {"ring", "torus", NULL};
static const char *const balanced[] = {"ring", "torus", "exponential", "complete", NULL};

/* clang-format off */
#define GRAPH(text, names)                                                                         \
    {.name = "graph", .kind = GS_FIELD_CHOICE, GS_FIELD_AT(gs_gossip_config, graph),               \
     .default_text = (text), .choices = (names),                                                   \
     .help = "who sends to whom: neighbours and oneself count 1 / (neighbours + 1) each"}
/* clang-format on */

static const gs_field fields_d_psgd[] = {
    GRAPH("ring", balanced),
    {.name = "overlap",
     .kind = GS_FIELD_BOOL,
     GS_FIELD_AT(gs_gossip_config, overlap),
     .default_text = "true",
     .help = "average the models while the gradient is computed; false: average after the step"}};
static const gs_field fields_sgp[] = {GRAPH("one_peer", gs_graph_names)};
static const gs_field fields_osgp[] = {
    GRAPH("one_peer", gs_graph_names),
    {.name = "delay",
     .kind = GS_FIELD_INT,
     GS_FIELD_AT(gs_gossip_config, delay),
     .default_text = "1",
     .minimum = 0,
     .maximum = 1e9,
     .help = "steps from sending to using what came, which then is sent again; 0: sgp"}};
static const gs_field fields_choco[] = {
    GRAPH("ring", undirected),
    {.name = "gamma",
     .kind = GS_FIELD_REAL,
     GS_FIELD_AT(gs_gossip_config, gamma),
     .default_text = "1",
     .minimum = 1e-9,
     .maximum = 1.0,
     .help = "consensus step: part of the way to the neighbours' average; the less the codec lets "
             "through, the smaller"}};

/* clang-format off */
GS_PRESET(gossip, choco, GS_GOSSIP_CHOCO, "gossip of compressed differences to what neighbours already know",
       "Koloskova et al., Decentralized Stochastic Optimization and Gossip Algorithms with Compressed Communication, ICML 2019 (arXiv 1902.00340)");
GS_PRESET(gossip, d_psgd, GS_GOSSIP_D_PSGD, "gossip: every step ranks average their models with their neighbours'",
       "Lian et al., Can Decentralized Algorithms Outperform Centralized Algorithms?, NeurIPS 2017 (arXiv 1705.09056)");
GS_PRESET(gossip, osgp, GS_GOSSIP_OSGP, "sgp whose messages are used some steps late, so that nobody waits for them",
       "Assran et al., Stochastic Gradient Push for Distributed Deep Learning, ICML 2019 (arXiv 1811.10792); what came is used on schedule, not on arrival");
GS_PRESET(gossip, sgp, GS_GOSSIP_SGP, "push-sum gossip: every step a rank pushes half of its model to another one",
       "Assran et al., Stochastic Gradient Push for Distributed Deep Learning, ICML 2019 (arXiv 1811.10792)");
/* clang-format on */
