/* How a codec's payloads travel: a coded all-reduce as one or two collectives of what the codec
 * makes, with local work before, between and after them.
 *
 * Payloads that can be added: one sum of the payload's numbers. PowerSGD: two sums, P then Q.
 * Others by one of two paths: gather, each payload to all, who decode and add; or two phases, each
 * part of the slice to the member whose part it is, who adds, encodes the sum and gathers it to
 * all. Sizes only; the bytes are traces/wire.h's. */
#ifndef GS_STRATEGIES_CODING_H
#define GS_STRATEGIES_CODING_H

#include "strategies/bucket.h"
#include "strategies/codec.h"
#include "strategies/collective.h"

struct gs_coding {
    const gs_codec *codec; /* NULL: slices travel as they are */
    gs_codec_config config;
    /* Memory traffic per element as it was measured, that of error feedback included; 0: what the
     * codec says. */
    double measured_encode_bytes, measured_decode_bytes;
};

enum { GS_CODING_STAGES_MAX = 2 };

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
    bool two_phases;        /* payloads are of parts of the slice, not of all of it */
    gs_codec_matrix matrix; /* of GS_TRAVEL_LOW_RANK */
} gs_coding_plan;

/* members >= 1, elements >= 0 of the slice, step >= 0. */
gs_coding_plan gs_coding_plan_of(const gs_coding *coding, uint32_t members, int64_t elements,
                                 int64_t step);

/* Elements of the slice that payload `unit` stands for: all, or those of a part. */
int64_t gs_coding_unit_elements(const gs_coding_plan *plan, uint32_t members, int64_t elements,
                                uint32_t unit);

/* Vectors as long as the gradient that an entity keeps for it: the codec's own, a residual where it
 * has feedback, and a second one for sums that are encoded again. */
uint32_t gs_coding_vectors(const gs_coding *coding);

/* Bytes that the members of a group send together in one all-reduce of a slice, coded or not; where
 * the data decides, those expected. */
int64_t gs_coding_group_bytes(const gs_coding *coding, uint32_t members, int64_t elements,
                              int32_t element_bytes, int64_t step);

/* Bytes of a slice that is sent to one peer. */
int64_t gs_coding_send_bytes(const gs_coding *coding, int64_t elements, int32_t element_bytes);

/* Bytes that one worker sends on average in all-reduces of all buckets over all workers. */
int64_t gs_coding_bucket_bytes(const gs_coding *coding, const gs_job *job,
                               const gs_bucket_rule *rule);

/* Memory traffic of encoding an element, error feedback included where there is any, and of
 * decoding one. */
double gs_coding_encode_bytes(const gs_coding *coding, bool feedback);
double gs_coding_decode_bytes(const gs_coding *coding);

/* Memory traffic of the local work before stage `stage` (stage_count: after the last), in bytes. */
double gs_coding_work_bytes(const gs_coding *coding, const gs_coding_plan *plan, uint32_t members,
                            int64_t elements, uint32_t stage);

#endif
