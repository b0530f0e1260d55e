/* Where two things are worth the same: bisection on a factor. */
#ifndef GS_TOOLS_EXPLAIN_EVEN_H
#define GS_TOOLS_EXPLAIN_EVEN_H

#include <stdbool.h>

/* A gain that grows with the factor; 0 is even. */
typedef double gs_gain(void *context, double factor);

typedef enum gs_even_kind {
    GS_EVEN_FOUND,
    GS_EVEN_ALWAYS, /* gains at the least factor already */
    GS_EVEN_NEVER,  /* does not gain at the greatest factor */
    GS_EVEN_UNKNOWN /* the link's rate has no part in what is measured of it; never found */
} gs_even_kind;

/* The factor between least and greatest (> 0) at which gain is 0, to 0.25 %: 1 + log2 of
 * (log(greatest / least) / 0.005) calls, 14 of them for eight decades. *out is that factor, or the
 * end that the kind speaks of. */
gs_even_kind gs_even_find(gs_gain *gain, void *context, double least, double greatest, double *out);

#endif
