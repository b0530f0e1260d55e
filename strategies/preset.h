/* A published name whose strategy is an engine with a rule: the hooks that need to know the name,
 * since gs_strategy has no other place for it, and the object.
 *
 * engine: local, gossip; its functions are gs_ENGINE_layout, ..., its parameters
 * gs_ENGINE_config. stem: the name; fields_STEM [] are its parameters. kind_of: of the engine's
 * kinds. */
#ifndef GS_STRATEGIES_PRESET_H
#define GS_STRATEGIES_PRESET_H

#include "strategies/strategy.h"

#define GS_PRESET(engine, stem, kind_of, summary_of, source_of)                                    \
    static const gs_field_table table_##stem = {.name = #stem,                                     \
                                                .struct_bytes = sizeof(gs_##engine##_config),      \
                                                .fields = fields_##stem,                           \
                                                .field_count =                                     \
                                                    sizeof fields_##stem / sizeof *fields_##stem}; \
    static gs_status layout_##stem(const void *config, const gs_job *job, gs_layout *out,          \
                                   gs_error *err)                                                  \
    {                                                                                              \
        return gs_##engine##_layout(kind_of, #stem, config, job, out, err);                        \
    }                                                                                              \
    static int64_t wire_bytes_##stem(const void *config, const gs_job *job,                        \
                                     const gs_coding *coding)                                      \
    {                                                                                              \
        return gs_##engine##_wire_bytes(kind_of, config, job, coding);                             \
    }                                                                                              \
    static void init_##stem(gs_world *world, void *state)                                          \
    {                                                                                              \
        gs_##engine##_init(kind_of, world, state);                                                 \
    }                                                                                              \
    static void import_##stem(gs_world *world, void *state, const void *in, size_t in_bytes)       \
    {                                                                                              \
        gs_##engine##_import(kind_of, world, state, in, in_bytes);                                 \
    }                                                                                              \
    const gs_strategy gs_strategy_##stem = {.struct_bytes = sizeof(gs_strategy),                   \
                                            .name = #stem,                                         \
                                            .summary = (summary_of),                               \
                                            .source = (source_of),                                 \
                                            .config = &table_##stem,                               \
                                            .layout = layout_##stem,                               \
                                            .wire_bytes = wire_bytes_##stem,                       \
                                            .init = init_##stem,                                   \
                                            .step_begin = gs_##engine##_step_begin,                \
                                            .bucket_ready = gs_whole_bucket_ready,                 \
                                            .backward_done = gs_##engine##_backward_done,          \
                                            .op_done = gs_##engine##_op_done,                      \
                                            .message = gs_##engine##_message,                      \
                                            .quiesce = gs_##engine##_quiesce,                      \
                                            .export_state = gs_##engine##_export,                  \
                                            .import_state = import_##stem,                         \
                                            .model_view = gs_##engine##_view}

#endif
