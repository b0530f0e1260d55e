/* Where things lie: the program's own data, and the user's files by the XDG base directory rules.
 * An XDG variable that is not an absolute path counts as not set, as the rules say. */
#ifndef GS_TOOLS_PLACES_H
#define GS_TOOLS_PLACES_H

/* Folder that holds traces/scenarios, traces/profiles and models/data: ../share/gradsync of the
 * program's own folder once it is installed, else the source tree. Static storage. */
const char *gs_places_data(void);

/* Never NULL; "" where neither the variable nor HOME says anything. Static storage. */
const char *gs_places_config(void);    /* GRADSYNC_CONFIG, or .../gradsync/config.json */
const char *gs_places_scenarios(void); /* .../gradsync/scenarios under XDG_DATA_HOME */

/* First executable of that name in PATH, or NULL. Owner: caller, free(). */
char *gs_places_program(const char *name);

#endif
