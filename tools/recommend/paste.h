/* Settings of today's frameworks for an arm: only what they really offer, ready to be pasted. */
#ifndef GS_TOOLS_RECOMMEND_PASTE_H
#define GS_TOOLS_RECOMMEND_PASTE_H

#include "traces/scenario/scenario.h"

typedef enum gs_paste_kind { GS_PASTE_PYTHON, GS_PASTE_JSON, GS_PASTE_SHELL } gs_paste_kind;

extern const char *const gs_paste_kind_names[]; /* by gs_paste_kind: "python" */

typedef struct gs_paste {
    const char *framework; /* "PyTorch DDP" */
    gs_paste_kind kind;
    char *text; /* lines, the last one ends in a line feed */
} gs_paste;

enum { GS_PASTES_MAX = 6 };

/* The first strategy of the scenario with its rate, for each framework that has it. Returns how
 * many; 0: none has. Owner of the texts: caller, free(). */
uint32_t gs_pastes_make(const gs_scenario *scenario, gs_paste out[GS_PASTES_MAX]);

#endif
