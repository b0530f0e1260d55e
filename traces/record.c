#include "traces/record.h"

#include "base/assert.h"
#include "traces/grow.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* One step added up over the ranks that have done it. */
typedef struct step_sum {
    gs_step_row row;
    int64_t rank_count;
} step_sum;

struct gs_record {
    uint32_t rank_count;
    gs_step_row *totals; /* [rank_count]; step: how many */
    int64_t *last_steps; /* [rank_count]; -1: none yet */
    step_sum *sums;      /* ascending step */
    int64_t sum_count, sum_capacity;
    gs_time_ns hideable_ns;
    /* Rows of every rank, where they are kept: in order of arrival until they are read. Ranks may
     * run far apart, so that keeping them sorted all the time would move many rows each time. */
    bool *is_sorted; /* apart, because reading sorts a const record; NULL: rows are not kept */
    gs_step_row *rows;
    int64_t row_count, row_capacity;
    gs_curve_row *curve;
    int64_t curve_count, curve_capacity;
    gs_decision_row *decisions;
    int64_t decision_count, decision_capacity;
    gs_series *series; /* apart, because whoever reads a record may not change it */
};

gs_record *gs_record_create(uint32_t rank_count, bool keep_all_ranks)
{
    GS_ASSERT(rank_count > 0);
    gs_record *record = calloc(1, sizeof *record);
    if (record == NULL) {
        return NULL;
    }
    record->rank_count = rank_count;
    record->totals = calloc(rank_count, sizeof *record->totals);
    record->last_steps = calloc(rank_count, sizeof *record->last_steps);
    record->is_sorted = keep_all_ranks ? calloc(1, sizeof *record->is_sorted) : NULL;
    record->series = calloc(1, sizeof *record->series);
    if (record->totals == NULL || record->last_steps == NULL || record->series == NULL ||
        (keep_all_ranks && record->is_sorted == NULL)) {
        gs_record_destroy(record);
        return NULL;
    }
    for (uint32_t rank = 0; rank < rank_count; rank++) {
        record->totals[rank].rank = (int32_t)rank;
        record->last_steps[rank] = -1;
    }
    return record;
}

void gs_record_destroy(gs_record *record)
{
    if (record == NULL) {
        return;
    }
    if (record->series != NULL) {
        gs_series_fini(record->series);
    }
    free(record->series);
    free(record->is_sorted);
    free(record->rows);
    free(record->totals);
    free(record->last_steps);
    free(record->sums);
    free(record->curve);
    free(record->decisions);
    free(record);
}

static bool make_room_for_sum(gs_record *record)
{
    void *sums =
        gs_grow(record->sums, record->sum_count, &record->sum_capacity, sizeof *record->sums);
    if (sums != NULL) {
        record->sums = sums;
    }
    return sums != NULL;
}

static bool make_room_for_row(gs_record *record)
{
    void *rows =
        gs_grow(record->rows, record->row_count, &record->row_capacity, sizeof *record->rows);
    if (rows != NULL) {
        record->rows = rows;
    }
    return rows != NULL;
}

static void add_up(gs_step_row *sum, const gs_step_row *row)
{
    sum->duration_ns += row->duration_ns;
    sum->compute_ns += row->compute_ns;
    sum->comm_ns += row->comm_ns;
    sum->exposed_comm_ns += row->exposed_comm_ns;
    sum->wait_ns += row->wait_ns;
    sum->input_ns += row->input_ns;
    sum->overhead_ns += row->overhead_ns;
    sum->bytes_sent += row->bytes_sent;
}

/* Index of the first sum whose step is not below `step`. Most rows belong to the newest step. */
static int64_t sum_place(const gs_record *record, int64_t step)
{
    int64_t low = 0;
    int64_t high = record->sum_count;
    if (high > 0 && record->sums[high - 1].row.step <= step) {
        low = record->sums[high - 1].row.step == step ? high - 1 : high;
    }
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (record->sums[middle].row.step < step) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void add_to_sums(gs_record *record, const gs_step_row *row)
{
    int64_t place = sum_place(record, row->step);
    step_sum *sum = &record->sums[place];
    if (place == record->sum_count || sum->row.step != row->step) {
        memmove(sum + 1, sum, (size_t)(record->sum_count - place) * sizeof *sum);
        *sum = (step_sum){.row = {.step = row->step, .rank = GS_ALL_RANKS}};
        sum->row.start_ns = row->start_ns;
        record->sum_count++;
    }
    if (row->start_ns < sum->row.start_ns) {
        sum->row.start_ns = row->start_ns;
    }
    add_up(&sum->row, row);
    sum->rank_count++;
}

static gs_time_ns hideable_of(const gs_step_row *row)
{
    gs_time_ns work_ns = row->compute_ns + row->input_ns;
    return row->comm_ns < work_ns ? row->comm_ns : work_ns;
}

static void check_row(const gs_record *record, const gs_step_row *row)
{
    GS_ASSERT(row->rank >= 0);
    GS_ASSERT((uint32_t)row->rank < record->rank_count);
    GS_ASSERT(row->step > record->last_steps[row->rank]);
    GS_ASSERT(row->compute_ns >= 0);
    GS_ASSERT(row->comm_ns >= 0);
    GS_ASSERT(row->exposed_comm_ns >= 0);
    GS_ASSERT(row->wait_ns >= 0);
    GS_ASSERT(row->input_ns >= 0);
    GS_ASSERT(row->overhead_ns >= 0);
    GS_ASSERT(row->bytes_sent >= 0);
    GS_ASSERT(row->compute_ns + row->exposed_comm_ns + row->wait_ns + row->input_ns +
                  row->overhead_ns ==
              row->duration_ns);
}

gs_status gs_record_step(gs_record *record, const gs_step_row *row)
{
    check_row(record, row);
    bool keeps_rows = record->is_sorted != NULL;
    if (!make_room_for_sum(record) || (keeps_rows && !make_room_for_row(record))) {
        return GS_ENOMEM;
    }
    gs_step_row *total = &record->totals[row->rank];
    if (total->step == 0) {
        total->start_ns = row->start_ns;
    }
    total->step++;
    add_up(total, row);
    record->last_steps[row->rank] = row->step;
    record->hideable_ns += hideable_of(row);
    add_to_sums(record, row);
    if (keeps_rows) {
        record->rows[record->row_count++] = *row;
        *record->is_sorted = false;
    }
    return GS_OK;
}

gs_status gs_record_curve(gs_record *record, const gs_curve_row *row)
{
    GS_ASSERT(record->curve_count == 0 || row->step > record->curve[record->curve_count - 1].step);
    void *curve =
        gs_grow(record->curve, record->curve_count, &record->curve_capacity, sizeof *record->curve);
    if (curve == NULL) {
        return GS_ENOMEM;
    }
    record->curve = curve;
    record->curve[record->curve_count++] = *row;
    return GS_OK;
}

static int by_step_and_rank(const void *left, const void *right)
{
    const gs_step_row *a = left;
    const gs_step_row *b = right;
    if (a->step != b->step) {
        return a->step < b->step ? -1 : 1;
    }
    return (a->rank > b->rank) - (a->rank < b->rank);
}

int64_t gs_record_step_count(const gs_record *record)
{
    return record->is_sorted != NULL ? record->row_count : record->sum_count;
}

gs_step_row gs_record_step_at(const gs_record *record, int64_t index)
{
    GS_ASSERT(index >= 0);
    GS_ASSERT(index < gs_record_step_count(record));
    if (record->is_sorted == NULL) {
        return record->sums[index].row;
    }
    if (!*record->is_sorted) {
        qsort(record->rows, (size_t)record->row_count, sizeof *record->rows, by_step_and_rank);
        *record->is_sorted = true;
    }
    return record->rows[index];
}

int64_t gs_record_curve_count(const gs_record *record)
{
    return record->curve_count;
}

gs_curve_row gs_record_curve_at(const gs_record *record, int64_t index)
{
    GS_ASSERT(index >= 0);
    GS_ASSERT(index < record->curve_count);
    return record->curve[index];
}

gs_status gs_record_decision(gs_record *record, const gs_decision_row *row)
{
    gs_decision_row *grown = gs_grow(record->decisions, record->decision_count,
                                     &record->decision_capacity, sizeof *grown);
    if (grown == NULL) {
        return GS_ENOMEM;
    }
    record->decisions = grown;
    record->decisions[record->decision_count++] = *row;
    return GS_OK;
}

int64_t gs_record_decision_count(const gs_record *record)
{
    return record->decision_count;
}

gs_decision_row gs_record_decision_at(const gs_record *record, int64_t index)
{
    GS_ASSERT(index >= 0 && index < record->decision_count);
    return record->decisions[index];
}

gs_series *gs_record_series(gs_record *record)
{
    return record->series;
}

const gs_series *gs_record_series_read(const gs_record *record)
{
    return record->series;
}

gs_step_row gs_record_rank_total(const gs_record *record, uint32_t rank)
{
    GS_ASSERT(rank < record->rank_count);
    return record->totals[rank];
}

uint32_t gs_record_rank_count(const gs_record *record)
{
    return record->rank_count;
}

gs_time_ns gs_record_hideable_ns(const gs_record *record)
{
    return record->hideable_ns;
}

int64_t gs_record_mean_count(const gs_record *record)
{
    return record->sum_count;
}

double gs_record_mean_ns(const gs_record *record, int64_t index)
{
    GS_ASSERT(index >= 0);
    GS_ASSERT(index < record->sum_count);
    const step_sum *sum = &record->sums[index];
    return (double)sum->row.duration_ns / (double)sum->rank_count;
}

/* --- packed: a head, then the arrays one after the other -------------------------------------- */

typedef struct packed_head {
    int64_t rank_count, sum_count, row_count, curve_count, decision_count;
    int64_t name_count, point_count, bin_count; /* of the series */
    gs_time_ns hideable_ns;
    bool keeps_all;
} packed_head;

static void put(char **at, const void *items, int64_t count, size_t item_bytes)
{
    if (count > 0) {
        memcpy(*at, items, (size_t)count * item_bytes);
        *at += (size_t)count * item_bytes;
    }
}

size_t gs_record_pack(const gs_record *record, void *out)
{
    packed_head head = {.rank_count = record->rank_count,
                        .sum_count = record->sum_count,
                        .row_count = record->row_count,
                        .curve_count = record->curve_count,
                        .decision_count = record->decision_count,
                        .name_count = record->series->name_count,
                        .point_count = record->series->point_count,
                        .bin_count = record->series->bin_count,
                        .hideable_ns = record->hideable_ns,
                        .keeps_all = record->is_sorted != NULL};
    size_t bytes = sizeof head;
    bytes += (size_t)head.rank_count * (sizeof *record->totals + sizeof *record->last_steps);
    bytes += (size_t)head.sum_count * sizeof *record->sums;
    bytes += (size_t)head.row_count * sizeof *record->rows;
    bytes += (size_t)head.curve_count * sizeof *record->curve;
    bytes += (size_t)head.decision_count * sizeof *record->decisions;
    const gs_series *series = record->series;
    bytes += (size_t)head.name_count * sizeof *series->names;
    bytes += (size_t)head.point_count * sizeof *series->points;
    bytes += (size_t)head.bin_count * sizeof *series->bins;
    if (out != NULL) {
        char *at = out;
        put(&at, &head, 1, sizeof head);
        put(&at, record->totals, head.rank_count, sizeof *record->totals);
        put(&at, record->last_steps, head.rank_count, sizeof *record->last_steps);
        put(&at, record->sums, head.sum_count, sizeof *record->sums);
        put(&at, record->rows, head.row_count, sizeof *record->rows);
        put(&at, record->curve, head.curve_count, sizeof *record->curve);
        put(&at, record->decisions, head.decision_count, sizeof *record->decisions);
        put(&at, series->names, head.name_count, sizeof *series->names);
        put(&at, series->points, head.point_count, sizeof *series->points);
        put(&at, series->bins, head.bin_count, sizeof *series->bins);
    }
    return bytes;
}

typedef struct unpacking {
    const char *at;
    size_t left;
    bool failed;
} unpacking;

/* A fresh array of the next count items; NULL for none of them, and after a failure. */
static void *take(unpacking *from, int64_t count, size_t item_bytes)
{
    if (from->failed || count <= 0) {
        from->failed = from->failed || count < 0;
        return NULL;
    }
    if ((uint64_t)count > from->left / item_bytes) {
        from->failed = true;
        return NULL;
    }
    size_t bytes = (size_t)count * item_bytes;
    void *items = malloc(bytes);
    if (items == NULL) {
        from->failed = true;
        return NULL;
    }
    memcpy(items, from->at, bytes);
    from->at += bytes;
    from->left -= bytes;
    return items;
}

static void take_series(unpacking *from, const packed_head *head, gs_series *series)
{
    series->name_count = series->name_capacity = head->name_count;
    series->point_count = series->point_capacity = head->point_count;
    series->bin_count = series->bin_capacity = head->bin_count;
    series->names = take(from, head->name_count, sizeof *series->names);
    series->points = take(from, head->point_count, sizeof *series->points);
    series->bins = take(from, head->bin_count, sizeof *series->bins);
}

gs_record *gs_record_unpack(const void *in, size_t bytes)
{
    packed_head head;
    if (bytes < sizeof head) {
        return NULL;
    }
    memcpy(&head, in, sizeof head);
    gs_record *record = calloc(1, sizeof *record);
    if (record == NULL || head.rank_count <= 0 || head.rank_count > UINT32_MAX) {
        free(record);
        return NULL;
    }
    unpacking from = {(const char *)in + sizeof head, bytes - sizeof head, false};
    record->rank_count = (uint32_t)head.rank_count;
    record->hideable_ns = head.hideable_ns;
    record->sum_count = record->sum_capacity = head.sum_count;
    record->curve_count = record->curve_capacity = head.curve_count;
    record->decision_count = record->decision_capacity = head.decision_count;
    record->row_count = record->row_capacity = head.row_count;
    record->is_sorted = head.keeps_all ? calloc(1, sizeof *record->is_sorted) : NULL;
    record->series = calloc(1, sizeof *record->series);
    from.failed = (head.keeps_all && record->is_sorted == NULL) || record->series == NULL;
    record->totals = take(&from, head.rank_count, sizeof *record->totals);
    record->last_steps = take(&from, head.rank_count, sizeof *record->last_steps);
    record->sums = take(&from, head.sum_count, sizeof *record->sums);
    record->rows = take(&from, head.row_count, sizeof *record->rows);
    record->curve = take(&from, head.curve_count, sizeof *record->curve);
    record->decisions = take(&from, head.decision_count, sizeof *record->decisions);
    if (record->series != NULL) {
        take_series(&from, &head, record->series);
    }
    if (from.failed || from.left != 0) {
        gs_record_destroy(record);
        return NULL;
    }
    return record;
}
