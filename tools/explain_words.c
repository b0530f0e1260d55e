#include "tools/explain_words.h"

#include "tools/codec_excess.h"
#include "tools/explain_ranks.h"
#include "tools/message.h"
#include "tools/recorded_step.h"
#include "tools/scenario_load.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Less than this share of a step is no limit. */
static const double MATTERS = 0.05;
/* Nor is less than this share of it worth a line. */
static const double WORTH_A_LINE = 0.01;
/* An efficiency that rounds to more than 100 %. */
static const double ABOVE_ALL = 1.005;

char *gs_explain_time(double ns, char out[GS_UNIT_TEXT_BYTES])
{
    if (!isfinite(ns)) {
        strcpy(out, "-");
        return out;
    }
    char text[GS_UNIT_TEXT_BYTES];
    gs_format_duration((gs_time_ns)llround(fabs(ns)), text);
    snprintf(out, GS_UNIT_TEXT_BYTES, "%s%.*s", ns <= -0.5 ? "-" : "", GS_UNIT_TEXT_BYTES - 2,
             text);
    return out;
}

char *gs_explain_step_text(const gs_explain *explain)
{
    const gs_measure *step = &explain->actual;
    char mean[GS_UNIT_TEXT_BYTES], compute[GS_UNIT_TEXT_BYTES], exposed[GS_UNIT_TEXT_BYTES];
    char comm[GS_UNIT_TEXT_BYTES], hidden[GS_UNIT_TEXT_BYTES], wait[GS_UNIT_TEXT_BYTES];
    char input[GS_UNIT_TEXT_BYTES], overhead[GS_UNIT_TEXT_BYTES], ideal[GS_UNIT_TEXT_BYTES];
    return gs_text(
        "step %s = compute %s + exposed comm %s (of %s, %s hidden) + wait for "
        "ranks to come to an op %s + input %s + overhead %s; ideal %s: efficiency %.1f %%",
        gs_explain_time(step->mean_ns, mean), gs_explain_time(step->compute_ns, compute),
        gs_explain_time(step->exposed_ns, exposed), gs_explain_time(step->comm_ns, comm),
        gs_explain_time(step->comm_ns - step->exposed_ns, hidden),
        gs_explain_time(step->wait_ns, wait), gs_explain_time(step->input_ns, input),
        gs_explain_time(step->overhead_ns, overhead),
        gs_explain_time(explain->ideal.mean_ns, ideal),
        100.0 * explain->ideal.mean_ns / step->mean_ns);
}

static bool is_inside(const gs_scenario *base)
{
    return gs_scenario_outer_link(base) == &base->cluster.intra;
}

/* "nic (tcp 10 Gbit/s)". */
static char *link_name(const gs_link *link, bool inside)
{
    char rate[GS_UNIT_TEXT_BYTES];
    return link->curve != NULL
               ? gs_text("%s (curve %s)", inside ? "intra" : "nic",
                         link->curve_file[0] == '\0' ? link->curve->source : link->curve_file)
               : gs_text("%s (%s %s)", inside ? "intra" : "nic",
                         gs_link_class_names[link->class_index],
                         gs_format_rate(link->bandwidth_bps, rate));
}

/* GB/s and Gbit/s, since mixing them up is the usual mistake. */
static char *both_rates(double bytes_per_ns)
{
    char rate[GS_UNIT_TEXT_BYTES];
    gs_format_rate(llround(bytes_per_ns * 8e9), rate);
    return gs_text("%.3g GB/s (%s)", bytes_per_ns, rate);
}

char *gs_explain_link_text(const gs_explain *explain)
{
    const gs_scenario *base = explain->base;
    const gs_measure *alone = &explain->communication;
    const gs_link *link = gs_scenario_outer_link(base);
    bool inside = is_inside(base);
    double bytes = inside ? explain->actual.rank_bytes : explain->actual.nic_bytes;
    if (base->ranks == 1 || bytes <= 0.0 || !(alone->mean_ns > 0.0)) {
        return gs_text("no bytes between ranks: there is no bandwidth to judge");
    }
    int64_t gradient = gs_scenario_gradient_bytes(base);
    double algorithm = (double)gradient / alone->mean_ns;
    char sent[GS_UNIT_TEXT_BYTES], time[GS_UNIT_TEXT_BYTES];
    char *name = link_name(link, inside);
    char *effective = both_rates(bytes / alone->mean_ns);
    char *nominal =
        link->curve != NULL
            ? gs_text("measured")
            : gs_text("%.0f %% of nominal, efficiency %.3g: assumed",
                      100.0 * bytes / alone->mean_ns / ((double)link->bandwidth_bps / 8e9),
                      link->efficiency);
    char *text = gs_text(
        "%s: %s per %s and step; with nothing else to do they take %s: %s effective (%s); algbw "
        "%.3g GB/s, busbw %.3g GB/s",
        name, gs_format_bytes(llround(bytes), sent), inside ? "rank" : "NIC",
        gs_explain_time(alone->mean_ns, time), effective, nominal, algorithm,
        algorithm * 2.0 * (base->ranks - 1) / base->ranks);
    free(name);
    free(effective);
    free(nominal);
    return text;
}

/* --- break-even ------------------------------------------------------------------------------- */

static char *unit_text(const gs_explain *explain)
{
    return explain->unit_ranks == 1 ? gs_text("one rank")
                                    : gs_text("one node of %u ranks", explain->unit_ranks);
}

/* "24.4 Gbit/s nominal", or of a measured curve "2.4 times the measured rate". */
static char *even_rate_text(const gs_explain *explain)
{
    const gs_link *link = gs_scenario_outer_link(explain->base);
    double bps = (double)link->bandwidth_bps * explain->even_factor;
    char rate[GS_UNIT_TEXT_BYTES];
    return link->curve != NULL
               ? gs_text("%.3g times the measured rate", explain->even_factor)
               : gs_text("%s nominal", gs_format_rate(bps < 1.0 ? 1 : llround(bps), rate));
}

char *gs_explain_even_text(const gs_explain *explain)
{
    if (!explain->has_even) {
        return gs_text("Break-even: none to find, there is one rank");
    }
    const gs_link *link = gs_scenario_outer_link(explain->base);
    bool inside = is_inside(explain->base);
    char *unit = unit_text(explain);
    char *rate = even_rate_text(explain);
    char *at = link->curve != NULL
                   ? gs_text("%s", rate)
                   : gs_text("%s (today %.3g times that)", rate, 1.0 / explain->even_factor);
    char *text;
    if (explain->even == GS_EVEN_FOUND) {
        text = gs_text("Break-even: %u ranks beat %s above %s of the %s", explain->base->ranks,
                       unit, at, inside ? "intra link" : "nic");
    } else if (explain->even == GS_EVEN_ALWAYS) {
        text = gs_text("Break-even: %u ranks beat %s at any bandwidth from %s of the %s on",
                       explain->base->ranks, unit, at, inside ? "intra link" : "nic");
    } else if (explain->even == GS_EVEN_UNKNOWN) {
        text = gs_text("Break-even: cannot be told, what is sent is smaller than what the curve of "
                       "the %s has measured",
                       inside ? "intra link" : "nic");
    } else {
        text = gs_text("Break-even: none, %u ranks do not beat %s whatever the bandwidth of the %s",
                       explain->base->ranks, unit, inside ? "intra link" : "nic");
    }
    free(unit);
    free(rate);
    free(at);
    return text;
}

/* --- the limit -------------------------------------------------------------------------------- */

static const char *const limit_keys[] = {
    [GS_LIMIT_COMPUTE] = "compute",   [GS_LIMIT_RANK] = "rank",
    [GS_LIMIT_INPUT] = "input",       [GS_LIMIT_NIC] = "link",
    [GS_LIMIT_INTRA] = "link",        [GS_LIMIT_LATENCY] = "latency",
    [GS_LIMIT_NOISE] = "noise",       [GS_LIMIT_OVERLAP] = "overlap",
    [GS_LIMIT_BLOCKING] = "blocking", [GS_LIMIT_OVERHEAD] = "overhead",
};

/* What costs most where it is taken away (or, with `added`, where it comes alone). NULL: nothing.
 */
static const gs_explain_cause *largest(const gs_explain *explain, bool added,
                                       const gs_explain_cause *except)
{
    const gs_explain_cause *found = NULL;
    double most = 0.0;
    for (uint32_t i = 0; i < explain->cause_count; i++) {
        const gs_explain_cause *cause = &explain->causes[i];
        double cost = added ? cause->added_ns : cause->removed_ns;
        if (cause != except && cost > most) {
            most = cost;
            found = cause;
        }
    }
    return found;
}

static char *rank_text(const gs_scenario *base, const gs_cause *cause)
{
    uint32_t rank = 0;
    double factor = 1.0;
    if (!gs_variant_slowest(base, &rank, &factor)) {
        return gs_text("one rank, another each time (%s)", cause->name);
    }
    return gs_text("one rank, %u on %s, which computes%s %.3g times as long as the fastest", rank,
                   gs_scenario_group_of(base, rank)->name,
                   base->workload.profile->rank_count > 1 && base->workload.layers == NULL
                       ? " or is held up by its host"
                       : "",
                   factor);
}

static char *link_text(const gs_scenario *base, bool inside)
{
    char *name = link_name(inside ? &base->cluster.intra : &base->cluster.nic, inside);
    char *text = gs_text("the link %s", name);
    free(name);
    return text;
}

static char *cause_text(const gs_scenario *base, const gs_cause *cause)
{
    switch (cause->limit) {
    case GS_LIMIT_RANK:
        return rank_text(base, cause);
    case GS_LIMIT_NIC:
    case GS_LIMIT_INTRA:
        return link_text(base, cause->limit == GS_LIMIT_INTRA);
    case GS_LIMIT_COMPUTE:
    case GS_LIMIT_INPUT:
    case GS_LIMIT_LATENCY:
    case GS_LIMIT_NOISE:
    case GS_LIMIT_OVERLAP:
    case GS_LIMIT_BLOCKING:
    case GS_LIMIT_OVERHEAD:
        break;
    }
    return gs_text("%s", cause->name);
}

static char *several_text(const gs_explain *explain, const gs_explain_cause *first)
{
    const gs_explain_cause *second = first == NULL ? NULL : largest(explain, true, first);
    char ideal[GS_UNIT_TEXT_BYTES], actual[GS_UNIT_TEXT_BYTES];
    return gs_text("%s: no single limit; a step takes %s instead of %s, and %s%s%s only help "
                   "together",
                   explain->base->name, gs_explain_time(explain->actual.mean_ns, actual),
                   gs_explain_time(explain->ideal.mean_ns, ideal),
                   first == NULL ? "the causes" : first->cause->name, second == NULL ? "" : " and ",
                   second == NULL ? "" : second->cause->name);
}

/* Samples per second of that many ranks; 0: not measured. */
static double rate_of(const gs_explain *explain, uint32_t ranks)
{
    for (uint32_t i = 0; i < explain->scale_count; i++) {
        if (explain->scales[i].ranks == ranks) {
            return explain->scales[i].samples_per_s;
        }
    }
    return 0.0;
}

/* "; one node of 4 ranks alone trains 2.2x as many samples per second, ..." where that is so. */
static char *fewer_text(const gs_explain *explain)
{
    double whole = rate_of(explain, explain->base->ranks);
    double ratio = whole > 0.0 ? rate_of(explain, explain->unit_ranks) / whole : 0.0;
    bool told = explain->even == GS_EVEN_FOUND || explain->even == GS_EVEN_NEVER;
    if (!explain->has_even || !told || ratio < 1.0 + MATTERS) {
        return gs_text("%s", "");
    }
    const char *link = is_inside(explain->base) ? "intra link" : "nic";
    char *unit = unit_text(explain);
    char *at = even_rate_text(explain);
    char *text = explain->even == GS_EVEN_NEVER
                     ? gs_text("; %s alone trains %.3gx as many samples per second, and no "
                               "bandwidth of the %s changes that",
                               unit, ratio, link)
                     : gs_text("; %s alone trains %.3gx as many samples per second, more pay "
                               "above %s of the %s",
                               unit, ratio, at, link);
    free(unit);
    free(at);
    return text;
}

static char *limit_text(const gs_explain *explain, const char **out_key)
{
    double step = explain->actual.mean_ns;
    const gs_explain_cause *most = largest(explain, false, NULL);
    char actual[GS_UNIT_TEXT_BYTES], other[GS_UNIT_TEXT_BYTES];
    gs_explain_time(step, actual);
    if (most != NULL && most->removed_ns >= MATTERS * step) {
        *out_key = limit_keys[most->cause->limit];
        char *what = cause_text(explain->base, most->cause);
        char *text = gs_text(
            "%s: the limit is %s: a step would take %s instead of %s if %s", explain->base->name,
            what, gs_explain_time(step - most->removed_ns, other), actual, most->cause->without);
        free(what);
        return text;
    }
    if (step - explain->ideal.mean_ns >= 2.0 * MATTERS * step) {
        *out_key = "several";
        return several_text(explain, largest(explain, true, NULL));
    }
    *out_key = "compute";
    return gs_text("%s: the limit is compute: %s of a step's %s; nothing else costs %.0f %% of it",
                   explain->base->name, gs_explain_time(explain->ideal.mean_ns, other), actual,
                   100.0 * MATTERS);
}

char *gs_explain_limit_text(const gs_explain *explain, const char **out_key)
{
    char *limit = limit_text(explain, out_key);
    char *fewer = fewer_text(explain);
    char *text = gs_text("%s%s", limit, fewer);
    free(limit);
    free(fewer);
    return text;
}

/* --- the wait -------------------------------------------------------------------------------- */

typedef void sayer(void *context, const char *text);

__attribute__((format(printf, 3, 4))) static void sayf(sayer *say, void *context,
                                                       const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    say(context, text);
}

/* Ranks are alike and nothing varies: nobody is late because of what it computes. */
static bool ranks_are_alike(const gs_explain *explain)
{
    for (uint32_t i = 0; i < explain->cause_count; i++) {
        const gs_cause *cause = explain->causes[i].cause;
        if (cause->limit == GS_LIMIT_RANK || cause->limit == GS_LIMIT_NOISE) {
            return false;
        }
    }
    return explain->base->workload.input.time_ns == 0;
}

static void remark_wait(const gs_explain *explain, sayer *say, void *context)
{
    const gs_measure *step = &explain->actual;
    if (step->wait_ns < WORTH_A_LINE * step->mean_ns || !ranks_are_alike(explain)) {
        return;
    }
    char wait[GS_UNIT_TEXT_BYTES];
    gs_explain_time(step->wait_ns, wait);
    sayf(say, context,
         "No rank is late: ranks leave an op at different times and meet again at the next; the "
         "wait of %s is this skew of the network, and is part of what bandwidth and latency cost.",
         wait);
}

/* --- what cannot be told ---------------------------------------------------------------------- */

static bool varies_slowly(const gs_scenario *base)
{
    int kind = base->noise.straggler.kind;
    return kind == GS_STRAGGLER_DRIFT || kind == GS_STRAGGLER_MARKOV ||
           kind == GS_STRAGGLER_THROTTLE || base->cluster.nic.trace.point_count > 0 ||
           base->cluster.intra.trace.point_count > 0;
}

static int64_t passes(const gs_scenario *base, const gs_measure *step)
{
    return llround(step->samples_per_step / ((double)base->workload.batch_per_rank * base->ranks));
}

/* How the simulator timed the collectives of a step. */
static void remark_modes(const gs_explain *explain, sayer *say, void *context)
{
    static const char *const words[GS_OP_MODE_COUNT] = {[GS_OP_MESSAGE] = "message by message",
                                                        [GS_OP_DATAFLOW] = "by their dataflow",
                                                        [GS_OP_RING] = "by the ring's recurrence",
                                                        [GS_OP_CLOSED] = "in closed form",
                                                        [GS_OP_SURROGATE] = "by the surrogate"};
    const gs_measure *step = &explain->actual;
    char text[256] = "";
    size_t used = 0;
    for (int mode = 0; mode < GS_OP_MODE_COUNT; mode++) {
        if (step->ops[mode] > 0.0 && used < sizeof text) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%.3g %s",
                                     used > 0 ? ", " : "", step->ops[mode], words[mode]);
        }
    }
    if (used > 0) {
        char returned[64] = "";
        if (step->ops_returned > 0.0) {
            snprintf(returned, sizeof returned, "; %.3g of those by message were begun as a whole",
                     step->ops_returned);
        }
        sayf(say, context, "Collectives of a step were timed %s%s.", text, returned);
    }
}

static void remark_causes(const gs_explain *explain, sayer *say, void *context)
{
    const gs_scenario *base = explain->base;
    if (base->ranks == 1) {
        say(context, "One rank: nothing is sent and nobody waits; what is told is compute, input "
                     "and noise.");
    }
    if (gs_scenario_outer_link(base)->curve != NULL && base->ranks > 1) {
        bool is_modelled = gs_scenario_outer_link(base)->curve_file[0] == '\0';
        say(context,
            is_modelled
                ? "The link is a modelled curve: its least time is taken for latency and what lies "
                  "above it for bytes, which is an assumption. It was made for this rank count, so "
                  "other counts cannot be told."
                : "The link is a measured curve: its least time is taken for latency and what lies "
                  "above it for bytes, which is an assumption. It was measured on this rank count, "
                  "so other counts cannot be told.");
    }
    if (explain->actual.outside_curve) {
        say(context, "Outside the calibrated range: sizes that the curve has not measured are "
                     "extrapolated.");
    }
    for (uint32_t i = 0; i < explain->cause_count; i++) {
        if (explain->causes[i].cause->limit == GS_LIMIT_BLOCKING) {
            say(context, "Blocking ops of the profile take the time they were recorded with: a "
                         "faster link, more ranks or fp16 do not change it here.");
        }
    }
}

/* Scaling is measured by the first rank alone: others may be faster. */
static void remark_efficiency(const gs_explain *explain, sayer *say, void *context)
{
    double most = 0.0;
    uint32_t slowest = 0;
    double factor = 1.0;
    for (uint32_t i = 0; i < explain->scale_count; i++) {
        most = explain->scales[i].efficiency > most ? explain->scales[i].efficiency : most;
    }
    if (most > ABOVE_ALL && gs_variant_slowest(explain->base, &slowest, &factor)) {
        sayf(say, context,
             "Efficiency is samples a second over those of rank 0 alone, times ranks: above 100 %% "
             "where others compute faster than that one (the slowest rank takes %.2f times as long "
             "as the fastest).",
             factor);
    }
}

static void remark_codec(const gs_scenario *base, sayer *say, void *context)
{
    char *text = gs_codec_excess_text(base, &base->strategies[0]);
    if (text != NULL) {
        sayf(say, context, "%s.", text);
    }
    free(text);
}

void gs_explain_remarks(const gs_explain *explain, sayer *say, void *context)
{
    const gs_scenario *base = explain->base;
    remark_wait(explain, say, context);
    remark_causes(explain, say, context);
    remark_modes(explain, say, context);
    remark_codec(base, say, context);
    if (base->ranks > 1 && passes(base, &explain->actual) == 1) {
        say(context, "Gradients travel after every pass; accumulation sends them once for several "
                     "(PyTorch: no_sync).");
    }
    if (varies_slowly(base)) {
        char seen[GS_UNIT_TEXT_BYTES];
        gs_explain_time(explain->actual.mean_ns * (double)explain->steps, seen);
        sayf(say, context,
             "Some noise changes slowly: %s of simulated time a seed may not show all of it.",
             seen);
    }
    if (explain->scale_left_out > 0) {
        sayf(say, context, "%u ranks and more would take too long to simulate here.",
             explain->scale_left_out);
    }
    if (base->noise.straggler.kind != GS_STRAGGLER_NONE && base->noise.straggler.rank >= 0) {
        sayf(say, context,
             "Rank %lld straggles: it is in the rows of today's ranks and more, fewer ranks do "
             "without it.",
             (long long)base->noise.straggler.rank);
    }
    char *recorded = gs_recorded_step_text(base, 0, explain->actual.mean_ns);
    if (recorded != NULL) {
        say(context, recorded);
    }
    free(recorded);
    remark_efficiency(explain, say, context);
    if (explain->scale_count > 0) {
        say(context, "Scaling keeps the batch of a rank; rows beyond the scenario's own ranks "
                     "repeat its nodes on the same kind of network, which is extrapolated.");
    }
}
