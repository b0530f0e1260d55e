/* Who is measured with whom: every pair of a small party once, and nobody twice in a round. */
#include "live/measure_link.h"

#include <criterion/criterion.h>
#include <string.h>

enum { MEMBERS_MAX = 80 };

/* Counts pairs of all rounds into met; each round must be a matching. */
static void play(uint32_t members, uint32_t met[MEMBERS_MAX][MEMBERS_MAX])
{
    memset(met, 0, MEMBERS_MAX * sizeof *met);
    for (uint32_t round = 0; round < gs_survey_rounds(members); round++) {
        for (uint32_t self = 0; self < members; self++) {
            uint32_t peer = gs_survey_peer(members, round, self);
            cr_assert_lt(peer, members);
            cr_assert_eq(gs_survey_peer(members, round, peer), self, "%u of %u, round %u: %u", self,
                         members, round, peer);
            met[self][peer] += self != peer;
        }
    }
}

Test(measure_link, all_pairs_of_a_small_party_meet_once)
{
    static uint32_t met[MEMBERS_MAX][MEMBERS_MAX];
    for (uint32_t members = 1; members <= GS_ALL_PAIRS_MAX; members++) {
        play(members, met);
        for (uint32_t i = 0; i < members; i++) {
            for (uint32_t k = 0; k < members; k++) {
                cr_expect_eq(met[i][k], i != k, "%u: %u and %u", members, i, k);
            }
        }
    }
}

Test(measure_link, of_a_large_party_neighbours_meet_and_the_first_meets_others)
{
    static uint32_t met[MEMBERS_MAX][MEMBERS_MAX];
    for (uint32_t members = GS_ALL_PAIRS_MAX + 1; members <= MEMBERS_MAX; members++) {
        play(members, met);
        uint32_t with_first = 0;
        for (uint32_t i = 0; i < members; i++) {
            uint32_t right = (i + 1) % members;
            cr_expect_eq(met[i][right], 1, "%u: %u and %u", members, i, right);
            cr_expect_eq(met[right][i], 1, "%u: %u and %u", members, right, i);
            with_first += met[0][i];
        }
        /* Two neighbours, and of the others up to 32. */
        cr_expect_eq(with_first, 2 + (members - 3 < 32 ? members - 3 : 32), "%u", members);
    }
}

Test(measure_link, sizes_are_no_powers_of_two_above_a_few_bytes)
{
    for (int i = 1; i < GS_LINK_SIZES; i++) {
        cr_expect_gt(gs_link_sizes[i], gs_link_sizes[i - 1]);
        cr_expect_neq(gs_link_sizes[i] & (gs_link_sizes[i] - 1), 0);
    }
}
