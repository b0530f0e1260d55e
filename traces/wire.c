#include "traces/wire_parts.h"

#include "base/assert.h"
#include "strategies/group.h"
#include "traces/layer_table.h"

#include <string.h>

/* ---------------------------------------------------------------- creation */

static bool open_board(gs_wire *wire, uint32_t index)
{
    const gs_entity_memory_config *config = &wire->memory->config;
    gs_wire_board *opened = &wire->boards[index];
    gs_group group = config->layout->communicators[wire->first_line + index].group;
    opened->members = gs_group_size(group, config->job->ranks);
    opened->self = gs_group_member(group, config->job->ranks, config->self.index);
    opened->came[0] = GS_TAKE(wire->arena, gs_wire_buffer, opened->members);
    opened->came[1] = GS_TAKE(wire->arena, gs_wire_buffer, opened->members);
    opened->out = GS_TAKE(wire->arena, gs_wire_buffer, opened->members);
    return opened->came[0] != NULL && opened->came[1] != NULL && opened->out != NULL;
}

/* Layers that have parameters, as the network lays them out. false: no memory. */
static bool describe(gs_wire *wire, const gs_task *task)
{
    const gs_network *network = gs_task_network(task);
    int64_t *elements = GS_TAKE(wire->arena, int64_t, network->layer_count);
    gs_unit_shape *shapes = GS_TAKE(wire->arena, gs_unit_shape, network->layer_count);
    uint32_t count = 0;
    for (uint32_t i = 0; elements != NULL && shapes != NULL && i < network->layer_count; i++) {
        const gs_layer *layer = &network->layers[i];
        if (layer->parameter_count > 0) {
            elements[count] = layer->parameter_count;
            shapes[count++] = gs_layer_shape(layer);
        }
    }
    wire->tensors = (gs_tensors){count, elements, shapes};
    return elements != NULL && shapes != NULL;
}

gs_wire *gs_wire_create(const gs_coding *coding, gs_entity_memory *memory, gs_arena *arena)
{
    const gs_layout *layout = memory->config.layout;
    gs_wire_span all = {.line_count = layout->communicator_count};
    return gs_wire_create_at(coding, &all, memory, arena);
}

gs_wire *gs_wire_create_at(const gs_coding *coding, const gs_wire_span *place,
                           gs_entity_memory *memory, gs_arena *arena)
{
    const gs_entity_memory_config *config = &memory->config;
    gs_wire *wire = GS_TAKE(arena, gs_wire, 1);
    if (wire == NULL) {
        return NULL;
    }
    *wire = (gs_wire){.coding = coding, .memory = memory, .arena = arena};
    wire->packer = gs_packer_find(coding->codec->name);
    wire->first_line = place->first_line;
    wire->own_first = GS_OWN + config->layout->own_vectors[config->self.role] + place->first_vector;
    uint32_t next = wire->own_first + coding->codec->own_vectors;
    wire->residual = coding->config.feedback ? next : 0;
    wire->residual_2 = next + 1;
    bool ok = config->task == NULL || describe(wire, config->task);
    for (uint32_t i = 0; ok && i < place->line_count; i++) {
        bool coded = config->layout->communicators[place->first_line + i].coded &&
                     config->self.role == GS_WORKER;
        ok = !coded || open_board(wire, i);
    }
    return ok ? wire : NULL;
}

gs_wire **gs_wires_create(const gs_relay *relay, gs_entity_memory *memory, gs_arena *arena)
{
    gs_wire **wires = GS_TAKE(arena, gs_wire *, relay->count);
    for (uint32_t i = 0; wires != NULL && i < relay->count; i++) {
        const gs_leg *leg = &relay->list[i];
        gs_wire_span place = {leg->first_line, leg->layout.communicator_count,
                              leg->first_code_vector};
        if (leg->coding == NULL || leg->coding->codec == NULL || leg->same_as != i) {
            continue;
        }
        wires[i] = gs_wire_create_at(leg->coding, &place, memory, arena);
        if (wires[i] == NULL) {
            return NULL;
        }
    }
    return wires;
}

void gs_wire_forget(gs_wire *wire)
{
    gs_slice kept = {.length = wire->memory->config.job->elements};
    for (uint32_t i = 0; i < gs_coding_vectors(wire->coding); i++) {
        kept.vector = wire->own_first + i;
        bool same = gs_entity_memory_vec(wire->memory, GS_VOP_scale, kept, kept, 0.0);
        GS_ASSERT(same);
    }
}

/* ---------------------------------------------------------------- buffers and slices */

bool gs_wire_reserve(gs_wire *wire, gs_wire_buffer *of, size_t bytes)
{
    size_t floats = (bytes + sizeof(float) - 1) / sizeof(float);
    if (floats <= of->capacity) {
        return true;
    }
    of->data = GS_TAKE(wire->arena, float, floats);
    of->capacity = of->data == NULL ? 0 : floats;
    return of->data != NULL;
}

static uint8_t *bytes_of(const gs_wire_buffer *of)
{
    return (uint8_t *)of->data;
}

static gs_payload view_of(const gs_wire_buffer *of, size_t from, size_t to, int64_t version)
{
    return (gs_payload){.coded = bytes_of(of) + from, .bytes = to - from, .version = version};
}

float *gs_wire_floats(const gs_wire *wire, gs_slice slice, uint32_t vector, size_t *out_count)
{
    gs_numbers_settle(&wire->memory->numbers);
    return gs_vectors_slice(&wire->memory->vectors, vector, slice.offset, slice.length, out_count);
}

static size_t count_of(const gs_wire *wire, gs_slice slice)
{
    size_t count;
    (void)gs_wire_floats(wire, slice, slice.vector, &count);
    return count;
}

gs_coded_slice gs_wire_coded(const gs_wire *wire, gs_slice data)
{
    size_t count;
    const gs_vectors *vectors = &wire->memory->vectors;
    const float *first = gs_wire_floats(wire, data, data.vector, &count);
    int64_t end = first - (vectors->data + data.vector * vectors->count) + (int64_t)count;
    return (gs_coded_slice){wire->tensors, (int64_t)vectors->count - end, (int64_t)count};
}

static gs_slice part_of(const gs_wire_board *on, gs_slice slice, uint32_t member)
{
    gs_slice part = {.vector = slice.vector};
    gs_part_of(slice.length, on->members, member, &part.offset, &part.length);
    part.offset += slice.offset;
    return part;
}

/* The slice that payload `unit` stands for. */
static gs_slice unit_of(const gs_wire_board *on, const gs_coding_plan *plan, gs_slice slice,
                        uint32_t unit)
{
    return plan->two_phases ? part_of(on, slice, unit) : slice;
}

/* ---------------------------------------------------------------- rules */

gs_pack_rule gs_wire_pack_rule(const gs_coding *coding, size_t count, int64_t step)
{
    const gs_codec_config *config = &coding->config;
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
        .key = {.purpose = GS_RNG_CODEC},
    };
}

/* Draws of a rank's own differ by request; shared ones are equal for the same label and step. */
static gs_pack_rule rule_of(const gs_wire *wire, size_t count, int64_t step, uint64_t request,
                            uint64_t label)
{
    const gs_entity_memory_config *entity = &wire->memory->config;
    bool shared = wire->coding->codec->random == GS_RANDOM_SHARED;
    uint32_t self = (uint32_t)entity->self.role << 16 | entity->self.index;
    gs_pack_rule rule = gs_wire_pack_rule(wire->coding, count, step);
    rule.key.seed = entity->job->seed;
    rule.key.entity = shared ? (uint32_t)label : self;
    rule.step = shared ? (uint64_t)step : request;
    return rule;
}

gs_pack_rule gs_wire_rule(const gs_wire *wire, const gs_op_signature *op, size_t count)
{
    uint64_t request = op->sequence * GS_COMMUNICATORS_MAX + op->communicator - wire->first_line;
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

/* In the sizes of the job. */
static const gs_coding_plan *job_plan(const gs_wire *wire, const gs_op_signature *op)
{
    return &wire->boards[op->communicator - wire->first_line].plan;
}

/* ---------------------------------------------------------------- encoding */

bool gs_wire_pack(gs_wire *wire, gs_slice slice, uint32_t residual, const gs_pack_rule *rule,
                  gs_wire_buffer *out)
{
    size_t count;
    const float *in = gs_wire_floats(wire, slice, slice.vector, &count);
    if (!gs_wire_reserve(wire, out, wire->packer->room_bytes(rule))) {
        return false;
    }
    if (wire->coding->codec->own_vectors == 2) {
        gs_dgc_memory memory = {gs_wire_floats(wire, slice, wire->own_first, &count),
                                gs_wire_floats(wire, slice, wire->own_first + 1, &count),
                                (float)wire->coding->momentum, wire->coding->config.masking};
        out->bytes = gs_pack_dgc(rule, &memory, in, bytes_of(out));
    } else if (residual != 0) {
        float *left = gs_wire_floats(wire, slice, residual, &count);
        out->bytes = gs_pack_feedback(wire->packer, rule, in, left, bytes_of(out));
    } else {
        out->bytes = wire->packer->encode(rule, in, bytes_of(out));
    }
    return true;
}

bool gs_wire_unpack(gs_wire *wire, gs_slice into, const gs_pack_rule *rule, gs_unpack mode,
                    const gs_wire_buffer *from)
{
    size_t count;
    float *out = gs_wire_floats(wire, into, into.vector, &count);
    return wire->packer->decode(rule, mode, bytes_of(from), from->bytes, out);
}

/* The sum of the payloads of all members, decoded, in their order. */
static bool decode_all(gs_wire *wire, const gs_op_signature *op, gs_slice into,
                       const gs_wire_buffer *came)
{
    const gs_wire_board *on = &wire->boards[op->communicator - wire->first_line];
    gs_pack_rule rule = gs_wire_rule(wire, op, count_of(wire, into));
    for (uint32_t member = 0; member < on->members; member++) {
        gs_unpack mode = member == 0 ? GS_UNPACK_PUT : GS_UNPACK_ADD;
        if (!gs_wire_unpack(wire, into, &rule, mode, &came[member])) {
            return false;
        }
    }
    if (gs_codec_is_vote(wire->coding->codec, &wire->coding->config)) {
        size_t count;
        float *sums = gs_wire_floats(wire, into, into.vector, &count);
        gs_vote(sums, count);
    }
    return true;
}

/* ---------------------------------------------------------------- payloads by two paths */

static bool code_payloads(gs_wire *wire, const gs_op_signature *op, const gs_coding_plan *plan,
                          gs_slice data, uint32_t stage)
{
    gs_wire_board *on = &wire->boards[op->communicator - wire->first_line];
    bool ok = true;
    if (stage == 0) {
        for (uint32_t unit = 0; ok && unit < (plan->two_phases ? on->members : 1); unit++) {
            gs_slice of = unit_of(on, plan, data, unit);
            gs_pack_rule rule = gs_wire_rule(wire, op, count_of(wire, of));
            bool stays = !plan->two_phases || unit == on->self;
            ok = gs_wire_pack(wire, of, wire->residual, &rule,
                              stays ? &on->came[0][on->self] : &on->out[unit]);
        }
        return ok;
    }
    if (stage < plan->stage_count) {
        gs_slice own = part_of(on, data, on->self);
        gs_pack_rule rule = gs_wire_rule(wire, op, count_of(wire, own));
        uint32_t residual = wire->residual != 0 ? wire->residual_2 : 0;
        return decode_all(wire, op, own, on->came[0]) &&
               gs_wire_pack(wire, own, residual, &rule, &on->came[1][on->self]);
    }
    if (!plan->two_phases) {
        return decode_all(wire, op, data, on->came[0]);
    }
    for (uint32_t unit = 0; ok && unit < on->members; unit++) {
        gs_slice part = part_of(on, data, unit);
        gs_pack_rule rule = gs_wire_rule(wire, op, count_of(wire, part));
        ok = gs_wire_unpack(wire, part, &rule, GS_UNPACK_PUT, &on->came[1][unit]);
    }
    return ok;
}

/* ---------------------------------------------------------------- collectives */

static bool code_floats(gs_wire *wire, const gs_op_signature *op, gs_slice data, uint32_t stage)
{
    switch (wire->coding->codec->travel) {
    case GS_TRAVEL_SUM:
        return gs_wire_code_sum(wire, op, data, stage);
    case GS_TRAVEL_LOW_RANK:
        return gs_wire_code_low_rank(wire, op, data, stage);
    case GS_TRAVEL_GATHER:
    case GS_TRAVEL_COUNT:
        break;
    }
    return code_payloads(wire, op, job_plan(wire, op), data, stage);
}

bool gs_wire_code(gs_wire *wire, const gs_op_signature *op, gs_slice data, uint32_t stage)
{
    gs_wire_board *on = &wire->boards[op->communicator - wire->first_line];
    gs_versions *versions = &wire->memory->versions;
    if (stage == 0) {
        gs_coded_slice slice =
            gs_coded_slice_of(wire->memory->config.job, data.offset, op->elements);
        on->plan = gs_coding_plan_of(wire->coding, &slice, on->members, op->step);
        on->version = gs_versions_oldest(versions, data.vector, data.offset, data.length);
    } else if (stage == job_plan(wire, op)->stage_count) {
        gs_versions_put(versions, data.vector, data.offset, data.length, on->version);
    }
    return wire->memory->vectors.data == NULL || code_floats(wire, op, data, stage);
}

gs_coding_work gs_wire_work(const gs_wire *wire, const gs_op_signature *op, uint32_t stage)
{
    return gs_coding_work_of(wire->coding, job_plan(wire, op),
                             wire->boards[op->communicator].members, op->elements, stage);
}

/* The buffer that a part of payloads is in. */
static gs_wire_buffer *place_of(const gs_wire *wire, const gs_op_signature *op, gs_slice part)
{
    const gs_wire_board *on = &wire->boards[op->communicator - wire->first_line];
    gs_wire_buffer *of =
        part.vector == GS_WIRE_OUT ? on->out : on->came[part.vector - GS_WIRE_FIRST];
    return &of[part.offset];
}

/* Which numbers of the floats' sum a part of the job's is: bytes from where to where. */
static void range_of(const gs_wire *wire, const gs_op_signature *op, gs_slice part,
                     size_t *out_from, size_t *out_to)
{
    uint32_t stage = part.vector - GS_WIRE_FIRST;
    const gs_coding_stage *of = &job_plan(wire, op)->stages[stage];
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
    return job_plan(wire, op)->stages[stage].unit_bytes > 0;
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
    const gs_coding_plan *plan = job_plan(wire, op);
    uint32_t stage = part.vector == GS_WIRE_SECOND ? 1 : 0;
    if (plan->stages[stage].unit_bytes > 0) {
        return part.length * plan->stages[stage].unit_bytes;
    }
    uint32_t members = wire->boards[op->communicator].members;
    int64_t elements = gs_coding_unit_elements(plan, members, op->elements, (uint32_t)part.offset);
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
        const gs_wire_buffer *of = place_of(wire, op, part);
        return view_of(of, 0, of->bytes, version);
    }
    size_t from;
    size_t to;
    range_of(wire, op, part, &from, &to);
    const gs_wire_buffer *numbers =
        wire->boards[op->communicator].came[part.vector - GS_WIRE_FIRST];
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
    gs_wire_buffer *numbers = wire->boards[op->communicator].came[part.vector - GS_WIRE_FIRST];
    const uint8_t *came = payload->coded;
    if (to == from) {
        return true;
    }
    if (!add) {
        memcpy(bytes_of(numbers) + from, came, to - from);
        return true;
    }
    const gs_packer *adder = wire->packer != NULL ? wire->packer : gs_packer_find("none");
    int32_t number_bytes = job_plan(wire, op)->stages[part.vector - GS_WIRE_FIRST].unit_bytes;
    size_t count = (to - from) / (size_t)number_bytes;
    adder->add(&(gs_pack_rule){.count = count, .kept = count}, bytes_of(numbers) + from, came);
    return true;
}

bool gs_wire_put(gs_wire *wire, const gs_op_signature *op, gs_slice part, const gs_payload *payload,
                 bool add)
{
    gs_wire_board *on = &wire->boards[op->communicator - wire->first_line];
    on->version = payload->version < on->version ? payload->version : on->version;
    if (wire->memory->vectors.data == NULL) {
        return true;
    }
    if (is_sum(wire, op, part)) {
        return put_numbers(wire, op, part, payload, add);
    }
    gs_wire_buffer *into = place_of(wire, op, part);
    if (!gs_wire_reserve(wire, into, payload->bytes)) {
        return false;
    }
    memcpy(into->data, payload->coded, payload->bytes);
    into->bytes = payload->bytes;
    return true;
}

/* ---------------------------------------------------------------- messages */

bool gs_wire_encode(gs_wire *wire, gs_slice data, const gs_message *message, gs_payload *out)
{
    int64_t version =
        gs_versions_oldest(&wire->memory->versions, data.vector, data.offset, data.length);
    *out = (gs_payload){.version = version};
    if (wire->memory->vectors.data == NULL) {
        return true;
    }
    gs_pack_rule rule = message_rule(wire, count_of(wire, data), message->key);
    uint32_t residual = message->same ? 0 : wire->residual;
    if (!gs_wire_pack(wire, data, residual, &rule, &wire->message)) {
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
    float *out = gs_wire_floats(wire, into, into.vector, &count);
    return wire->packer->decode(&rule, GS_UNPACK_PUT, payload->coded, payload->bytes, out);
}

bool gs_wire_recode(gs_wire *wire, gs_slice into, gs_slice data, uint64_t key)
{
    gs_payload payload;
    return gs_wire_encode(wire, data, &(gs_message){.key = key, .same = true}, &payload) &&
           gs_wire_decode(wire, into, key, &payload);
}

gs_coding_work gs_wire_recode_work(const gs_wire *wire, int64_t elements)
{
    gs_coding_work there = gs_coding_encode_work(wire->coding, elements, false);
    gs_coding_work back = gs_coding_decode_work(wire->coding, elements);
    return (gs_coding_work){there.bytes + back.bytes, there.least_ns + back.least_ns};
}

int64_t gs_wire_message_bytes(const gs_wire *wire, gs_slice data, const gs_payload *payload)
{
    gs_codec_size size =
        wire->coding->codec->payload_bytes(&wire->coding->config, data.length, MESSAGE_STEP);
    return payload == NULL || wire->memory->vectors.data == NULL
               ? size.expected_bytes
               : scaled_bytes(size, payload->bytes, count_of(wire, data), data.length);
}

gs_coding_work gs_wire_message_work(const gs_wire *wire, int64_t elements, bool decodes)
{
    return decodes ? gs_coding_decode_work(wire->coding, elements)
                   : gs_coding_encode_work(wire->coding, elements, wire->residual != 0);
}
