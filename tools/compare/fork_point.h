/* The commit that a program's commit is to be held against, as git knows it. */
#ifndef GS_TOOLS_COMPARE_FORK_POINT_H
#define GS_TOOLS_COMPARE_FORK_POINT_H

#include <stdbool.h>

enum { GS_COMMIT_BYTES = 72, GS_BRANCH_BYTES = 128 };

typedef struct gs_fork_point {
    char commit[GS_COMMIT_BYTES]; /* hexadecimal, whole */
    char branch[GS_BRANCH_BYTES]; /* the default one: "origin/main" */
    bool is_parent;               /* the commit is on that branch itself: what comes before it */
} gs_fork_point;

/* Where `commit` forks from the default branch of the git work tree that this process is in: of a
 * commit on that branch its first parent, of a tree changed since (dirty) the commit itself. false:
 * there is no git, no work tree, or it knows neither the commit nor such a branch. */
bool gs_fork_point_find(const char *commit, bool dirty, gs_fork_point *out);

#endif
