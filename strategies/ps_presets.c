/* The published parameter-server rules: one table of rules, and one strategy a name.
 *
 * A name has the parameters that mean something for it and no others. Rates: where an update is the
 * mean of gradients at the current weights, it is a step of synchronous SGD and has its rate; where
 * gradients come one by one, "matched" gives each the weight that it has in synchronous SGD, so
 * that equal numbers of samples move the weights equally far.
 *
 * k_sync and k_batch_sync stop the gradients that an update leaves behind; m_sync and rennala are
 * the same rules for ranks that finish what nobody takes, which costs time where passes are uneven.
 */
#include "strategies/ps.h"
#include "strategies/ps_worker.h"

#include "base/assert.h"

/* 0: half of the ranks, rounded up. */
static uint32_t or_half(int64_t count, uint32_t ranks)
{
    return count > 0 ? (uint32_t)count : (ranks + 1) / 2;
}

static uint32_t or_all(int64_t count, uint32_t ranks)
{
    return count > 0 ? (uint32_t)count : ranks;
}

/* The first `gather` gradients of the current weights, one of a rank; waiting for all of them is
 * the same whoever comes first. */
static gs_ps_rule first_of_ranks(uint32_t gather, uint32_t ranks, bool restarts)
{
    return (gs_ps_rule){.wait = GS_PS_WAIT_UPDATE,
                        .gather = gather,
                        .restarts = restarts && gather < ranks,
                        .in_rank_order = gather == ranks};
}

static gs_ps_rule on_arrival(uint32_t gather, int64_t delay_max)
{
    return (gs_ps_rule){.wait = GS_PS_WAIT_NONE, .gather = gather, .delay_max = delay_max};
}

static gs_ps_rule by_clock(int64_t ahead_min, int64_t ahead_max)
{
    return (gs_ps_rule){.wait = GS_PS_WAIT_CLOCK,
                        .gather = 1,
                        .delay_max = GS_PS_ANY_DELAY,
                        .ahead_min = ahead_min,
                        .ahead_max = ahead_max};
}

gs_ps_rule gs_ps_rule_of(gs_ps_kind kind, const gs_ps_config *config, uint32_t ranks)
{
    int64_t count = config->count;
    gs_ps_rule rule = on_arrival(1, GS_PS_ANY_DELAY); /* asp, dc_asgd */
    switch (kind) {
    case GS_PS_ASP:
    case GS_PS_DC_ASGD:
        break;
    case GS_PS_BSP:
        return first_of_ranks(ranks, ranks, false);
    case GS_PS_BACKUP:
        return first_of_ranks(ranks - (uint32_t)count, ranks, false);
    case GS_PS_M_SYNC:
        return first_of_ranks(or_half(count, ranks), ranks, false);
    case GS_PS_K_SYNC:
        return first_of_ranks(or_half(count, ranks), ranks, true);
    case GS_PS_K_BATCH_SYNC:
        rule = on_arrival(or_half(count, ranks), 0);
        rule.restarts = true;
        return rule;
    case GS_PS_RENNALA:
        return on_arrival(or_all(count, ranks), 0);
    case GS_PS_K_ASYNC:
        rule = on_arrival(or_half(count, ranks), GS_PS_ANY_DELAY);
        rule.wait = GS_PS_WAIT_UPDATE;
        return rule;
    case GS_PS_K_BATCH_ASYNC:
        return on_arrival(or_half(count, ranks), GS_PS_ANY_DELAY);
    case GS_PS_RINGMASTER:
        return on_arrival(1, (int64_t)or_all(count, ranks) - 1);
    case GS_PS_SSP:
        return by_clock(config->staleness, config->staleness);
    case GS_PS_DSSP:
        return by_clock(config->staleness, config->staleness_max);
    case GS_PS_STALENESS_AWARE:
        rule.slow_when_stale = true;
        return rule;
    }
    return rule;
}

/* ---------------------------------------------------------------- fields */

static const char *const rate_words[] = {"matched", NULL};

/* clang-format off */
#define SERVERS                                                                                    \
    {.name = "servers", .kind = GS_FIELD_INT, GS_FIELD_AT(gs_ps_config, servers),                  \
     .default_text = "0", .minimum = 0, .maximum = 65534,                                          \
     .help = "shards of the weights, one a server; 0: all that the cluster offers"}
#define BUCKET                                                                                     \
    {.name = "bucket", .kind = GS_FIELD_BYTES, GS_FIELD_AT(gs_ps_config, bucket_bytes),            \
     .default_text = "25MiB", .minimum = 1, .maximum = 0x1p40,                                     \
     .help = "a push travels in pieces of this size, each as soon as its gradient is ready"}
#define OVERLAP                                                                                    \
    {.name = "overlap", .kind = GS_FIELD_BOOL, GS_FIELD_AT(gs_ps_config, overlap),                 \
     .default_text = "true",                                                                       \
     .help = "push pieces while the backward pass runs; false: everything after it"}
#define RATE(text)                                                                                 \
    {.name = "rate", .kind = GS_FIELD_REAL_OR_CHOICE, GS_FIELD_AT(gs_ps_config, rate),             \
     .default_text = (text), .minimum = 1e-9, .maximum = 1e6, .choices = rate_words,               \
     .help = "an update's rate, times the optimizer's; matched: gradients in it over ranks"}
#define COUNT(field, text, least, words)                                                           \
    {.name = (field), .kind = GS_FIELD_INT, GS_FIELD_AT(gs_ps_config, count),                      \
     .default_text = (text), .minimum = (least), .maximum = 1e9, .help = (words)}
#define STALENESS(field, member, text, words)                                                      \
    {.name = (field), .kind = GS_FIELD_INT, GS_FIELD_AT(gs_ps_config, member),                     \
     .default_text = (text), .minimum = 0, .maximum = 1e9, .help = (words)}
/* clang-format on */

static const gs_field fields_bsp_ps[] = {SERVERS, BUCKET, OVERLAP, RATE("1")};
static const gs_field fields_asp[] = {SERVERS, BUCKET, OVERLAP, RATE("matched")};
static const gs_field fields_ssp[] = {
    STALENESS("staleness", staleness, "3", "steps that a worker may be ahead of the slowest"),
    SERVERS, BUCKET, OVERLAP, RATE("matched")};
static const gs_field fields_dssp[] = {
    STALENESS("staleness", staleness, "3", "steps ahead of the slowest that are always allowed"),
    STALENESS("staleness_max", staleness_max, "15",
              "steps ahead that are allowed where a prediction says that it saves waiting"),
    SERVERS,
    BUCKET,
    OVERLAP,
    RATE("matched")};
static const gs_field fields_k_sync[] = {
    COUNT("k", "0", 0, "ranks that an update waits for; 0: half of them, rounded up"), SERVERS,
    BUCKET, OVERLAP, RATE("1")};
static const gs_field fields_k_batch_sync[] = {
    COUNT("k", "0", 0, "batches that an update waits for; 0: half as many as ranks, rounded up"),
    SERVERS, BUCKET, OVERLAP, RATE("1")};
static const gs_field fields_k_async[] = {
    COUNT("k", "0", 0, "ranks that an update waits for; 0: half of them, rounded up"), SERVERS,
    BUCKET, OVERLAP, RATE("matched")};
static const gs_field fields_k_batch_async[] = {
    COUNT("k", "0", 0, "batches that an update waits for; 0: half as many as ranks, rounded up"),
    SERVERS, BUCKET, OVERLAP, RATE("matched")};
static const gs_field fields_backup[] = {
    COUNT("backups", "1", 0, "ranks that an update does not wait for"), SERVERS, BUCKET, OVERLAP,
    RATE("1")};
static const gs_field fields_m_sync[] = {
    COUNT("m", "0", 0, "ranks that an update waits for; 0: half of them, rounded up"), SERVERS,
    BUCKET, OVERLAP, RATE("1")};
static const gs_field fields_rennala[] = {
    COUNT("batches", "0", 0, "that an update waits for; 0: as many as ranks"), SERVERS, BUCKET,
    OVERLAP, RATE("1")};
static const gs_field fields_ringmaster[] = {
    COUNT("bound", "0", 0,
          "a gradient as many updates old or older is dropped; 0: as many as "
          "ranks"),
    SERVERS, BUCKET, OVERLAP, RATE("matched")};
static const gs_field fields_dc_asgd[] = {
    {.name = "lambda",
     .kind = GS_FIELD_REAL,
     GS_FIELD_AT(gs_ps_config, lambda),
     .default_text = "0.04",
     .minimum = 0.0,
     .maximum = 1e6,
     .help = "weight of the compensation lambda g g (x - x'); 0: asp"},
    SERVERS,
    BUCKET,
    OVERLAP,
    RATE("matched")};
static const gs_field fields_staleness_aware[] = {SERVERS, BUCKET, OVERLAP, RATE("1")};

/* ---------------------------------------------------------------- strategies */

/* The hooks that need to know the name: gs_strategy has no other place for it. */
#define PRESET(stem, kind_of, summary_of, source_of)                                               \
    static const gs_field_table table_##stem = {.name = #stem,                                     \
                                                .struct_bytes = sizeof(gs_ps_config),              \
                                                .fields = fields_##stem,                           \
                                                .field_count =                                     \
                                                    sizeof fields_##stem / sizeof *fields_##stem}; \
    static gs_status layout_##stem(const void *config, const gs_job *job, gs_layout *out,          \
                                   gs_error *err)                                                  \
    {                                                                                              \
        return gs_ps_layout(kind_of, #stem, config, job, out, err);                                \
    }                                                                                              \
    static void init_##stem(gs_world *world, void *state)                                          \
    {                                                                                              \
        gs_ps_init(kind_of, world, state);                                                         \
    }                                                                                              \
    static void import_##stem(gs_world *world, void *state, const void *in, size_t in_bytes)       \
    {                                                                                              \
        gs_ps_import(kind_of, world, state, in, in_bytes);                                         \
    }                                                                                              \
    const gs_strategy gs_strategy_##stem = {.struct_bytes = sizeof(gs_strategy),                   \
                                            .name = #stem,                                         \
                                            .summary = (summary_of),                               \
                                            .source = (source_of),                                 \
                                            .config = &table_##stem,                               \
                                            .layout = layout_##stem,                               \
                                            .wire_bytes = gs_ps_wire_bytes,                        \
                                            .init = init_##stem,                                   \
                                            .step_begin = gs_ps_worker_step_begin,                 \
                                            .bucket_ready = gs_ps_worker_bucket_ready,             \
                                            .backward_done = gs_ps_worker_backward_done,           \
                                            .op_done = gs_ps_op_done,                              \
                                            .message = gs_ps_message,                              \
                                            .quiesce = gs_ps_quiesce,                              \
                                            .export_state = gs_ps_export,                          \
                                            .import_state = import_##stem}

#define DUTTA                                                                                      \
    "Dutta et al., Slow and Stale Gradients Can Win the Race, AISTATS 2018 (arXiv 1803.01113)"

PRESET(asp, GS_PS_ASP, "parameter server: every gradient is applied as it comes, nobody waits",
       "Dean et al., Large Scale Distributed Deep Networks, NeurIPS 2012");
PRESET(backup, GS_PS_BACKUP,
       "parameter server: an update waits for all ranks but a few, whose gradients are dropped",
       "Chen et al., Revisiting Distributed Synchronous SGD, 2016 (arXiv 1604.00981)");
PRESET(bsp_ps, GS_PS_BSP,
       "parameter server: synchronous SGD, an update is the mean gradient of all ranks",
       "Li et al., Scaling Distributed Machine Learning with the Parameter Server, OSDI 2014");
PRESET(dc_asgd, GS_PS_DC_ASGD,
       "asp with gradients corrected for what the weights did meanwhile; a copy of them per rank",
       "Zheng et al., Asynchronous SGD with Delay Compensation, ICML 2017 (arXiv 1609.08326)");
PRESET(dssp, GS_PS_DSSP, "ssp whose bound grows where waiting later is predicted to be shorter",
       "Zhao et al., Dynamic Stale Synchronous Parallel, ICDCS 2019 (arXiv 1908.11848)");
PRESET(k_async, GS_PS_K_ASYNC,
       "parameter server: an update takes one gradient of each of k ranks, however old", DUTTA);
PRESET(k_batch_async, GS_PS_K_BATCH_ASYNC,
       "parameter server: an update takes k gradients of any ranks, however old", DUTTA);
PRESET(
    k_batch_sync, GS_PS_K_BATCH_SYNC,
    "parameter server: an update takes the first k gradients at its weights, and stops all others",
    DUTTA);
PRESET(k_sync, GS_PS_K_SYNC,
       "parameter server: an update takes the first k ranks at its weights, and stops the others",
       DUTTA);
PRESET(m_sync, GS_PS_M_SYNC,
       "parameter server: an update takes the first m ranks at its weights, the rest is dropped",
       "Begunov and Tyurin, Do We Need Asynchronous SGD?, 2026 (arXiv 2602.03802)");
PRESET(rennala, GS_PS_RENNALA,
       "parameter server: an update takes gradients at its weights of any ranks, drops older ones",
       "Tyurin and Richtarik, Optimal Time Complexities of Parallel Stochastic Optimization "
       "Methods, NeurIPS 2023 (arXiv 2305.12387)");
PRESET(ringmaster, GS_PS_RINGMASTER, "asp that drops gradients older than a bound",
       "Maranjyan et al., Ringmaster ASGD, ICML 2025 (arXiv 2501.16168)");
PRESET(ssp, GS_PS_SSP, "asp whose ranks wait where they are too many steps ahead of the slowest",
       "Ho et al., More Effective Distributed ML via a Stale Synchronous Parallel Parameter "
       "Server, NeurIPS 2013");
PRESET(staleness_aware, GS_PS_STALENESS_AWARE, "asp whose rate falls with staleness, eta / tau",
       "Zhang et al., Staleness-aware Async-SGD for Distributed Deep Learning, IJCAI 2016 "
       "(arXiv 1511.05950)");
