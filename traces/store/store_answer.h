/* What a command has said of the runs that it stored, word for word: a page that is made of them
 * later says nothing else. */
#ifndef GS_TRACES_STORE_ANSWER_H
#define GS_TRACES_STORE_ANSWER_H

#include "traces/store/store.h"

/* Of the runs that were written through this store; nothing where there are none. verb: "sweep". */
GS_MUST_USE gs_status gs_store_write_answer(gs_store *store, const char *verb, const char *text,
                                            gs_error *err);

/* The answer of the command whose runs these [count >= 1] are, all of them; *out_verb and *out_text
 * NULL: it has said nothing, or they are some of its runs, or of several commands. Owner: the
 * arena. */
GS_MUST_USE gs_status gs_store_read_answer(gs_store *store, const int64_t *run_ids, uint32_t count,
                                           gs_arena *arena, const char **out_verb,
                                           const char **out_text, gs_error *err);

#endif
