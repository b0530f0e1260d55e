/* The generated header with another commit, found before it where the program is built a second
 * time, for ranks that were not started alike. */
#include "generated/gs_version.h"

#undef GS_COMMIT
#define GS_COMMIT "0123456789ab"
#undef GS_COMMIT_DIRTY
#define GS_COMMIT_DIRTY 0
