#include <criterion/criterion.h>

#include "models/loss.h"

#include <math.h>

static void expect_near(double found, double wanted, double bound)
{
    cr_expect(fabs(found - wanted) <= bound, "%.17g, not %.17g", found, wanted);
}

Test(loss, a_case_worked_by_hand)
{
    /* exp of ln 1, ln 2, ln 5 sums to 8: the softmax is 1/8, 2/8, 5/8. For label 2 the loss is
     * ln(8/5); outputs in float are off by up to 6e-8 each. The second sample is the first with all
     * outputs 1000 higher (in float: 1000, 1000.69312, 1001.60944, off by 3e-5) and label 0: ln 8.
     */
    float outputs[6] = {0.0F,    0.693147181F,          1.609437912F,
                        1000.0F, 1000.0F + 0.69314718F, 1000.0F + 1.60943791F};
    const uint8_t labels[2] = {2, 0};
    int64_t correct = -1;
    double evaluated = gs_loss_evaluate(outputs, labels, 2, 3, &correct);
    expect_near(evaluated, log(8.0 / 5.0) + log(8.0), 1e-4);
    cr_expect_eq(correct, 1); /* the largest output is number 2: right for the first only */
    double loss = gs_loss_backward(outputs, labels, 2, 3);
    cr_expect(loss == evaluated);
    const double wanted[6] = {1.0 / 8 / 2,       2.0 / 8 / 2, (5.0 / 8 - 1) / 2,
                              (1.0 / 8 - 1) / 2, 2.0 / 8 / 2, 5.0 / 8 / 2};
    for (int i = 0; i < 6; i++) {
        expect_near((double)outputs[i], wanted[i], i < 3 ? 1e-7 : 2e-5);
    }
}

Test(loss, derivatives_of_a_sample_sum_to_zero)
{
    float outputs[4] = {3.7F, -11.3F, 0.02F, 5.9F};
    const uint8_t label = 1;
    gs_loss_backward(outputs, &label, 1, 4);
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        sum += (double)outputs[i];
    }
    expect_near(sum, 0.0, 4 * 6e-8); /* one rounding to float each, of numbers up to 1 */
}

Test(loss, equal_outputs_go_to_the_first_class)
{
    const float outputs[6] = {2, 2, 2, 1, 4, 4};
    const uint8_t labels[2] = {0, 2};
    int64_t correct = -1;
    double loss = gs_loss_evaluate(outputs, labels, 2, 3, &correct);
    cr_expect_eq(correct, 1); /* the second sample goes to class 1, not 2 */
    expect_near(loss, log(3.0) + log(2.0 + exp(-3.0)), 1e-12);
}

Test(loss, outputs_that_are_not_numbers_are_neither_hidden_nor_right)
{
    const uint8_t label = 0;
    const float bad[3][3] = {{NAN, 1, 2}, {1, NAN, 0}, {INFINITY, 1, 2}};
    for (int i = 0; i < 3; i++) {
        int64_t correct = -1;
        cr_expect(isnan(gs_loss_evaluate(bad[i], &label, 1, 3, &correct)), "case %d", i);
        cr_expect_eq(correct, 0, "case %d", i);
    }
}
