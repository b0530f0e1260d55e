/* Where a device that works on an entity's floats comes from: a module beside the program. */
#ifndef GS_LIVE_ACCELERATOR_MODULE_H
#define GS_LIVE_ACCELERATOR_MODULE_H

#include "base/status.h"
#include "models/accelerator.h"

/* The device of that name: cuda (the module gradsync_cuda.so). A module stays loaded. Errors:
 * GS_ENOTFOUND (no such name), GS_EUNSUPPORTED (no module was built, or it cannot be loaded: what
 * to do), GS_EVERSION. */
GS_MUST_USE gs_status gs_accelerator_find(const char *name, const gs_accelerator **out,
                                          gs_error *err);

#endif
