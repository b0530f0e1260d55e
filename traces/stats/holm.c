#include "traces/stats/holm.h"

#include <math.h>

#include "base/assert.h"

/* The k-th least p counts count - k + 1 times, and no less than one before it. Without a sorted
 * copy: rows of one comparison are few. */
void gs_holm(const double *p, uint32_t count, double *adjusted)
{
    for (uint32_t i = 0; i < count; i++) {
        GS_ASSERT(p[i] >= 0.0 && p[i] <= 1.0);
        adjusted[i] = -1.0;
    }
    double floor = 0.0;
    for (uint32_t done = 0; done < count; done++) {
        uint32_t least = count;
        for (uint32_t i = 0; i < count; i++) {
            if (adjusted[i] < 0.0 && (least == count || p[i] < p[least])) {
                least = i;
            }
        }
        floor = fmax(floor, fmin(1.0, p[least] * (count - done)));
        adjusted[least] = floor;
    }
}
