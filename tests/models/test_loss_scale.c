#include <criterion/criterion.h>

#include "models/loss_scale.h"

#include <math.h>

Test(loss_scale, zeros_stand_for_the_start)
{
    const float state[GS_LOSS_SCALE_FLOATS] = {0};
    cr_expect_eq(gs_loss_scale(state), 65536.0);
}

Test(loss_scale, it_doubles_after_2000_good_updates_in_a_row)
{
    float state[GS_LOSS_SCALE_FLOATS] = {0};
    for (int i = 0; i < 1999; i++) {
        gs_loss_scale_update(state, true);
    }
    cr_expect_eq(gs_loss_scale(state), 65536.0);
    gs_loss_scale_update(state, true);
    cr_expect_eq(gs_loss_scale(state), 131072.0);
    for (int i = 0; i < 1999; i++) {
        gs_loss_scale_update(state, true);
    }
    gs_loss_scale_update(state, false); /* one short of the next doubling */
    cr_expect_eq(gs_loss_scale(state), 65536.0);
    for (int i = 0; i < 2000; i++) {
        gs_loss_scale_update(state, true);
    }
    cr_expect_eq(gs_loss_scale(state), 131072.0);
}

Test(loss_scale, each_bad_update_halves_it)
{
    float state[GS_LOSS_SCALE_FLOATS] = {0};
    for (int i = 0; i < 20; i++) {
        gs_loss_scale_update(state, false);
    }
    cr_expect_eq(gs_loss_scale(state), 0.0625); /* 2^(16 - 20) */
}
