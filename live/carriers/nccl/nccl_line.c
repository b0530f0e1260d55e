#include "live/carriers/nccl/nccl_line.h"

#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An operation is first POSTED: NCCL may still be working on the call, and what the stream is given
 * then would come before the operation. Once it has been taken, what follows it on the stream is
 * given, and the line is UNDER_WAY until its event has come. */
typedef enum phase { IDLE, POSTED, UNDER_WAY, BROKEN } phase;

struct gs_nccl_line {
    phase phase;
    ncclComm_t communicator; /* NULL: none any more */
    cudaStream_t stream;
    cudaEvent_t done;
    void *device;  /* [bytes] */
    void *staging; /* [bytes], pinned: copies from and to it do not wait */
    size_t to_copy_back;
    bool has_operation; /* POSTED: else the communicator itself is being made or left */
    bool is_leaving;
    char text[GS_NCCL_TEXT_BYTES];
};

/* ---------------------------------------------------------------- foreign codes */

static bool cuda_ok(cudaError_t code, const char *what, gs_error *err)
{
    if (code == cudaSuccess) {
        return true;
    }
    (void)gs_fail(err, code == cudaErrorMemoryAllocation ? GS_ENOMEM : GS_EUNSUPPORTED,
                  "CUDA: %s: %s", what, cudaGetErrorString(code));
    return false;
}

static bool nccl_ok(ncclResult_t code, const char *what, gs_error *err)
{
    if (code == ncclSuccess || code == ncclInProgress) {
        return true;
    }
    (void)gs_fail(err, GS_EUNSUPPORTED, "NCCL: %s: %s", what, ncclGetErrorString(code));
    return false;
}

static void line_broke(gs_nccl_line *line, const char *library, const char *what, const char *text)
{
    (void)snprintf(line->text, sizeof line->text, "%s: %s: %s", library, what, text);
    gs_nccl_line_abort(line, NULL);
}

static bool line_cuda(gs_nccl_line *line, cudaError_t code, const char *what)
{
    if (code != cudaSuccess) {
        line_broke(line, "CUDA", what, cudaGetErrorString(code));
    }
    return code == cudaSuccess;
}

static bool line_nccl(gs_nccl_line *line, ncclResult_t code, const char *what)
{
    bool ok = code == ncclSuccess || code == ncclInProgress;
    if (!ok) {
        line_broke(line, "NCCL", what, ncclGetErrorString(code));
    }
    return ok;
}

/* ---------------------------------------------------------------- device */

gs_status gs_nccl_choose_device(uint32_t number, int *out_blocks, gs_error *err)
{
    int devices = 0, blocks = 0;
    cudaError_t code = cudaGetDeviceCount(&devices);
    if (code != cudaSuccess || devices == 0) {
        return gs_fail(err, GS_EUNSUPPORTED, "transport nccl: no CUDA device on this host (%s)",
                       code == cudaSuccess ? "the driver lists none" : cudaGetErrorString(code));
    }
    if (number >= (uint32_t)devices) {
        return gs_fail(err, GS_EUNSUPPORTED,
                       "transport nccl: process %u of this host has no CUDA device of its own, %d "
                       "here; start at most so many per host",
                       number, devices);
    }
    bool ok = cuda_ok(cudaSetDevice((int)number), "cudaSetDevice", err) &&
              cuda_ok(cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, (int)number),
                      "cudaDeviceGetAttribute", err);
    if (!ok) {
        return GS_EUNSUPPORTED;
    }
    *out_blocks = blocks; /* one on each multiprocessor */
    return GS_OK;
}

gs_status gs_nccl_new_id(uint8_t out_id[GS_NCCL_ID_BYTES], gs_error *err)
{
    ncclUniqueId id;
    _Static_assert(sizeof id == GS_NCCL_ID_BYTES, "an id travels whole");
    if (!nccl_ok(ncclGetUniqueId(&id), "ncclGetUniqueId", err)) {
        return GS_EUNSUPPORTED;
    }
    memcpy(out_id, &id, sizeof id);
    return GS_OK;
}

/* ---------------------------------------------------------------- life */

gs_status gs_nccl_line_open(size_t bytes, gs_nccl_line **out, gs_error *err)
{
    gs_error why = {.code = GS_ENOMEM, .text = "no memory for a line of NCCL"};
    gs_nccl_line *line = calloc(1, sizeof *line);
    bool ok = line != NULL && cuda_ok(cudaMalloc(&line->device, bytes), "cudaMalloc", &why) &&
              cuda_ok(cudaMallocHost(&line->staging, bytes), "cudaMallocHost", &why) &&
              cuda_ok(cudaStreamCreateWithFlags(&line->stream, cudaStreamNonBlocking),
                      "cudaStreamCreateWithFlags", &why) &&
              cuda_ok(cudaEventCreateWithFlags(&line->done, cudaEventDisableTiming),
                      "cudaEventCreateWithFlags", &why);
    if (!ok) {
        gs_nccl_line_close(line);
        return gs_fail(err, why.code, "%s", why.text);
    }
    memset(line->staging, 0, bytes);
    *out = line;
    return GS_OK;
}

void gs_nccl_line_join(gs_nccl_line *line, const gs_nccl_members *members)
{
    ncclUniqueId id;
    memcpy(&id, members->id, sizeof id);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    config.minCTAs = 1;
    config.maxCTAs = members->blocks;
    line->phase = POSTED;
    (void)line_nccl(line,
                    ncclCommInitRankConfig(&line->communicator, (int)members->count, id,
                                           (int)members->self, &config),
                    "ncclCommInitRankConfig");
}

void gs_nccl_line_close(gs_nccl_line *line)
{
    if (line == NULL) {
        return;
    }
    gs_nccl_line_abort(line, NULL);
    /* Nothing is left that could wait for another process. */
    (void)(line->done != NULL && cudaEventDestroy(line->done) != cudaSuccess);
    (void)(line->stream != NULL && cudaStreamDestroy(line->stream) != cudaSuccess);
    (void)(line->staging != NULL && cudaFreeHost(line->staging) != cudaSuccess);
    (void)(line->device != NULL && cudaFree(line->device) != cudaSuccess);
    free(line);
}

void *gs_nccl_line_staging(const gs_nccl_line *line)
{
    return line->staging;
}

const char *gs_nccl_line_text(const gs_nccl_line *line)
{
    return line->text;
}

void gs_nccl_line_abort(gs_nccl_line *line, const char *why)
{
    if (why != NULL) {
        (void)snprintf(line->text, sizeof line->text, "%s", why);
    }
    line->phase = BROKEN;
    if (line->communicator != NULL) {
        (void)ncclCommAbort(line->communicator);
        line->communicator = NULL;
    }
}

void gs_nccl_line_leave(gs_nccl_line *line)
{
    if (line->communicator == NULL) {
        return; /* it never joined */
    }
    line->has_operation = false;
    line->is_leaving = true;
    line->phase = POSTED;
    (void)line_nccl(line, ncclCommFinalize(line->communicator), "ncclCommFinalize");
}

/* ---------------------------------------------------------------- operations */

static ncclResult_t post(gs_nccl_line *line, gs_nccl_act act, uint32_t peer, size_t bytes)
{
    void *device = line->device;
    switch (act) {
    case GS_NCCL_SEND:
        return ncclSend(device, bytes, ncclChar, (int)peer, line->communicator, line->stream);
    case GS_NCCL_RECEIVE:
        return ncclRecv(device, bytes, ncclChar, (int)peer, line->communicator, line->stream);
    case GS_NCCL_SUM:
        break;
    }
    return ncclAllReduce(device, device, bytes / sizeof(float), ncclFloat, ncclSum,
                         line->communicator, line->stream);
}

void gs_nccl_line_begin(gs_nccl_line *line, gs_nccl_act act, uint32_t peer, size_t bytes)
{
    if (act != GS_NCCL_RECEIVE && !line_cuda(line,
                                             cudaMemcpyAsync(line->device, line->staging, bytes,
                                                             cudaMemcpyHostToDevice, line->stream),
                                             "cudaMemcpyAsync")) {
        return;
    }
    line->to_copy_back = act == GS_NCCL_SEND ? 0 : bytes;
    line->has_operation = true;
    line->phase = POSTED;
    (void)line_nccl(line, post(line, act, peer, bytes), "the call");
}

/* NCCL has done what it was called for. */
static void posted(gs_nccl_line *line)
{
    if (line->is_leaving) {
        (void)ncclCommDestroy(line->communicator);
        line->communicator = NULL;
    }
    if (!line->has_operation) {
        line->phase = IDLE;
        return;
    }
    if (line->to_copy_back > 0 &&
        !line_cuda(line,
                   cudaMemcpyAsync(line->staging, line->device, line->to_copy_back,
                                   cudaMemcpyDeviceToHost, line->stream),
                   "cudaMemcpyAsync")) {
        return;
    }
    if (line_cuda(line, cudaEventRecord(line->done, line->stream), "cudaEventRecord")) {
        line->phase = UNDER_WAY;
    }
}

static gs_nccl_state state_of(const gs_nccl_line *line)
{
    if (line->phase == BROKEN) {
        return GS_NCCL_BROKEN;
    }
    return line->phase == IDLE ? GS_NCCL_FREE : GS_NCCL_BUSY;
}

gs_nccl_state gs_nccl_line_poll(gs_nccl_line *line)
{
    ncclResult_t state = ncclSuccess;
    if (line->phase == UNDER_WAY) {
        cudaError_t code = cudaEventQuery(line->done);
        if (code == cudaSuccess) {
            line->phase = IDLE;
        } else if (code != cudaErrorNotReady) {
            (void)line_cuda(line, code, "cudaEventQuery");
        }
    }
    /* An error of NCCL, which never comes by the event: another process is gone, or the network. */
    bool ok = state_of(line) != GS_NCCL_BUSY ||
              (line_nccl(line, ncclCommGetAsyncError(line->communicator, &state),
                         "ncclCommGetAsyncError") &&
               line_nccl(line, state, "the network"));
    if (ok && line->phase == POSTED && state == ncclSuccess) {
        posted(line);
    }
    return state_of(line);
}
