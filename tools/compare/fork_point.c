#include "tools/compare/fork_point.h"

#include "tools/message.h"
#include "tools/places.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MAX = 6 };

/* Only git's answer counts, not what it says about it. words: NULL-terminated. Of the child. */
static void become_git(const char *git, const char *const *words, int answer)
{
    char *argv[WORDS_MAX + 2] = {0};
    size_t count = 0;
    argv[count++] = gs_text("git");
    for (size_t i = 0; words[i] != NULL && count <= WORDS_MAX; i++) {
        argv[count++] = gs_text("%s", words[i]);
    }
    int nothing = open("/dev/null", O_RDWR);
    if (nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(answer, STDOUT_FILENO) >= 0 &&
        dup2(nothing, STDERR_FILENO) >= 0) {
        execv(git, argv);
    }
    _exit(127);
}

/* The first line that git prints; false: it failed, or the line does not fit. */
static bool ask(const char *git, const char *const *words, char *out, int out_bytes)
{
    FILE *answer = tmpfile();
    pid_t child = answer == NULL ? -1 : fork();
    if (child == 0) {
        become_git(git, words, fileno(answer));
    }
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    bool ended = child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    bool found = false;
    if (ended) {
        rewind(answer);
        found = fgets(out, out_bytes, answer) != NULL && strchr(out, '\n') != NULL;
        out[found ? strcspn(out, "\n") : 0] = '\0';
    }
    if (answer != NULL) {
        fclose(answer);
    }
    return found;
}

static bool find_commit(const char *git, const char *name, char out[GS_COMMIT_BYTES])
{
    char *commit = gs_text("%s^{commit}", name);
    bool found = ask(git, (const char *const[]){"rev-parse", "-q", "--verify", commit, NULL}, out,
                     GS_COMMIT_BYTES);
    free(commit);
    return found;
}

/* What the clone calls its remote's, else what most projects call theirs. */
static bool find_branch(const char *git, char out[GS_BRANCH_BYTES])
{
    static const char *const usual[] = {"origin/main", "origin/master", "main", "master"};
    char commit[GS_COMMIT_BYTES];
    if (ask(git,
            (const char *const[]){"symbolic-ref", "-q", "--short", "refs/remotes/origin/HEAD",
                                  NULL},
            out, GS_BRANCH_BYTES)) {
        return true;
    }
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        if (find_commit(git, usual[i], commit)) {
            snprintf(out, GS_BRANCH_BYTES, "%s", usual[i]);
            return true;
        }
    }
    return false;
}

static bool find_with(const char *git, const char *commit, bool dirty, gs_fork_point *out)
{
    char own[GS_COMMIT_BYTES];
    if (!find_commit(git, commit, own) || !find_branch(git, out->branch) ||
        !ask(git, (const char *const[]){"merge-base", own, out->branch, NULL}, out->commit,
             GS_COMMIT_BYTES)) {
        return false;
    }
    out->is_parent = strcmp(out->commit, own) == 0 && !dirty;
    if (!out->is_parent) {
        return true;
    }
    char *parent = gs_text("%s^", own);
    bool found = find_commit(git, parent, out->commit);
    free(parent);
    return found;
}

bool gs_fork_point_find(const char *commit, bool dirty, gs_fork_point *out)
{
    *out = (gs_fork_point){.is_parent = false};
    char *git = commit[0] == '\0' || commit[0] == '-' ? NULL : gs_places_program("git");
    bool found = git != NULL && find_with(git, commit, dirty, out);
    free(git);
    return found;
}
