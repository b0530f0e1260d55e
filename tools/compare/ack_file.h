/* Accepted changes as a text file that is committed and reviewed with the change itself, so that
 * they reach CI: a JSON list, one object an ack, in the order in which they were made. */
#ifndef GS_TOOLS_COMPARE_ACK_FILE_H
#define GS_TOOLS_COMPARE_ACK_FILE_H

#include "base/arena.h"
#include "traces/store/store_ack.h"

/* Acks of the file, oldest first; their strategy is as people write it ("allreduce:bucket=10MiB"),
 * params_json and commit are "", the ratio is NAN. Errors: GS_ENOTFOUND, GS_EIO, GS_EPARSE,
 * GS_EINVAL (an unknown key, a metric or a number that cannot be). Owner: the arena. */
GS_MUST_USE gs_status gs_ack_file_read(const char *file, gs_arena *arena, const gs_ack **out_acks,
                                       uint32_t *out_count, gs_error *err);

/* Puts an ack behind those of the file, which is made where it is not there. One of the same
 * scenario, strategy and metric gives way to it. The file is replaced as a whole. ack: as above;
 * made_utc is set. */
GS_MUST_USE gs_status gs_ack_file_add(const char *file, const gs_ack *ack, gs_error *err);

#endif
