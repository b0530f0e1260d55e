/* What the MPI carrier asks of MPI: requests, and which of them have ended. Nothing here waits but
 * open, group and the end; nothing here knows of frames. mpi_link.c alone includes mpi.h, which is
 * another one for each MPI. */
#ifndef GS_LIVE_CARRIERS_MPI_LINK_H
#define GS_LIVE_CARRIERS_MPI_LINK_H

#include "live/carrier.h"

typedef enum gs_mpi_work {
    GS_MPI_HEAD_COME, /* of any process: memory, bytes; gs_mpi_link_ask_head when it has been read
                       */
    GS_MPI_SENT,      /* a head or a piece */
    GS_MPI_COME,      /* a piece */
    GS_MPI_TOGETHER   /* what all of a group do: a sum, counts, a barrier */
} gs_mpi_work;

typedef struct gs_mpi_ended {
    gs_mpi_work work;
    uint32_t peer;
    void *owner; /* as given */
    void *memory;
    size_t bytes;
    const char *failure; /* NULL: it went well; else MPI's text, until the next test */
} gs_mpi_ended;

typedef struct gs_mpi_link gs_mpi_link;

/* Starts MPI, once in a process, and checks that all processes are made and started alike. Errors:
 * as carrier open. head_bytes: of the longest head. Owner of *out: caller, finish; or nobody, where
 * MPI is left as it is. */
GS_MUST_USE gs_status gs_mpi_link_open(const gs_carrier_config *config, size_t head_bytes,
                                       gs_mpi_link **out, gs_error *err);

/* Processes on this machine, whatever hosts they take it for. */
uint32_t gs_mpi_link_neighbours(const gs_mpi_link *link);
/* Of a process; "" where it has none. */
const char *gs_mpi_link_host(const gs_mpi_link *link, uint32_t process);

/* false: no memory, or MPI refuses. */
bool gs_mpi_link_send_head(gs_mpi_link *link, uint32_t to, const void *memory, size_t bytes,
                           void *owner);
bool gs_mpi_link_send(gs_mpi_link *link, uint32_t to, const void *memory, size_t bytes,
                      void *owner);
bool gs_mpi_link_receive(gs_mpi_link *link, uint32_t from, void *memory, size_t bytes, void *owner);
/* The memory of the head that came first is free for another one. */
void gs_mpi_link_ask_head(gs_mpi_link *link);

/* Lets MPI work, and says what has ended since: *out [count], until the next test. */
size_t gs_mpi_link_test(gs_mpi_link *link, const gs_mpi_ended **out);

/* Groups, as gs_carrier.group. */
bool gs_mpi_link_group(gs_mpi_link *link, const uint32_t *members, uint32_t count, uint32_t *out);
bool gs_mpi_link_sum(gs_mpi_link *link, uint32_t group, float *data, size_t count, void *owner);
/* Of all processes: one number for each goes out, and one of each comes in. */
bool gs_mpi_link_exchange(gs_mpi_link *link, const uint64_t *out, uint64_t *in, void *owner);
bool gs_mpi_link_barrier(gs_mpi_link *link, void *owner);

/* Nothing is under way any more, and all processes come here: ends MPI. */
void gs_mpi_link_finish(gs_mpi_link *link);

#endif
