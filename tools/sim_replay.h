/* sim --replay: a recording of a live run is played again and must end as it did. */
#ifndef GS_TOOLS_SIM_REPLAY_H
#define GS_TOOLS_SIM_REPLAY_H

#include "tools/scenario_load.h"

/* Of the scenario's strategy of the recorded name. Prints one line and returns an exit code: 2 for
 * a file that cannot be read or is of another run, 1 with the record or the weights that differ. */
int gs_sim_replay(const gs_cli *cli, gs_loaded *loaded);

#endif
