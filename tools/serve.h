/* What a process of a command does that is not process 0: it sends guests, who make runs. */
#ifndef GS_TOOLS_SERVE_H
#define GS_TOOLS_SERVE_H

#include "tools/deal.h"

/* deal->jobs guests, each a process; of the deal only how runs are prepared and made counts. Comes
 * back when process 0 has no more runs; a guest that is killed is replaced. An exit code. */
int gs_serve(const gs_meeting *meeting, uint64_t plan, const gs_deal *deal);

#endif
