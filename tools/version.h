/* What was built, from what and by whom: the only reader of the generated gs_version.h. */
#ifndef GS_TOOLS_VERSION_H
#define GS_TOOLS_VERSION_H

#include "traces/environment.h"

/* "gradsync 0.1.0 (commit 3f2a91c, Debug, gcc 12.2.0)", with sanitizers "..., Debug, sanitizers
 * address,undefined, gcc ...". Static storage. */
const char *gs_version_line(void);
const char *gs_version_number(void);
const char *gs_version_date(void); /* of the commit, "2026-11-29", or "" */
const char *gs_version_compiler(void);
/* Version and place on the machine that built the program, or that there was none. */
const char *gs_version_cuda_toolkit(void);
const char *gs_version_nccl(void);
/* For gs_environment_collect; the runner comes from the caller. */
gs_tool_facts gs_version_facts(void);

#endif
