#include <criterion/criterion.h>

#include "models/optimizer.h"

#include <string.h>

/* All numbers are exact in binary, so every result is too. */

Test(optimizer, plain_steps_follow_the_gradient)
{
    gs_optimizer_config config = {.rate = 0.5};
    cr_expect_eq(gs_optimizer_state_vectors(&config), 0);
    float x[2] = {1, -2};
    const float g[2] = {3, 8};
    gs_optimizer_update update = {
        .parameters = x, .gradient = g, .parameter_count = 2, .count = 2, .rate_scale = 0.25};
    gs_optimizer_apply(&config, &update); /* x - g / 8 */
    cr_expect(x[0] == 0.625F && x[1] == -3.0F, "%g %g", (double)x[0], (double)x[1]);
}

Test(optimizer, momentum_remembers_directions_and_not_rates)
{
    gs_optimizer_config config = {.rate = 0.5, .momentum = 0.5};
    cr_expect_eq(gs_optimizer_state_vectors(&config), 1);
    float x = 1;
    float v = 0;
    float g = 4;
    gs_optimizer_update update = {.parameters = &x,
                                  .gradient = &g,
                                  .state = &v,
                                  .parameter_count = 1,
                                  .count = 1,
                                  .rate_scale = 1};
    gs_optimizer_apply(&config, &update); /* v = 4, x = 1 - 2 */
    cr_expect(v == 4.0F && x == -1.0F, "%g %g", (double)v, (double)x);
    g = -1;
    gs_optimizer_apply(&config, &update); /* v = 2 - 1, x = -1 - 1/2 */
    cr_expect(v == 1.0F && x == -1.5F, "%g %g", (double)v, (double)x);
    g = 1;
    update.rate_scale = 2;
    gs_optimizer_apply(&config, &update); /* v = 1/2 + 1, x = -3/2 - 3/2 */
    cr_expect(v == 1.5F && x == -3.0F, "%g %g", (double)v, (double)x);
}

Test(optimizer, weight_decay_is_part_of_the_gradient)
{
    gs_optimizer_config config = {.rate = 1, .weight_decay = 0.25};
    float x = 8;
    float v = 0;
    const float g = 1;
    gs_optimizer_update update = {
        .parameters = &x, .gradient = &g, .parameter_count = 1, .count = 1, .rate_scale = 1};
    gs_optimizer_apply(&config, &update); /* 8 - (1 + 2) */
    cr_expect(x == 5.0F, "%g", (double)x);
    config.momentum = 0.5;
    update.state = &v;
    x = 8;
    gs_optimizer_apply(&config, &update); /* v = 3, x = 5 */
    gs_optimizer_apply(&config, &update); /* v = 1.5 + 1 + 1.25, x = 5 - 3.75 */
    cr_expect(v == 3.75F && x == 1.25F, "%g %g", (double)v, (double)x);
}

Test(optimizer, slices_in_any_order_give_what_the_whole_gives)
{
    enum { COUNT = 37 };
    gs_optimizer_config config = {.rate = 0.3, .momentum = 0.9, .weight_decay = 1e-3};
    float x[2][COUNT];
    float v[2][COUNT];
    float g[COUNT];
    for (int i = 0; i < COUNT; i++) {
        g[i] = (float)(i * i % 17) / 7.0F - 1.1F;
        x[0][i] = x[1][i] = (float)(i % 5) / 3.0F;
        v[0][i] = v[1][i] = (float)(i % 11) / 13.0F;
    }
    gs_optimizer_update whole = {.parameters = x[0],
                                 .gradient = g,
                                 .state = v[0],
                                 .parameter_count = COUNT,
                                 .count = COUNT,
                                 .rate_scale = 0.7};
    gs_optimizer_apply(&config, &whole);
    const size_t cuts[4] = {0, 3, 20, COUNT};
    for (int piece = 2; piece >= 0; piece--) {
        gs_optimizer_update slice = {.parameters = x[1],
                                     .gradient = g,
                                     .state = v[1],
                                     .parameter_count = COUNT,
                                     .offset = cuts[piece],
                                     .count = cuts[piece + 1] - cuts[piece],
                                     .rate_scale = 0.7};
        gs_optimizer_apply(&config, &slice);
    }
    cr_expect(memcmp(x[0], x[1], sizeof x[0]) == 0);
    cr_expect(memcmp(v[0], v[1], sizeof v[0]) == 0);
}
