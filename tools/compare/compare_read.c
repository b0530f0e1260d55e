/* The two sides: which runs were named, from which database, and what is known of them. */
#include "tools/compare/compare.h"

#include "tools/message.h"
#include "traces/store/store_baseline.h"

#include <stdlib.h>
#include <string.h>

#define NO_BASELINE "no baseline is set: the command before"

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
    if (status == GS_ENOTFOUND && strcmp(side->why, NO_BASELINE) == 0) {
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

/* Without a word for it: the baseline set last, else what the command before stored. */
static int choose_base(gs_compare *compare, gs_store *store, gs_compare_side *side)
{
    const gs_baseline *baselines = NULL;
    uint32_t count = 0;
    gs_error err = {0};
    if (gs_store_read_baselines(store, &compare->arena, &baselines, &count, &err) != GS_OK) {
        return gs_complain_error(&err);
    }
    if (count > 0) {
        side->selector = gs_compare_text(compare, "baseline:%s", baselines[0].name);
        side->why = count == 1 ? "the baseline" : "the baseline set last";
        return GS_EXIT_OK;
    }
    side->selector = "@last~1";
    side->why = NO_BASELINE;
    return GS_EXIT_OK;
}

int gs_compare_read(gs_compare *compare, const gs_cli *cli, gs_store *store, const char *file)
{
    gs_compare_side *base = &compare->sides[GS_SIDE_BASE];
    gs_compare_side *candidate = &compare->sides[GS_SIDE_CANDIDATE];
    base->why = candidate->why = "";
    base->selector = cli->word_count > 0 ? cli->words[0] : NULL;
    candidate->selector = cli->word_count > 1 ? cli->words[1] : "@last";
    candidate->why = cli->word_count > 1 ? "" : "the last command";
    int code = GS_EXIT_OK;
    if (base->selector == NULL) {
        code = choose_base(compare, store, base);
    }
    for (int side = 0; side < GS_SIDES && code == GS_EXIT_OK; side++) {
        code = open_side(compare, &compare->sides[side], store, file);
        code = code == GS_EXIT_OK ? read_runs(compare, &compare->sides[side]) : code;
    }
    return code;
}
