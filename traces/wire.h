/* What coded communication of one entity sends: payloads, and the numbers of coded sums, between
 * its vectors and the network.
 *
 * strategies/coding.h says what goes when; here codecs and encoders meet (strategies/codec.h,
 * models/codec_kernels.h). Sim, live and replay move coded bytes through here and nowhere else.
 * What a codec keeps between steps (a residual, its own memory) are vectors behind those of the
 * layout, element by element beside the slices that it codes. In timing-only runs there are sizes
 * and no bytes. Decoded payloads are added in member order, so that all members end with the same
 * bits. Not thread safe. */
#ifndef GS_TRACES_WIRE_H
#define GS_TRACES_WIRE_H

#include "models/codec_kernels.h"
#include "strategies/coding.h"
#include "strategies/relay.h"
#include "traces/entity_memory.h"

typedef struct gs_wire gs_wire;

/* How the encoder of a codec takes a slice of that many floats in that step: its parameters in the
 * encoder's terms. Whose draws it makes, and which, is left 0. */
gs_pack_rule gs_wire_pack_rule(const gs_coding *coding, size_t count, int64_t step);

/* For an entity of that memory, which is borrowed, as is the coding. NULL: no memory. Owner: the
 * arena, which must outlive it: buffers grow to the largest payload, then take no memory. */
gs_wire *gs_wire_create(const gs_coding *coding, gs_entity_memory *memory, gs_arena *arena);

/* Of one leg among several of a run: its communicators, and what it keeps. */
typedef struct gs_wire_span {
    uint32_t first_line, line_count;
    uint32_t first_vector; /* behind the layout's */
} gs_wire_span;

gs_wire *gs_wire_create_at(const gs_coding *coding, const gs_wire_span *place,
                           gs_entity_memory *memory, gs_arena *arena);
/* Those of all legs of a run: [count of legs], NULL where a leg has no codec. NULL: no
 * memory. Owner: the arena. */
gs_wire **gs_wires_create(const gs_relay *relay, gs_entity_memory *memory, gs_arena *arena);
/* What is kept between steps becomes zeros. */
void gs_wire_forget(gs_wire *wire);

/* Collectives: the local work of gs_host_calls.code. false: no memory, or what came is no payload
 * of this codec. */
GS_MUST_USE bool gs_wire_code(gs_wire *wire, const gs_op_signature *op, gs_slice data,
                              uint32_t stage);
/* What that work costs, in the sizes of the job. */
gs_coding_work gs_wire_work(const gs_wire *wire, const gs_op_signature *op, uint32_t stage);
/* Bytes of a part that is sent (gs_is_wire), as the job counts them: a payload whose size the data
 * decides is counted as it is, in proportion where the job is larger than the model. */
int64_t gs_wire_part_bytes(const gs_wire *wire, const gs_op_signature *op, gs_slice part);
/* The bytes of a part as they lie, good until the op ends. */
gs_payload gs_wire_view(const gs_wire *wire, const gs_op_signature *op, gs_slice part);
/* A part has come: adds or puts it. false: no memory, or it has not the size that it should have.
 */
GS_MUST_USE bool gs_wire_put(gs_wire *wire, const gs_op_signature *op, gs_slice part,
                             const gs_payload *payload, bool add);

/* Messages: the payload of a slice, in the wire's own memory until the next call; and from a
 * payload into a slice. Of the message key and same count. false: no memory / not a payload of such
 * a slice. */
GS_MUST_USE bool gs_wire_encode(gs_wire *wire, gs_slice data, const gs_message *message,
                                gs_payload *out);
GS_MUST_USE bool gs_wire_decode(gs_wire *wire, gs_slice into, uint64_t key,
                                const gs_payload *payload);
/* gs_host_calls.recode; and what it costs. false: no memory. */
GS_MUST_USE bool gs_wire_recode(gs_wire *wire, gs_slice into, gs_slice data, uint64_t key);
gs_coding_work gs_wire_recode_work(const gs_wire *wire, int64_t elements);
/* What encoding or decoding one costs. */
gs_coding_work gs_wire_message_work(const gs_wire *wire, int64_t elements, bool decodes);
/* Bytes of such a message as the job counts them. payload NULL: timing only. */
int64_t gs_wire_message_bytes(const gs_wire *wire, gs_slice data, const gs_payload *payload);

#endif
