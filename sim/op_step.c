#include "sim/op_step.h"

#include "base/assert.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum peers { PEERS_ALONE, PEERS_PAIR, PEERS_STAGE, PEERS_ENDS, PEERS_ALL } peers;

static const peers PEERS[] = {
#define GS_OP_KIND(name, text, lane, peers, share) PEERS_##peers,
#include "sim/op_kinds.def"
#undef GS_OP_KIND
};

bool gs_op_step_take(gs_op_step *step, uint32_t longest, gs_arena *arena)
{
    step->before = gs_arena_take(arena, longest, sizeof *step->before);
    step->order = GS_TAKE(arena, uint32_t, longest);
    step->place = GS_TAKE(arena, uint32_t, longest);
    step->group_first = GS_TAKE(arena, uint32_t, (size_t)longest + 1);
    step->members = GS_TAKE(arena, gs_op_member, longest);
    step->by_sequence = GS_TAKE(arena, uint32_t, (size_t)longest * GS_OP_KIND_COUNT);
    step->group = GS_TAKE(arena, uint32_t, longest);
    step->open = GS_TAKE(arena, uint32_t, longest);
    step->first = GS_TAKE(arena, uint32_t, (size_t)longest + 1);
    step->waiter_first = GS_TAKE(arena, uint32_t, (size_t)longest + 1);
    step->waiters = GS_TAKE(arena, uint32_t, (size_t)longest * GS_OP_BEFORE_MAX);
    step->queue = GS_TAKE(arena, uint32_t, longest);
    return step->before != NULL && step->order != NULL && step->place != NULL &&
           step->group_first != NULL && step->members != NULL && step->by_sequence != NULL &&
           step->group != NULL && step->open != NULL && step->first != NULL &&
           step->waiter_first != NULL && step->waiters != NULL && step->queue != NULL;
}

static bool cannot(gs_op_step *step, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool cannot(gs_op_step *step, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(step->reason, sizeof step->reason, format, arguments);
    va_end(arguments);
    return false;
}

/* --- within a rank --------------------------------------------------------------------------- */

/* The entries [first, end) of one worker and what was found among them. */
typedef struct worker_view {
    uint32_t first;
    uint32_t end;
    uint32_t stage;
    uint32_t dp_rank;
    uint32_t first_compute; /* 1 + entry, as all below; of a micro-batch */
    uint32_t last_compute;
    uint32_t gather;           /* last of parameters before the first compute */
    uint32_t first_collective; /* that is no gather */
    uint32_t last_collective;
} worker_view;

/* 1 + entry of a kind by its sequence; 0: there is none. */
static uint32_t *slot(const gs_op_step *step, const worker_view *worker, uint32_t kind,
                      uint32_t sequence)
{
    uint32_t width = worker->end - worker->first;
    return &step->by_sequence[kind * width + sequence];
}

static void wait_for(gs_op_step *step, uint32_t entry, uint32_t waited)
{
    uint32_t *before = step->before[entry];
    int at = before[0] == 0 ? 0 : before[1] == 0 ? 1 : 2;
    GS_ASSERT(before[at] == 0);
    before[at] = waited;
}

static bool index_worker(gs_op_step *step, worker_view *worker)
{
    uint32_t lanes[GS_OP_LANE_COUNT] = {0};
    uint32_t width = worker->end - worker->first;
    memset(step->by_sequence, 0, sizeof *step->by_sequence * width * GS_OP_KIND_COUNT);
    for (uint32_t i = worker->first; i < worker->end; i++) {
        const gs_op_entry *entry = &step->entries[i];
        if (entry->sequence >= width || *slot(step, worker, entry->kind, entry->sequence) != 0) {
            return cannot(step, "dp_rank %u stage %u has %s %u %s", worker->dp_rank, worker->stage,
                          gs_op_kind_name(entry->kind), entry->sequence,
                          entry->sequence >= width ? "but not those before it" : "twice");
        }
        *slot(step, worker, entry->kind, entry->sequence) = i + 1;
        memset(step->before[i], 0, sizeof step->before[i]);
        wait_for(step, i, lanes[entry->lane]);
        lanes[entry->lane] = i + 1;
        if (entry->kind == GS_OP_FORWARD_COMPUTE || entry->kind == GS_OP_BACKWARD_COMPUTE) {
            worker->first_compute = worker->first_compute == 0 ? i + 1 : worker->first_compute;
            worker->last_compute = i + 1;
        } else if (entry->kind == GS_OP_PARAMS_GATHER) {
            worker->gather = worker->first_compute == 0 ? i + 1 : worker->gather;
        } else if (entry->lane == GS_OP_LANE_COLLECTIVE) {
            bool none = worker->first_collective == 0;
            worker->first_collective = none ? i + 1 : worker->first_collective;
            worker->last_collective = i + 1;
        }
    }
    if (worker->first_compute == 0) {
        return cannot(step, "dp_rank %u stage %u computes nothing", worker->dp_rank, worker->stage);
    }
    return true;
}

/* 1 + the entry of a kind, which there must be because `entry` is there; 0: there is none. */
static uint32_t partner(gs_op_step *step, const worker_view *worker, uint32_t entry,
                        gs_op_kind kind, uint32_t sequence)
{
    uint32_t found = *slot(step, worker, kind, sequence);
    if (found == 0) {
        cannot(step, "dp_rank %u stage %u has %s %u but no %s %u", worker->dp_rank, worker->stage,
               gs_op_kind_name(step->entries[entry].kind), step->entries[entry].sequence,
               gs_op_kind_name(kind), sequence);
    }
    return found;
}

/* Edges between lanes for an op of a micro-batch, all of whose ops must be there. */
static bool link_micro_batch(gs_op_step *step, const worker_view *worker, uint32_t entry)
{
    gs_op_kind kind = step->entries[entry].kind;
    uint32_t sequence = step->entries[entry].sequence;
    bool is_forward =
        kind == GS_OP_FORWARD_COMPUTE || kind == GS_OP_FORWARD_SEND || kind == GS_OP_FORWARD_RECV;
    gs_op_kind compute = is_forward ? GS_OP_FORWARD_COMPUTE : GS_OP_BACKWARD_COMPUTE;
    gs_op_kind other = is_forward ? GS_OP_BACKWARD_COMPUTE : GS_OP_FORWARD_COMPUTE;
    gs_op_kind receive = is_forward ? GS_OP_FORWARD_RECV : GS_OP_BACKWARD_RECV;
    bool is_source = worker->stage == (is_forward ? 0 : step->stage_count - 1);
    uint32_t waited = partner(step, worker, entry, kind == compute ? other : compute, sequence);
    if (waited == 0) {
        return false;
    }
    if ((kind == compute && is_source) || (kind == receive && sequence == 0)) {
        return true;
    }
    if (kind == compute) {
        waited = partner(step, worker, entry, receive, sequence);
    } else if (kind == receive) {
        waited = partner(step, worker, entry, compute, sequence - 1);
    }
    wait_for(step, entry, waited);
    return waited != 0;
}

static bool link_worker(gs_op_step *step, worker_view *worker)
{
    if (!index_worker(step, worker)) {
        return false;
    }
    for (uint32_t i = worker->first; i < worker->end; i++) {
        uint8_t kind = step->entries[i].kind;
        bool of_micro_batch = PEERS[kind] == PEERS_PAIR || kind == GS_OP_FORWARD_COMPUTE ||
                              kind == GS_OP_BACKWARD_COMPUTE;
        if (of_micro_batch && !link_micro_batch(step, worker, i)) {
            return false;
        }
        if (kind == GS_OP_OPTIMIZER) {
            wait_for(step, i, worker->last_collective);
        }
    }
    wait_for(step, worker->first_compute - 1, worker->gather);
    if (worker->first_collective != 0) {
        wait_for(step, worker->first_collective - 1, worker->last_compute);
    }
    return true;
}

static bool link_workers(gs_op_step *step)
{
    uint32_t expected = 0;
    for (uint32_t first = 0, end = 0; first < step->count; first = end, expected++) {
        while (end < step->count && step->entries[end].worker == step->entries[first].worker) {
            end++;
        }
        worker_view worker = {.first = first,
                              .end = end,
                              .stage = step->entries[first].worker % step->stage_count,
                              .dp_rank = step->entries[first].worker / step->stage_count};
        if (step->entries[first].worker != expected) {
            break;
        }
        if (!link_worker(step, &worker)) {
            return false;
        }
    }
    if (expected < step->dp_count * step->stage_count) {
        return cannot(step, "dp_rank %u stage %u has no rows in it", expected / step->stage_count,
                      expected % step->stage_count);
    }
    return true;
}

/* --- between ranks --------------------------------------------------------------------------- */

/* Equal for ops done together: kind, the group's place, sequence. false: not an op of this stage.
 */
static bool member_key(const gs_op_step *step, const gs_op_entry *entry, uint64_t *out)
{
    uint64_t kind = entry->kind;
    uint64_t place = 0;
    uint32_t last = step->stage_count - 1;
    bool fits = true;
    switch (PEERS[entry->kind]) {
    case PEERS_PAIR:
        kind = (uint64_t)gs_op_kind_share(entry->kind);
        place = entry->worker;
        if (entry->kind == GS_OP_FORWARD_SEND || entry->kind == GS_OP_BACKWARD_RECV) {
            fits = entry->stage < last;
            place += entry->kind == GS_OP_BACKWARD_RECV ? 1 : 0;
        } else {
            fits = entry->stage > 0;
            place -= entry->kind == GS_OP_FORWARD_RECV ? 1 : 0;
        }
        break;
    case PEERS_STAGE:
        place = entry->stage;
        break;
    case PEERS_ENDS:
        place = entry->worker / step->stage_count;
        fits = entry->stage == 0 || entry->stage == last;
        break;
    case PEERS_ALL:
    case PEERS_ALONE:
        break;
    }
    *out = kind << 56 | place << 28 | entry->sequence;
    return fits;
}

static uint32_t members_wanted(const gs_op_step *step, uint8_t kind)
{
    switch (PEERS[kind]) {
    case PEERS_PAIR:
        return 2;
    case PEERS_STAGE:
        return step->dp_count;
    case PEERS_ENDS:
        return step->stage_count > 1 ? 2 : 1;
    case PEERS_ALL:
        return step->dp_count * step->stage_count;
    case PEERS_ALONE:
        break;
    }
    return 1;
}

static int by_key(const void *left, const void *right)
{
    const gs_op_member *a = left;
    const gs_op_member *b = right;
    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return (a->node > b->node) - (a->node < b->node);
}

/* Puts each entry into its group: members sorted by group, first [group_count + 1]. */
static bool find_groups(gs_op_step *step)
{
    enum { ALONE_BIT = 63 };
    for (uint32_t i = 0; i < step->count; i++) {
        const gs_op_entry *entry = &step->entries[i];
        uint64_t key = UINT64_C(1) << ALONE_BIT | i;
        if (PEERS[entry->kind] != PEERS_ALONE && !member_key(step, entry, &key)) {
            return cannot(step, "stage %u of %u has %s, which it has no peer for", entry->stage,
                          step->stage_count, gs_op_kind_name(entry->kind));
        }
        step->members[i] = (gs_op_member){key, i};
    }
    qsort(step->members, step->count, sizeof *step->members, by_key);
    step->group_count = 0;
    for (uint32_t i = 0, end = 0; i < step->count; i = end) {
        const gs_op_entry *entry = &step->entries[step->members[i].node];
        while (end < step->count && step->members[end].key == step->members[i].key) {
            step->group[step->members[end++].node] = step->group_count;
        }
        uint32_t wanted = members_wanted(step, entry->kind);
        if (end - i != wanted) {
            return cannot(step, "%s %u of dp_rank %u stage %u has %u of %u members",
                          gs_op_kind_name(entry->kind), entry->sequence,
                          entry->worker / step->stage_count, entry->stage, end - i, wanted);
        }
        step->first[step->group_count++] = i;
    }
    step->first[step->group_count] = step->count;
    return true;
}

/* --- the order ------------------------------------------------------------------------------- */

/* For each entry the groups that wait for it; for each group how many edges lead into it. */
static void list_waiters(gs_op_step *step)
{
    memset(step->waiter_first, 0, sizeof *step->waiter_first * ((size_t)step->count + 1));
    memset(step->open, 0, sizeof *step->open * step->group_count);
    for (uint32_t i = 0; i < step->count; i++) {
        for (int b = 0; b < GS_OP_BEFORE_MAX && step->before[i][b] != 0; b++) {
            step->waiter_first[step->before[i][b]]++; /* of entry before - 1, one place on */
            step->open[step->group[i]]++;
        }
    }
    for (uint32_t i = 0; i < step->count; i++) {
        step->waiter_first[i + 1] += step->waiter_first[i];
    }
    /* Filled from the back, with place as the count of those still to come. */
    for (uint32_t i = 0; i < step->count; i++) {
        step->place[i] = step->waiter_first[i + 1];
    }
    for (uint32_t i = step->count; i > 0; i--) {
        for (int b = 0; b < GS_OP_BEFORE_MAX && step->before[i - 1][b] != 0; b++) {
            uint32_t waited = step->before[i - 1][b] - 1;
            step->waiters[--step->place[waited]] = step->group[i - 1];
        }
    }
}

static bool find_order(gs_op_step *step)
{
    list_waiters(step);
    uint32_t queued = 0;
    uint32_t placed = 0;
    for (uint32_t g = 0; g < step->group_count; g++) {
        if (step->open[g] == 0) {
            step->queue[queued++] = g;
        }
    }
    for (uint32_t at = 0; at < queued; at++) {
        uint32_t group = step->queue[at];
        step->group_first[at] = placed;
        for (uint32_t m = step->first[group]; m < step->first[group + 1]; m++) {
            uint32_t node = step->members[m].node;
            step->place[node] = placed;
            step->order[placed++] = node;
            for (uint32_t w = step->waiter_first[node]; w < step->waiter_first[node + 1]; w++) {
                if (--step->open[step->waiters[w]] == 0) {
                    step->queue[queued++] = step->waiters[w];
                }
            }
        }
    }
    step->group_first[queued] = placed;
    if (queued < step->group_count) {
        uint32_t stuck = 0;
        while (step->open[step->group[stuck]] == 0) {
            stuck++;
        }
        const gs_op_entry *entry = &step->entries[stuck];
        return cannot(step, "%s %u of dp_rank %u stage %u waits for itself over other ops",
                      gs_op_kind_name(entry->kind), entry->sequence,
                      entry->worker / step->stage_count, entry->stage);
    }
    return true;
}

bool gs_op_step_make(gs_op_step *step)
{
    return link_workers(step) && find_groups(step) && find_order(step);
}
