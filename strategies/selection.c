#include "strategies/selection.h"

#include "base/assert.h"
#include "strategies/group.h"

static gs_choice plain(const gs_collective *program)
{
    return (gs_choice){.program = program, .rings = 1, .piece_bytes = program->piece_bytes};
}

static bool is_named(const gs_communicator *communicator, gs_collective_kind kind)
{
    return kind == GS_ALL_REDUCE && communicator->all_reduce != NULL;
}

static bool is_for(const gs_selection_rule *rule, uint32_t communicator, gs_collective_kind kind)
{
    return rule->kind == kind &&
           (rule->communicator == communicator || rule->communicator == GS_ANY_COMMUNICATOR);
}

gs_choice gs_selection_choose(const gs_selection *selection, const gs_communicator *communicator,
                              uint32_t index, gs_collective_kind kind, int64_t bytes)
{
    uint32_t count = selection == NULL || is_named(communicator, kind) ? 0 : selection->rule_count;
    for (uint32_t i = 0; i < count; i++) {
        const gs_selection_rule *rule = &selection->rules[i];
        if (is_for(rule, index, kind) && bytes <= rule->up_to_bytes) {
            return rule->choice;
        }
    }
    return plain(gs_collective_for(communicator, kind));
}

bool gs_selection_candidate(const gs_selection *selection, const gs_communicator *communicator,
                            uint32_t index, gs_collective_kind kind, uint32_t number,
                            gs_choice *out)
{
    uint32_t count = selection == NULL || is_named(communicator, kind) ? 0 : selection->rule_count;
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        const gs_selection_rule *rule = &selection->rules[i];
        if (!is_for(rule, index, kind)) {
            continue;
        }
        if (found++ == number) {
            *out = rule->choice;
            return true;
        }
        if (rule->up_to_bytes == INT64_MAX) {
            return false; /* no op comes to what follows */
        }
    }
    *out = plain(gs_collective_for(communicator, kind));
    return found == number;
}

uint32_t gs_group_inner(gs_group group, const gs_job *job)
{
    uint32_t size = gs_group_size(group, job->ranks);
    if (gs_group_stride(group) != 1 || job->node_ranks == 0) {
        return 1;
    }
    if (size % job->node_ranks == 0) {
        return job->node_ranks;
    }
    return job->node_ranks % size == 0 ? size : 1;
}

gs_shape gs_choice_shape(const gs_choice *choice, const gs_job *job, gs_group group, uint32_t self,
                         uint32_t root, int64_t elements)
{
    gs_shape shape = gs_shape_plain(gs_group_size(group, job->ranks), self, elements);
    shape.root = root;
    shape.rings = choice->rings;
    shape.inner = choice->inner == 0 ? gs_group_inner(group, job) : choice->inner;
    shape.middle = choice->middle == 0 ? 1 : choice->middle;
    int64_t piece = choice->piece_bytes / job->element_bytes;
    shape.piece = choice->piece_bytes > 0 && piece == 0 ? 1 : piece;
    shape.order = shape.members == job->ranks ? job->ring_order : NULL;
    return shape;
}

/* ---------------------------------------------------------------- streams */

static uint32_t channels_of(const gs_layout *layout, const gs_job *job,
                            const gs_selection *selection, uint32_t index)
{
    const gs_communicator *communicator = &layout->communicators[index];
    uint32_t kinds = gs_communicator_kinds(communicator);
    uint32_t most = 1;
    for (int kind = 0; kind < GS_COLLECTIVE_KIND_COUNT; kind++) {
        gs_choice choice;
        for (uint32_t i = 0; (kinds >> kind & 1U) != 0 &&
                             gs_selection_candidate(selection, communicator, index,
                                                    (gs_collective_kind)kind, i, &choice);
             i++) {
            gs_shape shape = gs_choice_shape(&choice, job, communicator->group, 0, 0, 0);
            uint32_t channels = gs_collective_channels(choice.program, &shape);
            most = channels > most ? channels : most;
        }
    }
    return most;
}

gs_streams gs_streams_of(const gs_layout *layout, const gs_job *job, const gs_selection *selection)
{
    gs_streams streams = {.communicator_count = layout->communicator_count};
    GS_ASSERT(layout->communicator_count <= GS_LINES_MAX);
    for (uint32_t i = 0; i < layout->communicator_count; i++) {
        streams.first[i + 1] = streams.first[i] + channels_of(layout, job, selection, i);
    }
    return streams;
}

uint32_t gs_streams_communicator(const gs_streams *streams, uint32_t stream, uint32_t *out_channel)
{
    GS_ASSERT(stream < gs_streams_count(streams));
    uint32_t communicator = 0;
    while (streams->first[communicator + 1] <= stream) {
        communicator++;
    }
    *out_channel = stream - streams->first[communicator];
    return communicator;
}
