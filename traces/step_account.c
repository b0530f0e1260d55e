#include "traces/step_account.h"

#include "base/assert.h"

#include <string.h>

void gs_step_account_init(gs_step_account *account, int32_t rank, const gs_group_ops *ops,
                          gs_arena *arena)
{
    *account = (gs_step_account){.row.rank = rank, .ops = ops, .arena = arena};
}

void gs_step_account_begin(gs_step_account *account, int64_t step, gs_time_ns at)
{
    GS_ASSERT(at >= account->marked_ns);
    account->row = (gs_step_row){.step = step, .rank = account->row.rank, .start_ns = at};
    account->marked_ns = at;
}

bool gs_step_account_communicates(const gs_step_account *account, gs_time_ns at)
{
    for (uint32_t i = 0; i < account->span_count; i++) {
        const gs_span *span = &account->spans[i];
        bool begun = span->from_ns <= at && (span->open || span->to_ns > at);
        if ((span->kind == GS_SPAN_OP && (span->open || begun)) ||
            (span->kind == GS_SPAN_SEND && begun)) {
            return true;
        }
    }
    return false;
}

void gs_step_account_span(gs_step_account *account, gs_span span)
{
    if (span.to_ns <= account->marked_ns || span.to_ns <= span.from_ns) {
        return;
    }
    if (account->span_count == account->span_capacity) {
        uint32_t capacity = account->span_capacity == 0 ? 8 : 2 * account->span_capacity;
        gs_span *grown = GS_PACK(account->arena, gs_span, capacity);
        if (grown == NULL) {
            account->out_of_memory = true;
            return;
        }
        if (account->span_count > 0) {
            memcpy(grown, account->spans, account->span_count * sizeof *grown);
        }
        account->spans = grown;
        account->span_capacity = capacity;
    }
    uint32_t place = account->span_count++;
    while (place > 0 && account->spans[place - 1].from_ns > span.from_ns) {
        account->spans[place] = account->spans[place - 1];
        place--;
    }
    account->spans[place] = span;
}

void gs_step_account_op_start(gs_step_account *account, uint32_t communicator, uint64_t sequence,
                              gs_time_ns at)
{
    gs_step_account_span(account, (gs_span){.kind = GS_SPAN_OP,
                                            .open = true,
                                            .communicator = (uint16_t)communicator,
                                            .sequence = sequence,
                                            .from_ns = at,
                                            .to_ns = GS_TIME_NEVER});
}

void gs_step_account_op_end(gs_step_account *account, uint32_t communicator, uint64_t sequence,
                            gs_time_ns last_start_ns, gs_time_ns at)
{
    for (uint32_t i = 0; i < account->span_count; i++) {
        gs_span *span = &account->spans[i];
        if (span->kind == GS_SPAN_OP && span->open && span->communicator == communicator &&
            span->sequence == sequence) {
            span->open = false;
            span->to_ns = at;
            span->last_start_ns = last_start_ns;
            return;
        }
    }
    GS_ASSERT(account->out_of_memory);
}

void gs_step_account_send_start(gs_step_account *account, uint32_t slot, gs_time_ns at)
{
    gs_step_account_span(account, (gs_span){.kind = GS_SPAN_SEND,
                                            .open = true,
                                            .sequence = slot,
                                            .from_ns = at,
                                            .to_ns = GS_TIME_NEVER});
}

void gs_step_account_send_end(gs_step_account *account, uint32_t slot, gs_time_ns at)
{
    for (uint32_t i = 0; i < account->span_count; i++) {
        gs_span *span = &account->spans[i];
        if (span->kind == GS_SPAN_SEND && span->open && span->sequence == slot) {
            span->open = false;
            span->to_ns = at;
            return;
        }
    }
    GS_ASSERT(account->out_of_memory);
}

static gs_time_ns last_start(const gs_step_account *account, const gs_span *span)
{
    return span->open ? gs_group_ops_last_start(account->ops, (uint32_t)account->row.rank,
                                                span->communicator, span->sequence)
                      : span->last_start_ns;
}

static gs_time_ns later(gs_time_ns a, gs_time_ns b)
{
    return a > b ? a : b;
}

static gs_time_ns earlier(gs_time_ns a, gs_time_ns b)
{
    return a < b ? a : b;
}

typedef struct cover {
    bool kernel, code, wire, wait;
    gs_time_ns until_ns; /* nothing changes before */
} cover;

/* What covers [from, cover.until). */
static cover look(const gs_step_account *account, gs_time_ns from_ns, gs_time_ns to_ns)
{
    cover found = {.until_ns = to_ns};
    for (uint32_t i = 0; i < account->span_count; i++) {
        const gs_span *span = &account->spans[i];
        if (span->from_ns > from_ns) {
            found.until_ns = earlier(found.until_ns, span->from_ns);
            break;
        }
        if (span->to_ns <= from_ns) {
            continue;
        }
        found.until_ns = earlier(found.until_ns, span->to_ns);
        if (span->kind == GS_SPAN_OP) {
            gs_time_ns begun_ns = last_start(account, span);
            if (begun_ns <= from_ns) {
                found.wire = true;
            } else {
                found.wait = true;
                found.until_ns = earlier(found.until_ns, begun_ns);
            }
        } else if (span->kind == GS_SPAN_KERNEL) {
            found.kernel = true;
        } else if (span->kind == GS_SPAN_CODE) {
            found.code = true;
        } else if (span->kind == GS_SPAN_SEND) {
            found.wire = true;
        }
    }
    found.wire = found.wire && !found.code;
    found.wait = found.wait && !found.code;
    return found;
}

static void tell(gs_step_account *account, gs_timeline_kind kind, gs_time_ns from_ns,
                 gs_time_ns to_ns)
{
    gs_timeline_add_span(account->timeline, (gs_timeline_span){.kind = kind,
                                                               .rank = (uint32_t)account->row.rank,
                                                               .unit = GS_TIMELINE_NO_UNIT,
                                                               .step = account->row.step,
                                                               .from_ns = from_ns,
                                                               .to_ns = to_ns});
}

static gs_timeline_kind kind_of(cover found)
{
    return found.kernel ? GS_TIMELINE_OPTIMIZER
           : found.wire ? GS_TIMELINE_EXPOSED
           : found.wait ? GS_TIMELINE_LATE
                        : GS_TIMELINE_OVERHEAD;
}

/* Gives [marked, to) its parts. A busy rank hides what is under way: only the union of ops on the
 * wire is counted then. */
static void mark(gs_step_account *account, gs_time_ns to_ns, gs_time_ns *busy)
{
    while (account->marked_ns < to_ns) {
        cover found = look(account, account->marked_ns, to_ns);
        gs_time_ns length = found.until_ns - account->marked_ns;
        GS_ASSERT(length > 0);
        account->row.comm_ns += found.wire ? length : 0;
        if (busy != NULL) {
            *busy += length;
        } else if (found.kernel) {
            account->row.compute_ns += length;
        } else if (found.wire) {
            account->row.exposed_comm_ns += length;
        } else if (found.wait) {
            account->row.wait_ns += length;
        } else {
            account->row.overhead_ns += length;
        }
        if (busy == NULL && account->timeline != NULL) {
            tell(account, kind_of(found), account->marked_ns, found.until_ns);
        }
        account->marked_ns = found.until_ns;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < account->span_count; i++) {
        if (account->spans[i].to_ns > account->marked_ns) {
            if (kept < i) {
                account->spans[kept] = account->spans[i];
            }
            kept++;
        }
    }
    account->span_count = kept;
}

static void mark_busy(gs_step_account *account, gs_time_ns from_ns, gs_time_ns to_ns,
                      gs_time_ns *busy)
{
    GS_ASSERT(from_ns >= account->marked_ns && to_ns >= from_ns);
    mark(account, from_ns, NULL);
    mark(account, to_ns, busy);
}

void gs_step_account_compute(gs_step_account *account, gs_time_ns from_ns, gs_time_ns to_ns)
{
    mark_busy(account, from_ns, to_ns, &account->row.compute_ns);
}

void gs_step_account_input(gs_step_account *account, gs_time_ns from_ns, gs_time_ns to_ns)
{
    mark_busy(account, from_ns, to_ns, &account->row.input_ns);
    if (account->timeline != NULL) {
        tell(account, GS_TIMELINE_INPUT, from_ns, to_ns);
    }
}

gs_step_row gs_step_account_end(gs_step_account *account, gs_time_ns at)
{
    mark(account, later(at, account->marked_ns), NULL);
    gs_step_row *row = &account->row;
    row->duration_ns = account->marked_ns - row->start_ns;
    GS_ASSERT(row->compute_ns + row->exposed_comm_ns + row->wait_ns + row->input_ns +
                  row->overhead_ns ==
              row->duration_ns);
    return *row;
}
