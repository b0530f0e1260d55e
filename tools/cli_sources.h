/* Values of flags that do not come from the command line: user configuration and environment. Of
 * cli.c's own use. */
#ifndef GS_TOOLS_CLI_SOURCES_H
#define GS_TOOLS_CLI_SOURCES_H

#include "tools/cli.h"

/* Sets one flag; place is for errors ("--jobs", "GRADSYNC_JOBS"). An exit code. */
int gs_cli_set(gs_cli *cli, gs_flag_id id, const char *value, const char *place);

/* Reads the user configuration and the variables of the verb's flags, for flags that were not
 * given. An exit code. */
int gs_cli_read_sources(gs_cli *cli);

/* Adds NAME=value to the variables that counted. */
void gs_cli_note_variable(gs_cli *cli, const char *name, const char *value);

#endif
