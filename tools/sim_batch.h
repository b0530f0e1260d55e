/* The runs of one command, simulated or live: what is told before them and after them. */
#ifndef GS_TOOLS_SIM_BATCH_H
#define GS_TOOLS_SIM_BATCH_H

#include "tools/output.h"
#include "tools/scenario_load.h"
#include "tools/sim_save.h"

/* What is run: cluster, model, budget. how: a line about live runs, in the place of what the
 * cluster of a simulation is; NULL: they are simulated. */
void gs_sim_batch_header(const gs_cli *cli, const gs_loaded *loaded, const char *how, FILE *out);

/* how: as above, borrowed too; repeats: runs of each seed, one after the other. Out of memory ends
 * the program. Owner of *out: caller, gs_sim_batch_end; cli and loaded are borrowed until then. */
void gs_sim_batch_begin(const gs_cli *cli, gs_loaded *loaded, const char *how, uint32_t repeats,
                        gs_sim_batch *out);
/* Strategies times seeds times repeats: the seeds of the first strategy first. */
uint32_t gs_sim_batch_runs(const gs_sim_batch *batch);
/* Stores the rest, prints the report and its answer, closes the output and frees the batch. Returns
 * the exit code. A result is never lost: what is wrong with the database is said last. */
int gs_sim_batch_end(gs_sim_batch *batch, gs_loaded *loaded, gs_output *output);
/* Frees the batch and says nothing. */
void gs_sim_batch_drop(gs_sim_batch *batch);

#endif
