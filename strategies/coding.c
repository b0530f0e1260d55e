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

static gs_coding_plan low_rank_plan(const gs_coding *coding, int64_t elements, int64_t step)
{
    gs_codec_matrix matrix = gs_codec_matrix_of(&coding->config, elements, 0, step);
    if (matrix.rank == 0) {
        return (gs_coding_plan){.stage_count = 0};
    }
    return (gs_coding_plan){
        .stage_count = 2,
        .stages = {sum_of(matrix.rows * matrix.rank, 4), sum_of(matrix.columns * matrix.rank, 4)},
        .matrix = matrix,
    };
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

gs_coding_plan gs_coding_plan_of(const gs_coding *coding, uint32_t members, int64_t elements,
                                 int64_t step)
{
    if (coding->codec == NULL) {
        return (gs_coding_plan){.stage_count = 0};
    }
    switch (coding->codec->travel) {
    case GS_TRAVEL_SUM:
        return sum_plan(coding, elements, step);
    case GS_TRAVEL_LOW_RANK:
        return low_rank_plan(coding, elements, step);
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
int64_t gs_coding_group_bytes(const gs_coding *coding, uint32_t members, int64_t elements,
                              int32_t element_bytes, int64_t step)
{
    int64_t others = (int64_t)members - 1;
    gs_coding_plan plan = gs_coding_plan_of(coding, members, elements, step);
    if (plan.stage_count == 0) {
        return 2 * others * elements * element_bytes;
    }
    int64_t total = 0;
    for (uint32_t i = 0; i < plan.stage_count; i++) {
        const gs_coding_stage *stage = &plan.stages[i];
        total += stage->unit_bytes > 0
                     ? 2 * others * stage->units * stage->unit_bytes
                     : others * payloads_bytes(coding, &plan, members, elements, step);
    }
    return total;
}

double gs_coding_encode_bytes(const gs_coding *coding, bool feedback)
{
    return coding->measured_encode_bytes > 0.0
               ? coding->measured_encode_bytes
               : coding->codec->encode_bytes + (feedback ? GS_FEEDBACK_BYTES : 0.0);
}

double gs_coding_decode_bytes(const gs_coding *coding)
{
    return coding->measured_decode_bytes > 0.0 ? coding->measured_decode_bytes
                                               : coding->codec->decode_bytes;
}

double gs_coding_work_bytes(const gs_coding *coding, const gs_coding_plan *plan, uint32_t members,
                            int64_t elements, uint32_t stage)
{
    double encode = gs_coding_encode_bytes(coding, coding->config.feedback);
    double decode = gs_coding_decode_bytes(coding);
    double decoded = plan->stages[plan->stage_count - 1].unit_bytes > 0 ? 1.0 : members;
    double own = (double)elements / members;
    if (stage == 0) {
        return encode * (double)elements;
    }
    if (stage < plan->stage_count) {
        /* Between the phases: all parts that came are decoded, their sum is encoded. */
        return plan->two_phases ? (decode * members + encode) * own
                                : gs_coding_encode_bytes(coding, false) * (double)elements;
    }
    return decode * (plan->two_phases ? 1.0 : decoded) * (double)elements;
}

int64_t gs_coding_bucket_bytes(const gs_coding *coding, const gs_job *job,
                               const gs_bucket_rule *rule)
{
    int64_t total = 0;
    int64_t elements = 0;
    bool is_first = true;
    for (uint32_t unit = job->unit_count; unit-- > 0;) {
        elements += job->unit_elements[unit];
        if (gs_bucket_is_full(job, rule, is_first, elements) || unit == 0) {
            total +=
                gs_coding_group_bytes(coding, job->ranks, elements, job->element_bytes, INT32_MAX);
            elements = 0;
            is_first = false;
        }
    }
    return total / job->ranks;
}

int64_t gs_coding_send_bytes(const gs_coding *coding, int64_t elements, int32_t element_bytes)
{
    return coding->codec == NULL
               ? elements * element_bytes
               : coding->codec->payload_bytes(&coding->config, elements, INT32_MAX).expected_bytes;
}
