/* A carrier between threads of one process, for tests of carriers that stand on another one.
 *
 * Bodies stay with their sender until the receiver has taken them, and who aborts is lost to the
 * others at once. */
#ifndef GS_TESTS_FAKE_CUDA_THREAD_CARRIER_H
#define GS_TESTS_FAKE_CUDA_THREAD_CARRIER_H

#include "live/carrier.h"

typedef struct thread_world thread_world;

/* Owner: caller. Aborts where there is no memory. */
thread_world *thread_world_create(uint32_t processes);
void thread_world_free(thread_world *world);
/* What gs_carrier_config.control_net is for that process. */
void *thread_world_net(thread_world *world, uint32_t process);

extern const gs_carrier thread_carrier;

#endif
