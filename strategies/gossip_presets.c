/* Published names of synchronous gossip, each a rule of the engine with the parameters that mean
 * something for it. */
#include "strategies/gossip.h"

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

/* The hooks that need to know the name: gs_strategy has no other place for it. */
#define PRESET(stem, kind_of, summary_of, source_of)                                               \
    static const gs_field_table table_##stem = {.name = #stem,                                     \
                                                .struct_bytes = sizeof(gs_gossip_config),          \
                                                .fields = fields_##stem,                           \
                                                .field_count =                                     \
                                                    sizeof fields_##stem / sizeof *fields_##stem}; \
    static gs_status layout_##stem(const void *config, const gs_job *job, gs_layout *out,          \
                                   gs_error *err)                                                  \
    {                                                                                              \
        return gs_gossip_layout(kind_of, #stem, config, job, out, err);                            \
    }                                                                                              \
    static int64_t wire_bytes_##stem(const void *config, const gs_job *job,                        \
                                     const gs_coding *coding)                                      \
    {                                                                                              \
        return gs_gossip_wire_bytes(kind_of, config, job, coding);                                 \
    }                                                                                              \
    static void init_##stem(gs_world *world, void *state)                                          \
    {                                                                                              \
        gs_gossip_init(kind_of, world, state);                                                     \
    }                                                                                              \
    static void import_##stem(gs_world *world, void *state, const void *in, size_t in_bytes)       \
    {                                                                                              \
        gs_gossip_import(kind_of, world, state, in, in_bytes);                                     \
    }                                                                                              \
    const gs_strategy gs_strategy_##stem = {.struct_bytes = sizeof(gs_strategy),                   \
                                            .name = #stem,                                         \
                                            .summary = (summary_of),                               \
                                            .source = (source_of),                                 \
                                            .config = &table_##stem,                               \
                                            .layout = layout_##stem,                               \
                                            .wire_bytes = wire_bytes_##stem,                       \
                                            .init = init_##stem,                                   \
                                            .step_begin = gs_gossip_step_begin,                    \
                                            .bucket_ready = gs_gossip_bucket_ready,                \
                                            .backward_done = gs_gossip_backward_done,              \
                                            .op_done = gs_gossip_op_done,                          \
                                            .message = gs_gossip_message,                          \
                                            .quiesce = gs_gossip_quiesce,                          \
                                            .export_state = gs_gossip_export,                      \
                                            .import_state = import_##stem,                         \
                                            .model_view = gs_gossip_view}

/* clang-format off */
PRESET(choco, GS_GOSSIP_CHOCO, "gossip of compressed differences to what neighbours already know",
       "Koloskova et al., Decentralized Stochastic Optimization and Gossip Algorithms with Compressed Communication, ICML 2019 (arXiv 1902.00340)");
PRESET(d_psgd, GS_GOSSIP_D_PSGD, "gossip: every step ranks average their models with their neighbours'",
       "Lian et al., Can Decentralized Algorithms Outperform Centralized Algorithms?, NeurIPS 2017 (arXiv 1705.09056)");
PRESET(osgp, GS_GOSSIP_OSGP, "sgp whose messages are used some steps late, so that nobody waits for them",
       "Assran et al., Stochastic Gradient Push for Distributed Deep Learning, ICML 2019 (arXiv 1811.10792); what came is used on schedule, not on arrival");
PRESET(sgp, GS_GOSSIP_SGP, "push-sum gossip: every step a rank pushes half of its model to another one",
       "Assran et al., Stochastic Gradient Push for Distributed Deep Learning, ICML 2019 (arXiv 1811.10792)");
/* clang-format on */
