#include "tests/fake_cuda/nccl.h"
#include "tests/fake_cuda/fake.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { RANKS_MAX = 32, NAME_BYTES = 32, RETRY_US = 200, LOOK_MS = 2 };

struct ncclComm {
    int ranks, rank, device, blocks;
    char name[NAME_BYTES];
    int sockets[RANKS_MAX]; /* to each other rank; -1 */
    cudaStream_t worker;    /* does what a non-blocking call goes on with */
    cudaStream_t stream;    /* of all operations: NULL before the first */
    atomic_int state;       /* ncclResult_t */
    atomic_bool is_aborted;
    atomic_int operations; /* given and not done */
};

/* ---------------------------------------------------------------- sockets */

static bool is_over(void *argument)
{
    ncclComm_t communicator = argument;
    return atomic_load(&communicator->is_aborted);
}

/* What a real operation does whose other end is gone or does another one: nothing more. */
static void hang(ncclComm_t communicator)
{
    while (!is_over(communicator)) {
        fake_sleep_us(RETRY_US);
    }
}

/* All bytes through a socket; false: aborted. */
static bool move(ncclComm_t communicator, int peer, char *bytes, size_t count, bool out)
{
    int socket = communicator->sockets[peer];
    while (count > 0) {
        struct pollfd look = {.fd = socket, .events = out ? POLLOUT : POLLIN};
        if (is_over(communicator)) {
            return false;
        }
        if (poll(&look, 1, LOOK_MS) <= 0) {
            continue;
        }
        ssize_t moved = out ? send(socket, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT)
                            : recv(socket, bytes, count, MSG_DONTWAIT);
        if (moved > 0) {
            bytes += moved;
            count -= (size_t)moved;
        } else if (moved == 0 || (errno != EAGAIN && errno != EINTR)) {
            hang(communicator);
            return false;
        }
    }
    return true;
}

static void address_of(ncclComm_t communicator, int rank, struct sockaddr_un *out, socklen_t *size)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    /* Abstract: the name begins with a zero and goes with the socket. */
    int length = snprintf(out->sun_path + 1, sizeof out->sun_path - 1, "fake-nccl/%s/%d",
                          communicator->name, rank);
    *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static void call_rank(ncclComm_t communicator, int rank)
{
    struct sockaddr_un address;
    socklen_t size;
    address_of(communicator, rank, &address, &size);
    while (!is_over(communicator)) {
        int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (made >= 0 && connect(made, (const struct sockaddr *)&address, size) == 0) {
            communicator->sockets[rank] = made;
            (void)move(communicator, rank, (char *)&communicator->rank, sizeof(int), true);
            return;
        }
        if (made >= 0) {
            (void)close(made);
        }
        fake_sleep_us(RETRY_US);
    }
}

static void answer(ncclComm_t communicator, int listening)
{
    while (!is_over(communicator)) {
        struct pollfd look = {.fd = listening, .events = POLLIN};
        if (poll(&look, 1, LOOK_MS) <= 0) {
            continue;
        }
        int rank = -1, made = accept(listening, NULL, NULL);
        if (made >= 0 && recv(made, &rank, sizeof rank, MSG_WAITALL) == sizeof rank && rank >= 0 &&
            rank < communicator->ranks) {
            communicator->sockets[rank] = made;
            return;
        }
        if (made >= 0) {
            (void)close(made);
        }
    }
}

typedef struct joining {
    ncclComm_t communicator;
    int listening;
} joining;

static void do_join(void *argument)
{
    const joining *join = argument;
    ncclComm_t communicator = join->communicator;
    fake_delay();
    for (int rank = 0; rank < communicator->rank; rank++) {
        call_rank(communicator, rank);
    }
    for (int rank = communicator->rank + 1; rank < communicator->ranks; rank++) {
        answer(communicator, join->listening);
    }
    (void)close(join->listening);
    if (!is_over(communicator)) {
        atomic_store(&communicator->state, ncclSuccess);
    }
}

/* ---------------------------------------------------------------- operations */

typedef enum kind { SEND, RECEIVE, SUM } kind;

typedef struct operation {
    ncclComm_t communicator;
    kind kind;
    char *from, *to;
    size_t bytes;
    int peer;
    cudaStream_t stream;
} operation;

/* What two ranks tell each other before data moves: they must mean the same. */
typedef struct greeting {
    int kind; /* of who says it */
    uint64_t bytes;
} greeting;

static bool greet(const operation *op, int peer, kind expected)
{
    greeting own = {(int)op->kind, op->bytes}, other;
    ncclComm_t communicator = op->communicator;
    if (!move(communicator, peer, (char *)&own, sizeof own, true) ||
        !move(communicator, peer, (char *)&other, sizeof other, false)) {
        return false;
    }
    if (other.kind != (int)expected || other.bytes != op->bytes) {
        hang(communicator);
        return false;
    }
    return true;
}

static void sum(const operation *op)
{
    ncclComm_t communicator = op->communicator;
    float *total = (float *)(void *)op->to;
    memmove(op->to, op->from, op->bytes);
    if (communicator->rank > 0) {
        (void)(greet(op, 0, SUM) && move(communicator, 0, op->to, op->bytes, true) &&
               move(communicator, 0, op->to, op->bytes, false));
        return;
    }
    float *part = malloc(op->bytes);
    bool ok = part != NULL;
    for (int rank = 1; ok && rank < communicator->ranks; rank++) {
        ok = greet(op, rank, SUM) && move(communicator, rank, (char *)part, op->bytes, false);
        for (size_t i = 0; ok && i < op->bytes / sizeof *part; i++) {
            total[i] += part[i];
        }
    }
    for (int rank = 1; ok && rank < communicator->ranks; rank++) {
        ok = move(communicator, rank, op->to, op->bytes, true);
    }
    free(part);
}

static void do_operation(void *argument)
{
    const operation *op = argument;
    ncclComm_t communicator = op->communicator;
    atomic_int *fail_after = &fake_settings_get()->fail_after;
    if (fake_blocks_take(communicator->device, communicator->blocks, is_over, communicator)) {
        fake_delay();
        if (atomic_load(fail_after) >= 0 && atomic_fetch_sub(fail_after, 1) == 0) {
            atomic_store(&communicator->state, ncclSystemError);
            hang(communicator);
        } else if (op->kind == SUM) {
            sum(op);
        } else if (greet(op, op->peer, op->kind == SEND ? RECEIVE : SEND)) {
            (void)move(communicator, op->peer, op->kind == SEND ? op->from : op->to, op->bytes,
                       op->kind == SEND);
        }
        fake_blocks_give(communicator->device, communicator->blocks);
    }
    atomic_fetch_sub(&communicator->operations, 1);
}

static void do_give(void *argument)
{
    const operation *op = argument;
    fake_delay();
    fake_stream_give(op->stream, do_operation, op, sizeof *op);
    int expected = ncclInProgress;
    (void)atomic_compare_exchange_strong(&op->communicator->state, &expected, ncclSuccess);
}

static ncclResult_t give(const operation *op)
{
    ncclComm_t communicator = op->communicator;
    const char *memory = op->kind == RECEIVE ? op->to : op->from;
    if (atomic_load(&communicator->state) != ncclSuccess ||
        (communicator->stream != NULL && communicator->stream != op->stream)) {
        return ncclInvalidUsage;
    }
    if (op->peer < 0 || op->peer >= communicator->ranks || op->bytes == 0 ||
        fake_stream_device(op->stream) != communicator->device ||
        !fake_is_device_memory(memory, op->bytes, communicator->device)) {
        return ncclInvalidArgument;
    }
    communicator->stream = op->stream;
    atomic_fetch_add(&communicator->operations, 1);
    if (fake_chance()) {
        fake_stream_give(op->stream, do_operation, op, sizeof *op);
        return ncclSuccess;
    }
    atomic_store(&communicator->state, ncclInProgress);
    fake_stream_give(communicator->worker, do_give, op, sizeof *op);
    return ncclInProgress;
}

static size_t bytes_of(size_t count, ncclDataType_t type)
{
    return type == ncclFloat ? count * sizeof(float) : count;
}

ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cudaStream_t stream)
{
    union {
        const void *in;
        char *out;
    } memory = {from};
    operation op = {.communicator = communicator,
                    .kind = SEND,
                    .from = memory.out,
                    .bytes = bytes_of(count, type),
                    .peer = peer,
                    .stream = stream};
    return give(&op);
}

ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cudaStream_t stream)
{
    operation op = {.communicator = communicator,
                    .kind = RECEIVE,
                    .to = to,
                    .bytes = bytes_of(count, type),
                    .peer = peer,
                    .stream = stream};
    return give(&op);
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclRedOp_t reduction, ncclComm_t communicator, cudaStream_t stream)
{
    union {
        const void *in;
        char *out;
    } memory = {from};
    (void)reduction;
    operation op = {.communicator = communicator,
                    .kind = SUM,
                    .from = memory.out,
                    .to = to,
                    .bytes = bytes_of(count, type),
                    .stream = stream};
    return type == ncclFloat ? give(&op) : ncclInvalidArgument;
}

/* ---------------------------------------------------------------- communicators */

const char *ncclGetErrorString(ncclResult_t result)
{
    switch (result) {
    case ncclSuccess:
        return "no error";
    case ncclSystemError:
        return "unhandled system error";
    case ncclInvalidArgument:
        return "invalid argument";
    case ncclInvalidUsage:
        return "invalid usage";
    case ncclRemoteError:
        return "remote process exited or there was a network error";
    case ncclInProgress:
        return "operation in progress";
    case ncclUnhandledCudaError:
    case ncclInternalError:
        break;
    }
    return "internal error";
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *out)
{
    static atomic_int count;
    memset(out, 0, sizeof *out);
    (void)snprintf(out->internal, NAME_BYTES, "%ld-%d", (long)getpid(),
                   atomic_fetch_add(&count, 1));
    return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *out, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
    if (ranks < 1 || ranks > RANKS_MAX || rank < 0 || rank >= ranks || config->blocking != 0) {
        return ncclInvalidArgument;
    }
    ncclComm_t made = calloc(1, sizeof *made);
    struct sockaddr_un address;
    socklen_t size;
    joining join = {made, socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (made == NULL || join.listening < 0) {
        abort();
    }
    made->ranks = ranks;
    made->rank = rank;
    made->device = fake_current_device();
    made->blocks = config->maxCTAs;
    memcpy(made->name, id.internal, sizeof made->name);
    for (int i = 0; i < RANKS_MAX; i++) {
        made->sockets[i] = -1;
    }
    address_of(made, rank, &address, &size);
    if (bind(join.listening, (const struct sockaddr *)&address, size) != 0 ||
        listen(join.listening, RANKS_MAX) != 0) {
        (void)close(join.listening);
        free(made);
        return ncclSystemError; /* somebody has that rank already */
    }
    made->worker = fake_worker_create();
    atomic_store(&made->state, ncclInProgress);
    fake_stream_give(made->worker, do_join, &join, sizeof join);
    *out = made;
    return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t *out)
{
    *out = (ncclResult_t)atomic_load(&communicator->state);
    return ncclSuccess;
}

static void do_finalize(void *argument)
{
    ncclComm_t communicator = *(ncclComm_t *)argument;
    while (atomic_load(&communicator->operations) > 0 && !is_over(communicator)) {
        fake_sleep_us(RETRY_US);
    }
    fake_delay();
    atomic_store(&communicator->state, ncclSuccess);
}

ncclResult_t ncclCommFinalize(ncclComm_t communicator)
{
    if (atomic_load(&communicator->state) != ncclSuccess) {
        return ncclInvalidUsage;
    }
    atomic_store(&communicator->state, ncclInProgress);
    fake_stream_give(communicator->worker, do_finalize, &communicator, sizeof communicator);
    return ncclInProgress;
}

ncclResult_t ncclCommAbort(ncclComm_t communicator)
{
    atomic_store(&communicator->is_aborted, true);
    fake_worker_destroy(communicator->worker);
    while (atomic_load(&communicator->operations) > 0) {
        fake_sleep_us(RETRY_US);
    }
    for (int rank = 0; rank < communicator->ranks; rank++) {
        if (communicator->sockets[rank] >= 0) {
            (void)close(communicator->sockets[rank]);
        }
    }
    free(communicator);
    return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator)
{
    return ncclCommAbort(communicator);
}
