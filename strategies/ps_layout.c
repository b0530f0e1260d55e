/* What a parameter server needs, and what of its parameters cannot work. */
#include "strategies/coding.h"
#include "strategies/ps.h"
#include "strategies/ps_server.h"
#include "strategies/ps_shard.h"
#include "strategies/ps_update.h"
#include "strategies/ps_worker.h"

enum { PIECES_MAX = 60000 }; /* a tag each */

static gs_status check_servers(const char *name, const gs_ps_config *config, const gs_job *job,
                               const gs_ps_rule *rule, gs_error *err)
{
    uint32_t servers = gs_ps_server_count(config, job);
    if (job->servers == 0) {
        return gs_fail(err, GS_EINVAL,
                       "cluster.servers.count: 0, but %s keeps the weights on servers; set it to 1 "
                       "or more, or use allreduce",
                       name);
    }
    if (servers > job->servers) {
        return gs_fail(err, GS_EINVAL,
                       "%s.servers: %u, but cluster.servers.count offers %u; raise that, or use "
                       "servers=%u",
                       name, servers, job->servers, job->servers);
    }
    if (servers > job->elements) {
        return gs_fail(err, GS_EINVAL,
                       "%s.servers: %u shards of %lld elements leave some empty; use servers=%lld",
                       name, servers, (long long)job->elements, (long long)job->elements);
    }
    /* With gather gradients an update and no bound on age, each shard may keep gather - 1 workers
     * that came last to it. Where these can be all workers, nobody is left to wake them. */
    uint64_t kept = (uint64_t)servers * (rule->gather - 1);
    if (servers > 1 && rule->wait == GS_PS_WAIT_UPDATE && rule->delay_max == GS_PS_ANY_DELAY &&
        rule->gather < job->ranks && kept >= job->ranks) {
        return gs_fail(err, GS_EINVAL,
                       "%s.k: with %u servers, each of which keeps up to %u workers waiting, all "
                       "%u can wait for one another for ever; use servers=%u, or another k",
                       name, servers, rule->gather - 1, job->ranks,
                       (job->ranks - 1) / (rule->gather - 1));
    }
    return GS_OK;
}

static gs_status check_counts(const char *name, gs_ps_kind kind, const gs_ps_config *config,
                              const gs_job *job, gs_error *err)
{
    bool of_ranks = kind == GS_PS_K_SYNC || kind == GS_PS_K_ASYNC || kind == GS_PS_M_SYNC;
    if (of_ranks && config->count > job->ranks) {
        const char *field = kind == GS_PS_M_SYNC ? "m" : "k";
        return gs_fail(err, GS_EINVAL,
                       "%s.%s: %lld of %u ranks; an update cannot wait for more than all: use "
                       "%s=%u",
                       name, field, (long long)config->count, job->ranks, field, job->ranks);
    }
    bool of_gradients =
        kind == GS_PS_K_BATCH_SYNC || kind == GS_PS_K_BATCH_ASYNC || kind == GS_PS_RENNALA;
    int64_t gradients = job->budget_steps * job->ranks;
    if (of_gradients && gradients > 0 && config->count > gradients) {
        const char *field = kind == GS_PS_RENNALA ? "batches" : "k";
        return gs_fail(err, GS_EINVAL,
                       "%s.%s: %lld gradients an update, but the run has %lld in all and would "
                       "never update; use at most %s=%lld, or a longer workload.budget",
                       name, field, (long long)config->count, (long long)gradients, field,
                       (long long)gradients);
    }
    if (kind == GS_PS_BACKUP && config->count >= job->ranks) {
        return gs_fail(err, GS_EINVAL,
                       "%s.backups: %lld of %u ranks leave none to wait for; use backups=%u", name,
                       (long long)config->count, job->ranks, job->ranks - 1);
    }
    if (kind == GS_PS_DSSP && config->staleness_max < config->staleness) {
        return gs_fail(err, GS_EINVAL,
                       "%s.staleness_max: %lld is below staleness, %lld; use at least that", name,
                       (long long)config->staleness_max, (long long)config->staleness);
    }
    return GS_OK;
}

gs_status gs_ps_layout(gs_ps_kind kind, const char *name, const gs_ps_config *config,
                       const gs_job *job, gs_layout *out, gs_error *err)
{
    GS_TRY(check_counts(name, kind, config, job, err));
    gs_ps_rule rule = gs_ps_rule_of(kind, config, job->ranks);
    GS_TRY(check_servers(name, config, job, &rule, err));
    uint32_t servers = gs_ps_server_count(config, job);
    gs_slice largest = gs_ps_shard(job, servers, 0, GS_GRAD);
    int64_t elements = gs_ps_piece_elements(config, job);
    if (config->overlap && largest.length / elements >= PIECES_MAX) {
        return gs_fail(err, GS_EINVAL,
                       "%s.bucket: a shard of %lld elements has over %d of them; use bucket=%lldB "
                       "or more",
                       name, (long long)largest.length, PIECES_MAX,
                       (long long)((largest.length / PIECES_MAX + 1) * job->element_bytes));
    }
    uint32_t pieces = gs_ps_piece_count(config, job, largest);
    gs_bucket_rule buckets = {.first_bytes = config->bucket_bytes,
                              .cap_bytes = config->bucket_bytes};
    *out = (gs_layout){
        .servers = servers,
        .own_vectors = {[GS_SERVER] = gs_ps_update_vectors(config, &rule, job->ranks)},
        .state_bytes = {gs_ps_worker_bytes(servers), gs_ps_server_bytes(job->ranks)},
        .copies_max = {[GS_SERVER] = job->ranks},
        .outstanding_max = {servers * (pieces + (rule.restarts ? 2 : 1)), pieces + job->ranks},
        .gradients_per_update = rule.gather,
        .point_to_point = true,
        .shares_servers = true,
        .sends_coded = true,
        .applies_slices = servers > 1,
        .cancels = rule.restarts,
        .buckets = buckets,
        /* Where every gradient of every rank counts, all make the same steps. */
        .cut = rule.in_rank_order ? GS_CUT_COMMON : GS_CUT_OWN,
    };
    return GS_OK;
}

/* Every piece of a gradient, once; what was pushed of one that was cancelled comes on top. */
int64_t gs_ps_wire_bytes(const void *settings, const gs_job *job, const gs_coding *coding)
{
    const gs_ps_config *config = settings;
    uint32_t servers = gs_ps_server_count(config, job);
    int64_t total = 0;
    for (uint32_t server = 0; server < servers; server++) {
        gs_slice shard = gs_ps_shard(job, servers, server, GS_GRAD);
        uint32_t pieces = gs_ps_piece_count(config, job, shard);
        for (uint32_t piece = 0; piece < pieces; piece++) {
            int64_t length = gs_ps_piece(config, job, shard, piece).length;
            total += gs_coding_send_bytes(coding, length, job->element_bytes);
        }
    }
    return total;
}
