#include "traces/group_ops.h"

#include "base/assert.h"
#include "strategies/collective.h"
#include "strategies/group.h"

#include <string.h>

static gs_group_op_line *order_line(const gs_group_ops *ops)
{
    return &ops->lines[ops->line_count];
}

static gs_group_op_line *blocking_line(const gs_group_ops *ops)
{
    return &ops->lines[ops->line_count + 1];
}

uint32_t gs_group_ops_line(const gs_group_ops *ops, uint32_t member, uint32_t communicator)
{
    return ops->first_lines[communicator] +
           gs_group_index(ops->layout->communicators[communicator].group, ops->ranks, member);
}

static gs_group_op_line *line_of(const gs_group_ops *ops, uint32_t member, uint32_t communicator)
{
    return &ops->lines[gs_group_ops_line(ops, member, communicator)];
}

bool gs_group_ops_init(gs_group_ops *ops, const gs_layout *layout, uint32_t ranks, gs_arena *arena)
{
    *ops = (gs_group_ops){.ranks = ranks, .layout = layout, .arena = arena};
    for (uint32_t i = 0; i < layout->communicator_count; i++) {
        ops->first_lines[i] = ops->line_count;
        ops->line_count += gs_group_count(layout->communicators[i].group, ranks);
    }
    ops->lines = GS_TAKE(arena, gs_group_op_line, (size_t)ops->line_count + 2);
    if (ops->lines == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < layout->communicator_count; i++) {
        gs_group group = layout->communicators[i].group;
        for (uint32_t j = 0; j < gs_group_count(group, ranks); j++) {
            ops->lines[ops->first_lines[i] + j].members = gs_group_size(group, ranks);
        }
    }
    order_line(ops)->members = blocking_line(ops)->members = ranks;
    return true;
}

static gs_group_op *find(const gs_group_op_line *line, uint64_t number)
{
    GS_ASSERT(number >= line->base && number < line->base + line->count);
    return &line->records[number & (line->capacity - 1)];
}

static bool grow(gs_group_ops *ops, gs_group_op_line *line)
{
    uint32_t capacity = line->capacity == 0 ? 8 : 2 * line->capacity;
    gs_group_op *records = GS_TAKE(ops->arena, gs_group_op, capacity);
    if (records == NULL) {
        return false;
    }
    for (uint64_t number = line->base; number < line->base + line->count; number++) {
        records[number & (capacity - 1)] = *find(line, number);
    }
    line->records = records;
    line->capacity = capacity;
    return true;
}

/* The record of that number, made by the first member that comes to it; NULL: no memory. */
static gs_group_op *open(gs_group_ops *ops, gs_group_op_line *line, uint64_t number,
                         uint32_t member, const gs_op_signature *signature)
{
    if (number < line->base + line->count) {
        return find(line, number);
    }
    GS_ASSERT(number == line->base + line->count);
    if (line->count == line->capacity && !grow(ops, line)) {
        return NULL;
    }
    line->count++;
    gs_group_op *opened = find(line, number);
    *opened = (gs_group_op){
        .signature = *signature, .first_member = member, .last_start_ns = GS_TIME_NEVER};
    return opened;
}

static void close_ended(gs_group_op_line *line)
{
    while (line->count > 0 && find(line, line->base)->ended == line->members) {
        line->base++;
        line->count--;
    }
}

static gs_status check_order(gs_group_ops *ops, uint32_t member, const gs_op_signature *signature,
                             gs_error *err)
{
    gs_group_op *op = open(ops, order_line(ops), signature->order, member, signature);
    if (op == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory for the records of collectives");
    }
    if (op->signature.communicator != signature->communicator) {
        return gs_fail(err, GS_EMISMATCH,
                       "worker %u, step %lld: its collective %llu goes to communicator %u, that of "
                       "worker %u to communicator %u; a strategy that declares one order over all "
                       "communicators must keep it on every rank",
                       member, (long long)signature->step, (unsigned long long)signature->order,
                       signature->communicator, op->first_member, op->signature.communicator);
    }
    op->ended++;
    close_ended(order_line(ops));
    return GS_OK;
}

gs_status gs_group_ops_issue(gs_group_ops *ops, uint32_t member, const gs_op_signature *signature,
                             gs_error *err)
{
    gs_group_op_line *line = line_of(ops, member, signature->communicator);
    gs_group_op *op = open(ops, line, signature->sequence, member, signature);
    if (op == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory for the records of collectives");
    }
    op->issued++;
    if (op->signature.kind != signature->kind || op->signature.root != signature->root) {
        return gs_fail(err, GS_EMISMATCH,
                       "worker %u, step %lld: its collective %llu of communicator %u is a %s from "
                       "member %u, that of worker %u a %s from member %u; all ranks must issue the "
                       "same collectives in the same order",
                       member, (long long)signature->step, (unsigned long long)signature->sequence,
                       signature->communicator, gs_collective_kind_name(signature->kind),
                       signature->root, op->first_member,
                       gs_collective_kind_name(op->signature.kind), op->signature.root);
    }
    if (op->signature.label != signature->label || op->signature.elements != signature->elements) {
        return gs_fail(err, GS_EMISMATCH,
                       "worker %u, step %lld: %s %llu of communicator %u has label %llu and "
                       "%lld elements, that of worker %u label %llu and %lld; all ranks must issue "
                       "the same collectives in the same order",
                       member, (long long)signature->step, gs_collective_kind_name(signature->kind),
                       (unsigned long long)signature->sequence, signature->communicator,
                       (unsigned long long)signature->label, (long long)signature->elements,
                       op->first_member, (unsigned long long)op->signature.label,
                       (long long)op->signature.elements);
    }
    return ops->layout->ordered ? check_order(ops, member, signature, err) : GS_OK;
}

bool gs_group_ops_start(gs_group_ops *ops, uint32_t member, const gs_op_signature *signature,
                        gs_time_ns at)
{
    gs_group_op_line *line = line_of(ops, member, signature->communicator);
    gs_group_op *op = find(line, signature->sequence);
    op->latest_ns = at > op->latest_ns ? at : op->latest_ns;
    if (++op->started < line->members) {
        return false;
    }
    op->last_start_ns = op->latest_ns;
    return true;
}

gs_time_ns gs_group_ops_last_start(const gs_group_ops *ops, uint32_t member, uint32_t communicator,
                                   uint64_t sequence)
{
    return find(line_of(ops, member, communicator), sequence)->last_start_ns;
}

gs_time_ns gs_group_ops_end(gs_group_ops *ops, uint32_t member, const gs_op_signature *signature)
{
    gs_group_op_line *line = line_of(ops, member, signature->communicator);
    gs_group_op *op = find(line, signature->sequence);
    gs_time_ns last_start_ns = op->last_start_ns;
    op->ended++;
    close_ended(line);
    return last_start_ns;
}

gs_status gs_group_ops_block(gs_group_ops *ops, uint32_t member, uint64_t sequence, uint32_t which,
                             gs_time_ns at, bool *out_last, gs_error *err)
{
    gs_op_signature signature = {.label = which, .sequence = sequence};
    gs_group_op *op = open(ops, blocking_line(ops), sequence, member, &signature);
    if (op == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory for the records of collectives");
    }
    if (op->signature.label != which) {
        return gs_fail(
            err, GS_EMISMATCH,
            "worker %u comes to blocking op %u of the profile where worker %u came to %u", member,
            which, op->first_member, (unsigned)op->signature.label);
    }
    *out_last = ++op->started == ops->ranks;
    op->last_start_ns = *out_last ? at : GS_TIME_NEVER;
    return GS_OK;
}

gs_time_ns gs_group_ops_unblock(gs_group_ops *ops, uint64_t sequence)
{
    gs_group_op_line *line = blocking_line(ops);
    gs_group_op *op = find(line, sequence);
    gs_time_ns last_start_ns = op->last_start_ns;
    op->ended++;
    close_ended(line);
    return last_start_ns;
}
