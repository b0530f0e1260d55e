/* Codecs: what travels instead of a gradient. A codec here is rules and sizes; it sees no float.
 *
 * The encoders are kernels of the models room under the same names (models/codec_kernels.h), hosts
 * bring the two together. A codec works on one slice at a time and knows nothing of its
 * neighbours: "one scale a block" starts anew with each slice, and "k of n" keeps at least one
 * element of each. Sizes are exact for what the encoders write, unless the data decides. */
#ifndef GS_STRATEGIES_CODEC_H
#define GS_STRATEGIES_CODEC_H

#include "base/config.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* What can be done with payloads on their way. */
typedef enum gs_travel {
    GS_TRAVEL_SUM,      /* payloads of one layout can be added: all-reduce */
    GS_TRAVEL_GATHER,   /* they cannot: each goes to all, who decode and add: all-gather */
    GS_TRAVEL_LOW_RANK, /* two sums of floats, one after the other: matrices P, then Q */
    GS_TRAVEL_COUNT
} gs_travel;

/* What an encoder draws: with a key of its rank, or with one that is equal on all ranks (seed,
 * label of the slice, step). */
typedef enum gs_codec_random { GS_RANDOM_NONE, GS_RANDOM_OWN, GS_RANDOM_SHARED } gs_codec_random;

enum { GS_SIGN_VOTE, GS_SIGN_MEAN };        /* gs_codec_config.scale */
enum { GS_INDEX_INT64, GS_INDEX_INT32 };    /* gs_codec_config.index */
enum { GS_PATH_GATHER, GS_PATH_TWO_PHASE }; /* gs_codec_config.path */

#define GS_MOMENTUM_OF_OPTIMIZER (-1.0) /* gs_codec_config.momentum: the word */

/* The parameters of all codecs; a codec's table names those that it reads, the others are 0. */
typedef struct gs_codec_config {
    bool feedback;        /* send p = gradient + residual, keep what did not get through */
    int64_t bits;         /* of one element, sign included */
    int64_t block;        /* elements that share one scale; 0: all of the slice */
    double ratio;         /* part of the elements that is sent */
    double clip;          /* in standard deviations */
    int scale;            /* of a sign */
    int index;            /* width of an index on the wire */
    int path;             /* of an all-reduce; strategies/coding.h */
    double momentum;      /* of the codec's own memory, or GS_MOMENTUM_OF_OPTIMIZER */
    bool masking;         /* forget the momentum of what has been sent */
    double sample;        /* part of the elements that the threshold is taken from */
    double lower, upper;  /* elements sent may be this many times ratio x elements */
    int64_t rounds;       /* corrections of the threshold */
    int64_t warmup;       /* stages from few to many left out; 0: none */
    int64_t warmup_steps; /* of one stage */
    int64_t rank;
    double min_compression; /* matrices that shrink by less than this travel dense */
    int64_t start_step;     /* dense before it */
    bool warm_start;        /* Q of a step is the start of the next */
} gs_codec_config;

/* Bytes of one payload. Equal unless the data decides. */
typedef struct gs_codec_size {
    int64_t most_bytes;
    int64_t expected_bytes;
} gs_codec_size;

/* Elements as a matrix [rows][columns] in row-major order; its last row may lack some, which count
 * as 0. rank 0: they travel dense. */
typedef struct gs_codec_matrix {
    int64_t rows, columns;
    int64_t rank;
} gs_codec_matrix;

typedef struct gs_codec {
    const char *name;
    const char *summary; /* one line */
    const char *source;
    const gs_field_table *config; /* of gs_codec_config */
    gs_travel travel;
    gs_codec_random random;
    bool unbiased;        /* the expected decoded value is the value encoded, once clipped */
    bool can_vote;        /* its signs may be votes: gs_codec_is_vote */
    bool own_momentum;    /* its momentum takes the place of the optimizer's */
    uint32_t own_vectors; /* memory of its own, each as long as the gradient, beside a residual */
    /* What it costs on an accelerator where nobody has measured it. Memory traffic per element,
     * reads and writes, without that of error feedback; of low rank for each of its two halves.
     * Kernels started for a slice, whatever its size. */
    double encode_bytes, decode_bytes;
    uint32_t encode_kernels, decode_kernels;
    const char *cost_source; /* NULL: unverified, counted from the algorithm alone */
    /* GS_TRAVEL_LOW_RANK: kernels for each matrix beside these; stage as in gs_coding_work_of. */
    uint32_t (*matrix_kernels)(const gs_codec_config *config, uint32_t stage);
    int32_t number_bytes; /* GS_TRAVEL_SUM: of one number of the payload; else 0 */
    /* Refuses parameters that fit no slice of that many elements (> 0). Errors: GS_EINVAL with the
     * reason and what works. Optional. */
    gs_status (*check)(const gs_codec_config *config, int64_t elements, gs_error *err);
    /* Payload of a slice of that many elements (>= 0) in that step (>= 0). For GS_TRAVEL_LOW_RANK
     * of both sums. */
    gs_codec_size (*payload_bytes)(const gs_codec_config *config, int64_t elements, int64_t step);
} gs_codec;

/* Error feedback's own traffic per element: p = g + e reads two and writes one; e = p - decoded
 * reads and writes one. */
enum { GS_FEEDBACK_BYTES = 20 };

uint32_t gs_codec_count(void);
const gs_codec *gs_codec_at(uint32_t index);
const gs_codec *gs_codec_find(const char *name); /* NULL: no such name */

/* Vectors as long as the gradient that a rank keeps between steps: the residual, or its own. */
uint32_t gs_codec_vectors(const gs_codec *codec, const gs_codec_config *config);

/* What ranks send are votes: the result is the sign of their sum, not their mean. */
bool gs_codec_is_vote(const gs_codec *codec, const gs_codec_config *config);

/* The part of the elements that is sent in that step: ratio, or more while it warms up: stage i of
 * n sends ratio^((i + 1) / (n + 1)). */
double gs_codec_ratio(const gs_codec_config *config, int64_t step);

/* The first step after that one whose payloads may have other sizes; INT64_MAX: none has. */
int64_t gs_codec_same_until(const gs_codec_config *config, int64_t step);

/* How many of elements: their part rounded down, but at least 1 of any. */
int64_t gs_codec_kept(const gs_codec_config *config, int64_t elements, int64_t step);

/* The most that a threshold may let through instead: upper times that, rounded down. */
int64_t gs_codec_kept_most(const gs_codec_config *config, int64_t elements, int64_t step);

/* How elements are laid out as a matrix with rows of that length; columns 0: near-square, rows =
 * ceil(sqrt(elements)), columns = ceil(elements / rows). The rank is at most the smaller side; it
 * is 0 for one row or one column (biases), where (rows + columns) x rank x min_compression is not
 * below elements, and before start_step. */
gs_codec_matrix gs_codec_matrix_of(const gs_codec_config *config, int64_t elements, int64_t columns,
                                   int64_t step);

#endif
