/* From the outputs of the last layer to losses and their derivatives: softmax with cross-entropy
 * for classes, half the squared error for numbers. */
#ifndef GS_MODELS_LOSS_H
#define GS_MODELS_LOSS_H

#include <stdint.h>

/* The first two read outputs [count][class_count] and labels [count], each below class_count,
 * sample by sample in order, and return the sum of the losses in nats: log(sum_j exp(z_j)) -
 * z_label, with the largest output taken out first so that nothing overflows. An output that is not
 * finite makes the sum not finite. */

/* Replaces the outputs by d(mean loss)/d(output) = (softmax - [j = label]) / count.
 * Source: Bishop, Pattern Recognition and Machine Learning, eq. 4.109. */
double gs_loss_backward(float *outputs, const uint8_t *labels, int64_t count, int64_t class_count);

/* Also counts the samples whose largest output is the label's: the first of equal ones wins, and a
 * sample with an output that is not a number is wrong. */
double gs_loss_evaluate(const float *outputs, const uint8_t *labels, int64_t count,
                        int64_t class_count, int64_t *out_correct);

/* Half the squared error of outputs [count] from targets [count]; both return the sum over them.
 * backward replaces the outputs by d(mean loss)/d(output) = (output - target) / count. */
double gs_squared_backward(float *outputs, const float *targets, int64_t count);
double gs_squared_evaluate(const float *outputs, const float *targets, int64_t count);

#endif
