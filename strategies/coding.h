/* How a codec's payloads travel: a coded all-reduce as one or two collectives of what the codec
 * makes, with local work before, between and after them.
 *
 * Payloads that can be added: one sum of the payload's numbers. PowerSGD: two sums, first the P of
 * all matrices of the slice with whatever is no matrix, dense, then all Q.
 * Others by one of two paths: gather, each payload to all, who decode and add; or two phases, each
 * part of the slice to the member whose part it is, who adds, encodes the sum and gathers it to
 * all. Sizes only; the bytes are traces/wire.h's. */
#ifndef GS_STRATEGIES_CODING_H
#define GS_STRATEGIES_CODING_H

#include "strategies/bucket.h"
#include "strategies/codec.h"
#include "strategies/collective.h"
#include "strategies/tensors.h"

struct gs_coding {
    const gs_codec *codec; /* NULL: slices travel as they are */
    gs_codec_config config;
    double momentum; /* in the codec's memory, and in place of the optimizer's; 0: none */
    /* Memory traffic per element as it was measured, that of error feedback and of starting kernels
     * included; 0: what the codec says is assumed. */
    double measured_encode_bytes, measured_decode_bytes;
    gs_time_ns kernel_ns; /* at least, of each kernel, where nothing was measured; 0: none */
};

/* What was measured of no device is assumed. */
static inline bool gs_coding_is_assumed(const gs_coding *coding)
{
    return coding->codec != NULL && !(coding->measured_encode_bytes > 0.0);
}

enum { GS_CODING_STAGES_MAX = 2 };

/* What starting a kernel takes the host on an accelerator: 5 to 20 us by the documentation of
 * HolisticTraceAnalysis ("CUDA kernel launch statistics"), here their geometric mean. */
enum { GS_CODING_KERNEL_NS = 10000 };

/* One collective. Its elements are units: numbers of a sum, or payloads, one a member. */
typedef struct gs_coding_stage {
    const gs_collective *program;
    int64_t units;
    int32_t unit_bytes; /* 0: payloads, each with a size of its own */
} gs_coding_stage;

/* Equal on all members of a group for the same slice and step. stage_count 0: it travels dense. */
typedef struct gs_coding_plan {
    uint32_t stage_count;
    gs_coding_stage stages[GS_CODING_STAGES_MAX];
    bool two_phases; /* payloads are of parts of the slice, not of all of it */
    /* Of GS_TRAVEL_LOW_RANK: matrices, pieces that travel dense in the first sum, and these. */
    uint32_t matrices, dense_pieces;
    int64_t dense_elements;
} gs_coding_plan;

/* A slice of a vector that holds these units, in walking order. */
typedef struct gs_coded_slice {
    gs_tensors tensors;
    int64_t offset, elements; /* >= 0 */
} gs_coded_slice;

static inline gs_coded_slice gs_coded_slice_of(const gs_job *job, int64_t offset, int64_t elements)
{
    return (gs_coded_slice){gs_tensors_of(job), offset, elements};
}

/* members >= 1, step >= 0. Cost of low rank O(units), of others O(1). */
gs_coding_plan gs_coding_plan_of(const gs_coding *coding, const gs_coded_slice *slice,
                                 uint32_t members, int64_t step);

/* The matrix that a piece of a slice travels as in that step; rank 0: dense. */
gs_codec_matrix gs_coding_matrix_of(const gs_coding *coding, const gs_tensor_piece *piece,
                                    int64_t step);

/* Elements of the slice that payload `unit` stands for: all, or those of a part. */
int64_t gs_coding_unit_elements(const gs_coding_plan *plan, uint32_t members, int64_t elements,
                                uint32_t unit);

/* Vectors as long as the gradient that an entity keeps for it: the codec's own, a residual where it
 * has feedback, and a second one for sums that are encoded again. */
uint32_t gs_coding_vectors(const gs_coding *coding);

/* Steps in which something is sent. */
typedef struct gs_coding_series {
    int64_t first, every, count;
} gs_coding_series;

/* Those of every step of a budget; without one, a step after all warm-ups. */
gs_coding_series gs_coding_budget(const gs_job *job);

/* Bytes that the members of a group send together in one all-reduce of a slice, coded or not, whose
 * dense elements have so many bytes; where the data decides, those expected. */
int64_t gs_coding_group_bytes(const gs_coding *coding, const gs_coded_slice *slice,
                              int32_t element_bytes, uint32_t members, int64_t step);

/* Bytes of a slice that is sent to one peer. */
int64_t gs_coding_send_bytes(const gs_coding *coding, int64_t elements, int32_t element_bytes);

/* Likewise for many ops of the same slice, in steps `first`, first + every, ... (every >= 1): the
 * sum over `count` of them. */
double gs_coding_series_bytes(const gs_coding *coding, const gs_coded_slice *slice,
                              int32_t element_bytes, uint32_t members, gs_coding_series steps);

/* Bytes that one worker sends on average in all-reduces of all buckets, a step of the job's budget,
 * or where that is not known of the long run. Each bucket is cut in `parts` (>= 1, divides the
 * ranks), each of which is summed over ranks / parts workers. */
int64_t gs_coding_bucket_bytes(const gs_coding *coding, const gs_job *job,
                               const gs_bucket_rule *rule, uint32_t parts);

/* Local work on the entity's device: the longer of moving so many bytes and of `least_ns`. */
typedef struct gs_coding_work {
    double bytes;
    gs_time_ns least_ns;
} gs_coding_work;

/* Of encoding a slice that is sent, error feedback included where there is any, and of decoding. */
gs_coding_work gs_coding_encode_work(const gs_coding *coding, int64_t elements, bool feedback);
gs_coding_work gs_coding_decode_work(const gs_coding *coding, int64_t elements);

/* Of an all-reduce before stage `stage` (stage_count: after the last). */
gs_coding_work gs_coding_work_of(const gs_coding *coding, const gs_coding_plan *plan,
                                 uint32_t members, int64_t slice_elements, uint32_t stage);

#endif
