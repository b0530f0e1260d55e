/* What a live run that replays durations does with the bytes of its profile. */
#ifndef GS_TOOLS_REPLAY_WORK_H
#define GS_TOOLS_REPLAY_WORK_H

#include "traces/scenario/scenario.h"

/* Does a live run of the scenario send the profile's bytes without the vector operations and the
 * codecs that sim counts for them? So it is where durations are replayed and the ranks hold no
 * floats, or those of a model of another size than the profile's. */
bool gs_replay_skips_work(const gs_scenario *scenario);

#endif
