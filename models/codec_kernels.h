/* Encoders and decoders of codecs: floats to the bytes that travel, and back.
 *
 * Names and parameters are those of strategies/codec.h; hosts bring the two together. Payloads are
 * packed, little-endian and without padding: their length is what the codec says it is. The bits do
 * not depend on compiler, optimisation level or processor: sums run in eight fixed lanes of
 * doubles, random bits are counted, and what vector units do is what the portable code does.
 * A float that is not finite makes its whole block (or slice) NaN, so that a run that diverges is
 * seen to do so.
 *
 * Random bits: a block of one scale has one gs_rng_bits(key, step, index of the block); a 32-bit
 * mixer with these two words as key makes one word per element of it. */
#ifndef GS_MODELS_CODEC_KERNELS_H
#define GS_MODELS_CODEC_KERNELS_H

#include "base/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How one slice is encoded; members that a codec does not read are ignored. */
typedef struct gs_pack_rule {
    size_t count;                /* floats of the slice */
    size_t block;                /* fp8, int, qsgd: floats that share a scale; 0: all */
    uint32_t bits;               /* qsgd: 2 to 8 */
    bool scaled;                 /* sign: times the mean size; false: votes of 1 */
    double clip;                 /* terngrad: in standard deviations; 0: none */
    size_t kept;                 /* topk, randomk, dgc: 1 to count, or 0 of 0 */
    bool wide_index;             /* dgc: 8 bytes an index, not 4 */
    double sample, lower, upper; /* dgc: as in gs_codec_config */
    uint32_t rounds;             /* dgc */
    gs_rng_key key;              /* qsgd, terngrad: of the rank; randomk: equal on all ranks */
    uint64_t step;
} gs_pack_rule;

typedef enum gs_unpack {
    GS_UNPACK_PUT, /* out = decoded */
    GS_UNPACK_ADD, /* out += decoded */
    GS_UNPACK_SUB  /* out -= decoded */
} gs_unpack;

typedef struct gs_packer {
    const char *name;
    /* Bytes that encode may write: the largest payload, and its working room behind it. */
    size_t (*room_bytes)(const gs_pack_rule *rule);
    /* in [count], out [room_bytes], apart; returns the bytes of the payload, which out starts with.
     * Cannot fail. */
    size_t (*encode)(const gs_pack_rule *rule, const float *in, uint8_t *out);
    /* out [count]. false: these bytes are no payload of that rule; out is as it was. */
    bool (*decode)(const gs_pack_rule *rule, gs_unpack mode, const uint8_t *in, size_t bytes,
                   float *out);
    /* sum += other, both payloads of that rule, rounded as the wire's numbers are. NULL: cannot be
     * added. */
    void (*add)(const gs_pack_rule *rule, uint8_t *sum, const uint8_t *other);
} gs_packer;

size_t gs_packer_count(void);
const gs_packer *gs_packer_at(size_t index);
const gs_packer *gs_packer_find(const char *name); /* NULL: none; powersgd has gs_low_rank_* */

/* Error feedback: p = gradient + residual is encoded, and residual becomes p less what a receiver
 * decodes, exactly. gradient and residual [count]. Returns the bytes of the payload. */
size_t gs_pack_feedback(const gs_packer *packer, const gs_pack_rule *rule, const float *gradient,
                        float *residual, uint8_t *out);

/* dgc with its memory: u = momentum u + gradient; v += u; v is encoded; v is cleared where it was
 * sent, and u too if masking. Where all is sent (kept = count) u is left alone: that is momentum as
 * it is without a codec. Vectors [count]; returns the bytes of the payload. */
typedef struct gs_dgc_memory {
    float *u, *v;
    float momentum;
    bool masking;
} gs_dgc_memory;
size_t gs_pack_dgc(const gs_pack_rule *rule, const gs_dgc_memory *memory, const float *gradient,
                   uint8_t *out);

/* What a majority voted for: 1, -1, or 0 where votes are equal. In place. */
void gs_vote(float *sums, size_t count);

/* 8-bit floats as such, without a scale: to nearest, ties to even, too large ones become the
 * largest finite one; NaN asserts. */
typedef enum gs_float8 { GS_E4M3, GS_E5M2 } gs_float8;
uint8_t gs_float8_of_float(gs_float8 kind, float value);
float gs_float_of_float8(gs_float8 kind, uint8_t code); /* NaN and infinities included */

/* PowerSGD on floats as a matrix M [rows][columns], of whose last row the elements from count on
 * are missing and count as 0. p [rows][rank], q [columns][rank], row-major; all apart. Products
 * come from models/blas.h: bits are equal within one process. */
typedef struct gs_low_rank {
    size_t count;
    int64_t rows, columns, rank; /* > 0; (rows - 1) columns < count <= rows columns */
} gs_low_rank;

/* A start for q: uniform in (-1, 1), equal on all ranks that have the same key; another one for
 * each number, so that matrices of one shape do not share it. */
void gs_low_rank_start(const gs_low_rank *shape, gs_rng_key key, uint64_t step, uint32_t number,
                       float *q);
/* Columns of q become those kept from the step before, but for those of zeros, which would stay so
 * where M had fewer ranks and now has more. */
void gs_low_rank_warm(const gs_low_rank *shape, const float *kept, float *q);
/* p = M q */
void gs_low_rank_left(const gs_low_rank *shape, const float *m, const float *q, float *p);
/* Columns of p made orthonormal in place, first to last (modified Gram-Schmidt, repeated where
 * little is left of a column); a column of zeros stays one. */
void gs_low_rank_orthonormalise(const gs_low_rank *shape, float *p);
/* q = M' p */
void gs_low_rank_right(const gs_low_rank *shape, const float *m, const float *p, float *q);
/* out [count] = p q' */
void gs_low_rank_expand(const gs_low_rank *shape, const float *p, const float *q, float *out);

#endif
