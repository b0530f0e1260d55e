#include <criterion/criterion.h>

#include "base/hash.h"

Test(hash, it_is_xxh3_with_the_seed_as_the_past)
{
    /* XXH3_64bits of nothing with seed 0, as published in xxHash's own sanity checks. */
    cr_expect_eq(gs_hash(0, "", 0), UINT64_C(0x2d06800538d394c2));
}

Test(hash, order_and_cuts_of_a_chain_matter)
{
    uint64_t ab = gs_hash(gs_hash(0, "a", 1), "b", 1);
    uint64_t ba = gs_hash(gs_hash(0, "b", 1), "a", 1);
    cr_expect_neq(ab, ba);
    cr_expect_neq(ab, gs_hash(0, "ab", 2));
}
