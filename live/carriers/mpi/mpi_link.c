#include "live/carriers/mpi/mpi_link.h"

#include "base/assert.h"
#include "live/carriers/mpi/within.h"

#include <mpi.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAG_HEAD = 1, TAG_PIECE = 2, HEADS_ASKED = 8, MACHINE_BYTES = 40 };

/* What processes tell each other to see that they are alike. */
typedef struct greeting {
    uint32_t version;
    uint32_t processes;
    uint32_t process;
    uint32_t head_bytes;
    uint64_t chunk_bytes;
    char machine[MACHINE_BYTES]; /* another one for each boot of each machine */
    char host[GS_CARRIER_HOST_BYTES];
} greeting;

struct gs_mpi_link {
    uint32_t processes;
    greeting *greetings; /* [processes] */
    MPI_Comm world;      /* own, so that no other message is taken for ours */
    MPI_Comm *groups;
    uint32_t group_count, group_capacity;
    size_t head_bytes;
    unsigned char *heads;     /* [HEADS_ASKED][head_bytes] */
    size_t came[HEADS_ASKED]; /* bytes of those that came; 0: still asked for */
    uint32_t sources[HEADS_ASKED];
    uint32_t next_head;  /* came first, or will: heads come in the order in which they were asked */
    uint32_t heads_told; /* and not asked for again, from next_head on */
    /* Requests: first those of heads, which stay, then those under way. */
    MPI_Request *requests;
    gs_mpi_ended *works; /* of each request */
    size_t count, capacity;
    int *indices;
    MPI_Status *statuses;
    gs_mpi_ended *ended; /* [ended_capacity]: read by the caller while it makes new requests */
    size_t ended_capacity;
    char failure[MPI_MAX_ERROR_STRING];
};

/* -------------------------------------------------------------------------------------- starting
 */

typedef struct starting {
    greeting own;
    gs_mpi_link *link;
    gs_status status;
    gs_error err;
} starting;

static void free_link(gs_mpi_link *link)
{
    if (link == NULL) {
        return;
    }
    free(link->greetings);
    free(link->groups);
    free(link->heads);
    free(link->requests);
    free(link->works);
    free(link->indices);
    free(link->statuses);
    free(link->ended);
    free(link);
}

static const char *text_of(int code, char out[MPI_MAX_ERROR_STRING])
{
    int length = 0;
    if (MPI_Error_string(code, out, &length) != MPI_SUCCESS) {
        (void)snprintf(out, MPI_MAX_ERROR_STRING, "MPI error %d", code);
    }
    return out;
}

#define MPI_TRY(call, what)                                                                        \
    do {                                                                                           \
        int mpi_code = (call);                                                                     \
        if (mpi_code != MPI_SUCCESS) {                                                             \
            char mpi_text[MPI_MAX_ERROR_STRING];                                                   \
            return gs_fail(err, GS_EIO, "mpi: cannot %s: %s", what, text_of(mpi_code, mpi_text));  \
        }                                                                                          \
    } while (0)

static gs_status start_mpi(const greeting *own, gs_error *err)
{
    int is_over = 0;
    int is_there = 0;
    int level = MPI_THREAD_SINGLE;
    int rank = 0;
    int size = 0;
    MPI_TRY(MPI_Finalized(&is_over), "ask whether MPI has ended");
    MPI_TRY(MPI_Initialized(&is_there), "ask whether MPI has begun");
    if (is_over || is_there) {
        return gs_fail(err, GS_EUNSUPPORTED, "mpi: MPI can be started once in a process only");
    }
    /* Calls come one after the other, but not from the thread that started MPI. */
    MPI_TRY(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level), "start MPI");
    if (level < MPI_THREAD_SERIALIZED) {
        return gs_fail(err, GS_EUNSUPPORTED,
                       "mpi: this MPI was built without threads; install one with "
                       "MPI_THREAD_SERIALIZED");
    }
    MPI_TRY(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "handle errors");
    MPI_TRY(MPI_Comm_size(MPI_COMM_WORLD, &size), "count processes");
    MPI_TRY(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "number processes");
    if ((uint32_t)size != own->processes || (uint32_t)rank != own->process) {
        return gs_fail(err, GS_EMISMATCH,
                       "mpi: the launcher says process %u of %u, MPI says %d of %d: was it started "
                       "by the launcher of another MPI?",
                       own->process, own->processes, rank, size);
    }
    return GS_OK;
}

static gs_status meet(const greeting *own, gs_mpi_link *link, gs_error *err)
{
    MPI_TRY(MPI_Comm_dup(MPI_COMM_WORLD, &link->world), "make a communicator");
    MPI_TRY(MPI_Comm_set_errhandler(link->world, MPI_ERRORS_RETURN), "handle errors");
    MPI_TRY(MPI_Allgather(own, sizeof *own, MPI_BYTE, link->greetings, sizeof *own, MPI_BYTE,
                          link->world),
            "greet the other processes");
    for (uint32_t i = 0; i < link->processes; i++) {
        greeting *said = &link->greetings[i];
        said->host[sizeof said->host - 1] = '\0';
        if (said->version != own->version || said->head_bytes != own->head_bytes) {
            return gs_fail(err, GS_EMISMATCH,
                           "mpi: process %u (host %s) is of another version of gradsync; start the "
                           "same program everywhere",
                           i, said->host);
        }
        if (said->chunk_bytes != own->chunk_bytes) {
            return gs_fail(err, GS_EMISMATCH,
                           "mpi: process %u (host %s) sends pieces of %llu bytes, this one of "
                           "%llu; start all with the same options",
                           i, said->host, (unsigned long long)said->chunk_bytes,
                           (unsigned long long)own->chunk_bytes);
        }
    }
    return GS_OK;
}

static void start(void *of)
{
    starting *begun = of;
    begun->status = start_mpi(&begun->own, &begun->err);
    if (begun->status == GS_OK) {
        begun->status = meet(&begun->own, begun->link, &begun->err);
    }
}

static void forget_start(void *of)
{
    starting *begun = of;
    free_link(begun->link);
    free(begun);
}

/* The kernel's number of this boot: namespaces that play hosts share it. */
static void read_machine(char out[MACHINE_BYTES])
{
    int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    memset(out, 0, MACHINE_BYTES);
    if (file >= 0) {
        (void)!read(file, out, MACHINE_BYTES - 1);
        (void)close(file);
    }
}

static gs_status fail_late(const gs_carrier_config *config, gs_error *err)
{
    return gs_fail(err, GS_EDEADLOCK,
                   "mpi: process %u of %u has waited %.3g s for MPI to start: a process has not "
                   "come, or MPI does not reach it; do all of them run this program?",
                   config->process, config->processes,
                   (double)config->deadline_ns / (double)GS_NS_PER_S);
}

/* --------------------------------------------------------------------------------------- requests
 */

static bool grow(gs_mpi_link *link)
{
    size_t capacity = link->capacity == 0 ? 64 : 2 * link->capacity;
    MPI_Request *requests = realloc(link->requests, capacity * sizeof *requests);
    link->requests = requests == NULL ? link->requests : requests;
    gs_mpi_ended *works = realloc(link->works, capacity * sizeof *works);
    link->works = works == NULL ? link->works : works;
    int *indices = realloc(link->indices, capacity * sizeof *indices);
    link->indices = indices == NULL ? link->indices : indices;
    MPI_Status *statuses = realloc(link->statuses, capacity * sizeof *statuses);
    link->statuses = statuses == NULL ? link->statuses : statuses;
    if (requests == NULL || works == NULL || indices == NULL || statuses == NULL ||
        capacity > INT_MAX) {
        return false;
    }
    link->capacity = capacity;
    return true;
}

/* Room for all that may end at once. */
static bool grow_ended(gs_mpi_link *link)
{
    size_t capacity = link->capacity + HEADS_ASKED;
    if (link->ended_capacity >= capacity) {
        return true;
    }
    gs_mpi_ended *ended = realloc(link->ended, capacity * sizeof *ended);
    if (ended == NULL) {
        return false;
    }
    link->ended = ended;
    link->ended_capacity = capacity;
    return true;
}

/* A place for a request about to be made. */
static MPI_Request *add(gs_mpi_link *link)
{
    if (link->count == link->capacity && !grow(link)) {
        return NULL;
    }
    return &link->requests[link->count];
}

static bool added(gs_mpi_link *link, int code, const gs_mpi_ended *work)
{
    if (code == MPI_SUCCESS) {
        link->works[link->count++] = *work;
    }
    return code == MPI_SUCCESS;
}

static bool send(gs_mpi_link *link, int tag, const void *memory, const gs_mpi_ended *work)
{
    MPI_Request *request = add(link);
    return request != NULL && added(link,
                                    MPI_Isend(memory, (int)work->bytes, MPI_BYTE, (int)work->peer,
                                              tag, link->world, request),
                                    work);
}

bool gs_mpi_link_send_head(gs_mpi_link *link, uint32_t to, const void *memory, size_t bytes,
                           void *owner)
{
    GS_ASSERT(bytes <= link->head_bytes);
    const gs_mpi_ended work = {.work = GS_MPI_SENT, .peer = to, .owner = owner, .bytes = bytes};
    return send(link, TAG_HEAD, memory, &work);
}

bool gs_mpi_link_send(gs_mpi_link *link, uint32_t to, const void *memory, size_t bytes, void *owner)
{
    GS_ASSERT(bytes <= INT_MAX);
    const gs_mpi_ended work = {.work = GS_MPI_SENT, .peer = to, .owner = owner, .bytes = bytes};
    return send(link, TAG_PIECE, memory, &work);
}

bool gs_mpi_link_receive(gs_mpi_link *link, uint32_t from, void *memory, size_t bytes, void *owner)
{
    GS_ASSERT(bytes <= INT_MAX);
    const gs_mpi_ended work = {
        .work = GS_MPI_COME, .peer = from, .owner = owner, .memory = memory, .bytes = bytes};
    MPI_Request *request = add(link);
    return request != NULL && added(link,
                                    MPI_Irecv(memory, (int)bytes, MPI_BYTE, (int)from, TAG_PIECE,
                                              link->world, request),
                                    &work);
}

void gs_mpi_link_ask_head(gs_mpi_link *link)
{
    GS_ASSERT(link->heads_told > 0);
    uint32_t index = link->next_head;
    link->came[index] = 0;
    link->heads_told--;
    link->next_head = (index + 1) % HEADS_ASKED;
    /* An error would come out of every test from then on. */
    (void)MPI_Start(&link->requests[index]);
}

/* A head has come into that place; tells those that are next in the order of asking. */
static size_t tell_heads(gs_mpi_link *link, size_t count)
{
    for (uint32_t i = link->heads_told; i < HEADS_ASKED; i++) {
        uint32_t index = (link->next_head + i) % HEADS_ASKED;
        if (link->came[index] == 0) {
            break;
        }
        link->ended[count++] = (gs_mpi_ended){.work = GS_MPI_HEAD_COME,
                                              .peer = link->sources[index],
                                              .memory = link->heads + index * link->head_bytes,
                                              .bytes = link->came[index]};
        link->heads_told++;
    }
    return count;
}

/* Those that have ended make room for others. */
static void forget_ended(gs_mpi_link *link)
{
    size_t kept = HEADS_ASKED;
    for (size_t i = HEADS_ASKED; i < link->count; i++) {
        if (link->requests[i] != MPI_REQUEST_NULL) {
            link->requests[kept] = link->requests[i];
            link->works[kept++] = link->works[i];
        }
    }
    link->count = kept;
}

static void head_came(gs_mpi_link *link, size_t index, const MPI_Status *status)
{
    int bytes = 0;
    (void)MPI_Get_count(status, MPI_BYTE, &bytes);
    link->came[index] = bytes > 0 ? (size_t)bytes : 1;
    link->sources[index] = (uint32_t)status->MPI_SOURCE;
}

/* MPI itself fails: nothing that is under way can be trusted to end. */
static size_t fail_all(gs_mpi_link *link, int code)
{
    size_t count = 0;
    (void)text_of(code, link->failure);
    for (size_t i = HEADS_ASKED; i < link->count; i++) {
        link->ended[count] = link->works[i];
        link->ended[count++].failure = link->failure;
    }
    link->count = HEADS_ASKED;
    if (count == 0) {
        link->ended[count++] = (gs_mpi_ended){.work = GS_MPI_TOGETHER, .failure = link->failure};
    }
    return count;
}

size_t gs_mpi_link_test(gs_mpi_link *link, const gs_mpi_ended **out)
{
    int tested = 0;
    size_t count = 0;
    if (!grow_ended(link)) {
        return 0; /* maybe there is memory the next time */
    }
    *out = link->ended;
    int code =
        MPI_Testsome((int)link->count, link->requests, &tested, link->indices, link->statuses);
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) {
        return fail_all(link, code);
    }
    if (tested <= 0) { /* MPI_UNDEFINED is negative */
        return 0;
    }
    for (int i = 0; i < tested; i++) {
        size_t index = (size_t)link->indices[i];
        int failed = code == MPI_SUCCESS ? MPI_SUCCESS : link->statuses[i].MPI_ERROR;
        if (index < HEADS_ASKED && failed == MPI_SUCCESS) {
            head_came(link, index, &link->statuses[i]);
            continue;
        }
        gs_mpi_ended *ended = &link->ended[count++];
        *ended = index < HEADS_ASKED ? (gs_mpi_ended){.work = GS_MPI_TOGETHER} : link->works[index];
        if (failed != MPI_SUCCESS) {
            ended->failure = text_of(failed, link->failure);
            link->requests[index] = index < HEADS_ASKED ? link->requests[index] : MPI_REQUEST_NULL;
        }
    }
    forget_ended(link);
    return tell_heads(link, count);
}

/* --------------------------------------------------------------------------------------- together
 */

bool gs_mpi_link_group(gs_mpi_link *link, const uint32_t *members, uint32_t count, uint32_t *out)
{
    if (link->group_count == link->group_capacity) {
        uint32_t capacity = link->group_capacity == 0 ? 8 : 2 * link->group_capacity;
        MPI_Comm *groups = realloc(link->groups, capacity * sizeof *groups);
        if (groups == NULL) {
            return false;
        }
        link->groups = groups;
        link->group_capacity = capacity;
    }
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group some = MPI_GROUP_NULL;
    MPI_Comm made = MPI_COMM_NULL;
    int *ranks = calloc(count, sizeof *ranks);
    for (uint32_t i = 0; ranks != NULL && i < count; i++) {
        ranks[i] = (int)members[i];
    }
    bool is_made = ranks != NULL && MPI_Comm_group(link->world, &all) == MPI_SUCCESS &&
                   MPI_Group_incl(all, (int)count, ranks, &some) == MPI_SUCCESS &&
                   MPI_Comm_create_group(link->world, some, 0, &made) == MPI_SUCCESS &&
                   MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN) == MPI_SUCCESS;
    if (some != MPI_GROUP_NULL) {
        (void)MPI_Group_free(&some);
    }
    if (all != MPI_GROUP_NULL) {
        (void)MPI_Group_free(&all);
    }
    free(ranks);
    if (is_made) {
        *out = link->group_count;
        link->groups[link->group_count++] = made;
    }
    return is_made;
}

bool gs_mpi_link_sum(gs_mpi_link *link, uint32_t group, float *data, size_t count, void *owner)
{
    const gs_mpi_ended work = {.work = GS_MPI_TOGETHER, .owner = owner};
    GS_ASSERT(group < link->group_count);
    MPI_Request *request = count > INT_MAX ? NULL : add(link);
    return request != NULL && added(link,
                                    MPI_Iallreduce(MPI_IN_PLACE, data, (int)count, MPI_FLOAT,
                                                   MPI_SUM, link->groups[group], request),
                                    &work);
}

bool gs_mpi_link_exchange(gs_mpi_link *link, const uint64_t *out, uint64_t *in, void *owner)
{
    const gs_mpi_ended work = {.work = GS_MPI_TOGETHER, .owner = owner};
    MPI_Request *request = add(link);
    return request != NULL &&
           added(link,
                 MPI_Ialltoall(out, 1, MPI_UINT64_T, in, 1, MPI_UINT64_T, link->world, request),
                 &work);
}

bool gs_mpi_link_barrier(gs_mpi_link *link, void *owner)
{
    const gs_mpi_ended work = {.work = GS_MPI_TOGETHER, .owner = owner};
    MPI_Request *request = add(link);
    return request != NULL && added(link, MPI_Ibarrier(link->world, request), &work);
}

/* --------------------------------------------------------------------------------- begin and end
 */

static bool ask_heads(gs_mpi_link *link)
{
    for (uint32_t i = 0; i < HEADS_ASKED; i++) {
        if (MPI_Recv_init(link->heads + i * link->head_bytes, (int)link->head_bytes, MPI_BYTE,
                          MPI_ANY_SOURCE, TAG_HEAD, link->world,
                          &link->requests[i]) != MPI_SUCCESS ||
            MPI_Start(&link->requests[i]) != MPI_SUCCESS) {
            return false;
        }
        link->count++;
    }
    return true;
}

static gs_mpi_link *make_link(const gs_carrier_config *config, size_t head_bytes)
{
    gs_mpi_link *link = calloc(1, sizeof *link);
    if (link == NULL) {
        return NULL;
    }
    *link = (gs_mpi_link){.processes = config->processes,
                          .head_bytes = head_bytes,
                          .greetings = calloc(config->processes, sizeof(greeting)),
                          .heads = calloc(HEADS_ASKED, head_bytes)};
    if (link->greetings == NULL || link->heads == NULL || !grow(link)) {
        free_link(link);
        return NULL;
    }
    return link;
}

gs_status gs_mpi_link_open(const gs_carrier_config *config, size_t head_bytes, gs_mpi_link **out,
                           gs_error *err)
{
    GS_ASSERT(config->chunk_bytes <= INT_MAX);
    starting *begun = calloc(1, sizeof *begun);
    gs_mpi_link *link = make_link(config, head_bytes);
    if (begun == NULL || link == NULL) {
        free(begun);
        free_link(link);
        return gs_fail(err, GS_ENOMEM, "mpi: no memory for %u processes", config->processes);
    }
    *begun = (starting){.link = link,
                        .own = {.version = GS_CARRIER_VERSION,
                                .processes = config->processes,
                                .process = config->process,
                                .head_bytes = (uint32_t)head_bytes,
                                .chunk_bytes = config->chunk_bytes}};
    read_machine(begun->own.machine);
    (void)gethostname(begun->own.host, sizeof begun->own.host - 1);
    gs_within how = gs_do_within(config->deadline_ns, start, forget_start, begun);
    if (how == GS_WITHIN_LATE) {
        return fail_late(config, err);
    }
    gs_status status = how == GS_WITHIN_DONE ? begun->status : GS_ENOMEM;
    if (status != GS_OK) {
        (void)gs_fail(err, status, "%s",
                      how == GS_WITHIN_DONE ? begun->err.text : "mpi: no memory for a thread");
    }
    free(begun);
    if (status == GS_OK && !ask_heads(link)) {
        status = gs_fail(err, GS_EIO, "mpi: MPI refuses to receive");
    }
    if (status != GS_OK) {
        free_link(link);
        return status;
    }
    *out = link;
    return GS_OK;
}

uint32_t gs_mpi_link_neighbours(const gs_mpi_link *link)
{
    int rank = 0;
    uint32_t count = 0;
    (void)MPI_Comm_rank(link->world, &rank);
    for (uint32_t i = 0; i < link->processes; i++) {
        count +=
            memcmp(link->greetings[i].machine, link->greetings[rank].machine, MACHINE_BYTES) == 0;
    }
    return count;
}

const char *gs_mpi_link_host(const gs_mpi_link *link, uint32_t process)
{
    return link->greetings[process].host;
}

#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40200000
/* Before 4.2, MPICH over UCX may hang in MPI_Finalize: one process closes its endpoints, for which
 * it needs answers of others, who wait for it already and give none (pmodels/mpich, pull request
 * 6596). The linker finds this before UCX's own: an endpoint stays as it is, and goes with its
 * worker. All that was sent has arrived by then. NULL: done. */
__attribute__((visibility("default"))) void *ucp_disconnect_nb(void *endpoint);

void *ucp_disconnect_nb(void *endpoint)
{
    (void)endpoint;
    return NULL;
}
#endif

/* Whatever else an MPI waits for at its end: a process that has parted loses nothing by leaving. */
static const gs_time_ns finalize_ns = 20 * GS_NS_PER_S;

static void finalize(void *of)
{
    (void)of;
    (void)MPI_Finalize();
}

static void forget_nothing(void *of)
{
    (void)of;
}

void gs_mpi_link_finish(gs_mpi_link *link)
{
    for (uint32_t i = 0; i < HEADS_ASKED; i++) {
        (void)MPI_Cancel(&link->requests[i]);
        (void)MPI_Wait(&link->requests[i], MPI_STATUS_IGNORE);
        (void)MPI_Request_free(&link->requests[i]);
    }
    for (uint32_t i = 0; i < link->group_count; i++) {
        (void)MPI_Comm_free(&link->groups[i]);
    }
    (void)MPI_Comm_free(&link->world);
    (void)gs_do_within(finalize_ns, finalize, forget_nothing, NULL);
    free_link(link);
}
