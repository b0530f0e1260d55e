/* Which values of two stored scenarios differ, in words: why a prediction is of another job. */
#ifndef GS_TOOLS_CONFIG_DIFFERENCE_H
#define GS_TOOLS_CONFIG_DIFFERENCE_H

#include <stdbool.h>

/* one, other: resolved scenarios as JSON. Of what the config hash is made of, the first three keys
 * whose values differ and how many more do: "cluster.links.nic.bandwidth \"10Gbit/s\" against
 * \"25Gbit/s\"". NULL: nothing there differs, or a text is not JSON. Owner: caller, free(). */
char *gs_config_difference(const char *one, const char *other);

/* Has a key that both know another value, or a list another element? Keys that only one has are
 * those of a newer program, whose defaults change nothing. Texts that are not JSON: false. */
bool gs_config_conflicts(const char *one, const char *other);

#endif
