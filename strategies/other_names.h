/* What people call strategies and codecs elsewhere, for errors about a name that is none here. */
#ifndef GS_STRATEGIES_OTHER_NAMES_H
#define GS_STRATEGIES_OTHER_NAMES_H

/* Likewise of a parameter: "period" for "H"; whose it is, the caller sees by its table. */
const char *gs_other_parameter(const char *name);

/* "allreduce" for "DDP", whatever its case; NULL: nothing is known of it. */
const char *gs_other_name(const char *name);

#endif
