#include "strategies/ps_rule.h"

#include "base/assert.h"

void gs_ps_start(gs_ps_server *server, gs_ps_worker *workers, uint32_t ranks)
{
    *server = (gs_ps_server){.ranks = ranks, .at_min = ranks};
    for (uint32_t i = 0; i < ranks; i++) {
        workers[i] = (gs_ps_worker){.version = 0};
    }
}

/* true: the slowest clock has moved. */
static bool tick(gs_ps_server *server, gs_ps_worker *workers, uint32_t worker)
{
    bool was_slowest = workers[worker].clock++ == server->clock_min;
    if (!was_slowest || --server->at_min > 0) {
        return false;
    }
    server->clock_min++;
    for (uint32_t i = 0; i < server->ranks; i++) {
        server->at_min += workers[i].clock == server->clock_min ? 1 : 0;
    }
    return true;
}

static void end_update(gs_ps_server *server, gs_ps_worker *workers)
{
    server->version++;
    server->gathered = 0;
    for (uint32_t i = 0; i < server->ranks; i++) {
        workers[i].gathered = false;
    }
}

gs_ps_verdict gs_ps_arrive(const gs_ps_rule *rule, gs_ps_server *server, gs_ps_worker *workers,
                           uint32_t worker, gs_time_ns at_ns)
{
    gs_ps_worker *from = &workers[worker];
    GS_ASSERT(worker < server->ranks);
    GS_ASSERT(!from->waits);
    gs_ps_verdict verdict = {.staleness = server->version - from->version};
    from->interval_ns = from->clock > 0 ? at_ns - from->pushed_ns : 0;
    from->pushed_ns = at_ns;
    from->waits = true;
    from->refused = false;
    verdict.wakes_others = tick(server, workers, worker) && rule->wait == GS_PS_WAIT_CLOCK;
    if (verdict.staleness > rule->delay_max) {
        verdict.dropped = true;
        server->dropped++;
        return verdict;
    }
    server->taken++;
    server->staleness += verdict.staleness;
    from->gathered = true;
    verdict.updates = ++server->gathered == rule->gather;
    if (verdict.updates) {
        verdict.wakes_others |= rule->wait == GS_PS_WAIT_UPDATE;
        if (rule->gather == 1) { /* the common case of large jobs: no walk over all workers */
            server->version++;
            server->gathered = 0;
            from->gathered = false;
        } else {
            end_update(server, workers);
        }
    }
    return verdict;
}

/* ---------------------------------------------------------------- waiting for the slowest */

static uint32_t slowest(const gs_ps_server *server, const gs_ps_worker *workers)
{
    uint32_t found = 0;
    while (workers[found].clock != server->clock_min) {
        found++;
    }
    return found;
}

/* The controller of DSSP (Zhao et al. 2019, algorithm 2): from the last intervals it predicts when
 * this worker will have made r more steps, r = 0 to `most`, and when the slowest will push, and
 * returns the r after which the wait for that push is shortest. */
static int64_t best_extra(const gs_ps_worker *worker, const gs_ps_worker *slow, int64_t most)
{
    if (worker->interval_ns <= 0 || slow->interval_ns <= 0) {
        return 0;
    }
    int64_t best = 0;
    gs_time_ns best_wait = INT64_MAX;
    for (int64_t r = 0; r <= most; r++) {
        gs_time_ns own = worker->pushed_ns + r * worker->interval_ns;
        gs_time_ns next = slow->pushed_ns + slow->interval_ns;
        if (next < own) {
            next += (own - next + slow->interval_ns - 1) / slow->interval_ns * slow->interval_ns;
        }
        if (next - own < best_wait) {
            best_wait = next - own;
            best = r;
        }
    }
    return best;
}

static bool may_run_ahead(const gs_ps_rule *rule, const gs_ps_server *server, gs_ps_worker *workers,
                          uint32_t worker)
{
    gs_ps_worker *asked = &workers[worker];
    int64_t ahead = asked->clock - server->clock_min;
    if (ahead <= rule->ahead_min) {
        asked->extra = 0;
        return true;
    }
    if (asked->extra == 0 && ahead <= rule->ahead_max && !asked->refused) {
        const gs_ps_worker *slow = &workers[slowest(server, workers)];
        asked->extra = best_extra(asked, slow, rule->ahead_max - ahead + 1);
    }
    asked->refused = asked->extra == 0;
    asked->extra -= asked->refused ? 0 : 1;
    return !asked->refused;
}

bool gs_ps_may_go(const gs_ps_rule *rule, const gs_ps_server *server, gs_ps_worker *workers,
                  uint32_t worker)
{
    if (!workers[worker].waits) {
        return false;
    }
    switch (rule->wait) {
    case GS_PS_WAIT_NONE:
        return true;
    case GS_PS_WAIT_UPDATE:
        return !workers[worker].gathered;
    case GS_PS_WAIT_CLOCK:
        return may_run_ahead(rule, server, workers, worker);
    }
    GS_ASSERT(false && "no such wait");
    return false;
}

void gs_ps_go(const gs_ps_server *server, gs_ps_worker *worker)
{
    worker->waits = false;
    worker->outdated = false;
    worker->version = server->version;
}

bool gs_ps_must_restart(const gs_ps_rule *rule, const gs_ps_server *server, gs_ps_worker *worker)
{
    if (!rule->restarts || worker->waits || worker->outdated ||
        worker->version == server->version) {
        return false;
    }
    worker->outdated = true;
    worker->told++;
    return true;
}

void gs_ps_ask(gs_ps_worker *worker)
{
    GS_ASSERT(!worker->waits);
    worker->waits = true;
}

bool gs_ps_flush(gs_ps_server *server, gs_ps_worker *workers)
{
    if (server->gathered == 0) {
        return false;
    }
    end_update(server, workers);
    return true;
}
