/* From matched Kineto ranks to a table of their steps, and their clocks put on one axis. */
#ifndef GS_TRACES_KINETO_TABLE_H
#define GS_TRACES_KINETO_TABLE_H

#include "traces/importers/kineto_match.h"
#include "traces/profile.h"
#include "traces/step_table.h"

/* ranks as matched in joint; profile made from both. Parts are the profile's measured ones; clocks
 * are aligned where there are several ranks with kernels. Errors: GS_ENOMEM. Owner: the arena. */
GS_MUST_USE gs_status gs_kineto_table_make(const gs_kineto_rank *ranks,
                                           const gs_kineto_joint *joint, const gs_profile *profile,
                                           gs_arena *arena, const gs_step_table **out,
                                           gs_error *err);

#endif
