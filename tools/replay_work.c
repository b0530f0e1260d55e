#include "tools/replay_work.h"

#include "tools/message.h"

#include <stdlib.h>

static int64_t floats_of_model(const gs_workload *workload)
{
    gs_error err;
    gs_network *network = gs_need(calloc(1, sizeof *network));
    gs_status status = workload->task.model->build(workload->task.model_config,
                                                   &workload->dataset->shape, network, &err);
    int64_t count = status == GS_OK ? network->parameter_count : 0;
    free(network);
    return count;
}

bool gs_replay_skips_work(const gs_scenario *scenario)
{
    const gs_workload *workload = &scenario->workload;
    int64_t elements = 0;
    for (uint32_t i = 0; i < workload->profile->unit_count; i++) {
        elements += workload->profile->units[i].elements;
    }
    return scenario->live.compute == 1 &&
           (!workload->real_gradients || floats_of_model(workload) != elements);
}
