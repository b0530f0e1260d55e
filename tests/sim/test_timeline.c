/* The timeline of a run, and the trace made of it: both say what the step rows say. */
#include "base/json.h"
#include "tests/small_job.h"
#include "tests/strategies/probes.h"
#include "tests/support.h"
#include "traces/export_chrome.h"
#include "traces/timeline_counters.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS = 4, STEPS = 6 };

static small_job job;
static gs_timeline *timeline;
static gs_record *record;

static small_job_config uneven(void)
{
    small_job_config config = small_job_default();
    config.ranks = RANKS;
    config.ranks_per_node = 2;
    config.forward_ns = 700 * GS_NS_PER_US;
    config.backward_ns = 300 * GS_NS_PER_US;
    config.optimizer_ns = 90 * GS_NS_PER_US;
    config.skew_ns = 400 * GS_NS_PER_US;
    config.steps = STEPS;
    return config;
}

static gs_sim_result play(const small_job_config *config, int64_t first, int64_t last)
{
    small_job_init(&job, config, "bucket=tensor");
    timeline = gs_timeline_create(first, last);
    record = gs_record_create(config->ranks, true);
    gs_sim_result result = small_job_run(&(gs_sim_config){.scenario = &job.scenario,
                                                          .strategy = &job.choice,
                                                          .seed = 3,
                                                          .record = record,
                                                          .timeline = timeline});
    TEST_REQUIRE(result.status == GS_OK, "%s", result.error.text);
    return result;
}

static void finish(void)
{
    gs_timeline_destroy(timeline);
    gs_record_destroy(record);
    small_job_fini(&job);
}

static char *exported(void)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    gs_error err;
    gs_chrome_facts facts = {
        .scenario = "a \"job\"", .strategy = "allreduce", .seed = 3, .profile = &job.profile};
    TEST_REQUIRE(gs_export_chrome(timeline, &facts, out, &err) == GS_OK, "%s", err.text);
    fclose(out);
    return text;
}

static int64_t part_of(const gs_step_row *row, gs_timeline_kind kind)
{
    switch (kind) {
    case GS_TIMELINE_EXPOSED:
        return row->exposed_comm_ns;
    case GS_TIMELINE_LATE:
        return row->wait_ns;
    case GS_TIMELINE_INPUT:
        return row->input_ns;
    case GS_TIMELINE_OVERHEAD:
        return row->overhead_ns;
    case GS_TIMELINE_FORWARD:
    case GS_TIMELINE_BACKWARD:
    case GS_TIMELINE_OPTIMIZER:
    case GS_TIMELINE_KIND_COUNT:
        break;
    }
    return row->compute_ns;
}

static bool is_compute(gs_timeline_kind kind)
{
    return gs_timeline_kind_track(kind) == GS_TRACK_COMPUTE;
}

/* ---------------------------------------------------------------- sums */

/* Each ns of a step is in one span of its rank, under the name of its part of the row. */
Test(timeline, spans_add_up_to_the_step_rows)
{
    small_job_config config = uneven();
    play(&config, 1, 4);
    cr_assert_eq(timeline->step_count, 4 * RANKS);
    cr_assert(gs_timeline_is_complete(timeline));
    for (int64_t i = 0; i < timeline->step_count; i++) {
        const gs_step_row *row = &timeline->steps[i];
        int64_t sums[GS_TIMELINE_KIND_COUNT] = {0};
        for (int64_t j = 0; j < timeline->span_count; j++) {
            const gs_timeline_span *span = &timeline->spans[j];
            if (span->rank == (uint32_t)row->rank && span->step == row->step) {
                gs_timeline_kind kind = is_compute(span->kind) ? GS_TIMELINE_FORWARD : span->kind;
                sums[kind] += span->to_ns - span->from_ns;
                TEST_REQUIRE(span->from_ns >= row->start_ns &&
                                 span->to_ns <= row->start_ns + row->duration_ns,
                             "a span outside its step");
            }
        }
        for (int kind = GS_TIMELINE_FORWARD; kind < GS_TIMELINE_KIND_COUNT; kind++) {
            if (kind == GS_TIMELINE_FORWARD || !is_compute((gs_timeline_kind)kind)) {
                TEST_REQUIRE(sums[kind] == part_of(row, (gs_timeline_kind)kind),
                             "step %lld rank %d: %s is %lld", (long long)row->step, row->rank,
                             gs_timeline_kind_text((gs_timeline_kind)kind), (long long)sums[kind]);
            }
        }
    }
    finish();
}

/* With one communicator ops do not overlap on a rank: time on the wire is their sum. */
Test(timeline, ops_on_the_wire_add_up_to_communication)
{
    small_job_config config = uneven();
    play(&config, 0, STEPS - 1);
    cr_assert_eq(timeline->op_count, STEPS * RANKS * 4, "4 buckets a step");
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        int64_t wire = 0;
        for (int64_t i = 0; i < timeline->op_count; i++) {
            const gs_timeline_op *op = &timeline->ops[i];
            wire += op->rank == rank ? op->to_ns - op->last_start_ns : 0;
        }
        cr_expect_eq(wire, gs_record_rank_total(record, rank).comm_ns);
    }
    finish();
}

/* A ring of 4 over 2 nodes of 2: two of its four hops leave a node. 4 units of 256 KiB, so 2 * 3 /
 * 4 of 1 MiB a rank and step; every NIC sends one such share: 6 steps of 1.5 MiB. */
Test(timeline, counters_hold_the_bytes_that_were_sent)
{
    small_job_config config = uneven();
    gs_sim_result result = play(&config, 0, STEPS - 1);
    gs_timeline_counters counters;
    cr_assert_eq(gs_timeline_count(timeline, &counters), GS_OK);
    cr_assert_eq(counters.nics, 2);
    double sum = 0.0;
    for (uint32_t bin = 0; bin < counters.nics * counters.bins; bin++) {
        sum += counters.sent_bps[bin] * (double)counters.bin_ns / 8e9;
        TEST_REQUIRE(counters.sent_bps[bin] < 10.001e9, "over the link's rate: %g",
                     counters.sent_bps[bin]);
    }
    cr_expect_float_eq(sum, 2.0 * STEPS * 1.5 * 1048576.0, 1.0, "%.1f", sum);
    cr_expect_float_eq(sum, (double)result.facts.nic_bytes_sent, 1.0);
    gs_timeline_counters_fini(&counters);
    finish();
}

Test(timeline, looking_changes_nothing)
{
    small_job_config config = uneven();
    uint64_t looked = play(&config, 2, 3).result_hash;
    gs_sim_result plain = small_job_run(
        &(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice, .seed = 3});
    cr_expect_eq(plain.result_hash, looked);
    finish();
}

Test(timeline, says_that_memory_is_short)
{
    small_job_config config = uneven();
    small_job_init(&job, &config, "bucket=tensor");
    timeline = gs_timeline_create(0, 3);
    gs_error err;
    gs_sim *sim = gs_sim_create(
        &(gs_sim_config){
            .scenario = &job.scenario, .strategy = &job.choice, .seed = 3, .timeline = timeline},
        &err);
    cr_assert_not_null(sim);
    while (timeline->span_count == 0 && gs_sim_run(sim, 1)) {
    }
    timeline->span_capacity = timeline->span_count;
    test_fail_allocations(0);
    while (gs_sim_run(sim, 1)) {
    }
    test_fail_allocations(-1);
    gs_sim_result result;
    gs_sim_result_get(sim, &result);
    cr_expect_eq(result.status, GS_ENOMEM, "%s", result.error.text);
    gs_sim_destroy(sim);
    gs_timeline_destroy(timeline);
    small_job_fini(&job);
}

/* ---------------------------------------------------------------- the trace */

typedef struct slice {
    int64_t track; /* pid and tid in one */
    int64_t from_ns, to_ns;
    char cat[16], name[64];
    int64_t step;
} slice;

typedef struct trace {
    slice *slices;
    size_t slice_count;
    int64_t *starts, *ends; /* of arrows, by id: their track + 1; 0: none */
    int64_t *start_ns, *end_ns;
    size_t arrows;
} trace;

static int64_t number_of(const gs_json_at *event, const char *key)
{
    gs_json_at at;
    double value = 0.0;
    gs_error err;
    TEST_REQUIRE(gs_json_find(event, key, &at) && gs_json_real(&at, &value, &err) == GS_OK, "no %s",
                 key);
    return (int64_t)value;
}

/* us with three digits, as ns. */
static int64_t ns_of(const gs_json_at *event, const char *key)
{
    gs_json_at at;
    double value = 0.0;
    gs_error err;
    TEST_REQUIRE(gs_json_find(event, key, &at) && gs_json_real(&at, &value, &err) == GS_OK, "no %s",
                 key);
    return (int64_t)(value * 1e3 + 0.5);
}

static const char *text_of(const gs_json_at *event, const char *key)
{
    gs_json_at at;
    const char *text = "";
    gs_error err;
    TEST_REQUIRE(gs_json_find(event, key, &at) && gs_json_text(&at, &text, &err) == GS_OK, "no %s",
                 key);
    return text;
}

static void take_slice(trace *into, const gs_json_at *event)
{
    slice *taken = &into->slices[into->slice_count++];
    taken->track = number_of(event, "pid") * 1000000 + number_of(event, "tid");
    taken->from_ns = ns_of(event, "ts");
    taken->to_ns = taken->from_ns + ns_of(event, "dur");
    snprintf(taken->cat, sizeof taken->cat, "%s", text_of(event, "cat"));
    snprintf(taken->name, sizeof taken->name, "%s", text_of(event, "name"));
}

static void take_arrow(trace *into, const gs_json_at *event, bool is_end)
{
    int64_t id = number_of(event, "id");
    int64_t *places = is_end ? into->ends : into->starts;
    TEST_REQUIRE(places[id] == 0, "arrow %lld twice", (long long)id);
    places[id] = 1 + number_of(event, "pid") * 1000000 + number_of(event, "tid");
    (is_end ? into->end_ns : into->start_ns)[id] = ns_of(event, "ts");
    into->arrows += is_end ? 0 : 1;
}

static void read_trace(const char *text, trace *out)
{
    gs_json_at root;
    gs_json_at events;
    gs_json_at event;
    gs_error err;
    TEST_REQUIRE(gs_json_parse(text, strlen(text), "trace", &root, &err) == GS_OK, "%s", err.text);
    cr_assert(gs_json_find(&root, "traceEvents", &events));
    size_t count = gs_json_count(events.value);
    *out = (trace){.slices = calloc(count, sizeof *out->slices),
                   .starts = calloc(count, sizeof *out->starts),
                   .ends = calloc(count, sizeof *out->ends),
                   .start_ns = calloc(count, sizeof *out->start_ns),
                   .end_ns = calloc(count, sizeof *out->end_ns)};
    for (size_t i = 0; gs_json_walk(&events, i, &event); i++) {
        const char *phase = text_of(&event, "ph");
        if (phase[0] == 'X') {
            take_slice(out, &event);
        } else if (phase[0] == 's' || phase[0] == 'f') {
            take_arrow(out, &event, phase[0] == 'f');
        } else {
            TEST_REQUIRE(phase[0] == 'M' || phase[0] == 'C', "phase %s", phase);
        }
    }
    gs_json_free(root.value);
}

static void free_trace(trace *of)
{
    free(of->slices);
    free(of->starts);
    free(of->ends);
    free(of->start_ns);
    free(of->end_ns);
}

/* Two slices of one track are apart, or one lies in the other. */
static void require_nesting(const trace *of)
{
    for (size_t i = 0; i < of->slice_count; i++) {
        const slice *one = &of->slices[i];
        for (size_t j = 0; j < i; j++) {
            const slice *other = &of->slices[j];
            bool apart = one->track != other->track || one->to_ns <= other->from_ns ||
                         other->to_ns <= one->from_ns;
            bool inside = (one->from_ns >= other->from_ns && one->to_ns <= other->to_ns) ||
                          (other->from_ns >= one->from_ns && other->to_ns <= one->to_ns);
            TEST_REQUIRE(apart || inside, "%s at %lld and %s at %lld cross", one->name,
                         (long long)one->from_ns, other->name, (long long)other->from_ns);
        }
    }
}

static bool is_in_a_slice(const trace *of, int64_t track, int64_t at_ns)
{
    for (size_t i = 0; i < of->slice_count; i++) {
        const slice *slot = &of->slices[i];
        if (slot->track == track && slot->from_ns <= at_ns && at_ns < slot->to_ns) {
            return true;
        }
    }
    return false;
}

static int64_t sum_of(const trace *of, const char *cat, const char *name)
{
    int64_t sum = 0;
    for (size_t i = 0; i < of->slice_count; i++) {
        const slice *one = &of->slices[i];
        if (strcmp(one->cat, cat) == 0 && (name == NULL || strcmp(one->name, name) == 0)) {
            sum += one->to_ns - one->from_ns;
        }
    }
    return sum;
}

Test(timeline, trace_nests_and_adds_up)
{
    small_job_config config = uneven();
    play(&config, 0, STEPS - 1);
    char *text = exported();
    trace got;
    read_trace(text, &got);
    require_nesting(&got);
    gs_step_row total = {0};
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        gs_step_row row = gs_record_rank_total(record, rank);
        total.duration_ns += row.duration_ns;
        total.compute_ns += row.compute_ns;
        total.comm_ns += row.comm_ns;
        total.exposed_comm_ns += row.exposed_comm_ns;
        total.wait_ns += row.wait_ns;
    }
    cr_assert_gt(total.wait_ns, 0);
    cr_assert_gt(total.exposed_comm_ns, 0);
    cr_expect_eq(sum_of(&got, "step", NULL), total.duration_ns);
    cr_expect_eq(sum_of(&got, "compute", NULL), total.compute_ns);
    cr_expect_eq(sum_of(&got, "comm", NULL) - sum_of(&got, "members", NULL), total.comm_ns);
    cr_expect_eq(sum_of(&got, "wait", "exposed communication"), total.exposed_comm_ns);
    cr_expect_eq(sum_of(&got, "wait", "wait for ranks"), total.wait_ns);
    free_trace(&got);
    free(text);
    finish();
}

static void require_held_arrows(const trace *of)
{
    for (size_t id = 0; id < of->arrows; id++) {
        TEST_REQUIRE(of->starts[id] != 0 && of->ends[id] != 0, "arrow %zu has one end", id);
        TEST_REQUIRE(of->starts[id] != of->ends[id], "arrow %zu leads nowhere", id);
        TEST_REQUIRE(of->start_ns[id] <= of->end_ns[id], "arrow %zu leads back in time", id);
        TEST_REQUIRE(is_in_a_slice(of, of->starts[id] - 1, of->start_ns[id]) &&
                         is_in_a_slice(of, of->ends[id] - 1, of->end_ns[id]),
                     "arrow %zu hangs in the air", id);
    }
}

/* An arrow for every op of every rank (from the part that ended it), and some for waits. */
Test(timeline, arrows_start_and_end_in_slices)
{
    small_job_config config = uneven();
    play(&config, 0, STEPS - 1);
    char *text = exported();
    trace got;
    read_trace(text, &got);
    cr_expect_gt(got.arrows, STEPS * RANKS * 4);
    require_held_arrows(&got);
    cr_expect_not_null(strstr(text, "\"late member\""));
    free_trace(&got);
    free(text);
    finish();
}

Test(timeline, same_seed_gives_the_same_bytes)
{
    small_job_config config = uneven();
    play(&config, 1, 3);
    char *first = exported();
    finish();
    play(&config, 1, 3);
    char *second = exported();
    cr_expect_str_eq(first, second);
    cr_expect_not_null(strstr(first, "\"scenario\":\"a \\\"job\\\"\""));
    free(first);
    free(second);
    finish();
}

/* Messages of several senders overlap at a server: each has a track of its own there. */
Test(timeline, messages_from_one_to_another_nest_too)
{
    small_job_config config = uneven();
    config.servers = 1;
    small_job_init(&job, &config, NULL);
    small_job_use(&job, &probe_asp, NULL);
    timeline = gs_timeline_create(0, STEPS - 1);
    record = gs_record_create(RANKS, true);
    gs_sim_result result = small_job_run(&(gs_sim_config){.scenario = &job.scenario,
                                                          .strategy = &job.choice,
                                                          .seed = 3,
                                                          .record = record,
                                                          .timeline = timeline});
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    char *text = exported();
    trace got;
    read_trace(text, &got);
    require_nesting(&got);
    require_held_arrows(&got);
    cr_expect_eq((int64_t)got.arrows, timeline->message_count);
    cr_expect_not_null(strstr(text, "\"server 0 comm 2\""));
    cr_expect_not_null(strstr(text, "\"receive from server 0\""));
    free_trace(&got);
    free(text);
    finish();
}
