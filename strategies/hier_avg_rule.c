#include "strategies/hier_avg_rule.h"

#include "strategies/coding.h"
#include "strategies/collective.h"

/* clang-format off */
static const gs_field fields[] = {
    {"inside", GS_FIELD_INT, GS_FIELD_AT(gs_hier_avg_config, inside), "4", 1, 1e9, NULL,
     "local steps between averages inside a node"},
    {"between", GS_FIELD_INT, GS_FIELD_AT(gs_hier_avg_config, between), "16", 1, 1e9, NULL,
     "local steps between averages between nodes, a multiple of inside"},
    {"delay", GS_FIELD_INT, GS_FIELD_AT(gs_hier_avg_config, delay), "0", 0, 1e9, NULL,
     "steps from sending to using the mean between nodes, fewer than inside"},
};
/* clang-format on */

const gs_field_table gs_hier_avg_fields = {
    .name = "hier_avg",
    .struct_bytes = sizeof(gs_hier_avg_config),
    .fields = fields,
    .field_count = sizeof fields / sizeof *fields,
};

/* Between nodes nothing would be averaged in so many steps. */
static gs_status refuse_long(const gs_hier_avg_config *config, int64_t budget, gs_error *err)
{
    int64_t inside = config->inside < budget ? config->inside : budget;
    int64_t delay = config->delay < inside ? config->delay : inside - 1;
    return gs_fail(err, GS_EINVAL,
                   "hier_avg.between: %lld steps with inside=%lld, but the run has %lld, so that "
                   "nodes would never average; use inside=%lld,between=%lld,delay=%lld, or raise "
                   "workload.budget.steps",
                   (long long)config->between, (long long)config->inside, (long long)budget,
                   (long long)inside, (long long)(budget - budget % inside), (long long)delay);
}

gs_status gs_hier_avg_check(const gs_hier_avg_config *config, const gs_job *job, gs_error *err)
{
    int64_t over = config->between % config->inside;
    int64_t above = config->between - over + config->inside;
    int64_t budget = job->budget_steps;
    if (job->node_ranks == 0) {
        return gs_fail(err, GS_EINVAL,
                       "hier_avg needs nodes with equal numbers of ranks, one after the other; use "
                       "local_sgd");
    }
    if (over != 0 && (budget <= 0 || above <= budget)) {
        return gs_fail(err, GS_EINVAL,
                       "hier_avg.between: %lld steps are not a multiple of inside, %lld; use "
                       "between=%lld",
                       (long long)config->between, (long long)config->inside, (long long)above);
    }
    if (budget > 0 && (over != 0 || config->between > budget)) {
        return refuse_long(config, budget, err);
    }
    if (config->delay > 0 && config->delay >= config->inside) {
        return gs_fail(err, GS_EINVAL,
                       "hier_avg.delay: %lld steps, but the next average inside nodes is after "
                       "%lld; use delay=%lld",
                       (long long)config->delay, (long long)config->inside,
                       (long long)(config->inside - 1));
    }
    return GS_OK;
}

bool gs_hier_avg_differ(const gs_hier_avg_config *config, int64_t steps)
{
    return config->delay > 0 || steps % config->between != 0;
}

int64_t gs_hier_avg_wire_bytes(const void *settings, const gs_job *job, const gs_coding *coding)
{
    const gs_hier_avg_config *config = settings;
    uint32_t inside = job->node_ranks;
    uint32_t nodes = job->ranks / inside;
    int64_t steps = job->budget_steps > 0 ? job->budget_steps : config->between;
    int64_t more = job->budget_steps > 0 && gs_hier_avg_differ(config, steps) ? 1 : 0;
    gs_coding_series rounds = {config->between - 1, config->between, steps / config->between};
    if (job->budget_steps == 0) {
        rounds.first = INT32_MAX; /* after all warm-ups of codecs */
    }
    gs_coding_series last = {steps, 1, more};
    double across = 0.0;
    for (uint32_t part = 0; part < inside; part++) {
        gs_coded_slice of = gs_coded_slice_of(job, 0, 0);
        gs_part_of(job->elements, inside, part, &of.offset, &of.elements);
        across += gs_coding_series_bytes(coding, &of, job->element_bytes, nodes, rounds) +
                  gs_coding_series_bytes(coding, &of, job->element_bytes, nodes, last);
    }
    double gather = (double)(job->elements * job->element_bytes) * (inside - 1) * nodes;
    double sent = (double)(steps / config->inside + more) * 2.0 * gather +
                  (double)(steps / config->between + more) * gather + across;
    return (int64_t)(sent / job->ranks / (double)steps);
}
