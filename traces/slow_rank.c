#include "traces/slow_rank.h"

#include "base/assert.h"
#include "traces/slow_series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A part that makes up this share of the delay is its cause. */
static const double CAUSE_RATIO = 0.6;
/* Of its delay, a rank that is no later at its collectives must be ahead of the next by so much. */
static const double LEAD_RATIO = 0.5;
/* Deviations beyond which a mean is not what it should be: 1 in 100, one-sided. */
static const double CONTRADICTS = 2.33;
/* A median of normal values has this standard deviation over that of their mean. */
static const double MEDIAN_TO_MEAN = 1.2533;
/* One-sided 95 %. */
static const double NINETY_FIVE = 1.645;

typedef struct judge {
    const gs_step_table *table;
    gs_arena scratch;
    gs_slow_report *report;
    gs_slow_series series[GS_STEP_PARTS]; /* own time at GS_STEP_TIME */
    bool has[GS_STEP_PARTS];
    uint32_t series_count;
    unsigned char *is_on[GS_STEP_PARTS]; /* [step_count] of the rank at hand */
    gs_slow_fit fits[GS_STEP_PARTS];
    bool passes[GS_STEP_PARTS];
    bool may_be_network;    /* the rank at hand is alone in what its link costs */
    int64_t *pile;          /* [rank_count + step_count] */
    unsigned char *is_late; /* [step_count] of the rank at hand */
} judge;

const char *gs_slow_cause_name(gs_slow_cause cause)
{
    static const char *const NAMES[GS_SLOW_CAUSES] = {"cannot tell", "compute", "input", "network",
                                                      "mixed"};
    GS_ASSERT(cause < GS_SLOW_CAUSES);
    return NAMES[cause];
}

/* Median of the other ranks' values of a series in a step: value less lateness. */
static int64_t others_value(const gs_slow_series *series, size_t at)
{
    return series->values[at] - series->late[at];
}

/* Collects late (or others' values) of one rank over steps where `where` is not 0. */
static size_t collect(judge *in, const gs_slow_series *series, uint32_t rank,
                      const unsigned char *where, bool others)
{
    size_t count = 0;
    for (uint32_t s = 0; s < series->step_count; s++) {
        size_t at = (size_t)rank * series->step_count + s;
        if (series->late[at] != GS_SLOW_NO_VALUE && (where == NULL || where[s] != 0)) {
            in->pile[count++] = others ? others_value(series, at) : series->late[at];
        }
    }
    return count;
}

static int64_t median_late(judge *in, gs_step_part part, uint32_t rank, const unsigned char *where)
{
    return gs_slow_median(in->pile, collect(in, &in->series[part], rank, where, false));
}

static int64_t median_others(judge *in, gs_step_part part, uint32_t rank,
                             const unsigned char *where)
{
    return gs_slow_median(in->pile, collect(in, &in->series[part], rank, where, true));
}

/* How far a median lateness over `count` steps may lie from the truth. */
static double slack_of(const judge *in, gs_step_part part, size_t count)
{
    const gs_slow_series *series = &in->series[part];
    return count == 0 ? 0.0
                      : CONTRADICTS * MEDIAN_TO_MEAN * series->spread *
                            sqrt(series->inflation / (double)count);
}

static gs_slow_basis choose_basis(const gs_step_table *table)
{
    if (table->parts[GS_STEP_WAIT] != NULL) {
        return GS_SLOW_BY_WORK;
    }
    return table->parts[GS_STEP_COMPUTE] != NULL || table->parts[GS_STEP_INPUT] != NULL ||
                   table->parts[GS_STEP_WIRE] != NULL
               ? GS_SLOW_BY_PARTS
               : GS_SLOW_BY_TIME;
}

static gs_status make_series(judge *in, gs_error *err)
{
    const gs_step_table *table = in->table;
    size_t room = (size_t)table->rank_count + table->step_count;
    in->pile = GS_TAKE(&in->scratch, int64_t, room);
    in->is_late = GS_TAKE(&in->scratch, unsigned char, table->step_count);
    if (in->pile == NULL || in->is_late == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory to judge %u ranks", table->rank_count);
    }
    for (int p = 0; p < GS_STEP_PARTS; p++) {
        in->has[p] = p == GS_STEP_TIME || (p != GS_STEP_WAIT && table->parts[p] != NULL);
        in->is_on[p] = GS_TAKE(&in->scratch, unsigned char, table->step_count);
        if (in->is_on[p] == NULL) {
            return gs_fail(err, GS_ENOMEM, "no memory to judge %u steps", table->step_count);
        }
        if (in->has[p]) {
            GS_TRY(gs_slow_series_make(table, in->report->basis, (gs_step_part)p, &in->scratch,
                                       &in->series[p], err));
            in->series_count++;
        }
    }
    return GS_OK;
}

static gs_slow_terms terms_of(const judge *in, gs_step_part part)
{
    return (gs_slow_terms){.tests = (double)in->table->rank_count * in->series_count,
                           .inflation = in->series[part].inflation,
                           .is_evenly_spaced = in->report->is_evenly_spaced};
}

/* Whether the pattern found in a part is large enough to matter, and the own time agrees. */
static bool matters(judge *in, gs_step_part part, uint32_t rank)
{
    if (in->fits[part].pattern == GS_SLOW_NOT) {
        return false;
    }
    const unsigned char *where = in->is_on[part];
    double delay = (double)median_late(in, part, rank, where);
    double usual = (double)median_others(in, part, rank, where);
    if (delay <= 0.0 || delay < GS_SLOW_PART_RATIO * usual ||
        delay < GS_SLOW_STEP_RATIO * (double)in->report->step_p50) {
        return false;
    }
    size_t count = collect(in, &in->series[GS_STEP_TIME], rank, where, false);
    double own = (double)gs_slow_median(in->pile, count);
    return part == GS_STEP_TIME || own >= delay / 2.0 - slack_of(in, GS_STEP_TIME, count);
}

/* Whether a rank is far behind the next one in a part, in the steps of `where`. */
static bool is_alone(judge *in, gs_step_part part, uint32_t rank, const unsigned char *where)
{
    size_t count = collect(in, &in->series[part], rank, where, false);
    double slack = part == GS_STEP_TIME ? slack_of(in, part, count) : 0.0;
    int64_t here = gs_slow_median(in->pile, count);
    for (uint32_t r = 0; r < in->table->rank_count; r++) {
        count = r == rank ? 0 : collect(in, &in->series[part], r, where, false);
        int64_t next = gs_slow_median(in->pile, count);
        if (count > 0 && (double)(here - next) < LEAD_RATIO * (double)here - slack) {
            return false;
        }
    }
    return true;
}

/* A rank holds the others up by coming late to its collectives, after compute and input, or by a
 * slow link. How long a collective holds each rank also differs by its place in a ring and behind a
 * late neighbour, and waits make up for that: there the rank is hardly behind the next in its own
 * time, and is not blamed. */
static void clear_of_places(judge *in, uint32_t rank)
{
    bool has_before = in->has[GS_STEP_COMPUTE] || in->has[GS_STEP_INPUT];
    const unsigned char *where = in->is_on[in->passes[GS_STEP_WIRE] ? GS_STEP_WIRE : GS_STEP_TIME];
    in->may_be_network = true;
    if (in->report->basis != GS_SLOW_BY_WORK || !has_before) {
        return;
    }
    in->may_be_network = (!in->has[GS_STEP_WIRE] || is_alone(in, GS_STEP_WIRE, rank, where)) &&
                         is_alone(in, GS_STEP_TIME, rank, where);
    if (in->may_be_network) {
        return;
    }
    int64_t before = 0;
    for (int p = GS_STEP_COMPUTE; p <= GS_STEP_INPUT; p++) {
        before += in->has[p] ? median_late(in, (gs_step_part)p, rank, in->is_on[GS_STEP_TIME]) : 0;
    }
    int64_t own = median_late(in, GS_STEP_TIME, rank, in->is_on[GS_STEP_TIME]);
    in->passes[GS_STEP_WIRE] = false;
    in->passes[GS_STEP_TIME] =
        in->passes[GS_STEP_TIME] && (double)before >= LEAD_RATIO * (double)own;
}

/* The part whose pattern stands out most; GS_STEP_PARTS: none does. */
static gs_status find_part(judge *in, uint32_t rank, gs_step_part *out, gs_error *err)
{
    *out = GS_STEP_PARTS;
    for (int p = 0; p < GS_STEP_PARTS; p++) {
        gs_step_part part = (gs_step_part)p;
        in->passes[p] = false;
        if (!in->has[p]) {
            continue;
        }
        gs_slow_terms terms = terms_of(in, part);
        const double *scores = &in->series[p].scores[(size_t)rank * in->table->step_count];
        GS_TRY(gs_slow_fit_scores(scores, in->table->step_count, &terms, in->is_on[p], &in->fits[p],
                                  err));
        in->passes[p] = matters(in, part, rank);
    }
    clear_of_places(in, rank);
    for (int p = 0; p < GS_STEP_PARTS; p++) {
        if (in->passes[p] &&
            (*out == GS_STEP_PARTS || in->fits[p].excess > in->fits[*out].excess)) {
            *out = (gs_step_part)p;
        }
    }
    return GS_OK;
}

/* The cause, from how much later each part is in the late steps. */
static gs_slow_cause find_cause(const judge *in, const gs_slow_rank *rank, size_t late_count)
{
    static const gs_slow_cause CAUSES[GS_STEP_PARTS] = {
        [GS_STEP_COMPUTE] = GS_SLOW_COMPUTE,
        [GS_STEP_INPUT] = GS_SLOW_INPUT,
        [GS_STEP_WIRE] = GS_SLOW_NETWORK,
    };
    gs_step_part most = GS_STEP_PARTS;
    double sum = 0.0;
    bool any_passes =
        in->passes[GS_STEP_COMPUTE] || in->passes[GS_STEP_INPUT] || in->passes[GS_STEP_WIRE];
    for (int p = 0; p < GS_STEP_PARTS; p++) {
        double excess = (double)rank->excess[p];
        bool counts =
            p != GS_STEP_TIME && in->has[p] && excess > 0.0 &&
            (p != GS_STEP_WIRE || in->may_be_network) &&
            (any_passes ? in->passes[p] : excess > slack_of(in, (gs_step_part)p, late_count));
        if (counts) {
            sum += excess;
            most = most == GS_STEP_PARTS || rank->excess[p] > rank->excess[most] ? (gs_step_part)p
                                                                                 : most;
        }
    }
    double whole = (double)rank->excess[GS_STEP_TIME] - slack_of(in, GS_STEP_TIME, late_count);
    if (!in->may_be_network && in->has[GS_STEP_WIRE]) {
        whole = fmin(whole, sum); /* the rest is its place */
    }
    if (most == GS_STEP_PARTS || sum < CAUSE_RATIO * whole) {
        return GS_SLOW_UNKNOWN;
    }
    double share = (double)rank->excess[most];
    return share >= CAUSE_RATIO * sum && share >= CAUSE_RATIO * whole ? CAUSES[most]
                                                                      : GS_SLOW_MIXED;
}

static int64_t wait_of_others(judge *in, uint32_t rank)
{
    const gs_step_table *table = in->table;
    size_t found = 0;
    int64_t *row = in->pile + table->step_count;
    for (uint32_t s = 0; s < table->step_count; s++) {
        int64_t own = gs_step_table_get(table, GS_STEP_WAIT, rank, s);
        size_t count = 0;
        for (uint32_t r = 0; r < table->rank_count && own != GS_STEP_MISSING; r++) {
            int64_t wait = gs_step_table_get(table, GS_STEP_WAIT, r, s);
            if (r != rank && wait != GS_STEP_MISSING) {
                row[count++] = wait;
            }
        }
        if (in->is_late[s] != 0 && count > 0) {
            in->pile[found++] = gs_slow_median(row, count) - own;
        }
    }
    int64_t middle = gs_slow_median(in->pile, found);
    return found == 0 ? GS_STEP_MISSING : middle < 0 ? 0 : middle;
}

/* How much longer its own time was than the next longest: mean over all steps, 0 where not late. */
static int64_t cost_of_rank(const judge *in, uint32_t rank)
{
    const gs_slow_series *own = &in->series[GS_STEP_TIME];
    double sum = 0.0;
    for (uint32_t s = 0; s < own->step_count; s++) {
        int64_t here = own->values[(size_t)rank * own->step_count + s];
        int64_t next = -1;
        for (uint32_t r = 0; r < own->rank_count && in->is_late[s] != 0; r++) {
            int64_t value = own->values[(size_t)r * own->step_count + s];
            next = r != rank && value > next ? value : next;
        }
        sum += next >= 0 && here > next ? (double)(here - next) : 0.0;
    }
    return (int64_t)(sum / own->step_count);
}

static void describe(judge *in, uint32_t index, gs_step_part part)
{
    gs_slow_rank *out = &in->report->ranks[index];
    const gs_slow_series *series = &in->series[part];
    int64_t level = median_late(in, part, index, in->is_on[part]);
    for (uint32_t s = 0; s < series->step_count; s++) {
        int64_t late = series->late[(size_t)index * series->step_count + s];
        in->is_late[s] =
            late != GS_SLOW_NO_VALUE && in->is_on[part][s] != 0 && late >= (level + 1) / 2;
    }
    out->part = part;
    out->fit = in->fits[part];
    out->pattern = out->fit.pattern;
    size_t count = collect(in, series, index, in->is_late, false);
    out->delay_p50 = gs_slow_median(in->pile, count);
    out->delay_p95 = count == 0 ? 0 : in->pile[(count * 95 - 1) / 100];
    out->late_ratio = (double)count / (double)out->step_count;
    for (int p = 0; p < GS_STEP_PARTS; p++) {
        out->excess[p] = in->has[p] ? median_late(in, (gs_step_part)p, index, in->is_late) : 0;
    }
    out->others_wait = wait_of_others(in, index);
    out->cost = cost_of_rank(in, index);
    out->cause =
        in->report->basis == GS_SLOW_BY_TIME ? GS_SLOW_UNKNOWN : find_cause(in, out, count);
    gs_step_part of = part;
    of = out->cause == GS_SLOW_COMPUTE ? GS_STEP_COMPUTE : of;
    of = out->cause == GS_SLOW_INPUT ? GS_STEP_INPUT : of;
    of = out->cause == GS_SLOW_NETWORK ? GS_STEP_WIRE : of;
    double usual = (double)median_others(in, of, index, in->is_late);
    out->factor_ratio = usual > 0.0 ? 1.0 + (double)out->excess[of] / usual : 0.0;
}

/* What is told of every rank, slow or not. */
static void sum_up_rank(judge *in, uint32_t index)
{
    const gs_slow_series *own = &in->series[GS_STEP_TIME];
    gs_slow_rank *out = &in->report->ranks[index];
    uint32_t last = 0;
    uint32_t compared = 0;
    size_t count = 0;
    for (uint32_t s = 0; s < own->step_count; s++) {
        int64_t here = own->values[(size_t)index * own->step_count + s];
        bool is_last = true;
        for (uint32_t r = 0; r < own->rank_count; r++) {
            is_last = is_last && own->values[(size_t)r * own->step_count + s] <= here;
        }
        if (here != GS_SLOW_NO_VALUE) {
            in->pile[count++] = here;
            compared += own->late[(size_t)index * own->step_count + s] != GS_SLOW_NO_VALUE;
            last += is_last ? 1 : 0;
        }
    }
    out->rank = in->table->ranks[index];
    out->step_count = (uint32_t)count;
    out->own_p50 = gs_slow_median(in->pile, count);
    out->last_ratio = compared == 0 ? 0.0 : (double)last / (double)count;
    out->late_p50 = median_late(in, GS_STEP_TIME, index, NULL);
}

static void find_spacing(const gs_step_table *table, gs_slow_report *out, int64_t *pile)
{
    size_t count = 0;
    for (uint32_t s = 1; s < table->step_count; s++) {
        pile[count++] = table->steps[s] - table->steps[s - 1];
    }
    out->stride = count == 0 ? 1 : gs_slow_median(pile, count);
    size_t even = 0;
    for (uint32_t s = 1; s < table->step_count; s++) {
        even += table->steps[s] - table->steps[s - 1] == out->stride ? 1 : 0;
    }
    out->is_evenly_spaced = even * 20 >= count * 19;
}

static void sum_up_steps(judge *in)
{
    const gs_step_table *table = in->table;
    gs_slow_report *out = in->report;
    size_t count = 0;
    for (uint32_t s = 0; s < table->step_count; s++) {
        int64_t most = GS_STEP_MISSING;
        uint32_t present = 0;
        for (uint32_t r = 0; r < table->rank_count; r++) {
            int64_t time = gs_step_table_get(table, GS_STEP_TIME, r, s);
            most = time > most ? time : most;
            present += time != GS_STEP_MISSING;
        }
        if (most != GS_STEP_MISSING) {
            in->pile[count++] = most;
        }
        out->step_count += present >= 2 ? 1 : 0;
        out->missing_count += present >= 2 ? table->rank_count - present : 0;
    }
    out->step_p50 = gs_slow_median(in->pile, count);
}

/* How many steps it takes to name a rank that is far behind in each. */
static uint32_t least_steps(const gs_slow_terms *terms)
{
    uint32_t count = GS_SLOW_STEPS_MIN;
    while (gs_slow_highest_score(count) < gs_slow_least_mean(count, terms)) {
        count++;
    }
    return count;
}

/* How much step times vary from step to step, as a standard deviation. */
static double variation_of_steps(judge *in)
{
    const gs_slow_series *own = &in->series[GS_STEP_TIME];
    size_t count = collect(in, own, 0, NULL, true);
    int64_t middle = gs_slow_median(in->pile, count);
    for (size_t i = 0; i < count; i++) {
        in->pile[i] = llabs(in->pile[i] - middle);
    }
    return 1.4826 * (double)gs_slow_median(in->pile, count);
}

static bool is_all_equal(const gs_slow_series *own)
{
    size_t cells = (size_t)own->rank_count * own->step_count;
    for (size_t i = 0; i < cells; i++) {
        if (own->late[i] != GS_SLOW_NO_VALUE && own->late[i] != 0) {
            return false;
        }
    }
    return true;
}

static void answer(judge *in)
{
    /* Equal within this share of the step, and this share of how steps vary. */
    static const double EQUAL_RATIO = 0.002;
    static const double VARIES_RATIO = 0.25;
    gs_slow_report *out = in->report;
    const gs_slow_series *own = &in->series[GS_STEP_TIME];
    gs_slow_terms terms = terms_of(in, GS_STEP_TIME);
    double usual = out->step_count == 0 ? 0.0 : (double)median_others(in, GS_STEP_TIME, 0, NULL);
    out->least_steps = least_steps(&terms);
    out->noise_ratio = usual > 0.0 ? own->spread / usual : 0.0;
    bool equalised = out->basis == GS_SLOW_BY_TIME && out->noise_ratio < EQUAL_RATIO &&
                     own->spread < VARIES_RATIO * variation_of_steps(in);
    if (out->named_count > 0) {
        out->answer = GS_SLOW_NAMED;
    } else if (out->rank_count < 2) {
        out->answer = GS_SLOW_ONE_RANK;
    } else if (out->step_count == 0) {
        out->answer = GS_SLOW_NO_COMMON;
    } else if (equalised) {
        out->answer = GS_SLOW_EQUALISED;
    } else if (is_all_equal(own)) {
        out->answer = GS_SLOW_ALL_EQUAL;
    } else if (out->step_count < out->least_steps) {
        out->answer = GS_SLOW_FEW_STEPS;
    } else {
        out->answer = GS_SLOW_NOBODY;
    }
    if (out->answer == GS_SLOW_NAMED || out->answer == GS_SLOW_NOBODY) {
        double sure = gs_slow_least_mean(out->step_count, &terms) +
                      NINETY_FIVE * sqrt(own->inflation / out->step_count);
        double ratio = sure * out->noise_ratio;
        out->detectable_ratio = 1.0 + (ratio > GS_SLOW_PART_RATIO ? ratio : GS_SLOW_PART_RATIO);
    }
}

/* Dearest first: what fixing this rank alone would save, then how much later it was in all. */
static void put_in_order(gs_slow_report *out)
{
    for (uint32_t i = 1; i < out->named_count; i++) {
        uint32_t moved = out->named[i];
        const gs_slow_rank *rank = &out->ranks[moved];
        uint32_t at = i;
        for (; at > 0; at--) {
            const gs_slow_rank *before = &out->ranks[out->named[at - 1]];
            double here = rank->late_ratio * (double)rank->delay_p50;
            double there = before->late_ratio * (double)before->delay_p50;
            if (before->cost > rank->cost || (before->cost == rank->cost && there >= here)) {
                break;
            }
            out->named[at] = out->named[at - 1];
        }
        out->named[at] = moved;
    }
}

static gs_status judge_ranks(judge *in, gs_error *err)
{
    gs_slow_report *out = in->report;
    GS_TRY(make_series(in, err));
    find_spacing(in->table, out, in->pile);
    sum_up_steps(in);
    for (uint32_t r = 0; r < out->rank_count; r++) {
        gs_step_part part = GS_STEP_PARTS;
        sum_up_rank(in, r);
        GS_TRY(find_part(in, r, &part, err));
        if (part != GS_STEP_PARTS && out->step_count >= GS_SLOW_STEPS_MIN) {
            describe(in, r, part);
            out->named[out->named_count++] = r;
        }
    }
    put_in_order(out);
    answer(in);
    return GS_OK;
}

gs_status gs_slow_judge(const gs_step_table *table, gs_arena *arena, gs_slow_report *out,
                        gs_error *err)
{
    gs_slow_report made = {.basis = choose_basis(table), .rank_count = table->rank_count};
    made.ranks = GS_TAKE(arena, gs_slow_rank, table->rank_count);
    made.named = GS_TAKE(arena, uint32_t, table->rank_count);
    if (made.ranks == NULL || made.named == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory to judge %u ranks", table->rank_count);
    }
    judge in = {.table = table, .report = &made};
    gs_arena_init(&in.scratch);
    gs_status status = judge_ranks(&in, err);
    gs_arena_fini(&in.scratch);
    if (status == GS_OK) {
        *out = made;
    }
    return status;
}
