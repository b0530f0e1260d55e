#include "traces/op_trace.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 4096 };

static gs_status no_memory(const gs_op_gather *gather, gs_error *err)
{
    return gs_fail(err, GS_ENOMEM, "%s: no memory for its operations", gather->file);
}

gs_status gs_op_gather_type(gs_op_gather *gather, const char *name, size_t length, uint8_t *out,
                            gs_error *err)
{
    for (uint32_t i = 0; i < gather->type_count; i++) {
        if (gather->type_lengths[i] == length && memcmp(gather->types[i], name, length) == 0) {
            *out = (uint8_t)i;
            return GS_OK;
        }
    }
    if (gather->type_count == GS_OP_TYPES_MAX) {
        return gs_fail(err, GS_ELIMIT, "%s: more than %d types of operations", gather->file,
                       GS_OP_TYPES_MAX);
    }
    char *copy = malloc(length + 1);
    if (copy == NULL) {
        return no_memory(gather, err);
    }
    memcpy(copy, name, length);
    copy[length] = '\0';
    gather->types[gather->type_count] = copy;
    gather->type_lengths[gather->type_count] = length;
    *out = (uint8_t)gather->type_count++;
    return GS_OK;
}

gs_status gs_op_gather_add(gs_op_gather *gather, const gs_traced_op *op, gs_error *err)
{
    if (gather->count == gather->capacity) {
        if (gather->count >= GS_OPS_MAX) {
            return gs_fail(err, GS_ELIMIT, "%s: more than %d operations: give fewer steps",
                           gather->file, GS_OPS_MAX);
        }
        uint32_t wanted = gather->capacity == 0 ? FIRST_CAPACITY : gather->capacity * 2;
        gs_traced_op *grown = realloc(gather->ops, wanted * sizeof *grown);
        if (grown == NULL) {
            return no_memory(gather, err);
        }
        gather->ops = grown;
        gather->capacity = wanted;
    }
    gather->ops[gather->count++] = *op;
    return GS_OK;
}

static const char *const *copy_names(const gs_op_gather *gather, gs_arena *arena)
{
    const char **names = GS_TAKE(arena, const char *, gather->type_count);
    for (uint32_t i = 0; names != NULL && i < gather->type_count; i++) {
        names[i] = gs_arena_text(arena, gather->types[i]);
        if (names[i] == NULL) {
            return NULL;
        }
    }
    return names;
}

gs_status gs_op_gather_finish(const gs_op_gather *gather, gs_arena *arena, gs_op_trace *out,
                              gs_error *err)
{
    enum { INT_COLUMNS = 7 };
    uint32_t count = gather->count;
    if (count == 0) {
        return gs_fail(err, GS_EPARSE, "%s: a header without rows", gather->file);
    }
    int32_t *ints[INT_COLUMNS];
    bool has_memory = true;
    for (int c = 0; c < INT_COLUMNS; c++) {
        ints[c] = GS_TAKE(arena, int32_t, count);
        has_memory = has_memory && ints[c] != NULL;
    }
    uint8_t *type = GS_TAKE(arena, uint8_t, count);
    gs_time_ns *start_ns = GS_TAKE(arena, gs_time_ns, count);
    gs_time_ns *duration_ns = GS_TAKE(arena, gs_time_ns, count);
    const char *const *names = copy_names(gather, arena);
    const char *file = gs_arena_text(arena, gather->file);
    if (!has_memory || type == NULL || start_ns == NULL || duration_ns == NULL || names == NULL ||
        file == NULL) {
        return no_memory(gather, err);
    }
    for (uint32_t i = 0; i < count; i++) {
        const gs_traced_op *op = &gather->ops[i];
        const int32_t row[INT_COLUMNS] = {op->dp_rank,  op->stage, op->rank,       op->step,
                                          op->sequence, op->chunk, op->micro_batch};
        for (int c = 0; c < INT_COLUMNS; c++) {
            ints[c][i] = row[c];
        }
        type[i] = op->type;
        start_ns[i] = op->start_ns;
        duration_ns[i] = op->duration_ns;
    }
    *out = (gs_op_trace){.file = file,
                         .op_count = count,
                         .dp_rank = ints[0],
                         .stage = ints[1],
                         .rank = ints[2],
                         .step = ints[3],
                         .type = type,
                         .start_ns = start_ns,
                         .duration_ns = duration_ns,
                         .sequence = ints[4],
                         .chunk = ints[5],
                         .micro_batch = ints[6],
                         .types = names,
                         .type_count = gather->type_count};
    return GS_OK;
}

void gs_op_gather_fini(gs_op_gather *gather)
{
    for (uint32_t i = 0; i < gather->type_count; i++) {
        free(gather->types[i]);
    }
    free(gather->ops);
    *gather = (gs_op_gather){.file = gather->file};
}
