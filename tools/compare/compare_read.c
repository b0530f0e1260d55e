/* The two sides: which runs were named, from which database, and what is known of them. */
#include "tools/compare/compare.h"

#include "tools/compare/fork_point.h"
#include "tools/message.h"
#include "traces/store/store_baseline.h"

#include <stdlib.h>
#include <string.h>

#define THE_ONE_BEFORE "@last~1"

/* Exit code of an error about a selector: a run or baseline that has gone is no slip of the pen. */
static int complain(const gs_error *err)
{
    int code = gs_complain_error(err);
    return err->code == GS_EMISMATCH ? GS_EXIT_REFUSED : code;
}

/* "file.db#selector" names a database of its own. */
static int open_side(gs_compare *compare, gs_compare_side *side, gs_store *store, const char *file)
{
    const char *hash = strrchr(side->selector, '#');
    side->store = store;
    side->file = file;
    if (hash == NULL) {
        return GS_EXIT_OK;
    }
    side->file = gs_compare_text(compare, "%.*s", (int)(hash - side->selector), side->selector);
    side->selector = gs_compare_text(compare, "%s", hash[1] == '\0' ? "@last" : hash + 1);
    gs_error err = {0};
    if (gs_store_open(side->file, GS_STORE_READ, &side->store, &err) != GS_OK) {
        side->store = NULL;
        return gs_complain_error(&err);
    }
    side->owns_store = true;
    return GS_EXIT_OK;
}

static int read_runs(gs_compare *compare, gs_compare_side *side)
{
    const int64_t *ids = NULL;
    uint32_t count = 0;
    gs_error err = {0};
    gs_status status =
        gs_store_find_runs(side->store, side->selector, &compare->arena, &ids, &count, &err);
    bool is_chosen = side->why[0] != '\0';
    if (status == GS_ENOTFOUND && is_chosen && strcmp(side->selector, THE_ONE_BEFORE) == 0) {
        gs_complain("compare: no base: no baseline is set, and %s has runs of one command only; "
                    "gradsync baseline set main names them, or name a base",
                    side->file);
        return GS_EXIT_REFUSED;
    }
    if (status != GS_OK) {
        return complain(&err);
    }
    side->runs = gs_need(GS_TAKE(&compare->arena, gs_compare_run, count));
    for (uint32_t i = 0; i < count; i++) {
        gs_compare_run *run = &side->runs[i];
        run->id = ids[i];
        if (gs_store_read_run(side->store, ids[i], &compare->arena, &run->run, &err) != GS_OK) {
            return complain(&err);
        }
        run->strategy =
            gs_compare_label(compare, run->run.strategy.name, run->run.strategy.params_json);
    }
    side->count = count;
    return GS_EXIT_OK;
}

/* Of the base only what the candidate can be held against: a commit stands for all that its program
 * has ever run. */
static void keep_scenarios_of(const gs_compare_side *like, gs_compare_side *side)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < side->count; i++) {
        bool wanted = false;
        for (uint32_t k = 0; k < like->count && !wanted; k++) {
            wanted = strcmp(side->runs[i].run.scenario.name, like->runs[k].run.scenario.name) == 0;
        }
        if (wanted) {
            side->runs[kept++] = side->runs[i];
        }
    }
    side->count = kept;
}

/* The commit that the candidate's program forks from, where it has runs here; *out_missed: what to
 * say of one that has none ("" where git knows none). An exit code; base->count 0: not found. */
static int choose_fork_point(gs_compare *compare, gs_store *store, gs_compare_side *base,
                             const char **out_missed)
{
    const gs_compare_side *candidate = &compare->sides[GS_SIDE_CANDIDATE];
    const gs_environment *of = &candidate->runs[candidate->count - 1].run.environment;
    gs_fork_point fork;
    *out_missed = "";
    if (!gs_fork_point_find(of->commit, of->dirty, &fork)) {
        return GS_EXIT_OK;
    }
    const char *name = fork.is_parent ? "the commit before it on" : "the fork point from";
    const int64_t *ids = NULL;
    gs_error err = {0};
    base->selector = gs_compare_text(compare, "commit:%.12s", fork.commit);
    gs_status status =
        gs_store_find_runs(store, base->selector, &compare->arena, &ids, &base->count, &err);
    int code = status == GS_OK ? read_runs(compare, base) : GS_EXIT_OK;
    if (status != GS_OK && status != GS_ENOTFOUND) {
        code = complain(&err);
    }
    keep_scenarios_of(candidate, base);
    base->why = gs_compare_text(compare, "%s %s", name, fork.branch);
    *out_missed = gs_compare_text(compare, "; %s %s, %.12s, has no runs here", name, fork.branch,
                                  fork.commit);
    return code;
}

/* Without a word for it: the fork point, else the baseline set last, else what the command before
 * stored. */
static int choose_base(gs_compare *compare, gs_store *store, gs_compare_side *side)
{
    const gs_baseline *baselines = NULL;
    const char *missed = "";
    uint32_t count = 0;
    gs_error err = {0};
    int code = choose_fork_point(compare, store, side, &missed);
    if (code != GS_EXIT_OK || side->count > 0) {
        return code;
    }
    if (gs_store_read_baselines(store, &compare->arena, &baselines, &count, &err) != GS_OK) {
        return gs_complain_error(&err);
    }
    if (count > 0) {
        side->selector = gs_compare_text(compare, "baseline:%s", baselines[0].name);
        side->why =
            gs_compare_text(compare, "the baseline%s%s", count == 1 ? "" : " set last", missed);
    } else {
        side->selector = THE_ONE_BEFORE;
        side->why = gs_compare_text(compare, "no baseline is set%s: the command before", missed);
    }
    return read_runs(compare, side);
}

static int read_side(gs_compare *compare, gs_compare_side *side, gs_store *store, const char *file)
{
    int code = open_side(compare, side, store, file);
    return code == GS_EXIT_OK ? read_runs(compare, side) : code;
}

int gs_compare_read(gs_compare *compare, const gs_cli *cli, gs_store *store, const char *file)
{
    gs_compare_side *base = &compare->sides[GS_SIDE_BASE];
    gs_compare_side *candidate = &compare->sides[GS_SIDE_CANDIDATE];
    base->why = "";
    candidate->selector = cli->word_count > 1 ? cli->words[1] : "@last";
    candidate->why = cli->word_count > 1 ? "" : "the last command";
    int code = read_side(compare, candidate, store, file);
    if (code != GS_EXIT_OK) {
        return code;
    }
    if (cli->word_count > 0) {
        base->selector = cli->words[0];
        return read_side(compare, base, store, file);
    }
    base->store = store;
    base->file = file;
    return choose_base(compare, store, base);
}
