/* Guests: processes on other machines, or on this one, that make runs for a command which mpirun,
 * srun or torchrun has started many times. Process 0 of these deals; each of the others sends it
 * guests, which come over TCP, say who they are, and make what they are given until there is no
 * more.
 *
 * How a guest finds process 0: srun and torchrun say an address; under mpirun and mpiexec MPI is
 * asked once, and left again before the first run, so that the end of a guest is not the end of
 * the job. Guests are children of the process that the launcher started: one that is killed is
 * started again, and the launcher does not notice. */
#ifndef GS_TOOLS_GUESTS_H
#define GS_TOOLS_GUESTS_H

#include "base/status.h"
#include "base/units.h"
#include "tools/launcher.h"

#include <stdint.h>

enum { GS_GUESTS_MAX = 1024 };

typedef struct gs_guests gs_guests;

/* Where process 0 is, as every process of the command is told. */
typedef struct gs_meeting {
    char host[256];
    uint32_t port;
    uint64_t secret;        /* of this start of the command: keeps others out */
    gs_time_ns patience_ns; /* process 0 may be so late; 0: it was there before */
} gs_meeting;

/* Process 0. All processes of the launch call one of these two, and wait for each other up to half
 * a minute. plan: hash of what is run; guests of another one, or of another program, are refused.
 * Errors: those of the launcher's MPI; GS_EIO (nowhere to listen). Owner of *out: caller,
 * gs_guests_close, which accepts NULL. */
GS_MUST_USE gs_status gs_guests_open(const gs_launch *launch, uint64_t plan, gs_guests **out,
                                     gs_error *err);
/* Every other process. */
GS_MUST_USE gs_status gs_guests_find_host(const gs_launch *launch, gs_meeting *out, gs_error *err);
/* The guests see it, and go. */
void gs_guests_close(gs_guests *guests);

/* For poll(2); -1: NULL was given. */
int gs_guests_listening(const gs_guests *guests);
/* Lets in who has come; strangers are turned away. */
void gs_guests_let_in(gs_guests *guests);
/* Waits for `count` guests, at most half a minute, and lets nobody in after that; how many came. */
uint32_t gs_guests_await(gs_guests *guests, uint32_t count);
/* Socket of a guest (index < GS_GUESTS_MAX); -1: nobody is there. */
int gs_guests_at(const gs_guests *guests, uint32_t index);
/* Closes the socket: the guest is gone, or has to go. */
void gs_guests_leave(gs_guests *guests, int fd);

/* Of a guest: a connection to process 0, blocking; -1: it is not there any more. GS_EMISMATCH:
 * this is another program, or its scenario is another one. Owner: caller, close(2). */
GS_MUST_USE gs_status gs_guest_come(const gs_meeting *meeting, uint64_t plan, int *out_fd,
                                    gs_error *err);

#endif
