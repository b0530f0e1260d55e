#include "traces/wire.h"

#include "base/assert.h"
#include "models/codec_kernels.h"
#include "models/kernels.h"
#include "strategies/group.h"

#include <string.h>

/* Bytes in memory that is aligned for floats. */
typedef struct buffer {
    float *data;
    size_t capacity; /* floats */
    size_t bytes;    /* of the payload in it; 0: none yet */
} buffer;

/* What one communicator has under way. */
typedef struct board {
    uint32_t members, self;
    buffer *came[GS_CODING_STAGES_MAX]; /* [members]; of a sum only the first is used */
    buffer *out;                        /* [members] */
    int64_t version;                    /* the oldest of what came */
} board;

struct gs_wire {
    const gs_coding *coding;
    const gs_packer *packer; /* NULL: powersgd */
    gs_entity_memory *memory;
    gs_arena *arena;
    uint32_t own_first;  /* vector: the codec's own memory */
    uint32_t residual;   /* vector; 0: no feedback */
    uint32_t residual_2; /* vector: of sums that are encoded again */
    buffer message;
    board boards[GS_COMMUNICATORS_MAX];
};

/* ---------------------------------------------------------------- creation */

static bool open_board(gs_wire *wire, uint32_t communicator)
{
    const gs_entity_memory_config *config = &wire->memory->config;
    board *opened = &wire->boards[communicator];
    gs_group group = config->layout->communicators[communicator].group;
    opened->members = gs_group_size(group, config->job->ranks);
    opened->self = gs_group_member(group, config->job->ranks, config->self.index);
    opened->came[0] = GS_TAKE(wire->arena, buffer, opened->members);
    opened->came[1] = GS_TAKE(wire->arena, buffer, opened->members);
    opened->out = GS_TAKE(wire->arena, buffer, opened->members);
    return opened->came[0] != NULL && opened->came[1] != NULL && opened->out != NULL;
}

gs_wire *gs_wire_create(const gs_coding *coding, gs_entity_memory *memory, gs_arena *arena)
{
    const gs_entity_memory_config *config = &memory->config;
    gs_wire *wire = GS_TAKE(arena, gs_wire, 1);
    if (wire == NULL) {
        return NULL;
    }
    *wire = (gs_wire){.coding = coding, .memory = memory, .arena = arena};
    wire->packer = gs_packer_find(coding->codec->name);
    wire->own_first = GS_OWN + config->layout->own_vectors[config->self.role];
    uint32_t next = wire->own_first + coding->codec->own_vectors;
    wire->residual = coding->config.feedback ? next : 0;
    wire->residual_2 = next + 1;
    bool ok = true;
    for (uint32_t i = 0; ok && i < config->layout->communicator_count; i++) {
        bool coded = config->layout->communicators[i].coded && config->self.role == GS_WORKER;
        ok = !coded || open_board(wire, i);
    }
    return ok ? wire : NULL;
}

/* ---------------------------------------------------------------- buffers and slices */

static bool reserve(gs_wire *wire, buffer *of, size_t bytes)
{
    size_t floats = (bytes + sizeof(float) - 1) / sizeof(float);
    if (floats <= of->capacity) {
        return true;
    }
    of->data = GS_TAKE(wire->arena, float, floats);
    of->capacity = of->data == NULL ? 0 : floats;
    return of->data != NULL;
}

static uint8_t *bytes_of(const buffer *of)
{
    return (uint8_t *)of->data;
}

static gs_payload view_of(const buffer *of, size_t from, size_t to, int64_t version)
{
    return (gs_payload){.coded = bytes_of(of) + from, .bytes = to - from, .version = version};
}

/* The same elements of another vector. */
static float *floats_of(const gs_wire *wire, gs_slice slice, uint32_t vector, size_t *out_count)
{
    return gs_vectors_slice(&wire->memory->vectors, vector, slice.offset, slice.length, out_count);
}

static size_t count_of(const gs_wire *wire, gs_slice slice)
{
    size_t count;
    (void)floats_of(wire, slice, slice.vector, &count);
    return count;
}

static gs_slice part_of(const board *on, gs_slice slice, uint32_t member)
{
    gs_slice part = {.vector = slice.vector};
    gs_part_of(slice.length, on->members, member, &part.offset, &part.length);
    part.offset += slice.offset;
    return part;
}

/* The slice that payload `unit` stands for. */
static gs_slice unit_of(const board *on, const gs_coding_plan *plan, gs_slice slice, uint32_t unit)
{
    return plan->two_phases ? part_of(on, slice, unit) : slice;
}

/* ---------------------------------------------------------------- rules */

/* Draws of a rank's own differ by request; shared ones are equal for the same label and step. */
static gs_pack_rule rule_of(const gs_wire *wire, size_t count, int64_t step, uint64_t request,
                            uint64_t label)
{
    const gs_codec_config *config = &wire->coding->config;
    const gs_entity_memory_config *entity = &wire->memory->config;
    bool shared = wire->coding->codec->random == GS_RANDOM_SHARED;
    uint32_t self = (uint32_t)entity->self.role << 16 | entity->self.index;
    return (gs_pack_rule){
        .count = count,
        .block = (size_t)config->block,
        .bits = (uint32_t)config->bits,
        .scaled = config->scale == GS_SIGN_MEAN,
        .clip = config->clip,
        .kept = (size_t)gs_codec_kept(config, (int64_t)count, step),
        .wide_index = config->index == GS_INDEX_INT64,
        .sample = config->sample,
        .lower = config->lower,
        .upper = config->upper,
        .rounds = (uint32_t)config->rounds,
        .key = {entity->job->seed, GS_RNG_CODEC, shared ? (uint32_t)label : self},
        .step = shared ? (uint64_t)step : request,
    };
}

static gs_pack_rule op_rule(const gs_wire *wire, const gs_op_signature *op, size_t count)
{
    uint64_t request = op->sequence * GS_COMMUNICATORS_MAX + op->communicator;
    return rule_of(wire, count, op->step, request, op->label);
}

/* Messages have no step that sender and receiver share: ratios are those of the long run. */
enum { MESSAGE_STEP = INT32_MAX };

static gs_pack_rule message_rule(const gs_wire *wire, size_t count, uint64_t key)
{
    gs_pack_rule rule = rule_of(wire, count, MESSAGE_STEP, key, 0);
    rule.step = key;
    return rule;
}

static gs_low_rank shape_of(const gs_coding_plan *plan, size_t count)
{
    return (gs_low_rank){count, plan->matrix.rows, plan->matrix.columns, plan->matrix.rank};
}

/* In the sizes of the job, and in those of the floats that stand for it. */
static gs_coding_plan job_plan(const gs_wire *wire, const gs_op_signature *op)
{
    uint32_t members = wire->boards[op->communicator].members;
    return gs_coding_plan_of(wire->coding, members, op->elements, op->step);
}

static gs_coding_plan float_plan(const gs_wire *wire, const gs_op_signature *op, size_t count)
{
    uint32_t members = wire->boards[op->communicator].members;
    return gs_coding_plan_of(wire->coding, members, (int64_t)count, op->step);
}

/* ---------------------------------------------------------------- encoding */

/* Encodes a slice into the buffer; residual 0: without feedback. */
static bool encode(gs_wire *wire, gs_slice slice, uint32_t residual, const gs_pack_rule *rule,
                   buffer *out)
{
    size_t count;
    const float *in = floats_of(wire, slice, slice.vector, &count);
    if (!reserve(wire, out, wire->packer->room_bytes(rule))) {
        return false;
    }
    if (wire->coding->codec->own_vectors == 2) {
        gs_dgc_memory memory = {floats_of(wire, slice, wire->own_first, &count),
                                floats_of(wire, slice, wire->own_first + 1, &count),
                                (float)wire->coding->config.momentum, wire->coding->config.masking};
        out->bytes = gs_pack_dgc(rule, &memory, in, bytes_of(out));
    } else if (residual != 0) {
        float *left = floats_of(wire, slice, residual, &count);
        out->bytes = gs_pack_feedback(wire->packer, rule, in, left, bytes_of(out));
    } else {
        out->bytes = wire->packer->encode(rule, in, bytes_of(out));
    }
    return true;
}

static bool decode(gs_wire *wire, gs_slice into, const gs_pack_rule *rule, gs_unpack mode,
                   const buffer *from)
{
    size_t count;
    float *out = floats_of(wire, into, into.vector, &count);
    return wire->packer->decode(rule, mode, bytes_of(from), from->bytes, out);
}

/* The sum of the payloads of all members, decoded, in their order. */
static bool decode_all(gs_wire *wire, const gs_op_signature *op, gs_slice into, const buffer *came)
{
    const board *on = &wire->boards[op->communicator];
    gs_pack_rule rule = op_rule(wire, op, count_of(wire, into));
    for (uint32_t member = 0; member < on->members; member++) {
        gs_unpack mode = member == 0 ? GS_UNPACK_PUT : GS_UNPACK_ADD;
        if (!decode(wire, into, &rule, mode, &came[member])) {
            return false;
        }
    }
    if (gs_codec_is_vote(wire->coding->codec, &wire->coding->config)) {
        size_t count;
        float *sums = floats_of(wire, into, into.vector, &count);
        gs_vote(sums, count);
    }
    return true;
}

/* ---------------------------------------------------------------- payloads by two paths */

static bool code_payloads(gs_wire *wire, const gs_op_signature *op, const gs_coding_plan *plan,
                          gs_slice data, uint32_t stage)
{
    board *on = &wire->boards[op->communicator];
    bool ok = true;
    if (stage == 0) {
        for (uint32_t unit = 0; ok && unit < (plan->two_phases ? on->members : 1); unit++) {
            gs_slice of = unit_of(on, plan, data, unit);
            gs_pack_rule rule = op_rule(wire, op, count_of(wire, of));
            bool stays = !plan->two_phases || unit == on->self;
            ok = encode(wire, of, wire->residual, &rule,
                        stays ? &on->came[0][on->self] : &on->out[unit]);
        }
        return ok;
    }
    if (stage < plan->stage_count) {
        gs_slice own = part_of(on, data, on->self);
        gs_pack_rule rule = op_rule(wire, op, count_of(wire, own));
        uint32_t residual = wire->residual != 0 ? wire->residual_2 : 0;
        return decode_all(wire, op, own, on->came[0]) &&
               encode(wire, own, residual, &rule, &on->came[1][on->self]);
    }
    if (!plan->two_phases) {
        return decode_all(wire, op, data, on->came[0]);
    }
    for (uint32_t unit = 0; ok && unit < on->members; unit++) {
        gs_slice part = part_of(on, data, unit);
        gs_pack_rule rule = op_rule(wire, op, count_of(wire, part));
        ok = decode(wire, part, &rule, GS_UNPACK_PUT, &on->came[1][unit]);
    }
    return ok;
}

/* ---------------------------------------------------------------- sums */

static bool code_sum(gs_wire *wire, const gs_op_signature *op, gs_slice data, uint32_t stage)
{
    buffer *numbers = wire->boards[op->communicator].came[0];
    gs_pack_rule rule = op_rule(wire, op, count_of(wire, data));
    return stage == 0 ? encode(wire, data, wire->residual, &rule, numbers)
                      : decode(wire, data, &rule, GS_UNPACK_PUT, numbers);
}

/* Q of the step before where there is one, in the first elements of the codec's own vector. */
static void start_q(gs_wire *wire, const gs_op_signature *op, const gs_low_rank *shape,
                    gs_slice data, float *q)
{
    size_t count;
    const float *kept = floats_of(wire, data, wire->own_first, &count);
    size_t numbers = (size_t)(shape->columns * shape->rank);
    bool has_kept = false;
    for (size_t i = 0; numbers <= count && i < numbers && !has_kept; i++) {
        has_kept = kept[i] < 0.0F || kept[i] > 0.0F;
    }
    if (has_kept && wire->coding->config.warm_start) {
        gs_kernel_copy(q, kept, NULL, numbers, 0.0F);
    } else {
        gs_pack_rule rule = op_rule(wire, op, shape->count);
        gs_low_rank_start(shape, rule.key, rule.step, q);
    }
}

static void keep_q(gs_wire *wire, const gs_low_rank *shape, gs_slice data, const float *q)
{
    size_t count;
    float *kept = floats_of(wire, data, wire->own_first, &count);
    size_t numbers = (size_t)(shape->columns * shape->rank);
    if (numbers <= count) {
        gs_kernel_copy(kept, q, NULL, numbers, 0.0F);
    }
}

/* The slice becomes g + residual, and stays so until the end. */
static void add_residual(gs_wire *wire, gs_slice data)
{
    size_t count;
    float *m = floats_of(wire, data, data.vector, &count);
    if (wire->residual != 0) {
        gs_kernel_add(m, floats_of(wire, data, wire->residual, &count), NULL, count, 0.0F);
    }
}

/* The slice becomes the sum P Q'; the residual what a member's share of it misses of its own. */
static void expand(gs_wire *wire, const board *on, const gs_low_rank *shape, gs_slice data)
{
    size_t count;
    float *m = floats_of(wire, data, data.vector, &count);
    float *left = wire->residual != 0 ? floats_of(wire, data, wire->residual, &count) : NULL;
    if (left != NULL) {
        gs_kernel_copy(left, m, NULL, count, 0.0F);
    }
    gs_low_rank_expand(shape, on->out->data, on->came[1][0].data, m);
    if (left != NULL) {
        gs_kernel_axpy(left, m, NULL, count, -1.0F / (float)on->members);
    }
}

static bool code_low_rank(gs_wire *wire, const gs_op_signature *op, const gs_coding_plan *plan,
                          gs_slice data, uint32_t stage)
{
    board *on = &wire->boards[op->communicator];
    size_t count;
    const float *m = floats_of(wire, data, data.vector, &count);
    gs_low_rank shape = shape_of(plan, count);
    buffer *p = &on->came[0][0];
    buffer *q = &on->came[1][0];
    p->bytes = (size_t)(shape.rows * shape.rank) * sizeof(float);
    q->bytes = (size_t)(shape.columns * shape.rank) * sizeof(float);
    if (stage == 0) {
        if (!reserve(wire, p, p->bytes) || !reserve(wire, q, q->bytes)) {
            return false;
        }
        add_residual(wire, data);
        start_q(wire, op, &shape, data, q->data);
        gs_low_rank_left(&shape, m, q->data, p->data);
    } else if (stage == 1) {
        /* Not in place: the sum may still be on its way to a neighbour. */
        if (!reserve(wire, on->out, p->bytes)) {
            return false;
        }
        memcpy(on->out->data, p->data, p->bytes);
        gs_low_rank_orthonormalise(&shape, on->out->data);
        gs_low_rank_right(&shape, m, on->out->data, q->data);
    } else {
        expand(wire, on, &shape, data);
        keep_q(wire, &shape, data, q->data);
    }
    return true;
}

/* Floats that stand for a larger slice may be too few to be a matrix: they are the first sum, and
 * the second one is empty. */
static bool code_dense(gs_wire *wire, const gs_op_signature *op, gs_slice data, uint32_t stage)
{
    const board *on = &wire->boards[op->communicator];
    size_t count;
    float *m = floats_of(wire, data, data.vector, &count);
    buffer *sum = on->came[0];
    sum->bytes = count * sizeof(float);
    on->came[1][0].bytes = 0;
    if (!reserve(wire, sum, sum->bytes)) {
        return false;
    }
    if (stage == 0) {
        gs_kernel_copy(sum->data, m, NULL, count, 0.0F);
    } else if (stage == 2) {
        gs_kernel_copy(m, sum->data, NULL, count, 0.0F);
    }
    return true;
}

/* ---------------------------------------------------------------- collectives */

static bool code_floats(gs_wire *wire, const gs_op_signature *op, gs_slice data, uint32_t stage)
{
    size_t count = count_of(wire, data);
    gs_coding_plan plan = float_plan(wire, op, count);
    switch (wire->coding->codec->travel) {
    case GS_TRAVEL_SUM:
        return code_sum(wire, op, data, stage);
    case GS_TRAVEL_LOW_RANK:
        return plan.stage_count == 0 ? code_dense(wire, op, data, stage)
                                     : code_low_rank(wire, op, &plan, data, stage);
    case GS_TRAVEL_GATHER:
    case GS_TRAVEL_COUNT:
        break;
    }
    return code_payloads(wire, op, &plan, data, stage);
}

bool gs_wire_code(gs_wire *wire, const gs_op_signature *op, gs_slice data, uint32_t stage)
{
    board *on = &wire->boards[op->communicator];
    gs_versions *versions = &wire->memory->versions;
    if (stage == 0) {
        on->version = gs_versions_oldest(versions, data.vector, data.offset, data.length);
    } else if (stage == job_plan(wire, op).stage_count) {
        gs_versions_put(versions, data.vector, data.offset, data.length, on->version);
    }
    return wire->memory->vectors.data == NULL || code_floats(wire, op, data, stage);
}

double gs_wire_work_bytes(const gs_wire *wire, const gs_op_signature *op, uint32_t stage)
{
    gs_coding_plan plan = job_plan(wire, op);
    return gs_coding_work_bytes(wire->coding, &plan, wire->boards[op->communicator].members,
                                op->elements, stage);
}

/* The buffer that a part of payloads is in. */
static buffer *place_of(const gs_wire *wire, const gs_op_signature *op, gs_slice part)
{
    const board *on = &wire->boards[op->communicator];
    buffer *of = part.vector == GS_WIRE_OUT ? on->out : on->came[part.vector - GS_WIRE_FIRST];
    return &of[part.offset];
}

/* Which numbers of the floats' sum a part of the job's is: bytes from where to where. */
static void range_of(const gs_wire *wire, const gs_op_signature *op, gs_slice part,
                     size_t *out_from, size_t *out_to)
{
    uint32_t stage = part.vector - GS_WIRE_FIRST;
    gs_coding_plan plan = job_plan(wire, op);
    const gs_coding_stage *of = &plan.stages[stage];
    size_t number_bytes = (size_t)of->unit_bytes;
    size_t numbers = wire->boards[op->communicator].came[stage][0].bytes / number_bytes;
    *out_from = *out_to = 0;
    if (of->units == 0) {
        return;
    }
    *out_from = numbers * (size_t)part.offset / (size_t)of->units * number_bytes;
    *out_to = numbers * (size_t)(part.offset + part.length) / (size_t)of->units * number_bytes;
}

static bool is_sum(const gs_wire *wire, const gs_op_signature *op, gs_slice part)
{
    uint32_t stage = part.vector == GS_WIRE_SECOND ? 1 : 0;
    return job_plan(wire, op).stages[stage].unit_bytes > 0;
}

/* As the job counts a payload that is `bytes` long and stands for `count` floats. */
static int64_t scaled_bytes(gs_codec_size expected, size_t bytes, size_t count, int64_t elements)
{
    if (expected.most_bytes == expected.expected_bytes || count == 0) {
        return expected.expected_bytes;
    }
    return (int64_t)((double)bytes * (double)elements / (double)count + 0.5);
}

int64_t gs_wire_part_bytes(const gs_wire *wire, const gs_op_signature *op, gs_slice part)
{
    gs_coding_plan plan = job_plan(wire, op);
    uint32_t stage = part.vector == GS_WIRE_SECOND ? 1 : 0;
    if (plan.stages[stage].unit_bytes > 0) {
        return part.length * plan.stages[stage].unit_bytes;
    }
    uint32_t members = wire->boards[op->communicator].members;
    int64_t elements = gs_coding_unit_elements(&plan, members, op->elements, (uint32_t)part.offset);
    gs_codec_size size =
        wire->coding->codec->payload_bytes(&wire->coding->config, elements, op->step);
    if (wire->memory->vectors.data == NULL) {
        return size.expected_bytes;
    }
    double share = (double)wire->memory->vectors.count / (double)wire->memory->config.job->elements;
    size_t count = (size_t)((double)elements * share + 0.5);
    return scaled_bytes(size, place_of(wire, op, part)->bytes, count, elements);
}

gs_payload gs_wire_view(const gs_wire *wire, const gs_op_signature *op, gs_slice part)
{
    int64_t version = wire->boards[op->communicator].version;
    if (wire->memory->vectors.data == NULL) {
        return (gs_payload){.version = version};
    }
    if (!is_sum(wire, op, part)) {
        const buffer *of = place_of(wire, op, part);
        return view_of(of, 0, of->bytes, version);
    }
    size_t from;
    size_t to;
    range_of(wire, op, part, &from, &to);
    const buffer *numbers = wire->boards[op->communicator].came[part.vector - GS_WIRE_FIRST];
    return view_of(numbers, from, to, version);
}

static bool put_numbers(gs_wire *wire, const gs_op_signature *op, gs_slice part,
                        const gs_payload *payload, bool add)
{
    size_t from;
    size_t to;
    range_of(wire, op, part, &from, &to);
    if (payload->bytes != to - from) {
        return false;
    }
    buffer *numbers = wire->boards[op->communicator].came[part.vector - GS_WIRE_FIRST];
    const uint8_t *came = payload->coded;
    if (to == from) {
        return true;
    }
    if (!add) {
        memcpy(bytes_of(numbers) + from, came, to - from);
        return true;
    }
    const gs_packer *adder = wire->packer != NULL ? wire->packer : gs_packer_find("none");
    int32_t number_bytes = job_plan(wire, op).stages[part.vector - GS_WIRE_FIRST].unit_bytes;
    size_t count = (to - from) / (size_t)number_bytes;
    adder->add(&(gs_pack_rule){.count = count, .kept = count}, bytes_of(numbers) + from, came);
    return true;
}

bool gs_wire_put(gs_wire *wire, const gs_op_signature *op, gs_slice part, const gs_payload *payload,
                 bool add)
{
    board *on = &wire->boards[op->communicator];
    on->version = payload->version < on->version ? payload->version : on->version;
    if (wire->memory->vectors.data == NULL) {
        return true;
    }
    if (is_sum(wire, op, part)) {
        return put_numbers(wire, op, part, payload, add);
    }
    buffer *into = place_of(wire, op, part);
    if (!reserve(wire, into, payload->bytes)) {
        return false;
    }
    memcpy(into->data, payload->coded, payload->bytes);
    into->bytes = payload->bytes;
    return true;
}

/* ---------------------------------------------------------------- messages */

bool gs_wire_encode(gs_wire *wire, gs_slice data, uint64_t key, gs_payload *out)
{
    int64_t version =
        gs_versions_oldest(&wire->memory->versions, data.vector, data.offset, data.length);
    *out = (gs_payload){.version = version};
    if (wire->memory->vectors.data == NULL) {
        return true;
    }
    gs_pack_rule rule = message_rule(wire, count_of(wire, data), key);
    if (!encode(wire, data, wire->residual, &rule, &wire->message)) {
        return false;
    }
    *out = view_of(&wire->message, 0, wire->message.bytes, version);
    return true;
}

bool gs_wire_decode(gs_wire *wire, gs_slice into, uint64_t key, const gs_payload *payload)
{
    gs_versions_put(&wire->memory->versions, into.vector, into.offset, into.length,
                    payload->version);
    if (wire->memory->vectors.data == NULL) {
        return true;
    }
    gs_pack_rule rule = message_rule(wire, count_of(wire, into), key);
    size_t count;
    float *out = floats_of(wire, into, into.vector, &count);
    return wire->packer->decode(&rule, GS_UNPACK_PUT, payload->coded, payload->bytes, out);
}

int64_t gs_wire_message_bytes(const gs_wire *wire, gs_slice data, const gs_payload *payload)
{
    gs_codec_size size =
        wire->coding->codec->payload_bytes(&wire->coding->config, data.length, MESSAGE_STEP);
    return payload == NULL || wire->memory->vectors.data == NULL
               ? size.expected_bytes
               : scaled_bytes(size, payload->bytes, count_of(wire, data), data.length);
}

double gs_wire_message_work_bytes(const gs_wire *wire, int64_t elements, bool decodes)
{
    const gs_codec *codec = wire->coding->codec;
    double feedback = wire->residual != 0 ? GS_FEEDBACK_BYTES : 0.0;
    return (double)elements * (decodes ? codec->decode_bytes : codec->encode_bytes + feedback);
}
