#include "traces/export_chrome.h"

#include "base/assert.h"
#include "traces/timeline_counters.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SLOT_COMPUTE, SLOT_WAIT, SLOT_COMM, SLOTS = 100, LANES = SLOTS - SLOT_COMM };

/* Something on a comm track of an entity: an op, or one end of a message. */
typedef struct comm_slice {
    uint32_t entity;
    uint32_t lane;
    gs_time_ns from_ns, to_ns;
    const gs_timeline_op *op; /* NULL: a message: */
    const gs_timeline_message *message;
} comm_slice;

/* An op on one rank, and the last part that came to it. */
typedef struct last_part {
    const gs_timeline_op *op;
    const gs_timeline_message *part; /* NULL: none that was kept */
} last_part;

typedef struct writer {
    const gs_timeline *timeline;
    const gs_chrome_facts *facts;
    FILE *out;
    const char *separator;
    gs_timeline_span *spans; /* by rank, then time */
    comm_slice *comm;        /* by entity, then time */
    int64_t comm_count;
    const gs_timeline_op **ops; /* by communicator, sequence, rank */
    uint32_t *lane_count;       /* [entities] */
    uint32_t *receiver_lanes;   /* [messages] of the timeline, of point to point ones */
    last_part *last_parts;      /* [ops], by communicator, rank, time */
    uint64_t arrows;
} writer;

/* ---------------------------------------------------------------- text */

static void put_text(writer *to, const char *text)
{
    fputc('"', to->out);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            fputc('\\', to->out);
        }
        if ((unsigned char)*c < ' ') {
            fprintf(to->out, "\\u%04x", (unsigned)*c);
        } else {
            fputc(*c, to->out);
        }
    }
    fputc('"', to->out);
}

/* The start of an event: place and time. */
static void begin(writer *to, const char *phase, uint32_t entity, uint32_t slot)
{
    const gs_timeline_world *world = &to->timeline->world;
    uint32_t process =
        entity < world->ranks ? world->node_of[entity] : world->nodes + entity - world->ranks;
    fprintf(to->out, "%s{\"ph\":\"%s\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32, to->separator, phase,
            process + 1, (entity + 1) * SLOTS + slot);
    to->separator = ",\n";
}

static void put_time(writer *to, gs_time_ns at)
{
    fprintf(to->out, ",\"ts\":%" PRId64 ".%03d", at / GS_NS_PER_US, (int)(at % GS_NS_PER_US));
}

static void put_slice(writer *to, uint32_t entity, uint32_t slot, gs_time_ns from, gs_time_ns until)
{
    gs_time_ns duration = until - from;
    begin(to, "X", entity, slot);
    put_time(to, from);
    fprintf(to->out, ",\"dur\":%" PRId64 ".%03d", duration / GS_NS_PER_US,
            (int)(duration % GS_NS_PER_US));
}

/* ---------------------------------------------------------------- order */

static int order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_rank_and_time(const void *a, const void *b)
{
    const gs_timeline_span *one = a;
    const gs_timeline_span *other = b;
    int by = order(one->rank, other->rank);
    return by != 0 ? by : order(one->from_ns, other->from_ns);
}

/* Of equal starts the longer one first: the other may nest in it. */
static int by_entity_and_time(const void *a, const void *b)
{
    const comm_slice *one = a;
    const comm_slice *other = b;
    int by = order(one->entity, other->entity);
    by = by != 0 ? by : order(one->from_ns, other->from_ns);
    by = by != 0 ? by : order(other->to_ns, one->to_ns);
    by = by != 0 ? by : order(one->op == NULL, other->op == NULL);
    if (by == 0 && one->op != NULL) {
        by = order(one->op->communicator, other->op->communicator);
    } else if (by == 0) {
        by = order(one->message - other->message, 0);
    }
    return by;
}

static int by_rank_and_end(const void *a, const void *b)
{
    const gs_timeline_op *one = ((const last_part *)a)->op;
    const gs_timeline_op *other = ((const last_part *)b)->op;
    int by = order(one->communicator, other->communicator);
    by = by != 0 ? by : order(one->rank, other->rank);
    by = by != 0 ? by : order(one->to_ns, other->to_ns);
    return by != 0 ? by : order((int64_t)one->sequence, (int64_t)other->sequence);
}

static int by_op_and_rank(const void *a, const void *b)
{
    const gs_timeline_op *one = *(const gs_timeline_op *const *)a;
    const gs_timeline_op *other = *(const gs_timeline_op *const *)b;
    int by = order(one->communicator, other->communicator);
    by = by != 0 ? by : order((int64_t)one->sequence, (int64_t)other->sequence);
    return by != 0 ? by : order(one->rank, other->rank);
}

static void *sorted(const void *items, int64_t count, size_t item_bytes,
                    int (*compare)(const void *, const void *))
{
    void *copy = malloc((size_t)count * item_bytes + 1);
    if (copy != NULL && count > 0) {
        memcpy(copy, items, (size_t)count * item_bytes);
        qsort(copy, (size_t)count, item_bytes, compare);
    }
    return copy;
}

/* ---------------------------------------------------------------- comm tracks */

static void gather_comm(writer *to)
{
    const gs_timeline *timeline = to->timeline;
    for (int64_t i = 0; i < timeline->op_count; i++) {
        const gs_timeline_op *op = &timeline->ops[i];
        to->comm[to->comm_count++] =
            (comm_slice){.entity = op->rank, .from_ns = op->from_ns, .to_ns = op->to_ns, .op = op};
    }
    for (int64_t i = 0; i < timeline->message_count; i++) {
        const gs_timeline_message *message = &timeline->messages[i];
        if (message->stream != GS_TIMELINE_POINT_TO_POINT) {
            continue;
        }
        to->comm[to->comm_count++] = (comm_slice){.entity = message->from,
                                                  .from_ns = message->began_ns,
                                                  .to_ns = message->left_ns,
                                                  .message = message};
        to->comm[to->comm_count++] = (comm_slice){.entity = message->to,
                                                  .from_ns = message->began_ns,
                                                  .to_ns = message->arrive_ns,
                                                  .message = message};
    }
    qsort(to->comm, (size_t)to->comm_count, sizeof *to->comm, by_entity_and_time);
}

/* Each slice goes to the first track of its entity that is free: slices of one track never
 * overlap. What comes when all tracks are taken shares the last one. */
static void choose_lanes(writer *to)
{
    gs_time_ns free_at[LANES] = {0};
    for (int64_t i = 0; i < to->comm_count; i++) {
        comm_slice *slice = &to->comm[i];
        if (i == 0 || slice[-1].entity != slice->entity) {
            memset(free_at, 0, sizeof free_at);
        }
        uint32_t lane = 0;
        while (lane + 1 < LANES && free_at[lane] > slice->from_ns) {
            lane++;
        }
        free_at[lane] = slice->to_ns;
        slice->lane = lane;
        if (slice->op == NULL && slice->entity == slice->message->to) {
            to->receiver_lanes[slice->message - to->timeline->messages] = lane;
        }
        uint32_t *count = &to->lane_count[slice->entity];
        *count = lane + 1 > *count ? lane + 1 : *count;
    }
}

/* ---------------------------------------------------------------- names of tracks */

static void put_name(writer *to, const char *kind, uint32_t entity, uint32_t slot, const char *name)
{
    begin(to, "M", entity, slot);
    fprintf(to->out, ",\"name\":\"%s\",\"args\":{\"name\":", kind);
    put_text(to, name);
    fputs("}}", to->out);
}

static void put_sort_index(writer *to, uint32_t entity, uint32_t slot)
{
    begin(to, "M", entity, slot);
    fprintf(to->out, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%" PRIu32 "}}",
            (entity + 1) * SLOTS + slot);
}

static void put_tracks(writer *to, uint32_t entity)
{
    const gs_timeline_world *world = &to->timeline->world;
    bool is_rank = entity < world->ranks;
    uint32_t number = is_rank ? entity : entity - world->ranks;
    char name[64];
    for (uint32_t slot = is_rank ? SLOT_COMPUTE : SLOT_COMM;
         slot < SLOT_COMM + to->lane_count[entity]; slot++) {
        int used =
            snprintf(name, sizeof name, "%s %" PRIu32 " %s", is_rank ? "rank" : "server", number,
                     slot == SLOT_COMPUTE ? "compute"
                     : slot == SLOT_WAIT  ? "wait"
                                          : "comm");
        if (slot > SLOT_COMM) {
            snprintf(name + used, sizeof name - (size_t)used, " %" PRIu32, slot - SLOT_COMM + 1);
        }
        put_name(to, "thread_name", entity, slot, name);
        put_sort_index(to, entity, slot);
    }
}

static void put_names(writer *to)
{
    const gs_timeline_world *world = &to->timeline->world;
    for (uint32_t entity = 0; entity < world->entities; entity++) {
        char name[64];
        bool is_rank = entity < world->ranks;
        if (!is_rank) {
            snprintf(name, sizeof name, "server %" PRIu32, entity - world->ranks);
            put_name(to, "process_name", entity, SLOT_COMM, name);
        } else if (entity == 0 || world->node_of[entity - 1] != world->node_of[entity]) {
            snprintf(name, sizeof name, "node %" PRIu32, world->node_of[entity]);
            put_name(to, "process_name", entity, SLOT_COMPUTE, name);
        }
        put_tracks(to, entity);
    }
}

/* ---------------------------------------------------------------- slices */

static void put_steps(writer *to)
{
    for (int64_t i = 0; i < to->timeline->step_count; i++) {
        const gs_step_row *row = &to->timeline->steps[i];
        put_slice(to, (uint32_t)row->rank, SLOT_COMPUTE, row->start_ns,
                  row->start_ns + row->duration_ns);
        fprintf(to->out,
                ",\"cat\":\"step\",\"name\":\"step %" PRId64 "\",\"args\":{\"compute_ns\":%" PRId64
                ",\"comm_ns\":%" PRId64 ",\"exposed_comm_ns\":%" PRId64 ",\"wait_ns\":%" PRId64
                ",\"input_ns\":%" PRId64 ",\"overhead_ns\":%" PRId64 ",\"bytes_sent\":%" PRId64
                "}}",
                row->step, row->compute_ns, row->comm_ns, row->exposed_comm_ns, row->wait_ns,
                row->input_ns, row->overhead_ns, row->bytes_sent);
    }
}

static void put_unit(writer *to, int32_t unit)
{
    const gs_profile *profile = to->facts->profile;
    if (profile != NULL && (uint32_t)unit < profile->unit_count &&
        profile->units[unit].name != NULL) {
        put_text(to, profile->units[unit].name);
    } else {
        fprintf(to->out, "%" PRId32, unit);
    }
}

static uint32_t slot_of_span(const gs_timeline_span *span)
{
    return gs_timeline_kind_track(span->kind) == GS_TRACK_COMPUTE ? SLOT_COMPUTE : SLOT_WAIT;
}

static void put_spans(writer *to)
{
    for (int64_t i = 0; i < to->timeline->span_count; i++) {
        const gs_timeline_span *span = &to->spans[i];
        put_slice(to, span->rank, slot_of_span(span), span->from_ns, span->to_ns);
        fprintf(to->out, ",\"cat\":\"%s\",\"name\":\"%s\",\"args\":{\"step\":%" PRId64,
                gs_timeline_track_text(gs_timeline_kind_track(span->kind)),
                gs_timeline_kind_text(span->kind), span->step);
        if (span->unit != GS_TIMELINE_NO_UNIT) {
            fputs(",\"gradient\":", to->out);
            put_unit(to, span->unit);
        }
        fputs("}}", to->out);
    }
}

static void put_op(writer *to, const comm_slice *slice)
{
    const gs_timeline_op *op = slice->op;
    fputs(",\"cat\":\"comm\",\"name\":", to->out);
    char name[128];
    snprintf(name, sizeof name, op->communicator < 0 ? "%s" : "%s %" PRIu64, op->name, op->label);
    put_text(to, name);
    fprintf(to->out,
            ",\"args\":{\"step\":%" PRId64 ",\"communicator\":%" PRId32 ",\"sequence\":%" PRIu64
            ",\"bytes\":%" PRId64 "}}",
            op->step, op->communicator, op->sequence, op->bytes);
    if (op->last_start_ns > op->from_ns) {
        put_slice(to, slice->entity, SLOT_COMM + slice->lane, op->from_ns, op->last_start_ns);
        fputs(",\"cat\":\"members\",\"name\":\"waits for members\"}", to->out);
    }
}

static void put_peer(writer *to, uint32_t entity)
{
    uint32_t ranks = to->timeline->world.ranks;
    bool is_rank = entity < ranks;
    fprintf(to->out, " %s %" PRIu32, is_rank ? "rank" : "server",
            is_rank ? entity : entity - ranks);
}

static void put_comm(writer *to)
{
    for (int64_t i = 0; i < to->comm_count; i++) {
        const comm_slice *slice = &to->comm[i];
        put_slice(to, slice->entity, SLOT_COMM + slice->lane, slice->from_ns, slice->to_ns);
        if (slice->op != NULL) {
            put_op(to, slice);
            continue;
        }
        bool sends = slice->entity == slice->message->from;
        fprintf(to->out, ",\"cat\":\"comm\",\"name\":\"%s", sends ? "send to" : "receive from");
        put_peer(to, sends ? slice->message->to : slice->message->from);
        fprintf(to->out, "\",\"args\":{\"bytes\":%" PRId64 "}}", slice->message->bytes);
    }
}

/* ---------------------------------------------------------------- arrows */

typedef struct end {
    uint32_t entity, slot;
    gs_time_ns at_ns; /* inside a slice */
} end;

static void put_arrow(writer *to, const char *name, end from, end into)
{
    for (int last = 0; last < 2; last++) {
        const end *at = last == 0 ? &from : &into;
        begin(to, last == 0 ? "s" : "f", at->entity, at->slot);
        put_time(to, at->at_ns);
        fprintf(to->out, ",\"cat\":\"flow\",\"name\":\"%s\",\"id\":%" PRIu64 "%s}", name,
                to->arrows, last == 0 ? "" : ",\"bp\":\"e\"");
    }
    to->arrows++;
}

static gs_time_ns inside(gs_time_ns at, gs_time_ns from, gs_time_ns to)
{
    at = at < to ? at : to - 1; /* a slice does not hold its own end */
    return at > from ? at : from;
}

/* Track of an op: the slice of its entity that starts with it. */
static uint32_t slot_of(const writer *to, const gs_timeline_op *op)
{
    int64_t low = 0;
    int64_t high = to->comm_count;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        const comm_slice *slice = &to->comm[middle];
        bool before =
            slice->entity < op->rank || (slice->entity == op->rank && slice->from_ns < op->from_ns);
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    while (to->comm[low].op != op) {
        low++;
        GS_ASSERT(low < to->comm_count);
    }
    return SLOT_COMM + to->comm[low].lane;
}

/* The op of a communicator that ends on a rank at `at` or first after that; NULL: none. */
static last_part *op_until(const writer *to, int32_t communicator, uint32_t rank, gs_time_ns at)
{
    int64_t low = 0;
    int64_t high = to->timeline->op_count;
    const gs_timeline_op wanted = {.communicator = communicator, .rank = rank, .to_ns = at};
    const last_part until = {.op = &wanted};
    while (low < high) {
        int64_t middle = (low + high) / 2;
        bool before = by_rank_and_end(&to->last_parts[middle], &until) < 0;
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    last_part *found = low == to->timeline->op_count ? NULL : &to->last_parts[low];
    bool fits = found != NULL && found->op->communicator == communicator && found->op->rank == rank;
    return fits ? found : NULL;
}

static void find_last_parts(writer *to)
{
    const gs_timeline *timeline = to->timeline;
    for (int64_t i = 0; i < timeline->op_count; i++) {
        to->last_parts[i] = (last_part){.op = &timeline->ops[i]};
    }
    qsort(to->last_parts, (size_t)timeline->op_count, sizeof *to->last_parts, by_rank_and_end);
    for (int64_t i = 0; i < timeline->message_count; i++) {
        const gs_timeline_message *part = &timeline->messages[i];
        last_part *last =
            part->stream < 0 ? NULL : op_until(to, part->stream, part->to, part->arrive_ns);
        if (last != NULL && part->arrive_ns >= last->op->last_start_ns &&
            (last->part == NULL || part->arrive_ns >= last->part->arrive_ns)) {
            last->part = part;
        }
    }
}

static void put_part_arrow(writer *to, const gs_timeline_op *op, const gs_timeline_op *const *group,
                           int64_t members)
{
    const gs_timeline_message *part = op_until(to, op->communicator, op->rank, op->to_ns)->part;
    for (int64_t i = 0; i < members && part != NULL; i++) {
        const gs_timeline_op *from = group[i];
        if (from->rank == part->from && op->to_ns > op->from_ns && from->to_ns > from->from_ns) {
            put_arrow(to, "last part",
                      (end){from->rank, slot_of(to, from),
                            inside(part->began_ns, from->from_ns, from->to_ns)},
                      (end){op->rank, slot_of(to, op), inside(op->to_ns, op->from_ns, op->to_ns)});
        }
    }
}

/* What a rank did just before `at`; NULL: that was not kept. */
static const gs_timeline_span *span_before(const writer *to, uint32_t rank, gs_time_ns at)
{
    int64_t low = 0;
    int64_t high = to->timeline->span_count;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        const gs_timeline_span *span = &to->spans[middle];
        bool before = span->rank < rank || (span->rank == rank && span->from_ns < at);
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    const gs_timeline_span *span = low == 0 ? NULL : &to->spans[low - 1];
    return span != NULL && span->rank == rank && span->to_ns >= at ? span : NULL;
}

/* From what kept the last member busy to each member that waited for it. */
static void put_late_arrow(writer *to, const gs_timeline_op *late, const gs_timeline_op *op)
{
    const gs_timeline_span *busy = span_before(to, late->rank, late->from_ns);
    const gs_timeline_span *wait = span_before(to, op->rank, late->from_ns);
    if (op != late && busy != NULL && wait != NULL && wait->kind == GS_TIMELINE_LATE) {
        put_arrow(to, "late member", (end){late->rank, slot_of_span(busy), late->from_ns - 1},
                  (end){op->rank, SLOT_WAIT, late->from_ns - 1});
    }
}

static void put_group_arrows(writer *to, const gs_timeline_op *const *group, int64_t members)
{
    const gs_timeline_op *late = group[0];
    for (int64_t i = 1; i < members; i++) {
        late = group[i]->from_ns > late->from_ns ? group[i] : late;
    }
    for (int64_t i = 0; i < members; i++) {
        /* Not so where the last member is not in the window. */
        if (late->from_ns == group[i]->last_start_ns) {
            put_late_arrow(to, late, group[i]);
        }
        put_part_arrow(to, group[i], group, members);
    }
}

static void put_arrows(writer *to)
{
    int64_t count = to->timeline->op_count;
    int64_t first = 0;
    for (int64_t i = 1; i <= count; i++) {
        if (i == count || to->ops[i]->communicator != to->ops[first]->communicator ||
            to->ops[i]->sequence != to->ops[first]->sequence) {
            put_group_arrows(to, to->ops + first, i - first);
            first = i;
        }
    }
    for (int64_t i = 0; i < to->comm_count; i++) {
        const comm_slice *sent = &to->comm[i];
        if (sent->op == NULL && sent->entity == sent->message->from &&
            sent->to_ns > sent->from_ns) {
            const gs_timeline_message *message = sent->message;
            uint32_t lane = to->receiver_lanes[message - to->timeline->messages];
            put_arrow(to, "message", (end){sent->entity, SLOT_COMM + sent->lane, sent->from_ns},
                      (end){message->to, SLOT_COMM + lane, message->arrive_ns - 1});
        }
    }
}

/* ---------------------------------------------------------------- counters */

/* A value where it differs from the one before, as a viewer holds it. */
static void put_counter(writer *to, const gs_timeline_counters *counters, uint32_t entity,
                        const char *unit, const double *values)
{
    const char *what = unit[0] == 'G' ? "sends" : "in flight";
    double scale = unit[0] == 'G' ? 1e9 : 1.0;
    for (uint32_t bin = 0; bin <= counters->bins; bin++) {
        double value = bin == counters->bins ? 0.0 : round(values[bin] / scale * 1e3) / 1e3;
        double before = bin == 0 ? -1.0 : round(values[bin - 1] / scale * 1e3) / 1e3;
        if (fabs(value - before) < 1e-3) {
            continue;
        }
        gs_time_ns at = counters->from_ns + bin * counters->bin_ns;
        begin(to, "C", entity, SLOT_COMPUTE);
        put_time(to, at < counters->to_ns ? at : counters->to_ns);
        fprintf(to->out, ",\"name\":\"NIC %" PRIu32 " %s (%s)\",\"args\":{\"value\":%.3f}}",
                to->timeline->world.nic_of[entity], what, unit, fabs(value));
    }
}

static gs_status put_counters(writer *to)
{
    gs_timeline_counters counters;
    GS_TRY(gs_timeline_count(to->timeline, &counters));
    const gs_timeline_world *world = &to->timeline->world;
    uint32_t next = 0; /* NICs come in the order of their entities */
    for (uint32_t entity = 0; entity < world->entities && counters.bins > 0; entity++) {
        if (world->nic_of[entity] == next) {
            size_t row = (size_t)next * counters.bins;
            put_counter(to, &counters, entity, "Gbit/s", counters.sent_bps + row);
            put_counter(to, &counters, entity, "bytes", counters.flight_bytes + row);
            next++;
        }
    }
    gs_timeline_counters_fini(&counters);
    return GS_OK;
}

/* ---------------------------------------------------------------- the document */

static bool prepare(writer *to)
{
    const gs_timeline *timeline = to->timeline;
    to->spans =
        sorted(timeline->spans, timeline->span_count, sizeof *timeline->spans, by_rank_and_time);
    to->last_parts = malloc((size_t)timeline->op_count * sizeof *to->last_parts + 1);
    to->ops = malloc((size_t)timeline->op_count * sizeof *to->ops + 1);
    to->comm =
        malloc((size_t)(timeline->op_count + 2 * timeline->message_count) * sizeof *to->comm + 1);
    to->lane_count = calloc(timeline->world.entities + 1U, sizeof *to->lane_count);
    to->receiver_lanes = malloc((size_t)timeline->message_count * sizeof *to->receiver_lanes + 1);
    if (to->spans == NULL || to->last_parts == NULL || to->ops == NULL || to->comm == NULL ||
        to->lane_count == NULL || to->receiver_lanes == NULL) {
        return false;
    }
    for (int64_t i = 0; i < timeline->op_count; i++) {
        to->ops[i] = &timeline->ops[i];
    }
    qsort(to->ops, (size_t)timeline->op_count, sizeof *to->ops, by_op_and_rank);
    gather_comm(to);
    choose_lanes(to);
    find_last_parts(to);
    return true;
}

gs_status gs_export_chrome(const gs_timeline *timeline, const gs_chrome_facts *facts, FILE *out,
                           gs_error *err)
{
    writer to = {.timeline = timeline, .facts = facts, .out = out, .separator = ""};
    gs_status status = prepare(&to) ? GS_OK : GS_ENOMEM;
    if (status == GS_OK) {
        fputs("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"tool\":\"gradsync\",\"scenario\":",
              out);
        put_text(&to, facts->scenario);
        fputs(",\"strategy\":", out);
        put_text(&to, facts->strategy);
        fprintf(out,
                ",\"seed\":\"%" PRIu64 "\",\"first_step\":%" PRId64 ",\"last_step\":%" PRId64
                "},\n\"traceEvents\":[\n",
                facts->seed, timeline->first_step, timeline->last_step);
        put_names(&to);
        put_steps(&to);
        put_spans(&to);
        put_comm(&to);
        status = put_counters(&to);
        put_arrows(&to);
        fputs("\n]}\n", out);
    }
    free(to.spans);
    free(to.last_parts);
    free(to.ops);
    free(to.comm);
    free(to.lane_count);
    free(to.receiver_lanes);
    return status == GS_OK ? GS_OK : gs_fail(err, status, "no memory to write a timeline");
}
