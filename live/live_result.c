/* What a live run that has ended is asked. */
#include "live/live_parts.h"

#include "base/assert.h"
#include "base/hash.h"
#include "models/task.h"
#include "traces/consensus.h"

#include <math.h>
#include <stdlib.h>

static uint64_t weights_hash(const gs_live *live)
{
    uint64_t hash = 0;
    for (uint32_t rank = 0; rank < live->shared.config.job->ranks; rank++) {
        const gs_live_final *final = &live->finals[rank];
        if (final->model != NULL) {
            hash = gs_hash(hash, final->model, final->model_count * sizeof *final->model);
        }
    }
    return hash;
}

/* Where there is no memory to look at all models at once it is not known. */
static void set_consensus(const gs_live *live, gs_run_facts *facts)
{
    uint32_t ranks = live->shared.config.job->ranks;
    const float **models = calloc(ranks, sizeof *models);
    double *weights = calloc(ranks, sizeof *weights);
    facts->has_models = models != NULL && weights != NULL;
    for (uint32_t rank = 0; facts->has_models && rank < ranks; rank++) {
        models[rank] = live->finals[rank].model;
        weights[rank] = live->finals[rank].model_weight;
        facts->has_models = models[rank] != NULL;
    }
    if (facts->has_models) {
        facts->consensus_distance =
            gs_consensus_distance(models, weights, ranks, live->finals[0].model_count);
    }
    free(models);
    free(weights);
}

static void set_facts(const gs_live *live, const gs_staleness *staleness, gs_run_facts *facts)
{
    const gs_live_config *config = &live->shared.config;
    const gs_workload *workload = &config->scenario->workload;
    int64_t dropped_elements = 0;
    facts->nic_count = live->shared.entity_count;
    facts->samples_per_step =
        config->job->ranks * config->job->accumulation * workload->batch_per_rank;
    facts->end_ns = live->end_ns;
    facts->diverged = live->shared.status == GS_EDIVERGED;
    facts->target_quality = workload->quality;
    facts->target_value = workload->target_value;
    facts->is_text = config->task != NULL && gs_task_network(config->task)->data.is_tokens;
    for (uint32_t i = 0; i < live->shared.entity_count; i++) {
        const gs_live_final *final = &live->finals[i];
        facts->nic_bytes_sent += final->bytes_sent;
        facts->rounded_elements += final->rounded_elements;
        facts->underflown_elements += final->underflown_elements;
        dropped_elements += final->dropped_elements;
        facts->cancelled_samples += final->cancelled_passes * workload->batch_per_rank;
    }
    double dropped = (double)dropped_elements / (double)config->job->elements;
    facts->dropped_samples =
        (int64_t)(dropped * (double)(config->job->accumulation * workload->batch_per_rank) + 0.5);
    facts->applied_gradients = staleness->count;
    facts->staleness_mean = gs_staleness_mean(staleness);
    facts->staleness_p95 = gs_staleness_quantile(staleness, 0.95);
    facts->staleness_max = (double)staleness->max;
    facts->gradient_cosine = (double)NAN;
    facts->noise_scale_samples = (double)NAN;
    set_consensus(live, facts);
}

void gs_live_result_get(const gs_live *live, gs_live_result *out)
{
    const gs_live_shared *shared = &live->shared;
    const gs_live_final *first = &live->finals[0];
    *out = (gs_live_result){.status = shared->status,
                            .error = shared->error,
                            .steps = INT64_MAX,
                            .weights_hash = weights_hash(live),
                            .gradients = atomic_load(&shared->gradients)};
    if (first->is_known) {
        out->op_stream_hash =
            gs_hash(0, first->op_streams, shared->layout.communicator_count * sizeof(uint64_t));
    }
    for (uint32_t i = 0; i < shared->entity_count; i++) {
        const gs_live_final *final = &live->finals[i];
        if (i < shared->config.job->ranks && final->is_known && final->steps < out->steps) {
            out->steps = final->steps;
        }
        gs_staleness_merge(&out->staleness, &final->staleness);
    }
    out->steps = out->steps == INT64_MAX ? 0 : out->steps;
    if (shared->config.scenario != NULL) {
        set_facts(live, &out->staleness, &out->facts);
    }
}

const float *gs_live_weights(const gs_live *live, uint32_t rank, size_t *out_count)
{
    GS_ASSERT(rank < live->shared.config.job->ranks);
    *out_count = live->finals[rank].model_count;
    return live->finals[rank].model;
}

static const gs_live_entity *entity_at(const gs_live *live, gs_peer peer)
{
    uint32_t ranks = live->shared.config.job->ranks;
    uint32_t number = peer.role == GS_WORKER ? peer.index : ranks + peer.index;
    GS_ASSERT(number < live->shared.entity_count && gs_live_is_here(&live->shared, number));
    return &live->entities[number];
}

const float *gs_live_vector(const gs_live *live, gs_peer entity, uint32_t vector, size_t *out_count)
{
    return gs_entity_memory_vector(&entity_at(live, entity)->memory, vector, out_count);
}

size_t gs_live_export(const gs_live *live, gs_peer entity, void *out, size_t out_bytes)
{
    const gs_driver *driver = entity_at(live, entity)->driver;
    return gs_driver_is_drained(driver) ? gs_driver_export(driver, out, out_bytes) : 0;
}

const gs_recording *gs_live_recording(const gs_live *live)
{
    return live->shared.config.record ? &live->shared.recording : NULL;
}
