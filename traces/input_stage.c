#include "traces/input_stage.h"

#include <inttypes.h>
#include <math.h>

#include "base/assert.h"
#include "traces/noise.h"
#include "base/units.h"

enum { AHEAD_MAX = 1 << 20 };

typedef struct rank_loader {
    uint64_t batches;      /* taken so far, the index of the next one */
    gs_time_ns last_ns;    /* when the last one was taken */
    gs_time_ns *worker_ns; /* [workers] end of each worker's last batch */
    gs_time_ns
        *taken_ns; /* [ahead] when batches were taken, the slot of j also that of j - ahead */
} rank_loader;

struct gs_input_loader {
    gs_noise_sampler noise;
    gs_time_ns time_ns;
    uint64_t seed;
    uint32_t workers;
    uint32_t ahead; /* workers * prefetch */
    uint32_t rank_count;
    rank_loader *ranks; /* [rank_count] */
};

static gs_status check_stage(const gs_input_stage *stage, gs_error *err)
{
    if (stage->time_ns < 0) {
        return gs_fail(err, GS_EINVAL,
                       "workload.input.time: %" PRId64 " ns is not allowed; give 0 or more",
                       stage->time_ns);
    }
    if (stage->workers < 1 || stage->prefetch < 1 || stage->workers > AHEAD_MAX ||
        stage->prefetch > AHEAD_MAX / stage->workers) {
        return gs_fail(err, GS_EINVAL,
                       "workload.input: %" PRId64 " workers with prefetch %" PRId64
                       " are not allowed; give 1 or more of each, and at most %d batches in all",
                       stage->workers, stage->prefetch, AHEAD_MAX);
    }
    return GS_OK;
}

gs_status gs_input_loader_create(const gs_input_stage *stage, const gs_noise_law *noise,
                                 uint64_t seed, uint32_t rank_count, gs_arena *arena,
                                 gs_input_loader **out, gs_error *err)
{
    GS_TRY(check_stage(stage, err));
    gs_noise_sampler sampler;
    GS_TRY(gs_noise_sampler_init(&sampler, noise, "noise.input", err));
    uint32_t workers = (uint32_t)stage->workers;
    uint32_t ahead = (uint32_t)(stage->workers * stage->prefetch);
    gs_input_loader *loader = GS_TAKE(arena, gs_input_loader, 1);
    rank_loader *ranks = GS_TAKE(arena, rank_loader, rank_count);
    gs_time_ns *times = GS_TAKE(arena, gs_time_ns, (size_t)rank_count * (workers + ahead));
    if (loader == NULL || ranks == NULL || times == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory for the input stage of %u ranks", rank_count);
    }
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        ranks[rank].worker_ns = times + (size_t)rank * (workers + ahead);
        ranks[rank].taken_ns = ranks[rank].worker_ns + workers;
    }
    *loader = (gs_input_loader){.noise = sampler,
                                .time_ns = stage->time_ns,
                                .seed = seed,
                                .workers = workers,
                                .ahead = ahead,
                                .rank_count = rank_count,
                                .ranks = ranks};
    *out = loader;
    return GS_OK;
}

static gs_time_ns cost(const gs_input_loader *loader, uint32_t rank, uint64_t batch)
{
    gs_rng_key key = {.seed = loader->seed, .purpose = GS_RNG_INPUT, .entity = rank};
    double factor = gs_noise_draw(&loader->noise, key, batch, 0);
    return gs_time_of(ceil((double)loader->time_ns * factor));
}

gs_time_ns gs_input_loader_take(gs_input_loader *loader, uint32_t rank, gs_time_ns wanted_ns)
{
    GS_ASSERT(rank < loader->rank_count);
    rank_loader *of = &loader->ranks[rank];
    GS_ASSERT(wanted_ns >= of->last_ns);
    gs_time_ns *worker_ns = &of->worker_ns[of->batches % loader->workers];
    gs_time_ns *taken_ns = &of->taken_ns[of->batches % loader->ahead];
    gs_time_ns start_ns = *worker_ns > *taken_ns ? *worker_ns : *taken_ns;
    *worker_ns = start_ns + cost(loader, rank, of->batches);
    of->last_ns = *worker_ns > wanted_ns ? *worker_ns : wanted_ns;
    *taken_ns = of->last_ns;
    of->batches++;
    return of->last_ns;
}
