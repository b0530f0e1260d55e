#include "traces/importers/kineto_match.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES_TEXT_BYTES = 160 };

/* An op of one rank's step, to be sorted by kind; equal kinds keep their order. */
typedef struct kind_row {
    const char *collective;
    bool is_gradient;
    uint32_t index;
} kind_row;

static int compare_kinds(const kind_row *a, const kind_row *b)
{
    int order = strcmp(a->collective, b->collective);
    return order != 0 ? order : (int)a->is_gradient - (int)b->is_gradient;
}

static int by_kind(const void *left, const void *right)
{
    const kind_row *a = left;
    const kind_row *b = right;
    int order = compare_kinds(a, b);
    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

static gs_status no_memory(gs_error *err)
{
    return gs_fail(err, GS_ENOMEM, "no memory to put the ranks side by side");
}

static kind_row *rows_of(const gs_kineto_step *step)
{
    kind_row *rows = calloc((size_t)step->op_count + 1, sizeof *rows);
    for (uint32_t i = 0; rows != NULL && i < step->op_count; i++) {
        rows[i] = (kind_row){step->ops[i].collective, step->ops[i].is_gradient, i};
    }
    if (rows != NULL) {
        qsort(rows, step->op_count, sizeof *rows, by_kind);
    }
    return rows;
}

static const gs_kineto_step *find_step(const gs_kineto_rank *rank, int64_t number)
{
    uint32_t low = 0;
    uint32_t high = rank->step_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (rank->steps[middle].number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = low < rank->step_count && rank->steps[low].number == number;
    return found ? &rank->steps[low] : NULL;
}

static uint32_t gradients_in(const gs_kineto_step *step)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < step->op_count; i++) {
        count += step->ops[i].is_gradient ? 1 : 0;
    }
    return count;
}

/* "2049000, 7875584, ..." of the gradients of a step; returns out. */
static const char *sizes_text(const gs_kineto_step *step, char out[SIZES_TEXT_BYTES])
{
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < step->op_count && used < SIZES_TEXT_BYTES; i++) {
        if (step->ops[i].is_gradient) {
            int written = snprintf(out + used, SIZES_TEXT_BYTES - used, "%s%lld",
                                   used == 0 ? "" : ", ", (long long)step->ops[i].elements);
            used += written > 0 ? (size_t)written : 0;
        }
    }
    if (used >= SIZES_TEXT_BYTES) {
        memcpy(out + SIZES_TEXT_BYTES - 4, "...", 4);
    }
    return used == 0 ? "none" : out;
}

static gs_status check_gradients(const gs_kineto_rank *rank, const gs_kineto_step *step,
                                 const gs_kineto_rank *first_rank, const gs_kineto_step *first,
                                 gs_error *err)
{
    uint32_t at = 0;
    bool same = gradients_in(step) == gradients_in(first);
    for (uint32_t i = 0; i < step->op_count && same; i++) {
        if (!step->ops[i].is_gradient) {
            continue;
        }
        while (!first->ops[at].is_gradient) {
            at++;
        }
        same = first->ops[at++].elements == step->ops[i].elements;
    }
    if (same) {
        return GS_OK;
    }
    char here[SIZES_TEXT_BYTES];
    char there[SIZES_TEXT_BYTES];
    return gs_fail(err, GS_EMISMATCH,
                   "%s: ProfilerStep#%lld reduces other gradients (%s) than %s ProfilerStep#%lld "
                   "(%s); record steps after the buckets have settled, of one job",
                   rank->file, (long long)step->number, sizes_text(step, here), first_rank->file,
                   (long long)first->number, sizes_text(first, there));
}

static gs_status kinds_differ(const gs_kineto_rank *rank, const gs_kineto_step *step,
                              const gs_kineto_rank *first_rank, const gs_kineto_step *first,
                              const char *collective, gs_error *err)
{
    uint32_t here = 0;
    uint32_t there = 0;
    for (uint32_t i = 0; i < step->op_count; i++) {
        here += strcmp(step->ops[i].collective, collective) == 0 ? 1 : 0;
    }
    for (uint32_t i = 0; i < first->op_count; i++) {
        there += strcmp(first->ops[i].collective, collective) == 0 ? 1 : 0;
    }
    return gs_fail(err, GS_EMISMATCH,
                   "%s: ProfilerStep#%lld has %u times %s, but %s has %u: not the same step of one "
                   "job; give ranks of one group",
                   rank->file, (long long)step->number, here, collective, first_rank->file, there);
}

/* Ids, least times and most bytes of one rank's ops; rows: of the first rank, sorted. */
static gs_status join_rank(const gs_kineto_rank *ranks, uint32_t rank, const kind_row *first_rows,
                           gs_kineto_joint_step *joint, gs_arena *arena, gs_error *err)
{
    const gs_kineto_step *step = joint->steps[rank];
    const gs_kineto_step *first = joint->steps[0];
    kind_row *rows = rows_of(step);
    joint->ids[rank] = GS_TAKE(arena, uint32_t, step->op_count);
    if (rows == NULL || joint->ids[rank] == NULL) {
        free(rows);
        return no_memory(err);
    }
    uint32_t shared = step->op_count < first->op_count ? step->op_count : first->op_count;
    gs_status status = GS_OK;
    for (uint32_t i = 0; i < shared && status == GS_OK; i++) {
        if (compare_kinds(&rows[i], &first_rows[i]) != 0) {
            bool here = strcmp(rows[i].collective, first_rows[i].collective) < 0;
            status = kinds_differ(&ranks[rank], step, &ranks[0], first,
                                  here ? rows[i].collective : first_rows[i].collective, err);
            break;
        }
        const gs_kineto_op *op = &step->ops[rows[i].index];
        uint32_t id = first_rows[i].index;
        int64_t bytes = op->elements >= 0 && op->element_bytes > 0 &&
                                op->elements <= INT64_MAX / op->element_bytes
                            ? op->elements * op->element_bytes
                            : -1;
        joint->ids[rank][rows[i].index] = id;
        if (rank == 0 || op->duration_ns < joint->wire_ns[id]) {
            joint->wire_ns[id] = op->duration_ns;
        }
        joint->bytes[id] = rank == 0 || bytes > joint->bytes[id] ? bytes : joint->bytes[id];
    }
    if (status == GS_OK && step->op_count != first->op_count) {
        const kind_row *extra = step->op_count > shared ? &rows[shared] : &first_rows[shared];
        status = kinds_differ(&ranks[rank], step, &ranks[0], first, extra->collective, err);
    }
    free(rows);
    return status;
}

static void number_ops(const gs_kineto_step *first, gs_kineto_joint_step *joint)
{
    uint32_t gradients = 0;
    for (uint32_t i = 0; i < first->op_count; i++) {
        joint->ordinals[i] = first->ops[i].is_gradient ? gradients : i - gradients;
        if (first->ops[i].is_gradient) {
            joint->gradient_ids[gradients++] = i;
        }
    }
}

static gs_status join_step(const gs_kineto_rank *ranks, uint32_t rank_count,
                           gs_kineto_joint_step *joint, const gs_kineto_step *reference,
                           gs_arena *arena, gs_error *err)
{
    joint->op_count = joint->steps[0]->op_count;
    joint->ids = GS_TAKE(arena, uint32_t *, rank_count);
    joint->wire_ns = GS_TAKE(arena, gs_time_ns, joint->op_count);
    joint->bytes = GS_TAKE(arena, int64_t, joint->op_count);
    joint->ordinals = GS_TAKE(arena, uint32_t, joint->op_count);
    joint->gradient_ids = GS_TAKE(arena, uint32_t, joint->op_count);
    kind_row *first_rows = rows_of(joint->steps[0]);
    gs_status status = GS_OK;
    if (joint->ids == NULL || joint->wire_ns == NULL || joint->bytes == NULL ||
        joint->ordinals == NULL || joint->gradient_ids == NULL || first_rows == NULL) {
        status = no_memory(err);
    } else {
        number_ops(joint->steps[0], joint);
    }
    for (uint32_t r = 0; r < rank_count && status == GS_OK; r++) {
        status = check_gradients(&ranks[r], joint->steps[r], &ranks[0], reference, err);
        if (status == GS_OK) {
            status = join_rank(ranks, r, first_rows, joint, arena, err);
        }
    }
    free(first_rows);
    return status;
}

/* Whether step `number` is on all ranks, and did something on one of them. */
static bool on_all_ranks(const gs_kineto_rank *ranks, uint32_t rank_count, int64_t number,
                         bool *out_has_work)
{
    *out_has_work = false;
    for (uint32_t r = 0; r < rank_count; r++) {
        const gs_kineto_step *step = find_step(&ranks[r], number);
        if (step == NULL) {
            return false;
        }
        *out_has_work = *out_has_work || step->kernel_count > 0 || step->op_count > 0;
    }
    return true;
}

static bool any_gradient(const gs_kineto_rank *ranks, uint32_t rank_count)
{
    for (uint32_t r = 0; r < rank_count; r++) {
        for (uint32_t s = 0; s < ranks[r].step_count; s++) {
            if (gradients_in(&ranks[r].steps[s]) > 0) {
                return true;
            }
        }
    }
    return false;
}

static gs_status pick_steps(const gs_kineto_rank *ranks, uint32_t rank_count, gs_arena *arena,
                            gs_import_notes *notes, gs_kineto_joint *out, gs_error *err)
{
    bool gradients = any_gradient(ranks, rank_count);
    out->steps = GS_TAKE(arena, gs_kineto_joint_step, ranks[0].step_count);
    if (out->steps == NULL) {
        return no_memory(err);
    }
    for (uint32_t s = 0; s < ranks[0].step_count; s++) {
        int64_t number = ranks[0].steps[s].number;
        bool has_work = false;
        if (!on_all_ranks(ranks, rank_count, number, &has_work)) {
            continue;
        }
        if (gradients && !has_work) {
            gs_import_notes_add(notes, "ProfilerStep#%lld is empty and left out",
                                (long long)number);
            continue;
        }
        gs_kineto_joint_step *joint = &out->steps[out->step_count++];
        joint->steps = GS_TAKE(arena, const gs_kineto_step *, rank_count);
        if (joint->steps == NULL) {
            return no_memory(err);
        }
        for (uint32_t r = 0; r < rank_count; r++) {
            joint->steps[r] = find_step(&ranks[r], number);
        }
    }
    for (uint32_t r = 0; r < rank_count; r++) {
        if (ranks[r].step_count > out->step_count) {
            gs_import_notes_add(notes, "%s: %u of its %u steps are used", ranks[r].file,
                                out->step_count, ranks[r].step_count);
        }
    }
    if (out->step_count == 0) {
        return gs_fail(
            err, GS_EMISMATCH,
            "%s and the other files have no ProfilerStep in common: record the same steps "
            "on every rank",
            ranks[0].file);
    }
    return GS_OK;
}

gs_status gs_kineto_match(const gs_kineto_rank *ranks, uint32_t rank_count, gs_arena *arena,
                          gs_import_notes *notes, gs_kineto_joint *out, gs_error *err)
{
    *out = (gs_kineto_joint){0};
    GS_TRY(pick_steps(ranks, rank_count, arena, notes, out, err));
    const gs_kineto_step *reference = out->steps[0].steps[0];
    for (uint32_t s = 0; s < out->step_count; s++) {
        GS_TRY(join_step(ranks, rank_count, &out->steps[s], reference, arena, err));
    }
    out->gradient_count = gradients_in(reference);
    out->gradients = GS_TAKE(arena, int64_t, out->gradient_count);
    if (out->gradients == NULL) {
        return no_memory(err);
    }
    uint32_t at = 0;
    for (uint32_t i = 0; i < reference->op_count; i++) {
        if (reference->ops[i].is_gradient) {
            out->gradients[at++] = reference->ops[i].elements;
        }
    }
    return GS_OK;
}
