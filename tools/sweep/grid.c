#include "tools/sweep/grid.h"

#include "base/units.h"
#include "strategies/registry.h"
#include "tools/message.h"
#include "traces/whole_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { YEARS_WORDS_MAX = 256, STDIN_BYTES_MAX = 64 * 1024 * 1024, PART_BYTES = 128 };

/* A year of growth: DESIGN's figures for "what if we wait?". */
static const double compute_growth = 1.30;
static const double network_growth = 1.15;

static gs_status no_memory(const gs_grid *grid, gs_error *err)
{
    return gs_fail(err, GS_ENOMEM, "%s: no memory for the points of a sweep", grid->file);
}

/* --- scenarios -------------------------------------------------------------------------------- */

/* The command line with these words and one strategy, or its own where that is NULL. */
static gs_status load(const gs_grid *grid, const char *const *words, size_t word_count,
                      const char *strategy, gs_loaded *out, gs_error *err)
{
    gs_cli cli = *grid->cli;
    cli.words = words;
    cli.word_count = word_count;
    if (strategy != NULL) {
        cli.strategies[0] = strategy;
        cli.strategy_count = 1;
    }
    return gs_scenario_try(&cli, grid->file, grid->text, out, err);
}

/* "key=value" of a value of a dimension. NULL: no memory. */
static const char *word_of(const gs_dimension *dimension, uint32_t value, gs_arena *arena)
{
    char *text = gs_text("%s=%s", dimension->key, dimension->values[value].text);
    const char *copy = gs_arena_text(arena, text);
    free(text);
    return copy;
}

/* The file's name, words for all points, those of the keys of these values. */
static gs_status gather_words(const gs_grid *grid, const uint32_t *values, gs_arena *arena,
                              const char ***out, size_t *out_count, gs_error *err)
{
    const char **words =
        GS_TAKE(arena, const char *, 1 + grid->word_count + GS_DIMENSIONS_MAX + YEARS_WORDS_MAX);
    if (words == NULL) {
        return no_memory(grid, err);
    }
    size_t count = 0;
    words[count++] = grid->file;
    for (size_t i = 0; i < grid->word_count; i++) {
        words[count++] = grid->words[i];
    }
    for (uint32_t i = 0; i < grid->dimensions.count; i++) {
        const gs_dimension *dimension = &grid->dimensions.list[i];
        if (dimension->kind == GS_DIMENSION_KEY) {
            words[count] = word_of(dimension, values[i], arena);
            if (words[count++] == NULL) {
                return no_memory(grid, err);
            }
        }
    }
    *out = words;
    *out_count = count;
    return GS_OK;
}

/* --- years from now --------------------------------------------------------------------------- */

typedef struct growth {
    const gs_grid *grid;
    const gs_scenario *now;
    double years;
    const char **words;
    size_t count, capacity;
    gs_arena *arena;
} growth;

static gs_status add_word(growth *all, char *text, gs_error *err)
{
    if (all->count == all->capacity) {
        free(text);
        return gs_fail(err, GS_ELIMIT, "%s: years: over %d nodes and links", all->grid->file,
                       YEARS_WORDS_MAX);
    }
    all->words[all->count] = gs_arena_text(all->arena, text);
    free(text);
    return all->words[all->count++] == NULL ? no_memory(all->grid, err) : GS_OK;
}

static gs_status grow_rate(growth *all, const char *key, int64_t rate_bps, gs_error *err)
{
    if (rate_bps == 0) {
        return GS_OK;
    }
    char rate[GS_UNIT_TEXT_BYTES];
    double grown = (double)rate_bps * pow(network_growth, all->years);
    return add_word(all, gs_text("%s=%s", key, gs_exact_rate((int64_t)llround(grown), rate)), err);
}

/* Of the lists and keys that a scenario need not have, as it was resolved. */
static gs_status grow_wan(growth *all, gs_error *err)
{
    gs_json_at cluster;
    gs_json_at wan;
    gs_json_at link;
    gs_json_at rate;
    const gs_json_at root = {.value = all->now->resolved, .file = all->now->file};
    if (!gs_json_find(&root, "cluster", &cluster) || !gs_json_find(&cluster, "wan", &wan)) {
        return GS_OK;
    }
    for (size_t i = 0; gs_json_walk(&wan, i, &link); i++) {
        const char *text = NULL;
        int64_t bps = 0;
        char key[64];
        if (gs_json_find(&link, "bandwidth", &rate)) {
            GS_TRY(gs_json_text(&rate, &text, err));
            GS_TRY(gs_parse_rate(text, &bps, err));
            (void)snprintf(key, sizeof key, "cluster.wan.%zu.bandwidth", i);
            GS_TRY(grow_rate(all, key, bps, err));
        }
    }
    return GS_OK;
}

static gs_status grow(growth *all, gs_error *err)
{
    const gs_cluster *cluster = &all->now->cluster;
    const gs_fabric *fabric = &cluster->topology;
    if (cluster->nic.curve != NULL || cluster->intra.curve != NULL) {
        return gs_fail(err, GS_EUNSUPPORTED,
                       "%s: years: a measured curve (cluster.links.%s.curve) does not grow; state "
                       "the link's bandwidth and latency instead",
                       all->grid->file, cluster->nic.curve != NULL ? "nic" : "intra");
    }
    if (fabric->graph_file[0] != '\0' ||
        ((fabric->node_file[0] != '\0' || fabric->inside != GS_INSIDE_SWITCH) &&
         fabric->nvlink_bandwidth_bps == 0)) {
        return gs_fail(err, GS_EUNSUPPORTED,
                       "%s: years: links whose rates are a file's or a device's do not grow; state "
                       "cluster.topology.nvlink_bandwidth and its kin, or no file",
                       all->grid->file);
    }
    for (uint32_t i = 0; i < cluster->group_count; i++) {
        char scale[GS_UNIT_TEXT_BYTES];
        double faster = cluster->groups[i].compute_scale / pow(compute_growth, all->years);
        GS_TRY(add_word(
            all,
            gs_text("cluster.nodes.%" PRIu32 ".compute_scale=%s", i, gs_exact_real(faster, scale)),
            err));
    }
    GS_TRY(grow_rate(all, "cluster.links.nic.bandwidth", cluster->nic.bandwidth_bps, err));
    GS_TRY(grow_rate(all, "cluster.links.intra.bandwidth", cluster->intra.bandwidth_bps, err));
    GS_TRY(grow_rate(all, "cluster.topology.nvlink_bandwidth", fabric->nvlink_bandwidth_bps, err));
    GS_TRY(grow_rate(all, "cluster.topology.pcie_bandwidth", fabric->pcie_bandwidth_bps, err));
    GS_TRY(
        grow_rate(all, "cluster.topology.sockets_bandwidth", fabric->sockets_bandwidth_bps, err));
    return grow_wan(all, err);
}

gs_status gs_grid_load(const gs_grid *grid, uint32_t point, gs_loaded *out, gs_error *err)
{
    const gs_sweep_point *at = &grid->points[point];
    const char **words = NULL;
    size_t count = 0;
    gs_arena arena;
    gs_arena_init(&arena);
    *out = (gs_loaded){0};
    gs_status status = gather_words(grid, at->values, &arena, &words, &count, err);
    if (status == GS_OK) {
        status = load(grid, words, count, at->strategy, out, err);
    }
    for (uint32_t i = 0; i < grid->dimensions.count && status == GS_OK; i++) {
        const gs_dimension *dimension = &grid->dimensions.list[i];
        if (dimension->kind != GS_DIMENSION_YEARS) {
            continue;
        }
        growth all = {.grid = grid,
                      .now = &out->scenario,
                      .years = dimension->values[at->values[i]].number,
                      .words = words + count,
                      .capacity = YEARS_WORDS_MAX,
                      .arena = &arena};
        status = grow(&all, err);
        if (status == GS_OK) {
            gs_scenario_unload(out);
            status = load(grid, words, count + all.count, at->strategy, out, err);
        }
    }
    gs_arena_fini(&arena);
    return status;
}

/* --- the first scenario ------------------------------------------------------------------------
 */

static gs_status read_words(gs_grid *grid, gs_error *err)
{
    uint32_t all_count = gs_strategy_count();
    const char **all = GS_TAKE(grid->arena, const char *, all_count);
    const char **words = GS_TAKE(grid->arena, const char *, grid->cli->word_count);
    if (all == NULL || words == NULL) {
        return no_memory(grid, err);
    }
    for (uint32_t i = 0; i < all_count; i++) {
        all[i] = gs_strategy_at(i)->name;
    }
    for (size_t i = 1; i < grid->cli->word_count; i++) {
        const char *word = grid->cli->words[i];
        if (gs_dimension_is_word(word)) {
            GS_TRY(
                gs_dimension_add_word(&grid->dimensions, word, all, all_count, grid->arena, err));
        } else {
            words[grid->word_count++] = word;
        }
    }
    grid->words = words;
    if (gs_dimension_of_strategies(&grid->dimensions) != NULL && grid->cli->strategy_count > 0) {
        return gs_fail(err, GS_EINVAL, "%s: both -s and strategy= name strategies; use one of them",
                       grid->file);
    }
    return GS_OK;
}

static gs_status add_own(gs_grid *grid, const gs_scenario *base, gs_error *err)
{
    bool has_strategies = gs_dimension_of_strategies(&grid->dimensions) != NULL;
    for (uint32_t i = 0; i < base->dimension_count; i++) {
        bool is_of_strategies = strncmp(base->dimensions[i].path, "strategies", 10) == 0;
        if (!is_of_strategies || (!has_strategies && grid->cli->strategy_count == 0)) {
            GS_TRY(gs_dimension_add_own(&grid->dimensions, &base->dimensions[i], grid->arena, err));
        }
    }
    if (has_strategies) {
        return GS_OK;
    }
    const char **texts = GS_TAKE(grid->arena, const char *, base->strategy_count);
    if (texts == NULL) {
        return no_memory(grid, err);
    }
    for (uint32_t i = 0; i < base->strategy_count; i++) {
        texts[i] = grid->cli->strategy_count > 0
                       ? grid->cli->strategies[i]
                       : gs_arena_text(grid->arena, base->strategies[i].label);
        if (texts[i] == NULL) {
            return no_memory(grid, err);
        }
    }
    return gs_dimension_add_strategies(&grid->dimensions, texts, base->strategy_count, grid->arena,
                                       err);
}

/* Keys and years in their order, then the strategies, then their parameters. */
static void sort_dimensions(gs_dimensions *dimensions)
{
    gs_dimensions sorted = {.count = 0};
    for (int turn = 0; turn < 3; turn++) {
        for (uint32_t i = 0; i < dimensions->count; i++) {
            gs_dimension_kind kind = dimensions->list[i].kind;
            int own = kind == GS_DIMENSION_PARAMETER ? 2 : kind == GS_DIMENSION_STRATEGY ? 1 : 0;
            if (own == turn) {
                sorted.list[sorted.count++] = dimensions->list[i];
            }
        }
    }
    *dimensions = sorted;
}

static gs_status read_base(gs_grid *grid, gs_error *err)
{
    static const uint32_t firsts[GS_DIMENSIONS_MAX];
    const char **words = NULL;
    size_t count = 0;
    gs_loaded base = {0};
    if (strcmp(grid->file, "-") == 0) {
        char *text = NULL;
        size_t bytes = 0;
        GS_TRY(gs_whole_file_read("/dev/stdin", STDIN_BYTES_MAX, &text, &bytes, err));
        grid->text = gs_arena_text(grid->arena, text);
        free(text);
        if (grid->text == NULL) {
            return no_memory(grid, err);
        }
    }
    GS_TRY(gather_words(grid, firsts, grid->arena, &words, &count, err));
    gs_status status = load(grid, words, count, NULL, &base, err);
    if (status == GS_OK) {
        status = add_own(grid, &base.scenario, err);
    }
    if (status == GS_OK) {
        grid->base_hash = base.scenario.config_hash;
        grid->seeds = base.scenario.seeds;
        grid->seed = base.scenario.seed;
        grid->real_gradients = base.scenario.workload.real_gradients;
        grid->has_target = base.scenario.workload.target_value > 0.0;
        grid->name = gs_arena_text(grid->arena, base.scenario.name);
        status = grid->name == NULL ? no_memory(grid, err) : GS_OK;
    }
    gs_scenario_unload(&base);
    return status;
}

/* --- what the scenario itself says ------------------------------------------------------------ */

/* "cluster.nodes[0].count" or "cluster.nodes.0.count". false: nothing is there. */
static bool find_path(gs_json *root, const char *path, gs_json_at *out)
{
    char part[PART_BYTES];
    *out = (gs_json_at){.value = root};
    for (size_t length; *path != '\0'; path += length) {
        gs_json_at parent = *out;
        length = strcspn(path, ".[]");
        if (length == 0) {
            length = 1;
            continue;
        }
        if (snprintf(part, sizeof part, "%.*s", (int)length, path) >= (int)sizeof part) {
            return false;
        }
        if (gs_json_kind_of(parent.value) == GS_JSON_LIST) {
            size_t index = strtoul(part, NULL, 10);
            if (index >= gs_json_count(parent.value)) {
                return false;
            }
            *out = gs_json_element(&parent, index);
        } else if (gs_json_kind_of(parent.value) != GS_JSON_OBJECT ||
                   !gs_json_find(&parent, part, out)) {
            return false;
        }
    }
    return true;
}

/* As a word says it. NULL: it has no value of its own, as it is swept in the file. Owner: caller,
 * free(). */
static char *own_value(const gs_scenario *own, const gs_dimension *dimension)
{
    gs_json_at at;
    const char *text = NULL;
    if (dimension->kind == GS_DIMENSION_YEARS) {
        return gs_text("0");
    }
    for (uint32_t i = 0; i < own->dimension_count; i++) {
        if (strcmp(own->dimensions[i].path, dimension->key) == 0) {
            return NULL;
        }
    }
    if (dimension->kind != GS_DIMENSION_KEY || !find_path(own->resolved, dimension->key, &at)) {
        return NULL;
    }
    gs_json_kind kind = gs_json_kind_of(at.value);
    if (kind == GS_JSON_TEXT && gs_json_text(&at, &text, NULL) == GS_OK) {
        return gs_text("%s", text);
    }
    return kind == GS_JSON_NUMBER ? gs_json_write(at.value, false) : NULL;
}

/* The scenario may lack what every point gets: then nothing is known of it by itself. */
static gs_status read_own(gs_grid *grid, gs_error *err)
{
    const char **words = GS_TAKE(grid->arena, const char *, 1 + grid->word_count);
    if (words == NULL) {
        return no_memory(grid, err);
    }
    words[0] = grid->file;
    memcpy(&words[1], grid->words, grid->word_count * sizeof *words);
    gs_loaded own = {0};
    gs_json *object = gs_json_new_object();
    bool ok = object != NULL;
    if (load(grid, words, 1 + grid->word_count, NULL, &own, NULL) == GS_OK) {
        for (uint32_t i = 0; i < grid->dimensions.count && ok; i++) {
            char *text = own_value(&own.scenario, &grid->dimensions.list[i]);
            ok = text == NULL ||
                 gs_json_set(object, grid->dimensions.list[i].key, gs_json_new_text(text));
            free(text);
        }
    }
    gs_scenario_unload(&own);
    char *text = ok ? gs_json_write(object, false) : NULL;
    grid->own_json = text == NULL ? NULL : gs_arena_text(grid->arena, text);
    free(text);
    gs_json_free(object);
    return grid->own_json == NULL ? no_memory(grid, err) : GS_OK;
}

/* --- points ----------------------------------------------------------------------------------- */

/* Sets the parameters of the point's strategy. false: this combination is one of another point,
 * since a parameter that the strategy does not have would change. */
static gs_status set_parameters(const gs_grid *grid, gs_sweep_point *point, bool *out_counts,
                                bool used[GS_DIMENSIONS_MAX], gs_error *err)
{
    *out_counts = true;
    for (uint32_t i = 0; i < grid->dimensions.count; i++) {
        const gs_dimension *dimension = &grid->dimensions.list[i];
        if (dimension->kind == GS_DIMENSION_STRATEGY) {
            point->strategy = dimension->values[point->values[i]].text;
        }
    }
    for (uint32_t i = 0; i < grid->dimensions.count; i++) {
        const gs_dimension *dimension = &grid->dimensions.list[i];
        if (dimension->kind != GS_DIMENSION_PARAMETER) {
            continue;
        }
        const gs_dimension *strategies = gs_dimension_of_strategies(&grid->dimensions);
        uint32_t strategy = point->values[strategies - grid->dimensions.list];
        bool ok = true;
        const char *text = NULL;
        if (dimension->owner < 0 || dimension->owner == (int64_t)strategy) {
            text = gs_strategy_with(point->strategy, strchr(dimension->key, '.') + 1,
                                    dimension->values[point->values[i]].text, grid->arena, &ok);
        }
        if (!ok) {
            return no_memory(grid, err);
        }
        used[i] = used[i] || text != NULL;
        if (text == NULL) {
            *out_counts = *out_counts && point->values[i] == 0;
            point->values[i] = GS_NO_VALUE;
        } else {
            point->strategy = text;
        }
    }
    return GS_OK;
}

static gs_status write_overrides(const gs_grid *grid, gs_sweep_point *point, gs_error *err)
{
    gs_json *object = gs_json_new_object();
    bool ok = object != NULL;
    for (uint32_t i = 0; i < grid->dimensions.count && ok; i++) {
        const gs_dimension *dimension = &grid->dimensions.list[i];
        if (point->values[i] != GS_NO_VALUE) {
            const char *text = dimension->values[point->values[i]].text;
            ok = gs_json_set(object, dimension->key, gs_json_new_text(text));
        }
    }
    char *text = ok ? gs_json_write(object, false) : NULL;
    point->overrides_json = text == NULL ? NULL : gs_arena_text(grid->arena, text);
    free(text);
    gs_json_free(object);
    return point->overrides_json == NULL ? no_memory(grid, err) : GS_OK;
}

/* The combination of that number, the last dimension changing fastest. */
static void combination(const gs_dimensions *dimensions, uint64_t number, gs_sweep_point *out,
                        uint32_t *out_group)
{
    uint64_t rest = number;
    uint64_t group = 0;
    uint64_t scale = 1;
    for (uint32_t i = dimensions->count; i > 0; i--) {
        const gs_dimension *dimension = &dimensions->list[i - 1];
        out->values[i - 1] = (uint32_t)(rest % dimension->count);
        rest /= dimension->count;
        if (!gs_dimension_is_choice(dimension)) {
            group += scale * out->values[i - 1];
            scale *= dimension->count;
        }
    }
    *out_group = (uint32_t)group;
}

static gs_status check_used(const gs_grid *grid, const bool used[GS_DIMENSIONS_MAX], gs_error *err)
{
    for (uint32_t i = 0; i < grid->dimensions.count; i++) {
        const gs_dimension *dimension = &grid->dimensions.list[i];
        if (dimension->kind == GS_DIMENSION_PARAMETER && !used[i]) {
            return gs_fail(err, GS_EINVAL,
                           "%s: %s: no strategy of this sweep has the parameter \"%s\"; `gradsync "
                           "show STRATEGY` lists them",
                           grid->file, dimension->key, strchr(dimension->key, '.') + 1);
        }
    }
    return GS_OK;
}

static gs_status make_points(gs_grid *grid, gs_error *err)
{
    const gs_dimensions *dimensions = &grid->dimensions;
    uint64_t combinations = 1;
    for (uint32_t i = 0; i < dimensions->count; i++) {
        combinations *= dimensions->list[i].count;
        if (combinations > GS_POINTS_MAX) {
            return gs_fail(err, GS_ELIMIT, "%s: over %d points; take fewer values", grid->file,
                           GS_POINTS_MAX);
        }
    }
    grid->points = GS_TAKE(grid->arena, gs_sweep_point, combinations);
    if (grid->points == NULL) {
        return no_memory(grid, err);
    }
    bool used[GS_DIMENSIONS_MAX] = {false};
    for (uint64_t i = 0; i < combinations; i++) {
        gs_sweep_point *point = &grid->points[grid->count];
        bool counts = true;
        combination(dimensions, i, point, &point->group);
        GS_TRY(set_parameters(grid, point, &counts, used, err));
        if (counts) {
            GS_TRY(write_overrides(grid, point, err));
            grid->group_count =
                point->group + 1 > grid->group_count ? point->group + 1 : grid->group_count;
            grid->count++;
        }
    }
    return check_used(grid, used, err);
}

gs_status gs_grid_make(const gs_cli *cli, gs_arena *arena, gs_grid *out, gs_error *err)
{
    *out = (gs_grid){.cli = cli, .file = cli->words[0], .arena = arena};
    GS_TRY(read_words(out, err));
    GS_TRY(read_base(out, err));
    GS_TRY(read_own(out, err));
    sort_dimensions(&out->dimensions);
    return make_points(out, err);
}
