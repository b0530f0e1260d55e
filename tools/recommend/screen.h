/* Screening by the timing model: which arms cannot win, whatever they learn. */
#ifndef GS_TOOLS_RECOMMEND_SCREEN_H
#define GS_TOOLS_RECOMMEND_SCREEN_H

#include "tools/recommend/trial.h"

/* Steps of a timing run: several periods of what averages every 64 of them. */
enum { GS_SCREEN_STEPS = 256 };

/* Measures time per sample and bytes per step of every arm that is in, drops those that cannot run
 * and those that are dominated: of the exact ones all but plain all-reduce and the fastest; of the
 * lossy ones those that are not faster per sample than the fastest exact one. false: a signal came.
 */
bool gs_screen(gs_recommend *all);

#endif
