/* cluster.tenants: other jobs on the same fabric. */
#include "traces/scenario/scenario_parts.h"

#include <stdio.h>

enum { TENANTS_MAX = 64, FLOWS_MAX = 65536 };

static const char *const patterns[] = {"pairs", "incast", NULL};

/* clang-format off */
static const gs_field fields[] = {
    {"pattern", GS_FIELD_CHOICE, GS_FIELD_AT(gs_tenant, pattern), "pairs", 0, 0, patterns,
     "pairs: each flow from one place to another; incast: all flows to one place"},
    {"flows", GS_FIELD_INT, GS_FIELD_AT(gs_tenant, flows), "1", 1, FLOWS_MAX, NULL,
     "flows side by side; each has its max-min share beside ours"},
    {"hosts", GS_FIELD_INT, GS_FIELD_AT(gs_tenant, hosts), "0", 0, GS_ENTITIES_MAX, NULL,
     "nodes of its own on the fabric, behind ours and the servers; 0: it runs on ours and shares their nics"},
    {"size", GS_FIELD_BYTES, GS_FIELD_AT(gs_tenant, bytes), "1MiB", 1, 1099511627776.0, NULL,
     "of a message"},
    {"period", GS_FIELD_DURATION, GS_FIELD_AT(gs_tenant, period_ns), "0s", 0, 3.2e16, NULL,
     "from the begin of a flow's message to that of the next, which waits for the one before; 0s: one after the other for ever"},
    {"from", GS_FIELD_INT, GS_FIELD_AT(gs_tenant, from), "-1", -1, GS_ENTITIES_MAX, NULL,
     "of pairs: where all flows begin: one of `hosts` from 0, else the rank whose nic it is; -1: each somewhere by chance"},
    {"to", GS_FIELD_INT, GS_FIELD_AT(gs_tenant, to), "-1", -1, GS_ENTITIES_MAX, NULL,
     "where all flows end, likewise; -1: by chance, of an incast all at one place"},
    {"seed", GS_FIELD_INT, GS_FIELD_AT(gs_tenant, seed), "1", 0, 9007199254740992.0, NULL,
     "of places by chance, and of when in the first period a flow begins; the same in every run"},
};
/* clang-format on */

const gs_field_table gs_scenario_tenant_table =
    GS_SCENARIO_TABLE("cluster.tenants[]", gs_tenant, fields);

/* A place that is said is there, and the other one is on another node. */
static gs_status check_places(const gs_scenario_reader *reader, uint32_t index,
                              const gs_tenant *tenant, gs_error *err)
{
    const gs_scenario *out = reader->out;
    bool own = tenant->hosts > 0;
    int64_t count = own ? tenant->hosts : out->ranks;
    const struct {
        const char *key;
        int64_t value;
    } places[] = {{"from", tenant->from}, {"to", tenant->to}};
    char path[GS_JSON_PATH_BYTES];
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "cluster.tenants[%u].%s", index, places[i].key);
        if (places[i].value >= count) {
            return gs_scenario_fail(reader, GS_EINVAL, path, err,
                                    "%lld is none of its %lld %s, which are 0 to %lld; -1: by "
                                    "chance",
                                    (long long)places[i].value, (long long)count,
                                    own ? "hosts" : "ranks", (long long)count - 1);
        }
    }
    bool is_said = tenant->from >= 0 && tenant->to >= 0;
    bool is_same = is_said && tenant->from == tenant->to;
    if (is_said && !own && gs_cluster_has_nodes(&out->cluster)) {
        is_same = gs_scenario_place_of(out, (uint32_t)tenant->from).node ==
                  gs_scenario_place_of(out, (uint32_t)tenant->to).node;
    }
    if (is_same) {
        return gs_scenario_fail(reader, GS_EINVAL, path, err,
                                "%lld is on the node of from, %lld; flows go between nodes",
                                (long long)tenant->to, (long long)tenant->from);
    }
    return GS_OK;
}

static gs_status check_tenant(const gs_scenario_reader *reader, uint32_t index,
                              const gs_tenant *tenant, gs_error *err)
{
    const gs_scenario *out = reader->out;
    uint32_t nodes = gs_cluster_has_nodes(&out->cluster) ? out->nodes : out->ranks;
    char path[GS_JSON_PATH_BYTES];
    snprintf(path, sizeof path, "cluster.tenants[%u].hosts", index);
    if (tenant->hosts == 1 || (tenant->hosts == 0 && nodes < 2)) {
        return gs_scenario_fail(reader, GS_EINVAL, path, err,
                                "%lld leaves it %s, and flows go between two; give it 2 or more",
                                (long long)tenant->hosts,
                                tenant->hosts == 1 ? "one host" : "our only node");
    }
    if (tenant->pattern == GS_TENANT_INCAST && tenant->from >= 0) {
        snprintf(path, sizeof path, "cluster.tenants[%u].from", index);
        return gs_scenario_fail(reader, GS_EINVAL, path, err,
                                "%lld with pattern \"incast\", which comes from anywhere; say "
                                "\"pairs\", or -1",
                                (long long)tenant->from);
    }
    return check_places(reader, index, tenant, err);
}

gs_status gs_scenario_read_tenants(gs_scenario_reader *reader, gs_error *err)
{
    gs_cluster *cluster = &reader->out->cluster;
    void *items = NULL;
    GS_TRY(gs_scenario_read_list(reader, "cluster.tenants", &gs_scenario_tenant_table, TENANTS_MAX,
                                 &items, &cluster->tenant_count, err));
    cluster->tenants = items;
    double places = (double)reader->out->ranks + (double)reader->servers.count;
    double flows = 0.0;
    for (uint32_t i = 0; i < cluster->tenant_count; i++) {
        const gs_tenant *tenant = &cluster->tenants[i];
        GS_TRY(check_tenant(reader, i, tenant, err));
        places += (double)tenant->hosts;
        flows += (double)tenant->flows;
    }
    if (places > GS_ENTITIES_MAX || flows > FLOWS_MAX) {
        return gs_scenario_fail(reader, GS_EINVAL, "cluster.tenants", err,
                                "make %.0f places with ranks and servers, and %.0f flows; at most "
                                "%d and %d may be: lower hosts or flows",
                                places, flows, GS_ENTITIES_MAX, FLOWS_MAX);
    }
    return GS_OK;
}

bool gs_scenario_write_tenants(const gs_scenario_reader *reader, gs_json *cluster)
{
    const gs_cluster *of = &reader->out->cluster;
    return gs_scenario_put_list(cluster, "tenants", &gs_scenario_tenant_table, of->tenants,
                                of->tenant_count);
}
