/* The largest of many floats by size: selection for the sparse encoders. Sizes are compared as
 * whole numbers, so NaN is above infinity. Exact; of equal sizes the lower index goes first. */
#ifndef GS_MODELS_CODECS_SELECT_H
#define GS_MODELS_CODECS_SELECT_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that gs_select_largest works in. */
size_t gs_select_room_bytes(size_t count, size_t kept);

/* Indices of the kept (1 to count) largest, ascending, as little-endian 32-bit numbers; count below
 * 2^31. room: gs_select_room_bytes, apart from the rest.
 * About one look at memory: a sample of sizes gives a threshold that a few too many pass, the exact
 * one is found among those. Where the sample misleads, three counts over all of them. */
void gs_select_largest(const float *in, size_t count, size_t kept, uint8_t *indices, uint8_t *room);

/* The size of the kept-th largest (1 to count) of in[0], in[stride] ... */
uint32_t gs_select_size(const float *in, size_t count, size_t stride, size_t kept);

/* How many have at least that size. */
size_t gs_select_count(const float *in, size_t count, uint32_t size);

/* Indices of those with at least that size, ascending, at most `most`; returns how many. */
size_t gs_select_above(const float *in, size_t count, uint32_t size, uint8_t *indices, size_t most);

#endif
