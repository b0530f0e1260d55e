#include "tools/explain_change.h"

#include "base/assert.h"
#include "tools/message.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 160, NAMED_RANKS = 4 };

static const char THE_SAME[] = "the same";
static const char DIFFERENTLY[] = "differently";

typedef struct maker {
    const gs_scenario *base;
    gs_arena *arena;
    gs_change *out;
    uint32_t count;
} maker;

__attribute__((format(printf, 5, 6))) static void
add(maker *all, const char *key, gs_scenario *scenario, const char *learns, const char *format, ...)
{
    char name[NAME_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    GS_ASSERT(all->count < GS_CHANGES_MAX);
    all->out[all->count++] = (gs_change){.key = key,
                                         .name = gs_need(gs_arena_text(all->arena, name)),
                                         .scenario = scenario,
                                         .learns = learns};
}

static void add_link(maker *all, const char *key, int factor)
{
    if (all->base->ranks == 1) {
        return;
    }
    const gs_link *outer = gs_scenario_outer_link(all->base);
    gs_scenario *copy = gs_variant_link(all->base, factor, all->arena);
    bool inside = outer == &all->base->cluster.intra;
    char rate[GS_UNIT_TEXT_BYTES];
    gs_format_rate(gs_scenario_outer_link(copy)->bandwidth_bps, rate);
    add(all, key, copy, THE_SAME, "%s x%d (%s)", inside ? "intra" : "nic", factor,
        outer->curve != NULL ? "of the measured curve" : rate);
}

static void add_half_precision(maker *all)
{
    if (all->base->workload.element_bytes > 2) {
        gs_scenario *copy = gs_variant_copy(all->base, all->arena);
        copy->workload.number = GS_FP16;
        copy->workload.element_bytes = 2;
        add(all, "fp16", copy, "from gradients rounded to fp16", "fp16 gradients");
    }
}

/* A copy whose strategy has another value of a parameter. NULL: it has no such parameter, or that
 * value already. */
static gs_scenario *with_parameter(maker *all, const char *name, const char *text)
{
    const gs_strategy_choice *choice = &all->base->strategies[0];
    const gs_field_table *table = choice->strategy->config;
    size_t field = gs_config_find(table, name);
    if (field == table->field_count) {
        return NULL;
    }
    void *config = gs_need(gs_arena_take(all->arena, 1, table->struct_bytes));
    memcpy(config, choice->config, table->struct_bytes);
    char before[64];
    char after[64];
    gs_config_value_text(&table->fields[field], config, before, sizeof before);
    if (gs_config_set_text(table, config, name, text, NULL) != GS_OK ||
        strcmp(before, gs_config_value_text(&table->fields[field], config, after, sizeof after)) ==
            0) {
        return NULL;
    }
    gs_strategy_choice *changed = gs_need(GS_TAKE(all->arena, gs_strategy_choice, 1));
    *changed = *choice;
    changed->config = config;
    gs_scenario *copy = gs_variant_copy(all->base, all->arena);
    copy->strategies = changed;
    return copy;
}

/* The strategy's own number of passes wins over the workload's. */
static void add_accumulation(maker *all)
{
    if (all->base->workload.accumulation == 4) {
        return;
    }
    gs_scenario *copy = with_parameter(all, "accumulation", "4");
    if (copy != NULL) {
        add(all, "accumulate_4", copy, DIFFERENTLY, "accumulate 4 passes");
    }
}

static void add_buckets(maker *all)
{
    static const struct {
        const char *key, *text;
    } buckets[] = {
        {"bucket_10mib", "10MiB"},
        {"bucket_25mib", "25MiB"},
        {"bucket_50mib", "50MiB"},
        {"bucket_100mib", "100MiB"},
    };
    for (size_t i = 0; i < sizeof buckets / sizeof *buckets; i++) {
        gs_scenario *copy = with_parameter(all, "bucket", buckets[i].text);
        if (copy != NULL) {
            add(all, buckets[i].key, copy, THE_SAME, "bucket %s", buckets[i].text);
        }
    }
}

/* "5, 12", the first of them where there are many. */
static char *ranks_text(const uint32_t *ranks, uint32_t count, char out[NAME_BYTES])
{
    int used = 0;
    for (uint32_t i = 0; i < count && i < NAMED_RANKS; i++) {
        used +=
            snprintf(out + used, (size_t)(NAME_BYTES - used), "%s%u", i == 0 ? "" : ", ", ranks[i]);
    }
    snprintf(out + used, (size_t)(NAME_BYTES - used), "%s", count > NAMED_RANKS ? ", ..." : "");
    return out;
}

static void add_fewer_ranks(maker *all)
{
    uint32_t slowest = 0;
    uint32_t count = 0;
    double factor = 1.0;
    char names[NAME_BYTES];
    if (gs_variant_has_curve(all->base) || gs_variant_is_placed(all->base) ||
        !gs_variant_slowest(all->base, &slowest, &factor)) {
        return;
    }
    const uint32_t *ranks = NULL;
    gs_scenario *copy = gs_variant_without_slowest(all->base, &ranks, &count, all->arena);
    if (copy != NULL && count == 1) {
        add(all, "without_slowest", copy, THE_SAME, "without rank %u, the slowest", ranks[0]);
    } else if (copy != NULL) {
        add(all, "without_slowest", copy, THE_SAME, "without the %u slowest ranks (%s)", count,
            ranks_text(ranks, count, names));
    }
}

static void add_workers(maker *all)
{
    if (all->base->workload.input.time_ns > 0) {
        gs_scenario *copy = gs_variant_copy(all->base, all->arena);
        copy->workload.input.workers += 2;
        add(all, "loader_workers", copy, THE_SAME, "%" PRId64 " loader workers instead of %" PRId64,
            copy->workload.input.workers, all->base->workload.input.workers);
    }
}

uint32_t gs_changes_make(const gs_scenario *base, gs_arena *arena, gs_change *out)
{
    maker all = {.base = base, .arena = arena, .out = out};
    add_link(&all, "link_x2", 2);
    add_link(&all, "link_x4", 4);
    if (base->ranks > 1) {
        add_half_precision(&all);
        add_accumulation(&all);
        add_buckets(&all);
        add_fewer_ranks(&all);
    }
    add_workers(&all);
    return all.count;
}
