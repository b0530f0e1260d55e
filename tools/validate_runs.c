/* Runs of both sides from the database, and those that cannot be compared. */
#include "base/assert.h"
#include "tools/message.h"
#include "tools/validate.h"
#include "traces/scenario/scenario.h"
#include "traces/store/ledger.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const side_words[] = {"simulated", "measured"};

void gs_validate_remark(gs_validate *validate, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (validate->remark_count == validate->remark_capacity) {
        uint32_t capacity = 2 * validate->remark_capacity + 16;
        const char **moved = gs_need(GS_TAKE(&validate->arena, const char *, capacity));
        if (validate->remark_count > 0) {
            memcpy(moved, validate->remarks, validate->remark_count * sizeof *moved);
        }
        validate->remarks = moved;
        validate->remark_capacity = capacity;
    }
    validate->remarks[validate->remark_count++] = gs_need(gs_arena_text(&validate->arena, text));
}

/* Values of single ranks, where the rows of all ranks were kept. */
static gs_status read_ranks(gs_store *store, gs_arena *arena, gs_validate_run *run, gs_error *err)
{
    gs_arena scratch;
    gs_arena_init(&scratch);
    const gs_step_row *rows = NULL;
    int64_t count = 0;
    gs_status status = gs_store_read_steps(store, run->id, &scratch, &rows, &count, err);
    if (status == GS_OK && count > 0 && rows[0].rank != GS_ALL_RANKS) {
        uint32_t ranks = (uint32_t)run->run.scenario.ranks;
        gs_rank_values *values = gs_need(GS_TAKE(arena, gs_rank_values, ranks));
        if (gs_rank_values_of(rows, count, ranks, values) != GS_OK) {
            gs_need(NULL);
        }
        run->ranks = values;
    }
    gs_arena_fini(&scratch);
    return status;
}

static gs_status read_run(gs_store *store, gs_arena *arena, int64_t id, gs_validate_run *out,
                          gs_error *err)
{
    *out = (gs_validate_run){.id = id};
    GS_TRY(gs_store_read_run(store, id, arena, &out->run, err));
    GS_TRY(gs_store_count_decisions(store, id, &out->decisions, err));
    GS_TRY(gs_store_predicted_utc(store, id, out->predicted_utc, err));
    return read_ranks(store, arena, out, err);
}

/* A run of this side that ended well and has steps; why another is left out is remarked. */
static bool is_usable(gs_validate *validate, const gs_validate_run *run)
{
    bool ended = run->run.status == GS_RUN_OK || run->run.status == GS_RUN_RECOVERED;
    if (ended && isfinite(run->run.values[gs_metric_find("step_mean_ns")])) {
        return true;
    }
    const char *label = gs_need(gs_strategy_stored_label(
        run->run.strategy.name, run->run.strategy.params_json, &validate->arena));
    if (ended) {
        gs_validate_remark(validate,
                           "Run %" PRId64 " (%s, %s, seed %" PRIu64 ") has no steps: left out.",
                           run->id, run->run.scenario.name, label, run->run.seed);
    } else {
        gs_validate_remark(
            validate,
            "Run %" PRId64 " (%s, %s, seed %" PRIu64 ") did not end well (%s%s%s): left out.",
            run->id, run->run.scenario.name, label, run->run.seed,
            gs_run_status_text(run->run.status), run->run.error_text == NULL ? "" : ": ",
            run->run.error_text == NULL ? "" : run->run.error_text);
    }
    return false;
}

static bool is_of_side(const gs_validate_run *run, int side)
{
    return (run->run.source == GS_SOURCE_SIM) == (side == GS_SIDE_PREDICTED);
}

/* Counts what each selector gave, to say what is wrong with it. */
typedef struct side_counts {
    uint32_t all, of_side;
} side_counts;

static gs_status read_side(gs_validate *validate, gs_store *store, int side, side_counts *out,
                           gs_error *err)
{
    const int64_t *ids = NULL;
    uint32_t count = 0;
    GS_TRY(
        gs_store_find_runs(store, validate->selectors[side], &validate->arena, &ids, &count, err));
    validate->runs[side] = gs_need(GS_TAKE(&validate->arena, gs_validate_run, count));
    validate->failed[side] = gs_need(GS_TAKE(&validate->arena, gs_validate_run, count));
    *out = (side_counts){.all = count};
    for (uint32_t i = 0; i < count; i++) {
        gs_validate_run run;
        GS_TRY(read_run(store, &validate->arena, ids[i], &run, err));
        if (!is_of_side(&run, side)) {
            continue;
        }
        out->of_side++;
        if (is_usable(validate, &run)) {
            validate->runs[side][validate->run_count[side]++] = run;
        } else {
            validate->failed[side][validate->failed_count[side]++] = run;
        }
    }
    return GS_OK;
}

/* A side without a run to compare, named with the cure. */
static int refuse_side(const gs_validate *validate, int side, const side_counts *counts)
{
    const char *selector = validate->selectors[side];
    if (counts[side].of_side > 0) {
        gs_complain("validate: %s: none of its %u %s run%s ended well and has steps (%s)", selector,
                    counts[side].of_side, side_words[side], counts[side].of_side == 1 ? "" : "s",
                    validate->remark_count == 0 ? "" : validate->remarks[0]);
    } else if (counts[GS_SIDE_PREDICTED].of_side == 0 && counts[GS_SIDE_MEASURED].of_side == 0) {
        gs_complain("validate: %s was measured and %s simulated; the simulated runs come first: "
                    "gradsync validate %s %s",
                    validate->selectors[0], validate->selectors[1], validate->selectors[1],
                    validate->selectors[0]);
    } else {
        gs_complain("validate: %s: none of its %u run%s was %s; name %s", selector,
                    counts[side].all, counts[side].all == 1 ? "" : "s", side_words[side],
                    side == GS_SIDE_MEASURED ? "runs of gradsync live there"
                                             : "runs of gradsync sim there");
    }
    return GS_EXIT_REFUSED;
}

int gs_validate_read(gs_validate *validate, gs_store *store)
{
    side_counts counts[2] = {{0}};
    gs_error err = {0};
    for (int side = 0; side < 2; side++) {
        if (read_side(validate, store, side, &counts[side], &err) != GS_OK) {
            return gs_complain_error(&err);
        }
    }
    for (int side = 0; side < 2; side++) {
        if (validate->run_count[side] == 0) {
            return refuse_side(validate, side, counts);
        }
    }
    return GS_EXIT_OK;
}
