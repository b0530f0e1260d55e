/* show matrix: what composes with what, and why not, asked of the function that refuses it. */
#include "base/assert.h"
#include "strategies/codec.h"
#include "tools/message.h"
#include "tools/show.h"
#include "tools/strategy_facts.h"
#include "traces/compose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What an optimizer may be asked for that not every strategy can do. */
typedef struct feature {
    const char *title;
    double clip;
    double loss_scale;
} feature;

static const feature features[] = {{"clip", 1.0, 1.0},
                                   {"dynamic_scale", 0.0, GS_LOSS_SCALE_DYNAMIC}};
enum { FEATURES = sizeof features / sizeof *features };

/* Reasons get a number where they first appear. */
typedef struct notes {
    uint32_t number[GS_FIT_COUNT]; /* 0: not yet */
    uint32_t count;
} notes;

static void add_columns(gs_page *page)
{
    static const gs_table_column facts[] = {{"strategy", "strategy", false},
                                            {"through", "through", false},
                                            {"stops", "cut", false},
                                            {"servers", "servers", true},
                                            {NULL, "worker_vectors", true},
                                            {NULL, "server_vectors", true},
                                            {NULL, "worker_state_bytes", true},
                                            {NULL, "server_state_bytes", true}};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        gs_table_add_column(&page->table, facts[i]);
    }
    for (uint32_t i = 0; i < gs_codec_count(); i++) {
        const char *name = gs_codec_at(i)->name;
        if (strcmp(name, "none") != 0) {
            gs_table_add_column(&page->table, (gs_table_column){name, name, false});
        }
    }
    for (size_t i = 0; i < FEATURES; i++) {
        gs_table_add_column(&page->table,
                            (gs_table_column){features[i].title, features[i].title, false});
    }
}

static void add_number(gs_page *page, int64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    gs_table_add(&page->table, text, NULL);
}

static void add_fit(gs_page *page, notes *seen, gs_fit fit)
{
    char text[16] = "yes";
    if (fit != GS_FIT_YES && seen->number[fit] == 0) {
        seen->number[fit] = ++seen->count;
    }
    if (fit != GS_FIT_YES) {
        snprintf(text, sizeof text, "(%u)", seen->number[fit]);
    }
    gs_table_add(&page->table, text, gs_fit_key(fit));
}

/* With momentum, which most jobs have, and numbers for the rest. */
static gs_optimizer_config usual_optimizer(void)
{
    gs_optimizer_config optimizer;
    gs_config_defaults(&gs_optimizer_config_table, &optimizer);
    optimizer.momentum = 0.9;
    optimizer.loss_scale = 1.0;
    optimizer.clip = 0.0;
    return optimizer;
}

static void add_fits(gs_page *page, notes *seen, gs_composition parts)
{
    gs_error err;
    gs_optimizer_config optimizer = usual_optimizer();
    gs_coding coding = {.codec = NULL};
    parts.optimizer = &optimizer;
    parts.coding = &coding;
    for (uint32_t i = 0; i < gs_codec_count(); i++) {
        coding = (gs_coding){.codec = gs_codec_at(i)};
        if (strcmp(coding.codec->name, "none") != 0) {
            gs_config_defaults(coding.codec->config, &coding.config);
            add_fit(page, seen, gs_compose(&parts, &err));
        }
    }
    coding.codec = NULL;
    for (size_t i = 0; i < FEATURES; i++) {
        optimizer.clip = features[i].clip;
        optimizer.loss_scale = features[i].loss_scale;
        add_fit(page, seen, gs_compose(&parts, &err));
    }
}

static void add_row(gs_page *page, notes *seen, const gs_strategy *strategy)
{
    void *config = NULL;
    gs_layout layout;
    gs_error err = {0};
    gs_status status = gs_usual_layout(strategy, &config, &layout, &err);
    free(config);
    gs_table_add(&page->table, strategy->name, NULL);
    if (status != GS_OK) {
        gs_page_note(page, "%s, with its defaults on 8 ranks: %s", strategy->name, err.text);
        for (int i = 1; i < page->table.column_count; i++) {
            gs_table_add(&page->table, "", NULL);
        }
        return;
    }
    gs_table_add(&page->table, gs_through_names[gs_layout_through(&layout)], NULL);
    gs_table_add(&page->table, gs_cut_names[layout.cut], NULL);
    add_number(page, layout.servers);
    add_number(page, layout.own_vectors[GS_WORKER]);
    add_number(page, layout.own_vectors[GS_SERVER]);
    add_number(page, (int64_t)layout.state_bytes[GS_WORKER]);
    add_number(page, (int64_t)layout.state_bytes[GS_SERVER]);
    add_fits(page, seen,
             (gs_composition){.strategy = strategy, .job = &gs_usual_job, .layout = &layout});
}

int gs_show_matrix(gs_page *page)
{
    notes seen = {.count = 0};
    uint32_t count = 0;
    const gs_strategy **strategies = gs_sorted_strategies(&count);
    page->table_key = "strategies";
    add_columns(page);
    for (uint32_t i = 0; i < count; i++) {
        add_row(page, &seen, strategies[i]);
    }
    free(strategies);
    gs_page_note(page, "Each with its defaults, on 8 ranks with 2 servers and sgd with momentum.");
    gs_page_note(page, "stops: at a step that all ranks share, or each rank at one of its own.");
    for (uint32_t number = 1; number <= seen.count; number++) {
        for (int fit = 0; fit < GS_FIT_COUNT; fit++) {
            if (seen.number[fit] == number) {
                gs_page_note(page, "(%u) %s", number, gs_fit_reason((gs_fit)fit));
            }
        }
    }
    return GS_EXIT_OK;
}
