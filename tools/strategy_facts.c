#include "tools/strategy_facts.h"

#include "strategies/group.h"
#include "strategies/registry.h"
#include "tools/message.h"
#include "traces/compose.h"
#include "traces/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNITS = 16, UNIT_ELEMENTS = 65536 };

static const int64_t unit_elements[UNITS] = {
    UNIT_ELEMENTS, UNIT_ELEMENTS, UNIT_ELEMENTS, UNIT_ELEMENTS, UNIT_ELEMENTS, UNIT_ELEMENTS,
    UNIT_ELEMENTS, UNIT_ELEMENTS, UNIT_ELEMENTS, UNIT_ELEMENTS, UNIT_ELEMENTS, UNIT_ELEMENTS,
    UNIT_ELEMENTS, UNIT_ELEMENTS, UNIT_ELEMENTS, UNIT_ELEMENTS};

const gs_job gs_usual_job = {.ranks = 8,
                             .servers = 2,
                             .elements = (int64_t)UNITS * UNIT_ELEMENTS,
                             .element_bytes = 4,
                             .unit_count = UNITS,
                             .unit_elements = unit_elements,
                             .batch = 32,
                             .node_ranks = 4,
                             .accumulation = 1,
                             .seed = 1};

const char *const gs_through_names[GS_THROUGH_COUNT] = {"collectives", "servers", "peers"};
const char *const gs_cut_names[] = {[GS_CUT_COMMON] = "common", [GS_CUT_OWN] = "own"};

gs_through gs_layout_through(const gs_layout *layout)
{
    return layout->servers > 0              ? GS_THROUGH_SERVERS
           : layout->communicator_count > 0 ? GS_THROUGH_COLLECTIVES
                                            : GS_THROUGH_PEERS;
}

gs_status gs_usual_layout(const gs_strategy *strategy, void **out_config, gs_layout *out,
                          gs_error *err)
{
    *out_config = gs_need(calloc(1, strategy->config->struct_bytes + 1));
    gs_config_defaults(strategy->config, *out_config);
    *out = (gs_layout){0};
    return gs_strategy_layout(strategy, *out_config, &gs_usual_job, out, err);
}

const gs_strategy **gs_sorted_strategies(uint32_t *out_count)
{
    uint32_t count = 0;
    const gs_strategy **sorted = gs_need(calloc(gs_strategy_count(), sizeof *sorted));
    for (int through = 0; through < GS_THROUGH_COUNT; through++) {
        for (uint32_t i = 0; i < gs_strategy_count(); i++) {
            void *config = NULL;
            gs_layout layout;
            gs_error err;
            /* One without a layout for this job stands with the last ones. */
            bool has = gs_usual_layout(gs_strategy_at(i), &config, &layout, &err) == GS_OK;
            gs_through own = has ? gs_layout_through(&layout) : GS_THROUGH_PEERS;
            free(config);
            if ((int)own == through) {
                sorted[count++] = gs_strategy_at(i);
            }
        }
    }
    *out_count = count;
    return sorted;
}

/* --- without a scenario ------------------------------------------------------------------------
 */

/* text, longer by what is appended; takes both. */
static char *join(char *text, const char *between, char *more)
{
    char *longer = gs_text("%s%s%s", text, text[0] == '\0' ? "" : between, more);
    free(text);
    free(more);
    return longer;
}

static void add_codecs(gs_page *page, const gs_strategy *strategy, const gs_layout *layout)
{
    gs_json *list = gs_need(gs_json_new_list());
    char *names = gs_text("%s", "");
    for (uint32_t i = 0; i < gs_codec_count(); i++) {
        gs_coding coding = {.codec = gs_codec_at(i)};
        gs_error err;
        if (strcmp(coding.codec->name, "none") == 0) {
            continue;
        }
        gs_config_defaults(coding.codec->config, &coding.config);
        gs_composition parts = {
            .strategy = strategy, .job = &gs_usual_job, .layout = layout, .coding = &coding};
        gs_fit fit = gs_compose(&parts, &err);
        const char *without = "";
        if (fit == GS_FIT_RESIDUAL && coding.config.feedback) {
            coding.config.feedback = false;
            without = ":feedback=false";
            fit = gs_compose(&parts, &err);
        }
        if (fit == GS_FIT_YES) {
            char *name = gs_text("%s%s", coding.codec->name, without);
            gs_need(gs_json_add(list, gs_json_new_text(name)) ? name : NULL);
            names = join(names, " ", name);
        }
    }
    gs_page_fact(page, "codecs", "codecs",
                 names[0] == '\0' ? "none: what it sends must arrive as it is" : names, list);
    free(names);
}

void gs_strategy_facts(gs_page *page, const gs_strategy *strategy)
{
    static const char *const through[GS_THROUGH_COUNT] = {
        [GS_THROUGH_COLLECTIVES] = "collectives of all ranks or of groups of them",
        [GS_THROUGH_SERVERS] = "servers, which have the weights (cluster.servers.count)",
        [GS_THROUGH_PEERS] = "messages from rank to rank"};
    static const char *const cuts[] = {[GS_CUT_COMMON] = "at a step that all ranks share",
                                       [GS_CUT_OWN] = "each rank at a step of its own"};
    void *config = NULL;
    gs_layout layout;
    gs_error err = {0};
    if (gs_usual_layout(strategy, &config, &layout, &err) == GS_OK) {
        gs_through way = gs_layout_through(&layout);
        gs_page_fact(page, "through", "through", through[way],
                     gs_json_new_text(gs_through_names[way]));
        gs_page_fact(page, "cut", "stops", cuts[layout.cut],
                     gs_json_new_text(gs_cut_names[layout.cut]));
        if (layout.servers > 0) {
            gs_page_fact(page, "updates_by", "updates",
                         "by the shard, which a server hands out at once; systems that do so by "
                         "the bucket or key overlap pushes with pulls, and are faster",
                         gs_json_new_text("shard"));
        }
        add_codecs(page, strategy, &layout);
    } else {
        gs_page_note(page, "With its defaults on 8 ranks: %s", err.text);
    }
    free(config);
}

/* --- of a scenario ------------------------------------------------------------------------------
 */

static void set(gs_json *object, const char *key, gs_json *value)
{
    static char something;
    gs_need(gs_json_set(object, key, value) ? &something : NULL);
}

/* A line for people; programs have it in `costs`. Takes text. */
static void add_line(gs_page *page, const char *label, char *text)
{
    gs_table_add(&page->facts, label, NULL);
    gs_table_add(&page->facts, text, NULL);
    free(text);
}

static char *keeps_text(const gs_layout *layout, const gs_coding *coding, const gs_job *job)
{
    char bytes[GS_UNIT_TEXT_BYTES];
    uint32_t codec = gs_coding_vectors(coding);
    uint32_t own = layout->own_vectors[GS_WORKER];
    char *text = gs_text("a worker %s of state and %u vector%s of its own",
                         gs_format_bytes((int64_t)layout->state_bytes[GS_WORKER], bytes),
                         own + codec, own + codec == 1 ? "" : "s");
    if (codec > 0) {
        text = join(text, ", ", gs_text("%u of them of the codec", codec));
    }
    if (layout->servers > 0) {
        text = join(text, "; ",
                    gs_text("each of %u server%s %s and %u of its shard", layout->servers,
                            layout->servers == 1 ? "" : "s",
                            gs_format_bytes((int64_t)layout->state_bytes[GS_SERVER], bytes),
                            layout->own_vectors[GS_SERVER]));
    }
    return join(text, "; ",
                gs_text("a vector is %s",
                        gs_format_bytes(
                            gs_memory_own_vector_bytes(job->elements, job->element_bytes), bytes)));
}

static char *talks_text(const gs_layout *layout, const gs_job *job)
{
    char *text = gs_text("%s", "");
    for (uint32_t i = 0; i < layout->communicator_count; i++) {
        const gs_communicator *communicator = &layout->communicators[i];
        uint32_t kinds = gs_communicator_kinds(communicator);
        char *names = gs_text("%s", "");
        for (uint32_t kind = 0; kind < GS_COLLECTIVE_KIND_COUNT; kind++) {
            if ((kinds >> kind & 1U) != 0) {
                names = join(
                    names, ", ",
                    gs_text("%s", gs_collective_for(communicator, (gs_collective_kind)kind)->name));
            }
        }
        if (gs_communicator_agrees(communicator)) {
            names = join(names, ", ", gs_text("agreements"));
        }
        uint32_t size = gs_group_size(communicator->group, job->ranks);
        text = join(text, "; ",
                    gs_text("groups of %u (%s%s)", size, names,
                            communicator->coded ? ", takes a codec" : ""));
        free(names);
    }
    if (layout->point_to_point) {
        text = join(text, "; ",
                    gs_text("point to point%s", layout->sends_coded ? " (takes a codec)" : ""));
    }
    return text;
}

/* Bytes of a rank and step: over the budget, and from `steady_step` on, where codecs have warmed
 * up.
 */
typedef struct sent_bytes {
    int64_t mean, steady; /* -1: the strategy does not say */
    int64_t steady_step;
    bool vary; /* the data decides */
} sent_bytes;

static sent_bytes sent_of(const gs_strategy_choice *choice, const gs_job *job,
                          const gs_layout *layout)
{
    const gs_coding *coding = &choice->coding;
    sent_bytes sent = {.mean = -1, .steady = -1, .vary = layout->bytes_vary};
    if (coding->codec != NULL) {
        gs_codec_size size =
            coding->codec->payload_bytes(&coding->config, job->elements, INT32_MAX);
        sent.vary = sent.vary || size.most_bytes > size.expected_bytes;
        for (int64_t next;
             (next = gs_codec_same_until(&coding->config, sent.steady_step)) < INT64_MAX;) {
            sent.steady_step = next;
        }
    }
    if (choice->strategy->wire_bytes != NULL) {
        gs_job long_run = *job;
        long_run.budget_steps = 0;
        sent.mean = choice->strategy->wire_bytes(choice->config, job, coding);
        sent.steady = choice->strategy->wire_bytes(choice->config, &long_run, coding);
    }
    return sent;
}

static gs_json *bytes_json(int64_t bytes)
{
    return bytes < 0 ? gs_json_new_null() : gs_json_new_int(bytes);
}

static gs_json *cost_json(const gs_strategy_choice *choice, const gs_layout *layout,
                          const sent_bytes *sent)
{
    gs_json *object = gs_need(gs_json_new_object());
    set(object, "strategy", gs_json_new_text(choice->label));
    set(object, "wire_bytes_per_rank_and_step", bytes_json(sent->mean));
    set(object, "wire_bytes_steady", bytes_json(sent->steady));
    set(object, "steady_from_step", gs_json_new_int(sent->steady_step));
    set(object, "wire_bytes_vary", gs_json_new_bool(sent->vary));
    set(object, "servers", gs_json_new_int(layout->servers));
    set(object, "worker_state_bytes", gs_json_new_int((int64_t)layout->state_bytes[GS_WORKER]));
    set(object, "server_state_bytes", gs_json_new_int((int64_t)layout->state_bytes[GS_SERVER]));
    set(object, "worker_vectors", gs_json_new_int(layout->own_vectors[GS_WORKER]));
    set(object, "server_vectors", gs_json_new_int(layout->own_vectors[GS_SERVER]));
    set(object, "codec_vectors", gs_json_new_int(gs_coding_vectors(&choice->coding)));
    set(object, "communicators", gs_json_new_int(layout->communicator_count));
    set(object, "point_to_point", gs_json_new_bool(layout->point_to_point));
    return object;
}

static char *sent_text(const gs_scenario *scenario, const gs_strategy_choice *choice,
                       const gs_layout *layout, const sent_bytes *sent)
{
    char bytes[GS_UNIT_TEXT_BYTES], steady[GS_UNIT_TEXT_BYTES];
    if (sent->mean < 0) {
        return gs_text("%s does not say how many bytes it sends", choice->label);
    }
    char *text =
        gs_text("%s sent by a rank and step of %s on %s (%u ranks)",
                gs_format_bytes(sent->mean, bytes), choice->label, scenario->name, scenario->ranks);
    if (sent->steady_step > 0) {
        text = join(text, ", ",
                    gs_text("the mean over %" PRId64 " steps; %s from step %" PRId64 " on",
                            scenario->workload.budget_steps, gs_format_bytes(sent->steady, steady),
                            sent->steady_step));
    }
    if (layout->bytes_vary) {
        text = join(text, ", ",
                    gs_text("if it went on as it begins: how much it sends follows from what it "
                            "learns"));
    } else if (sent->vary) {
        text = join(text, ", ", gs_text("expected: the data decides how much a payload holds"));
    }
    return text;
}

gs_status gs_strategy_costs(gs_page *page, const gs_scenario *scenario, gs_arena *arena,
                            gs_error *err)
{
    gs_job job;
    gs_json *costs = gs_need(gs_json_new_list());
    set(page->document, "costs", costs);
    GS_TRY(gs_scenario_job(scenario, arena, &job, err));
    for (uint32_t i = 0; i < scenario->strategy_count; i++) {
        const gs_strategy_choice *choice = &scenario->strategies[i];
        gs_layout layout = {0};
        GS_TRY(gs_strategy_layout(choice->strategy, choice->config, &job, &layout, err));
        sent_bytes sent = sent_of(choice, &job, &layout);
        if (i == 0 && sent.mean >= 0) {
            set(page->document, "wire_bytes_per_rank_and_step", gs_json_new_int(sent.mean));
        }
        add_line(page, "bytes", sent_text(scenario, choice, &layout, &sent));
        add_line(page, "keeps", keeps_text(&layout, &choice->coding, &job));
        add_line(page, "talks in", talks_text(&layout, &job));
        gs_need(gs_json_add(costs, cost_json(choice, &layout, &sent)) ? costs : NULL);
    }
    return GS_OK;
}
