/* What people call strategies and codecs elsewhere, for errors about a name that is none here. */
#ifndef GS_STRATEGIES_OTHER_NAMES_H
#define GS_STRATEGIES_OTHER_NAMES_H

/* "allreduce" for "DDP", whatever its case; NULL: nothing is known of it. */
const char *gs_other_name(const char *name);

#endif
