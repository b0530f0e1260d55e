#include "live/live_log.h"

#include "traces/step_account.h"

#include <stdlib.h>
#include <string.h>

static bool make_room(gs_live_log *log, size_t more)
{
    size_t capacity = log->capacity == 0 ? 1024 : log->capacity;
    while (capacity < log->count + more) {
        capacity *= 2;
    }
    if (capacity == log->capacity) {
        return true;
    }
    gs_live_entry *grown = realloc(log->entries, capacity * sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    log->entries = grown;
    log->capacity = capacity;
    return true;
}

bool gs_live_log_append(gs_live_log *log, const gs_live_entry *entries, size_t count)
{
    if (count == 0) {
        return true;
    }
    if (!make_room(log, count)) {
        return false;
    }
    memcpy(log->entries + log->count, entries, count * sizeof *entries);
    log->count += count;
    return true;
}

bool gs_live_log_add(gs_live_log *log, const gs_live_entry *entry)
{
    return gs_live_log_append(log, entry, 1);
}

void gs_live_log_fini(gs_live_log *log)
{
    free(log->entries);
    *log = (gs_live_log){0};
}

/* ---------------------------------------------------------------- rows */

typedef struct rank_rows {
    gs_step_account account;
    int64_t step; /* under way; -1: none was begun */
    int64_t bytes_before;
    gs_live_entry turn; /* that ends the row under way, while it is due */
    gs_time_ns turn_ns; /* when */
    bool is_due;
} rank_rows;

typedef struct log_reading {
    gs_group_ops ops;
    rank_rows *ranks;
    gs_record *record;
    gs_time_ns end_ns;
} log_reading;

/* By time; at one time by rank, and in the order in which the rank wrote. */
static int compare(const void *left, const void *right)
{
    const gs_live_entry *a = left, *b = right;
    if (a->at_ns != b->at_ns) {
        return a->at_ns < b->at_ns ? -1 : 1;
    }
    return a->rank != b->rank ? (a->rank < b->rank ? -1 : 1) : (int)a->act - (int)b->act;
}

static gs_status close_row(log_reading *reading, rank_rows *rows)
{
    gs_step_row row = gs_step_account_end(&rows->account, rows->turn_ns);
    row.bytes_sent = rows->turn.amount - rows->bytes_before;
    rows->bytes_before = rows->turn.amount;
    return gs_record_step(reading->record, &row);
}

static gs_status turn(log_reading *reading, rank_rows *rows)
{
    if (!rows->is_due) {
        return GS_OK;
    }
    rows->is_due = false;
    if (rows->step >= 0) {
        GS_TRY(close_row(reading, rows));
    }
    if (rows->turn.act == GS_ACT_DRAINED) {
        reading->end_ns = rows->turn_ns > reading->end_ns ? rows->turn_ns : reading->end_ns;
        rows->step = -1;
        return GS_OK;
    }
    rows->step = rows->step < 0 ? 0 : rows->step + 1;
    gs_step_account_begin(&rows->account, rows->step, rows->turn_ns);
    return GS_OK;
}

/* A row ends when the optimizer of its step has: what happens until then is still told first. */
static gs_status step(log_reading *reading, rank_rows *rows, const gs_live_entry *entry)
{
    GS_TRY(turn(reading, rows));
    rows->turn = *entry;
    rows->turn_ns = entry->from_ns > entry->at_ns ? entry->from_ns : entry->at_ns;
    rows->is_due = true;
    return GS_OK;
}

/* Of an op its group knows who came last; the rest was compared while the run went. */
static gs_status op(log_reading *reading, rank_rows *rows, const gs_live_entry *entry,
                    gs_error *err)
{
    gs_op_signature signature = {.communicator = entry->which, .sequence = (uint64_t)entry->amount};
    if (entry->act == GS_ACT_OP_START) {
        GS_TRY(gs_group_ops_issue(&reading->ops, entry->rank, &signature, err));
        (void)gs_group_ops_start(&reading->ops, entry->rank, &signature, entry->at_ns);
        gs_step_account_op_start(&rows->account, entry->which, signature.sequence, entry->at_ns);
        return GS_OK;
    }
    gs_time_ns last = gs_group_ops_end(&reading->ops, entry->rank, &signature);
    gs_step_account_op_end(&rows->account, entry->which, signature.sequence, last, entry->at_ns);
    return GS_OK;
}

/* What has been given its part already stays as it is. */
static gs_time_ns not_marked(const rank_rows *rows, gs_time_ns at_ns)
{
    return at_ns > rows->account.marked_ns ? at_ns : rows->account.marked_ns;
}

static gs_status read_entry(log_reading *reading, const gs_live_entry *entry, gs_error *err)
{
    rank_rows *rows = &reading->ranks[entry->rank];
    gs_step_account *account = &rows->account;
    if (entry->at_ns >= rows->turn_ns) {
        GS_TRY(turn(reading, rows));
    }
    switch ((gs_live_act)entry->act) {
    case GS_ACT_STEP:
    case GS_ACT_DRAINED:
        return step(reading, rows, entry);
    case GS_ACT_COMPUTE:
        gs_step_account_compute(account, not_marked(rows, entry->from_ns),
                                not_marked(rows, entry->to_ns));
        return GS_OK;
    case GS_ACT_INPUT:
        gs_step_account_input(account, not_marked(rows, entry->from_ns),
                              not_marked(rows, entry->to_ns));
        return GS_OK;
    case GS_ACT_KERNEL:
    case GS_ACT_CODE:
        gs_step_account_span(
            account, (gs_span){.kind = entry->act == GS_ACT_CODE ? GS_SPAN_CODE : GS_SPAN_KERNEL,
                               .from_ns = entry->from_ns,
                               .to_ns = entry->to_ns});
        return GS_OK;
    case GS_ACT_OP_START:
    case GS_ACT_OP_END:
        return op(reading, rows, entry, err);
    case GS_ACT_SEND_START:
        gs_step_account_send_start(account, entry->which, entry->at_ns);
        return GS_OK;
    case GS_ACT_SEND_END:
        gs_step_account_send_end(account, entry->which, entry->at_ns);
        return GS_OK;
    }
    return GS_OK;
}

gs_status gs_live_log_rows(gs_live_log *log, const gs_layout *layout, uint32_t ranks,
                           gs_record *record, gs_time_ns *out_end_ns, gs_error *err)
{
    gs_arena arena;
    gs_layout unordered = *layout;
    unordered.ordered = false; /* starts say nothing of the order of issue, which drivers checked */
    gs_arena_init(&arena);
    log_reading reading = {.record = record, .ranks = GS_TAKE(&arena, rank_rows, ranks)};
    gs_status status = GS_OK;
    if (reading.ranks == NULL || !gs_group_ops_init(&reading.ops, &unordered, ranks, &arena)) {
        status = gs_fail(err, GS_ENOMEM, "no memory for the steps of %u ranks", ranks);
    }
    for (uint32_t rank = 0; status == GS_OK && rank < ranks; rank++) {
        reading.ranks[rank].step = -1;
        gs_step_account_init(&reading.ranks[rank].account, (int32_t)rank, &reading.ops, &arena);
    }
    if (log->count > 0) {
        qsort(log->entries, log->count, sizeof *log->entries, compare);
    }
    for (size_t i = 0; status == GS_OK && i < log->count; i++) {
        status = read_entry(&reading, &log->entries[i], err);
    }
    for (uint32_t rank = 0; status == GS_OK && rank < ranks; rank++) {
        status = turn(&reading, &reading.ranks[rank]);
    }
    if (status == GS_ENOMEM) {
        (void)gs_fail(err, GS_ENOMEM, "no memory for the step rows of the run");
    }
    *out_end_ns = reading.end_ns;
    gs_arena_fini(&arena);
    return status;
}
