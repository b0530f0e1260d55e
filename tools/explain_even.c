#include "tools/explain_even.h"

#include "base/assert.h"

#include <math.h>

static const double WIDTH = 1.005; /* of the bracket at the end; its middle is given */

gs_even_kind gs_even_find(gs_gain *gain, void *context, double least, double greatest, double *out)
{
    GS_ASSERT(least > 0.0 && greatest > least);
    double low = least;
    double high = greatest;
    if (gain(context, greatest) <= 0.0) {
        *out = greatest;
        return GS_EVEN_NEVER;
    }
    while (high / low > WIDTH) {
        double middle = sqrt(low * high);
        if (gain(context, middle) > 0.0) {
            high = middle;
        } else {
            low = middle;
        }
    }
    /* The lower end was never asked: the answer lies at it where every middle gained. */
    *out = low > least ? sqrt(low * high) : least;
    return low > least ? GS_EVEN_FOUND : GS_EVEN_ALWAYS;
}
