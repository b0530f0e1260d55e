/* A codec whose payloads cannot be added sends more than dense gradients once ranks are many: who
 * looks at its time is told. */
#ifndef GS_TOOLS_CODEC_EXCESS_H
#define GS_TOOLS_CODEC_EXCESS_H

#include "traces/scenario/scenario.h"

/* "allreduce+int8 sends 389 MB a rank and step, without its codec 192 MB: ...; path=two_phase sends
 * 98 MB". NULL: it sends no more than without, has no codec, or does not say. Owner: caller. */
char *gs_codec_excess_text(const gs_scenario *scenario, const gs_strategy_choice *choice);

#endif
