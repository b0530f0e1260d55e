/* Which of two strategies is simpler, where their results tie: for `sim`, `sweep` and `recommend`
 * alike. */
#ifndef GS_TOOLS_SIMPLER_H
#define GS_TOOLS_SIMPLER_H

/* Below 0: the strategy of label `a` is simpler than that of `b`; above 0: `b` is; 0: nothing tells
 * them apart, and the caller's order does.
 *
 * Strategies stand in the order of tools/recommend/arms.def, which is that of simplicity. One that
 * is not there follows the last there with the same name, whatever its codec; one whose name is not
 * there either follows them all, by the family of families.def. Of the same strategy and codec the
 * one whose label sets fewer parameters is simpler. Labels do not show defaults, so that parameters
 * of different strategies say nothing. */
int gs_simpler_compare(const char *a, const char *b);

#endif
