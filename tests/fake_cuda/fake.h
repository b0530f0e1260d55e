/* A stand-in for CUDA and NCCL, so that what is built on them runs where there is no GPU.
 *
 * Device memory is host memory, a stream is a thread that does what it was given in that order, and
 * communicators move bytes over sockets of one machine, between threads as between processes. It is
 * as strict as the real ones may be: a send blocks its stream until the receive that matches it; an
 * operation holds thread blocks of its device, and one that finds none waits; calls that may wait
 * for the device do, such as freeing memory; a peer that has gone leaves an operation hanging until
 * the communicator is aborted; a call while another is in progress is an error. Settings are read
 * from the environment at the first call, so that they reach started programs too. */
#ifndef GS_TESTS_FAKE_CUDA_FAKE_H
#define GS_TESTS_FAKE_CUDA_FAKE_H

#include "tests/fake_cuda/cuda_runtime_api.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fake_settings {
    int devices;  /* FAKE_CUDA_DEVICES, 4 */
    int blocks;   /* FAKE_CUDA_BLOCKS, 16: thread blocks that a device runs at once */
    int delay_us; /* FAKE_CUDA_DELAY_US, 0: operations and calls take up to so much longer */
    atomic_int fail_after; /* FAKE_NCCL_FAIL_AFTER, -1: after so many operations of NCCL one ends in
                              an error of the network; -1: all work */
} fake_settings;

/* May be changed while no other thread makes calls. */
fake_settings *fake_settings_get(void);

/* Calls so far that waited for the device while an operation of NCCL was on it: two processes that
 * do so at the wrong moment wait for each other for ever. */
int fake_hazards(void);

/* ---------------------------------------------------------------- for kernels and communicators */

typedef void fake_work(void *argument);

/* Does work(copy of argument[bytes]) after all that the stream was given before. */
void fake_stream_give(cudaStream_t stream, fake_work *work, const void *argument, size_t bytes);
/* Until the stream has nothing left to do. */
void fake_stream_drain(cudaStream_t stream);
int fake_stream_device(cudaStream_t stream);
/* A stream that is no device's: its work keeps no call waiting. */
cudaStream_t fake_worker_create(void);
void fake_worker_destroy(cudaStream_t worker);

bool fake_is_device_memory(const void *memory, size_t bytes, int device);
/* Takes so many blocks of a device, or waits; false: is_over has said that there is no need. */
bool fake_blocks_take(int device, int blocks, bool (*is_over)(void *), void *argument);
void fake_blocks_give(int device, int blocks);
/* Up to delay_us. */
void fake_delay(void);
bool fake_chance(void); /* one in two */
void fake_sleep_us(int64_t us);
int fake_current_device(void);

#endif
