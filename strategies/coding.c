#include "strategies/coding.h"

#include "base/assert.h"
#include "strategies/registry.h"

static const gs_collective *program_of(gs_collective_kind kind)
{
    return gs_collective_for(&(gs_communicator){.all_reduce = NULL}, kind);
}

static gs_coding_stage sum_of(int64_t numbers, int32_t number_bytes)
{
    return (gs_coding_stage){program_of(GS_ALL_REDUCE), numbers, number_bytes};
}

/* A number of a summable payload has as many bytes as in every one of its kind. */
static gs_coding_plan sum_plan(const gs_coding *coding, int64_t elements, int64_t step)
{
    int64_t bytes = coding->codec->payload_bytes(&coding->config, elements, step).most_bytes;
    int32_t number_bytes = coding->codec->number_bytes;
    GS_ASSERT(number_bytes > 0 && bytes % number_bytes == 0);
    return (gs_coding_plan){.stage_count = 1,
                            .stages = {sum_of(bytes / number_bytes, number_bytes)}};
}

gs_codec_matrix gs_coding_matrix_of(const gs_coding *coding, const gs_tensor_piece *piece,
                                    int64_t step)
{
    return gs_codec_matrix_of(&coding->config, piece->length, piece->columns, step);
}

static gs_coding_plan low_rank_plan(const gs_coding *coding, const gs_coded_slice *slice,
                                    int64_t step)
{
    gs_coding_plan plan = {.stage_count = 2};
    int64_t left = 0, right = 0;
    gs_tensor_walk walk = gs_tensor_walk_begin(&slice->tensors, slice->offset, slice->elements);
    for (gs_tensor_piece piece; gs_tensor_walk_next(&walk, &piece);) {
        gs_codec_matrix matrix = gs_coding_matrix_of(coding, &piece, step);
        left += matrix.rows * matrix.rank;
        right += matrix.columns * matrix.rank;
        plan.matrices += matrix.rank > 0 ? 1 : 0;
        plan.dense_pieces += matrix.rank > 0 ? 0 : 1;
        plan.dense_elements += matrix.rank > 0 ? 0 : piece.length;
    }
    if (plan.matrices == 0) {
        return (gs_coding_plan){.stage_count = 0};
    }
    plan.stages[0] = sum_of(left + plan.dense_elements, 4);
    plan.stages[1] = sum_of(right, 4);
    return plan;
}

static gs_coding_plan payload_plan(const gs_coding *coding, uint32_t members)
{
    gs_coding_stage gather = {program_of(GS_ALL_GATHER), members, 0};
    if (coding->config.path == GS_PATH_GATHER) {
        return (gs_coding_plan){.stage_count = 1, .stages = {gather}};
    }
    gs_coding_stage exchange = {program_of(GS_ALL_TO_ALL), members, 0};
    return (gs_coding_plan){.stage_count = 2, .stages = {exchange, gather}, .two_phases = true};
}

gs_coding_plan gs_coding_plan_of(const gs_coding *coding, const gs_coded_slice *slice,
                                 uint32_t members, int64_t step)
{
    if (coding->codec == NULL) {
        return (gs_coding_plan){.stage_count = 0};
    }
    switch (coding->codec->travel) {
    case GS_TRAVEL_SUM:
        return sum_plan(coding, slice->elements, step);
    case GS_TRAVEL_LOW_RANK:
        return low_rank_plan(coding, slice, step);
    case GS_TRAVEL_GATHER:
    case GS_TRAVEL_COUNT:
        break;
    }
    return payload_plan(coding, members);
}

int64_t gs_coding_unit_elements(const gs_coding_plan *plan, uint32_t members, int64_t elements,
                                uint32_t unit)
{
    int64_t offset;
    int64_t length = elements;
    if (plan->two_phases) {
        gs_part_of(elements, members, unit, &offset, &length);
    }
    return length;
}

uint32_t gs_coding_vectors(const gs_coding *coding)
{
    if (coding == NULL || coding->codec == NULL) {
        return 0;
    }
    bool again = coding->codec->travel == GS_TRAVEL_GATHER && coding->config.feedback &&
                 coding->config.path == GS_PATH_TWO_PHASE;
    return gs_codec_vectors(coding->codec, &coding->config) + (again ? 1 : 0);
}

static int64_t payloads_bytes(const gs_coding *coding, const gs_coding_plan *plan, uint32_t members,
                              int64_t elements, int64_t step)
{
    int64_t total = 0;
    for (uint32_t unit = 0; unit < members; unit++) {
        int64_t length = gs_coding_unit_elements(plan, members, elements, unit);
        total += coding->codec->payload_bytes(&coding->config, length, step).expected_bytes;
    }
    return total;
}

/* Every payload or number passes members - 1 times, in a sum twice. */
int64_t gs_coding_group_bytes(const gs_coding *coding, const gs_coded_slice *slice,
                              int32_t element_bytes, uint32_t members, int64_t step)
{
    int64_t others = (int64_t)members - 1;
    gs_coding_plan plan = gs_coding_plan_of(coding, slice, members, step);
    if (plan.stage_count == 0) {
        return 2 * others * slice->elements * element_bytes;
    }
    int64_t total = 0;
    for (uint32_t i = 0; i < plan.stage_count; i++) {
        const gs_coding_stage *stage = &plan.stages[i];
        total += stage->unit_bytes > 0
                     ? 2 * others * stage->units * stage->unit_bytes
                     : others * payloads_bytes(coding, &plan, members, slice->elements, step);
    }
    return total;
}

double gs_coding_series_bytes(const gs_coding *coding, const gs_coded_slice *slice,
                              int32_t element_bytes, uint32_t members, gs_coding_series steps)
{
    double total = 0.0;
    int64_t step = steps.first;
    for (int64_t left = steps.count; left > 0;) {
        int64_t until =
            coding->codec == NULL ? INT64_MAX : gs_codec_same_until(&coding->config, step);
        int64_t same = (until - step - 1) / steps.every + 1;
        same = same < left ? same : left;
        total += (double)same *
                 (double)gs_coding_group_bytes(coding, slice, element_bytes, members, step);
        step += same * steps.every;
        left -= same;
    }
    return total;
}

gs_coding_series gs_coding_budget(const gs_job *job)
{
    return job->budget_steps > 0 ? (gs_coding_series){0, 1, job->budget_steps}
                                 : (gs_coding_series){INT32_MAX, 1, 1};
}

/* Of a slice that is cut in parts, each summed by the members of a group of its own. */
static double parts_bytes(const gs_coding *coding, const gs_job *job, const gs_coded_slice *slice,
                          uint32_t parts)
{
    double total = 0.0;
    for (uint32_t i = 0; i < parts; i++) {
        gs_coded_slice part = {.tensors = slice->tensors};
        gs_part_of(slice->elements, parts, i, &part.offset, &part.elements);
        part.offset += slice->offset;
        total += gs_coding_series_bytes(coding, &part, job->element_bytes, job->ranks / parts,
                                        gs_coding_budget(job));
    }
    return total;
}

int64_t gs_coding_bucket_bytes(const gs_coding *coding, const gs_job *job,
                               const gs_bucket_rule *rule, uint32_t parts)
{
    double total = 0.0;
    gs_coded_slice bucket = gs_coded_slice_of(job, 0, 0);
    for (uint32_t unit = job->unit_count; unit-- > 0;) {
        bucket.elements += job->unit_elements[unit];
        if (gs_bucket_is_full(job, rule, bucket.offset == 0, bucket.elements) || unit == 0) {
            total += parts_bytes(coding, job, &bucket, parts);
            bucket.offset += bucket.elements;
            bucket.elements = 0;
        }
    }
    return (int64_t)(total / job->ranks / (double)gs_coding_budget(job).count);
}

int64_t gs_coding_send_bytes(const gs_coding *coding, int64_t elements, int32_t element_bytes)
{
    return coding->codec == NULL
               ? elements * element_bytes
               : coding->codec->payload_bytes(&coding->config, elements, INT32_MAX).expected_bytes;
}

/* ---------------------------------------------------------------- local work */

/* So many bytes an element, in so many kernels; what was measured has these in its bytes. */
static gs_coding_work work_of(const gs_coding *coding, double bytes, double elements,
                              uint32_t kernels)
{
    gs_time_ns kernel_ns = gs_coding_is_assumed(coding) ? coding->kernel_ns : 0;
    return (gs_coding_work){bytes * elements, kernel_ns * kernels};
}

static gs_coding_work both(gs_coding_work a, gs_coding_work b)
{
    return (gs_coding_work){a.bytes + b.bytes, a.least_ns + b.least_ns};
}

/* So many payloads that stand for so many elements together. */
static gs_coding_work encode_of(const gs_coding *coding, double elements, uint32_t payloads,
                                bool feedback)
{
    enum { FEEDBACK_KERNELS = 2 };
    double bytes = coding->codec->encode_bytes + (feedback ? GS_FEEDBACK_BYTES : 0.0);
    uint32_t kernels = coding->codec->encode_kernels + (feedback ? FEEDBACK_KERNELS : 0U);
    return work_of(coding, gs_coding_is_assumed(coding) ? bytes : coding->measured_encode_bytes,
                   elements, kernels * payloads);
}

static gs_coding_work decode_of(const gs_coding *coding, double elements, uint32_t payloads)
{
    return work_of(coding,
                   gs_coding_is_assumed(coding) ? coding->codec->decode_bytes
                                                : coding->measured_decode_bytes,
                   elements, coding->codec->decode_kernels * payloads);
}

gs_coding_work gs_coding_encode_work(const gs_coding *coding, int64_t elements, bool feedback)
{
    return encode_of(coding, (double)elements, 1, feedback);
}

gs_coding_work gs_coding_decode_work(const gs_coding *coding, int64_t elements)
{
    return decode_of(coding, (double)elements, 1);
}

/* Of the halves of encoding and of decoding: products of all matrices, and copies of the rest, to
 * the wire and back. Feedback is in the first half. */
static gs_coding_work low_rank_work(const gs_coding *coding, const gs_coding_plan *plan,
                                    double elements, uint32_t stage)
{
    enum { COPY_BYTES = 8 };
    gs_coding_work work =
        stage < 2 ? encode_of(coding, elements, 1, stage == 0 && coding->config.feedback)
                  : decode_of(coding, elements, 1);
    if (!gs_coding_is_assumed(coding)) {
        return work;
    }
    bool copies = stage != 1;
    uint32_t kernels = plan->matrices * coding->codec->matrix_kernels(&coding->config, stage) +
                       (copies ? plan->dense_pieces : 0);
    return both(work,
                work_of(coding, COPY_BYTES, copies ? (double)plan->dense_elements : 0.0, kernels));
}

gs_coding_work gs_coding_work_of(const gs_coding *coding, const gs_coding_plan *plan,
                                 uint32_t members, int64_t slice_elements, uint32_t stage)
{
    bool feedback = coding->config.feedback;
    double elements = (double)slice_elements;
    if (coding->codec->travel == GS_TRAVEL_LOW_RANK) {
        return low_rank_work(coding, plan, elements, stage);
    }
    if (stage == 0) {
        return encode_of(coding, elements, plan->two_phases ? members : 1, feedback);
    }
    if (stage < plan->stage_count) {
        /* Between the phases: all parts that came are decoded, their sum is encoded. */
        return both(decode_of(coding, elements, members),
                    encode_of(coding, elements / members, 1, feedback));
    }
    if (plan->two_phases) {
        return decode_of(coding, elements, members);
    }
    bool is_sum = plan->stages[plan->stage_count - 1].unit_bytes > 0;
    return is_sum ? decode_of(coding, elements, 1) : decode_of(coding, elements * members, members);
}
