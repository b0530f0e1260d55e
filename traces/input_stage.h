/* The input stage of every rank: when is its next batch there?
 *
 * A loader has `workers`, and batch j belongs to worker j mod workers. Its index is handed out when
 * batch j - workers * prefetch has been taken (the first ones at time 0), so that no more than that
 * many batches are ready or in work ahead of the consumer; the worker starts it when it has ended
 * its batch before. Batches are taken in order. This is how PyTorch's DataLoader does it, and it
 * makes the time of batch j an exact recurrence: ready[j] = max(ready[j - workers], taken[j -
 * workers * prefetch]) + cost[j]. Nothing is scheduled: the answer is worked out when it is asked
 * for. */
#ifndef GS_TRACES_INPUT_STAGE_H
#define GS_TRACES_INPUT_STAGE_H

#include "base/arena.h"
#include "base/status.h"
#include "base/units.h"
#include "traces/scenario/scenario.h"

typedef struct gs_input_loader gs_input_loader;

/* A batch costs stage->time_ns times a draw of `noise` (purpose INPUT, the rank, step j), rounded
 * up. Memory: 8 (workers + workers * prefetch) bytes a rank. Owner: arena. Errors: GS_EINVAL (time
 * below 0; workers or prefetch below 1, or their product above 2^20; noise), GS_ENOMEM. */
GS_MUST_USE gs_status gs_input_loader_create(const gs_input_stage *stage, const gs_noise_law *noise,
                                             uint64_t seed, uint32_t rank_count, gs_arena *arena,
                                             gs_input_loader **out, gs_error *err);

/* The time at which the next batch of a rank that wants it from wanted_ns on is taken: that, or
 * later when it is ready. Counts as taken; a rank's wishes must not go back behind its last taking.
 */
gs_time_ns gs_input_loader_take(gs_input_loader *loader, uint32_t rank, gs_time_ns wanted_ns);

#endif
