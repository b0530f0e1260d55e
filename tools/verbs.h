/* What every verb does, one function each; the table is in verbs.c. */
#ifndef GS_TOOLS_VERBS_H
#define GS_TOOLS_VERBS_H

#include "tools/cli.h"

#define GS_VERB(name, words, summary) int gs_cmd_##name(const gs_cli *cli);
#include "tools/verbs.def"
#undef GS_VERB

#endif
