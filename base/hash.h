/* Hashes: XXH3 over bytes, chained by seed. For fingerprints, never for security.
 * The only file that includes xxhash, as inline code: nothing is linked. */
#ifndef GS_BASE_HASH_H
#define GS_BASE_HASH_H

#define XXH_INLINE_ALL
#define XXH_NO_STREAM
#include <xxhash.h>

#include <stddef.h>
#include <stdint.h>

/* Hash of bytes after `before` (0 at the start): h = gs_hash(h, &x, sizeof x) chains. */
static inline uint64_t gs_hash(uint64_t before, const void *bytes, size_t length)
{
    return XXH3_64bits_withSeed(bytes, length, before);
}

#endif
