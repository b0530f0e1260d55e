#include "tools/slow_page.h"

#include "base/assert.h"
#include "tools/message.h"
#include "traces/slow_rank.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCE_BYTES = 640, VALUE_BYTES = GS_UNIT_TEXT_BYTES + 8 };

typedef struct filler {
    gs_page *page;
    const gs_imported *imported;
    const gs_step_table *table;
    gs_slow_report report;
} filler;

/* A text that grows; what does not fit is cut. */
typedef struct sentence {
    char text[SENTENCE_BYTES];
    size_t used;
} sentence;

static void say(sentence *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(sentence *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(out->text + out->used, sizeof out->text - out->used, format, arguments);
    va_end(arguments);
    out->used += written > 0 ? (size_t)written : 0;
    out->used = out->used < sizeof out->text ? out->used : sizeof out->text - 1;
}

/* A value of the table with its unit, where it has one. */
static char *format_value(const gs_step_table *table, int64_t value, bool sign,
                          char out[VALUE_BYTES])
{
    char text[GS_UNIT_TEXT_BYTES];
    if (table->is_relative) {
        snprintf(text, sizeof text, "%.4g", (double)llabs(value) / 1000.0);
    } else {
        gs_format_duration(llabs(value), text);
    }
    snprintf(out, VALUE_BYTES, "%s%s", value < 0 ? "-" : sign ? "+" : "", text);
    return out;
}

/* "90 %", and "2.5 %" below ten. */
static char *format_share(double ratio, char out[VALUE_BYTES])
{
    snprintf(out, VALUE_BYTES, ratio < 0.0995 && ratio > 0.0 ? "%.1f %%" : "%.0f %%",
             100.0 * ratio);
    return out;
}

/* --- the table ------------------------------------------------------------------------------- */

static void add_value(filler *in, int64_t value, bool sign, bool known)
{
    char shown[VALUE_BYTES] = "";
    char exact[VALUE_BYTES] = "";
    if (known) {
        format_value(in->table, value, sign, shown);
        if (in->table->is_relative) {
            snprintf(exact, sizeof exact, "%.3f", (double)value / 1000.0);
        } else {
            snprintf(exact, sizeof exact, "%" PRId64, value);
        }
    }
    gs_table_add(&in->page->table, shown, exact);
}

static void add_share(filler *in, double ratio, bool known)
{
    char shown[VALUE_BYTES] = "";
    char exact[VALUE_BYTES] = "";
    if (known) {
        format_share(ratio, shown);
        snprintf(exact, sizeof exact, "%.6g", ratio);
    }
    gs_table_add(&in->page->table, shown, exact);
}

static void add_columns(gs_table *table, bool relative, bool arrivals)
{
    const gs_table_column columns[] = {
        {"rank", "rank", true},
        {"steps", "steps", true},
        {"own time", relative ? "own_p50" : "own_p50_ns", true},
        {"vs others", relative ? "late_p50" : "late_p50_ns", true},
        {"last in", "last_ratio", true},
        {"late in", "late_ratio", true},
        {"by p50", relative ? "delay_p50" : "delay_p50_ns", true},
        {"by p95", relative ? "delay_p95" : "delay_p95_ns", true},
        {"others wait", relative ? "others_wait" : "others_wait_ns", true},
        {"costs a step", relative ? "cost_mean" : "cost_mean_ns", true},
        {"when", "pattern", false},
        {"cause", "cause", false},
        {"arrives", "arrival_ns", true},
    };
    size_t count = sizeof columns / sizeof *columns - (arrivals ? 0 : 1);
    for (size_t c = 0; c < count; c++) {
        gs_table_add_column(table, columns[c]);
    }
}

static void add_rows(filler *in)
{
    gs_table *table = &in->page->table;
    const gs_clock_alignment *clocks = in->table->clocks;
    bool arrivals = clocks != NULL && clocks->is_aligned;
    add_columns(table, in->table->is_relative, arrivals);
    for (uint32_t r = 0; r < in->report.rank_count; r++) {
        const gs_slow_rank *rank = &in->report.ranks[r];
        bool named = rank->pattern != GS_SLOW_NOT;
        bool compared = in->report.step_count > 0 && in->report.rank_count > 1;
        char number[24];
        snprintf(number, sizeof number, "%" PRId32, rank->rank);
        gs_table_add(table, number, NULL);
        snprintf(number, sizeof number, "%" PRIu32, rank->step_count);
        gs_table_add(table, number, NULL);
        add_value(in, rank->own_p50, false, rank->step_count > 0);
        add_value(in, rank->late_p50, true, compared);
        add_share(in, rank->last_ratio, compared);
        add_share(in, rank->late_ratio, named);
        add_value(in, rank->delay_p50, true, named);
        add_value(in, rank->delay_p95, true, named);
        add_value(in, rank->others_wait, false, named && rank->others_wait != GS_STEP_MISSING);
        add_value(in, rank->cost, false, named);
        gs_table_add(table, named ? gs_slow_pattern_name(rank->pattern) : "", NULL);
        gs_table_add(table, named ? gs_slow_cause_name(rank->cause) : "", NULL);
        if (arrivals) {
            add_value(in, clocks->late_ns[r], true, true);
        }
    }
}

/* --- the sentences --------------------------------------------------------------------------- */

static int64_t step_at(const filler *in, uint32_t index)
{
    return in->table->steps[index];
}

/* "rank 5 is late in 91 % of steps": when, in words. */
static void say_when(const filler *in, const gs_slow_rank *rank, sentence *out)
{
    char share[VALUE_BYTES];
    format_share(rank->late_ratio, share);
    int64_t first = step_at(in, rank->fit.first);
    int64_t last = step_at(in, rank->fit.last);
    say(out, "rank %" PRId32 " is late ", rank->rank);
    switch (rank->pattern) {
    case GS_SLOW_ALWAYS:
        say(out, "in %s of steps", share);
        break;
    case GS_SLOW_SINCE:
        say(out, "from step %" PRId64 " on (%s of all steps)", first, share);
        break;
    case GS_SLOW_ONCE:
        say(out, "for a while, steps %" PRId64 " to %" PRId64 " (%s of all steps)", first, last,
            share);
        break;
    case GS_SLOW_PERIODIC:
        say(out, "every %" PRId64 " steps (%s of all steps)",
            (int64_t)rank->fit.period * in->report.stride, share);
        break;
    case GS_SLOW_BURSTS:
        if (rank->fit.stretches > 0) {
            say(out,
                "in %" PRIu32 " bursts between steps %" PRId64 " and %" PRId64 " (%s of all steps)",
                rank->fit.stretches, first, last, share);
        } else {
            say(out, "in single steps without a period (%s of all steps)", share);
        }
        break;
    case GS_SLOW_NOT:
    case GS_SLOW_PATTERNS:
        break;
    }
}

static void say_mixed(const filler *in, const gs_slow_rank *rank, sentence *out)
{
    char value[VALUE_BYTES];
    bool comma = false;
    say(out, "mixed");
    for (int p = GS_STEP_COMPUTE; p < GS_STEP_PARTS; p++) {
        if (rank->excess[p] > 0) {
            const char *name = p == GS_STEP_WIRE ? "network" : gs_step_part_name((gs_step_part)p);
            say(out, "%s %s %s", comma ? "," : ":", name,
                format_value(in->table, rank->excess[p], true, value));
            comma = true;
        }
    }
}

static void say_cause(const filler *in, const gs_slow_rank *rank, sentence *out)
{
    say(out, ". Cause: ");
    if (rank->cause == GS_SLOW_UNKNOWN && in->report.basis == GS_SLOW_BY_TIME) {
        say(out, "cannot tell, only whole steps are recorded");
    } else if (rank->cause == GS_SLOW_UNKNOWN) {
        say(out, "cannot tell, no recorded part grows with the delay");
    } else if (rank->cause == GS_SLOW_MIXED) {
        say_mixed(in, rank, out);
    } else {
        say(out, "%s", gs_slow_cause_name(rank->cause));
        if (rank->factor_ratio > 0.0) {
            say(out, " (x%.2f)", rank->factor_ratio);
        }
        bool network = rank->cause == GS_SLOW_NETWORK;
        if (in->table->parts[network ? GS_STEP_COMPUTE : GS_STEP_WIRE] != NULL) {
            say(out, ", not %s", network ? "compute" : "network");
        }
    }
    say(out, ".");
}

static void say_rank(const filler *in, const gs_slow_rank *rank, sentence *out)
{
    char value[VALUE_BYTES];
    char tail[VALUE_BYTES];
    say_when(in, rank, out);
    say(out, ", median %s (p95 %s)", format_value(in->table, rank->delay_p50, true, value),
        format_value(in->table, rank->delay_p95, true, tail));
    if (rank->cause == GS_SLOW_UNKNOWN && rank->factor_ratio > 0.0) {
        say(out, ", x%.2f", rank->factor_ratio);
    }
    if (rank->others_wait != GS_STEP_MISSING) {
        say(out, "; others wait %s for it",
            format_value(in->table, rank->others_wait, false, value));
    } else {
        say(out, "; it is behind the next slowest by %s a step on average",
            format_value(in->table, rank->cost, false, value));
    }
    say_cause(in, rank, out);
}

/* The rank that was last most often, for sets too small for a judgement. */
static const gs_slow_rank *most_often_last(const gs_slow_report *report)
{
    const gs_slow_rank *best = &report->ranks[0];
    for (uint32_t r = 1; r < report->rank_count; r++) {
        const gs_slow_rank *rank = &report->ranks[r];
        if (rank->last_ratio > best->last_ratio ||
            (rank->last_ratio == best->last_ratio && rank->late_p50 > best->late_p50)) {
            best = rank;
        }
    }
    return best;
}

/* Ranks that were nearly as late: at least half as far behind the median of the others. */
static void say_close(const filler *in, const gs_slow_rank *last, sentence *out)
{
    enum { NAMED_MAX = 4 };
    const gs_slow_report *report = &in->report;
    char value[VALUE_BYTES];
    sentence names = {.used = 0};
    uint32_t count = 0;
    int64_t lead = INT64_MAX;
    int64_t within = 0;
    for (uint32_t r = 0; r < report->rank_count; r++) {
        const gs_slow_rank *rank = &report->ranks[r];
        int64_t behind = last->own_p50 - rank->own_p50;
        if (rank == last || behind < 0 || rank->late_p50 < last->late_p50 / 2) {
            continue;
        }
        lead = behind < lead ? behind : lead;
        within = behind > within ? behind : within;
        if (count++ < NAMED_MAX) {
            say(&names, "%s%" PRId32, count > 1 ? ", " : "", rank->rank);
        }
    }
    if (count == 0 || last->late_p50 <= 0) {
        return;
    }
    say(out, "; rank%s %s%s %s within %s of it", count > 1 ? "s" : "", names.text,
        count > NAMED_MAX ? " and others" : "", count > 1 ? "are" : "is",
        format_value(in->table, within, false, value));
    say(out, ", and a lead of %s", format_value(in->table, lead, false, value));
    if (report->step_count == 1) {
        say(out, " in one step proves nothing");
    } else {
        say(out, " in %" PRIu32 " steps proves nothing", report->step_count);
    }
}

static void say_few_steps(const filler *in, sentence *out)
{
    const gs_slow_report *report = &in->report;
    const gs_slow_rank *last = most_often_last(report);
    char value[VALUE_BYTES];
    char share[VALUE_BYTES];
    format_value(in->table, last->late_p50, true, value);
    if (report->step_count == 1) {
        say(out,
            "rank %" PRId32 " was last in the one step that was recorded, %s against the "
            "median of the others",
            last->rank, value);
    } else {
        say(out, "rank %" PRId32 " was last in %s of %" PRIu32 " steps, median %s", last->rank,
            format_share(last->last_ratio, share), report->step_count, value);
    }
    say_close(in, last, out);
    say(out, "; whether it always is cannot be told below %" PRIu32 " steps.", report->least_steps);
}

static void say_nobody(const filler *in, sentence *out)
{
    const gs_slow_report *report = &in->report;
    char noise[VALUE_BYTES];
    say(out,
        "no rank stands out: %" PRIu32 " ranks in %" PRIu32 " steps, whose lateness varies by "
        "%s of a step. A rank slower by x%.2f in every step would have been named.",
        report->rank_count, report->step_count, format_share(report->noise_ratio, noise),
        report->detectable_ratio);
}

static void say_answer(const filler *in, sentence *out)
{
    const gs_slow_report *report = &in->report;
    char value[VALUE_BYTES];
    switch (report->answer) {
    case GS_SLOW_NAMED:
        say_rank(in, &report->ranks[report->named[0]], out);
        break;
    case GS_SLOW_NOBODY:
        say_nobody(in, out);
        break;
    case GS_SLOW_ONE_RANK:
        say(out,
            "only rank %" PRId32 " is here (median step of %" PRIu32 ": %s): who is late cannot "
            "be told from one rank; give the other ranks too.",
            report->ranks[0].rank, report->ranks[0].step_count,
            format_value(in->table, report->step_p50, false, value));
        break;
    case GS_SLOW_NO_COMMON:
        say(out, "no step is on two ranks: they cannot be compared; record the same steps on every "
                 "rank.");
        break;
    case GS_SLOW_FEW_STEPS:
        say_few_steps(in, out);
        break;
    case GS_SLOW_ALL_EQUAL:
        say(out, "all ranks take exactly the same time in every step: nobody is late, or the times "
                 "were not taken rank by rank.");
        break;
    case GS_SLOW_EQUALISED:
        say(out, "steps are equally long on all ranks and vary from step to step: a collective "
                 "makes them equal, so that whole steps do not show who is late; record compute "
                 "and wait by rank, or give profiler traces.");
        break;
    }
}

/* --- remarks --------------------------------------------------------------------------------- */

static void remark_clocks(filler *in)
{
    const gs_clock_alignment *clocks = in->table->clocks;
    char apart[GS_UNIT_TEXT_BYTES];
    char stray[GS_UNIT_TEXT_BYTES];
    if (clocks == NULL) {
        return;
    }
    if (clocks->op_count == 0) {
        gs_page_note(in->page, "note: no collectives in common: clocks cannot be aligned, arrivals "
                               "cannot be compared; durations are");
        return;
    }
    gs_format_duration(clocks->apart_ns, apart);
    gs_format_duration(clocks->stray_ns, stray);
    if (clocks->is_aligned) {
        gs_page_note(in->page,
                     "note: clocks, up to %s apart, are aligned on the ends of %" PRIu32
                     " matched collectives; these agree within %s",
                     apart, clocks->op_count, stray);
    } else {
        gs_page_note(in->page,
                     "note: clocks cannot be aligned: ends of %" PRIu32
                     " matched collectives stray by %s; durations are compared, arrivals are not",
                     clocks->op_count, stray);
    }
}

static void remark(filler *in)
{
    const gs_slow_report *report = &in->report;
    for (uint32_t i = 0; i < in->imported->note_count; i++) {
        gs_page_note(in->page, "note: %s", in->imported->notes[i]);
    }
    remark_clocks(in);
    if (report->rank_count < 2 || report->step_count == 0) {
        return;
    }
    if (report->basis == GS_SLOW_BY_PARTS) {
        gs_page_note(in->page, "note: waits are not recorded: ranks are judged by the parts that "
                               "are; what is in none of them goes unseen");
    }
    if (!report->is_evenly_spaced) {
        gs_page_note(in->page, "note: steps are not evenly spaced: a period cannot be told");
    }
    if (report->answer == GS_SLOW_NAMED) {
        gs_page_note(in->page,
                     "note: a rank slower by less than x%.2f in every step may go unnamed",
                     report->detectable_ratio);
    }
}

static void add_facts(filler *in)
{
    static const char *const BASES[] = {
        [GS_SLOW_BY_WORK] = "own time: the step without the wait for others",
        [GS_SLOW_BY_PARTS] = "own time: the parts that are recorded",
        [GS_SLOW_BY_TIME] = "whole steps, which hold the waits"};
    const gs_slow_report *report = &in->report;
    char text[128];
    snprintf(text, sizeof text, "%" PRIu32 " rank%s, %" PRIu32 " step%s to compare",
             report->rank_count, report->rank_count == 1 ? "" : "s", report->step_count,
             report->step_count == 1 ? "" : "s");
    gs_page_fact(in->page, "format", "format", in->imported->format, NULL);
    gs_page_fact(in->page, "set", "set", text, NULL);
    gs_page_fact(in->page, "judged_by", "judged by", BASES[report->basis], NULL);
}

static void set(filler *in, const char *key, gs_json *value)
{
    static char done;
    gs_need(gs_json_set(in->page->document, key, value) ? &done : NULL);
}

static void add_answers(filler *in)
{
    static const char *const ANSWERS[] = {
        [GS_SLOW_NAMED] = "named",         [GS_SLOW_NOBODY] = "nobody",
        [GS_SLOW_ONE_RANK] = "one_rank",   [GS_SLOW_NO_COMMON] = "no_common_step",
        [GS_SLOW_FEW_STEPS] = "few_steps", [GS_SLOW_ALL_EQUAL] = "all_equal",
        [GS_SLOW_EQUALISED] = "equalised"};
    const gs_slow_report *report = &in->report;
    gs_json *named = gs_need(gs_json_new_list());
    sentence first = {.used = 0};
    say_answer(in, &first);
    gs_page_note(in->page, "%s", first.text);
    for (uint32_t i = 0; i < report->named_count; i++) {
        const gs_slow_rank *rank = &report->ranks[report->named[i]];
        gs_need(gs_json_add(named, gs_json_new_int(rank->rank)) ? named : NULL);
        sentence also = {.used = 0};
        if (i > 0) {
            say(&also, "also: ");
            say_rank(in, rank, &also);
            gs_page_note(in->page, "%s", also.text);
        }
    }
    set(in, "answer", gs_json_new_text(first.text));
    set(in, "verdict", gs_json_new_text(ANSWERS[report->answer]));
    set(in, "named_ranks", named);
    set(in, "detectable_ratio",
        report->detectable_ratio > 0.0 ? gs_json_new_real(report->detectable_ratio)
                                       : gs_json_new_null());
}

gs_status gs_slow_page_fill(gs_page *page, const gs_imported *imported, gs_error *err)
{
    filler in = {.page = page, .imported = imported, .table = imported->step_table};
    gs_arena arena;
    gs_arena_init(&arena);
    gs_status status = gs_slow_judge(in.table, &arena, &in.report, err);
    if (status == GS_OK) {
        add_facts(&in);
        add_rows(&in);
        remark(&in);
        add_answers(&in);
    }
    gs_arena_fini(&arena);
    return status;
}
