/* How far the models of the ranks are apart: what synchronisation is there to keep small. */
#ifndef GS_TRACES_CONSENSUS_H
#define GS_TRACES_CONSENSUS_H

#include <stddef.h>
#include <stdint.h>

/* Root mean square over ranks of the distance between models[r][count] and their mean, in which
 * models[r] counts weights[r] times, as in the mean of squares. 0 exactly where all are equal; NAN
 * where a number is not finite or no weight is above 0. ranks > 0. */
double gs_consensus_distance(const float *const *models, const double *weights, uint32_t ranks,
                             size_t count);

#endif
