/* A complete plug-in: gradients add up on each rank, and every so many steps their mean travels.
 *
 *   cc -std=c17 -shared -fPIC -I PREFIX/include/gradsync every.c -o every.so
 *   gradsync sim demo-ethernet --plugin ./every.so -s allreduce -s every:steps=4 */
#include "strategies/coding.h"
#include "strategies/plugin.h"

typedef struct config {
    int64_t steps;
} config;

/* Values only: hosts copy these bytes from place to place. */
typedef struct state {
    int64_t gathered; /* steps whose gradients are in SUM */
    bool busy;        /* a gradient is being computed, or the sum is under way */
    bool stopping;
} state;

enum { SUM = GS_OWN, COMMUNICATOR = 0 };

static const gs_field fields[] = {{.name = "steps",
                                   .kind = GS_FIELD_INT,
                                   GS_FIELD_AT(config, steps),
                                   .default_text = "2",
                                   .minimum = 1,
                                   .maximum = 1000,
                                   .help = "gradients of so many steps travel as one"}};

static const gs_field_table table = {"every", sizeof(config), fields, 1};

static gs_slice whole(const gs_world *world, uint32_t vector)
{
    return (gs_slice){vector, 0, gs_world_job(world)->elements};
}

static gs_status layout(const void *settings, const gs_job *job, gs_layout *out, gs_error *err)
{
    const config *chosen = settings;
    if (job->budget_steps > 0 && chosen->steps > job->budget_steps) {
        return gs_fail(err, GS_EINVAL, "every.steps: %lld, but the job has %lld; use at most that",
                       (long long)chosen->steps, (long long)job->budget_steps);
    }
    *out = (gs_layout){.own_vectors = {[GS_WORKER] = 1},
                       .state_bytes = {[GS_WORKER] = sizeof(state)},
                       .outstanding_max = {[GS_WORKER] = 1},
                       .communicator_count = 1,
                       .communicators[COMMUNICATOR] = {.coded = true},
                       .ordered = true,
                       .buckets = {INT64_MAX / 2, INT64_MAX / 2}, /* all of it travels at once, and
                                                                     memory counts that */
                       .cut = GS_CUT_COMMON};
    return GS_OK;
}

/* The last sum of a run may hold fewer steps. */
static int64_t wire_bytes(const void *settings, const gs_job *job, const gs_coding *coding)
{
    const config *chosen = settings;
    gs_bucket_rule one = {INT64_MAX / 2, INT64_MAX / 2}; /* as in the layout */
    int64_t steps = job->budget_steps > 0 ? job->budget_steps : chosen->steps;
    int64_t sums = (steps + chosen->steps - 1) / chosen->steps;
    return gs_coding_bucket_bytes(coding, job, &one, 1) * sums / steps;
}

static void init(gs_world *world, void *memory)
{
    (void)memory;
    gs_vec(world, GS_VOP_scale, whole(world, SUM), whole(world, SUM), 0.0);
}

static gs_plan step_begin(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    if (self->busy) {
        return (gs_plan){.go = false};
    }
    self->busy = true;
    return (gs_plan){
        .go = true, .at = GS_PARAM, .micro_steps = (uint32_t)gs_world_job(world)->accumulation};
}

static void bucket_ready(gs_world *world, void *memory, const gs_event *event)
{
    (void)world, (void)memory, (void)event; /* nothing travels before the whole gradient is there */
}

static void travel(gs_world *world, const state *self)
{
    double share = 1.0 / ((double)self->gathered * gs_world_job(world)->ranks);
    gs_vec(world, GS_VOP_scale, whole(world, SUM), whole(world, SUM), share);
    (void)gs_all_reduce(world, COMMUNICATOR, whole(world, SUM), 0);
}

static void backward_done(gs_world *world, void *memory, const gs_event *event)
{
    const config *chosen = gs_world_config(world);
    state *self = memory;
    (void)event;
    gs_vec(world, GS_VOP_add, whole(world, SUM), whole(world, GS_GRAD), 0.0);
    if (++self->gathered == chosen->steps) {
        travel(world, self);
        return;
    }
    gs_end_step(world);
    self->busy = false;
    gs_release(world);
}

/* While stopping the sum of what was left over arrives: it is in no step. */
static void op_done(gs_world *world, void *memory, const gs_event *event)
{
    const config *chosen = gs_world_config(world);
    state *self = memory;
    (void)event;
    gs_apply(world, GS_PARAM, SUM, 1.0, self->gathered == chosen->steps);
    init(world, self);
    self->gathered = 0;
    self->busy = false;
    if (self->stopping) {
        gs_drained(world);
    } else {
        gs_release(world);
    }
}

static void quiesce(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    self->stopping = true;
    if (!self->busy && self->gathered > 0) {
        self->busy = true;
        travel(world, self);
    } else if (!self->busy) {
        gs_drained(world);
    }
}

/* The weights are all there is once the run has drained. */
static size_t export_state(const void *memory, void *out, size_t out_bytes)
{
    (void)memory, (void)out, (void)out_bytes;
    return 0;
}

static void import_state(gs_world *world, void *memory, const void *in, size_t in_bytes)
{
    (void)in, (void)in_bytes;
    init(world, memory);
}

static const gs_strategy every = {.struct_bytes = sizeof(gs_strategy),
                                  .name = "every",
                                  .summary = "gradients of several steps add up and travel as one",
                                  .source = "the example of docs/contract.md",
                                  .config = &table,
                                  .layout = layout,
                                  .wire_bytes = wire_bytes,
                                  .init = init,
                                  .step_begin = step_begin,
                                  .bucket_ready = bucket_ready,
                                  .backward_done = backward_done,
                                  .op_done = op_done,
                                  .quiesce = quiesce,
                                  .export_state = export_state,
                                  .import_state = import_state};

static const gs_strategy *const strategies[] = {&every};

const gs_plugin_table gs_plugin = {.contract = GS_CONTRACT,
                                   .sizes = GS_CONTRACT_SIZES,
                                   .strategy_count = 1,
                                   .strategies = strategies};
