/* The inside of a wire, shared by its two files and nobody else: wire.c (payloads, parts and
 * messages), wire_sum.c (codecs whose numbers are summed on their way). */
#ifndef GS_TRACES_WIRE_PARTS_H
#define GS_TRACES_WIRE_PARTS_H

#include "models/codec_kernels.h"
#include "traces/wire.h"

/* Bytes in memory that is aligned for floats. */
typedef struct gs_wire_buffer {
    float *data;
    size_t capacity; /* floats */
    size_t bytes;    /* of the payload in it; 0: none yet */
} gs_wire_buffer;

/* What one communicator has under way. */
typedef struct gs_wire_board {
    uint32_t members, self;
    gs_wire_buffer *came[GS_CODING_STAGES_MAX]; /* [members]; of a sum only the first is used */
    gs_wire_buffer *out;                        /* [members]; of low rank: P, orthonormal */
    int64_t version;                            /* the oldest of what came */
    gs_coding_plan plan;                        /* of the op, in the sizes of the job */
} gs_wire_board;

struct gs_wire {
    const gs_coding *coding;
    const gs_packer *packer; /* NULL: powersgd */
    gs_tensors tensors;      /* of the floats; of the job it is the job that says */
    gs_entity_memory *memory;
    gs_arena *arena;
    uint32_t first_line; /* of its boards, among the communicators of the run */
    uint32_t own_first;  /* vector: the codec's own memory */
    uint32_t residual;   /* vector; 0: no feedback */
    uint32_t residual_2; /* vector: of sums that are encoded again */
    gs_wire_buffer message;
    gs_wire_board boards[GS_COMMUNICATORS_MAX];
};

/* Room for so many bytes; what was there is lost. false: no memory. */
bool gs_wire_reserve(gs_wire *wire, gs_wire_buffer *of, size_t bytes);

/* The elements of a slice in that vector. */
float *gs_wire_floats(const gs_wire *wire, gs_slice slice, uint32_t vector, size_t *out_count);

/* How a slice of so many floats is encoded in that op. */
gs_pack_rule gs_wire_rule(const gs_wire *wire, const gs_op_signature *op, size_t count);

/* Encodes a slice into the buffer; residual 0: without feedback. false: no memory. */
bool gs_wire_pack(gs_wire *wire, gs_slice slice, uint32_t residual, const gs_pack_rule *rule,
                  gs_wire_buffer *out);
/* false: no payload of that rule. */
bool gs_wire_unpack(gs_wire *wire, gs_slice into, const gs_pack_rule *rule, gs_unpack mode,
                    const gs_wire_buffer *from);

/* The floats of a slice as a slice of the tensors that they are. */
gs_coded_slice gs_wire_coded(const gs_wire *wire, gs_slice data);

/* The local work of gs_wire_code for summable payloads, and for low rank. false: no memory, or
 * bytes that cannot be decoded. */
bool gs_wire_code_sum(gs_wire *wire, const gs_op_signature *op, gs_slice data, uint32_t stage);
bool gs_wire_code_low_rank(gs_wire *wire, const gs_op_signature *op, gs_slice data, uint32_t stage);

#endif
