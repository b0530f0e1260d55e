/* PowerSGD: one step of subspace iteration. P = M Q is summed and orthonormalised, Q = M' P is
 * summed, the mean gradient is P Q' / ranks. Each matrix of a bucket has its own P and Q
 * (strategies/coding.h); vectors and matrices that would hardly shrink travel dense, in the sum of
 * the Ps: the hook gives them a sum of their own before it, one more latency. */
#include "strategies/codecs/fields.h"

/* Of elements whose shape is not known. */
static gs_codec_size payload_bytes(const gs_codec_config *config, int64_t elements, int64_t step)
{
    gs_codec_matrix matrix = gs_codec_matrix_of(config, elements, 0, step);
    if (matrix.rank == 0) {
        return gs_codec_exactly(4 * elements);
    }
    return gs_codec_exactly(4 * matrix.rank * (matrix.rows + matrix.columns));
}

static const gs_field fields[] = {
    {.name = "rank",
     .kind = GS_FIELD_INT,
     GS_FIELD_AT(gs_codec_config, rank),
     .default_text = "1",
     .minimum = 1,
     .maximum = 4096,
     .help = "columns of P and Q; at most the smaller side of the matrix is used"},
    {.name = "min_compression",
     .kind = GS_FIELD_REAL,
     GS_FIELD_AT(gs_codec_config, min_compression),
     .default_text = "2",
     .minimum = 0.0,
     .maximum = 1e6,
     .help = "matrices that do not shrink by more than this factor, and vectors, travel dense"},
    {.name = "start_step",
     .kind = GS_FIELD_INT,
     GS_FIELD_AT(gs_codec_config, start_step),
     .default_text = "10",
     .minimum = 0,
     .maximum = 1e12,
     .help = "dense before this step; a tenth of all steps is advised (PyTorch: 10, later 1000)"},
    {.name = "warm_start",
     .kind = GS_FIELD_BOOL,
     GS_FIELD_AT(gs_codec_config, warm_start),
     .default_text = "true",
     .help = "start from the Q of the step before instead of random numbers"},
    GS_FIELD_FEEDBACK("true"),
};

GS_CODEC_TABLE(table, "powersgd", fields);

/* As the hook does it. A product of each matrix for P, for Q, and back; Gram-Schmidt of what it is
 * multiplied with: two kernels for each column, four for all columns behind it. */
static uint32_t matrix_kernels(const gs_codec_config *config, uint32_t stage)
{
    uint32_t columns = (uint32_t)config->rank;
    return stage < 2 ? 1 + 2 * columns + 4 * (columns - 1) : 1;
}

const gs_codec gs_codec_powersgd = {
    .name = "powersgd",
    .summary = "matrices of low rank by one power iteration a step: two small sums",
    .source = "Vogels et al., PowerSGD, NeurIPS 2019 (arXiv 1905.13727), algorithm 1, matrix by "
              "matrix; defaults of PyTorch powerSGD_hook (start_step: its first releases)",
    .config = &table,
    .travel = GS_TRAVEL_LOW_RANK,
    .random = GS_RANDOM_SHARED,
    .own_vectors = 1,    /* Q of every slice, in its first elements */
    .encode_bytes = 8.0, /* a matrix read at half of the bandwidth: products this thin */
    .decode_bytes = 4.0,
    .cost_source = "kernels as in PyTorch powerSGD_hook.py with batch_tensors_with_same_shape off; "
                   "the efficiency of thin products is unverified",
    .matrix_kernels = matrix_kernels,
    .payload_bytes = payload_bytes,
};
