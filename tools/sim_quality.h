/* What the strategies of a report have learned, in words: who ends best, what speed has cost, and
 * which runs have learned nothing. */
#ifndef GS_TOOLS_SIM_QUALITY_H
#define GS_TOOLS_SIM_QUALITY_H

#include "tools/sim_report.h"

/* " X ends best, at accuracy 0.95 ...": of strategies with real gradients; then by how much those
 * that the answer praises end worse, where that is more than noise. fastest, first: them; the
 * latter may be the former, or NULL. Empty where none was evaluated. Owner: caller, free(). */
char *gs_sim_quality_text(const gs_sim_report *report, const gs_sim_row *fastest,
                          const gs_sim_row *first);

/* " X reaches 0.95 and ends below it ...": of all whose mean ends on the wrong side of the target
 * that most of their runs reached; mostly empty. Owner: caller, free(). */
char *gs_sim_fallen_text(const gs_sim_report *report);

/* A line where runs of a row end no better than guessing, or far worse than they began. */
void gs_sim_put_guesses(const gs_sim_report *report, const gs_sim_row *row, FILE *out);

#endif
