/* Pages of `show`, one function for each kind of thing. Each fills a fresh page; an exit code. */
#ifndef GS_TOOLS_SHOW_H
#define GS_TOOLS_SHOW_H

#include "models/model.h"
#include "strategies/codec.h"
#include "strategies/registry.h"
#include "tools/page.h"
#include "tools/scenario_list.h"
#include "traces/device.h"
#include "traces/importers/importer.h"

/* A table of parameters: name, default, what is allowed, help. */
void gs_show_parameters(gs_page *page, const gs_field_table *table);
/* Further rows of that table. */
void gs_show_more_parameters(gs_page *page, const gs_field_table *table);

int gs_show_strategy(gs_page *page, const gs_cli *cli, const gs_strategy *strategy);
/* Which strategy works with which codec and optimizer, and why not. */
int gs_show_matrix(gs_page *page);
/* Words after the name: ranks, bytes, bandwidth, latency. */
int gs_show_collective(gs_page *page, const gs_cli *cli, const gs_collective *collective);
/* Words after "collective": a kind, a scenario, its overrides; times of all algorithms. */
int gs_show_tuning(gs_page *page, const gs_cli *cli);
/* Its parameters, and what a megabyte of gradient becomes by default. */
int gs_show_codec(gs_page *page, const gs_cli *cli, const gs_codec *codec);
int gs_show_scenario(gs_page *page, const gs_cli *cli);
/* A bundled profile; reads its file into the arena. */
int gs_show_profile(gs_page *page, const gs_named_scenario *profile, gs_arena *arena);
/* The catalogue as a table, and one device of it. */
void gs_list_devices(gs_page *page);
int gs_show_device(gs_page *page, const gs_device *device);
/* A stored run by selector. */
int gs_show_run(gs_page *page, const gs_cli *cli);

#endif
