#include "traces/rank_values.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* One rank while its rows are gathered. */
typedef struct rank_sum {
    int64_t first; /* of its durations among those of all ranks */
    int64_t count, filled;
    double exposed_ns, wait_ns;
} rank_sum;

static bool is_of_rank(const gs_step_row *row, uint32_t rank_count)
{
    return row->rank >= 0 && (uint32_t)row->rank < rank_count;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

static void gather(const gs_step_row *rows, int64_t row_count, uint32_t rank_count, rank_sum *sums,
                   double *durations_ns)
{
    for (int64_t i = 0; i < row_count; i++) {
        if (is_of_rank(&rows[i], rank_count)) {
            rank_sum *sum = &sums[rows[i].rank];
            sum->count++;
            sum->exposed_ns += (double)rows[i].exposed_comm_ns;
            sum->wait_ns += (double)rows[i].wait_ns;
        }
    }
    for (uint32_t rank = 1; rank < rank_count; rank++) {
        sums[rank].first = sums[rank - 1].first + sums[rank - 1].count;
    }
    for (int64_t i = 0; i < row_count; i++) {
        if (is_of_rank(&rows[i], rank_count)) {
            rank_sum *sum = &sums[rows[i].rank];
            durations_ns[sum->first + sum->filled++] = (double)rows[i].duration_ns;
        }
    }
}

gs_status gs_rank_values_of(const gs_step_row *rows, int64_t row_count, uint32_t rank_count,
                            gs_rank_values *out)
{
    rank_sum *sums = calloc((size_t)rank_count + 1, sizeof *sums);
    double *durations_ns = calloc((size_t)row_count + 1, sizeof *durations_ns);
    bool ok = sums != NULL && durations_ns != NULL;
    if (ok) {
        gather(rows, row_count, rank_count, sums, durations_ns);
    }
    for (uint32_t rank = 0; ok && rank < rank_count; rank++) {
        const rank_sum *sum = &sums[rank];
        double *own_ns = durations_ns + sum->first;
        double count = (double)sum->count;
        out[rank] = (gs_rank_values){(double)NAN, (double)NAN, (double)NAN};
        if (sum->count > 0) {
            qsort(own_ns, (size_t)sum->count, sizeof *own_ns, by_value);
            out[rank] = (gs_rank_values){gs_quantile_of_sorted(own_ns, sum->count, 0.5),
                                         sum->exposed_ns / count, sum->wait_ns / count};
        }
    }
    free(sums);
    free(durations_ns);
    return ok ? GS_OK : GS_ENOMEM;
}
