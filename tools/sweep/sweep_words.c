#include "tools/sweep/sweep_words.h"

#include "tools/message.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KNEES_TOLD_MAX = 12, WINNERS_TOLD_MAX = 4 };

const char *gs_sweep_objective_title(gs_sweep_objective objective)
{
    static const char *const titles[] = {"time per sample", "time to target", "final loss"};
    return titles[objective];
}

const char *gs_sweep_objective_name(gs_sweep_objective objective)
{
    static const char *const names[] = {"sample_ns", "time_to_target_ns", "final_loss_mean"};
    return names[objective];
}

static const char *last_word(const char *key)
{
    const char *dot = strrchr(key, '.');
    return dot == NULL ? key : dot + 1;
}

const char *gs_sweep_short_key(const gs_dimensions *dimensions, uint32_t index)
{
    const char *key = dimensions->list[index].key;
    for (uint32_t i = 0; i < dimensions->count; i++) {
        if (i != index && strcmp(last_word(dimensions->list[i].key), last_word(key)) == 0) {
            return key;
        }
    }
    return last_word(key);
}

char *gs_sweep_shape(const gs_sweep *sweep)
{
    const gs_dimensions *dimensions = &sweep->grid.dimensions;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = gs_need(open_memstream(&text, &bytes));
    for (uint32_t i = 0; i < dimensions->count; i++) {
        if (dimensions->list[i].count > 1) {
            fprintf(out, "%s%" PRIu32 " %s", ftell(out) == 0 ? "" : " x ",
                    dimensions->list[i].count, gs_sweep_short_key(dimensions, i));
        }
    }
    fprintf(out, "%s%" PRIu32 " point%s, %" PRIu32 " seed%s each", ftell(out) == 0 ? "" : ": ",
            sweep->grid.count, sweep->grid.count == 1 ? "" : "s", sweep->seeds,
            sweep->seeds == 1 ? "" : "s");
    if (sweep->shards > 1) {
        fprintf(out, "; shard %" PRIu32 " of %" PRIu32, sweep->shard + 1, sweep->shards);
    }
    fclose(out);
    return gs_need(text);
}

char *gs_sweep_others(const gs_sweep *sweep, uint32_t point, uint32_t dimension)
{
    const gs_dimensions *dimensions = &sweep->grid.dimensions;
    const gs_sweep_point *at = &sweep->grid.points[point];
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = gs_need(open_memstream(&text, &bytes));
    for (uint32_t i = 0; i < dimensions->count; i++) {
        const gs_dimension *one = &dimensions->list[i];
        bool is_strategy = one->kind == GS_DIMENSION_STRATEGY;
        bool in_label = dimension == GS_NO_VALUE && one->kind == GS_DIMENSION_PARAMETER;
        if (i == dimension || at->values[i] == GS_NO_VALUE || in_label ||
            (one->count == 1 && !is_strategy)) {
            continue;
        }
        const char *gap = ftell(out) == 0 ? "" : ", ";
        if (is_strategy) {
            bool is_whole = dimension == GS_NO_VALUE;
            fprintf(out, "%s%s", gap,
                    is_whole ? sweep->points[point].label : one->values[at->values[i]].text);
        } else {
            fprintf(out, "%s%s=%s", gap, gs_sweep_short_key(dimensions, i),
                    one->values[at->values[i]].text);
        }
    }
    fclose(out);
    return gs_need(text);
}

/* A number of a dimension as people write it: "12.3 Gbit/s". Returns out. */
static char *number_text(const gs_dimension *dimension, double number, char out[GS_UNIT_TEXT_BYTES])
{
    if (strcmp(dimension->unit, "ns") == 0) {
        return gs_format_duration((gs_time_ns)llround(number), out);
    }
    if (strcmp(dimension->unit, "bytes") == 0) {
        return gs_format_bytes(llround(number), out);
    }
    if (strcmp(dimension->unit, "bit/s") == 0) {
        return gs_format_rate(llround(number), out);
    }
    (void)snprintf(out, GS_UNIT_TEXT_BYTES, "%.3g", number);
    return out;
}

/* --- notes ------------------------------------------------------------------------------------ */

/* "as bandwidth^-0.98", "by -12 % a year", "hardly at all". */
static void put_slope(const gs_dimension *dimension, const char *key, double slope, FILE *out)
{
    if (fabs(slope) < 0.02) {
        fprintf(out, "hardly at all");
    } else if (dimension->kind == GS_DIMENSION_YEARS) {
        fprintf(out, "by %+.0f %% a year", 100.0 * expm1(slope));
    } else {
        fprintf(out, "as %s^%.2f", key, slope);
    }
}

static void tell_knee(const gs_sweep *sweep, const gs_sweep_knee *one, gs_page *page)
{
    const gs_dimension *dimension = &sweep->grid.dimensions.list[one->dimension];
    char at[GS_UNIT_TEXT_BYTES];
    char low[GS_UNIT_TEXT_BYTES];
    char high[GS_UNIT_TEXT_BYTES];
    char *others = gs_sweep_others(sweep, one->point, one->dimension);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = gs_need(open_memstream(&text, &bytes));
    const char *key = gs_sweep_short_key(&sweep->grid.dimensions, one->dimension);
    fprintf(out, "Knee at %s = %s [%s, %s]%s%s: %s changes ", key,
            number_text(dimension, one->knee.at, at), number_text(dimension, one->knee.low, low),
            number_text(dimension, one->knee.high, high), others[0] == '\0' ? "" : " of ", others,
            gs_sweep_objective_title(sweep->objective));
    put_slope(dimension, key, one->knee.before, out);
    fputs(" below, ", out);
    put_slope(dimension, key, one->knee.after, out);
    fputs(" above.", out);
    fclose(out);
    gs_need(text);
    gs_page_note(page, "%s", text);
    free(text);
    free(others);
}

static void tell_marks(const gs_sweep_verdict *verdict, const gs_sweep *sweep, gs_page *page)
{
    bool has_tie = false;
    for (uint32_t p = 0; p < sweep->grid.count; p++) {
        has_tie = has_tie || verdict->marks[p] == GS_MARK_TIE;
    }
    gs_page_note(page, "* best of its group%s%s%s%s.",
                 has_tie ? "; ~ tie: the 95 % interval of the ratio to the best contains 1" : "",
                 verdict->pruned > 0 ? "; - pruned" : "",
                 verdict->refused + verdict->missed > 0 ? "; x refused, or no run has a value" : "",
                 verdict->unknown > 0 ? "; ? not all runs are known" : "");
}

/* --- the answer ------------------------------------------------------------------------------- */

/* A strategy that is best in some groups, or the simplest of those that tie there. */
typedef struct winner {
    const char *label;
    uint32_t groups, first;
    uint32_t tied; /* of the groups: where others are as good */
} winner;

static int by_groups(const void *left, const void *right)
{
    const winner *a = left;
    const winner *b = right;
    if (a->groups != b->groups) {
        return a->groups > b->groups ? -1 : 1;
    }
    return (a->first > b->first) - (a->first < b->first);
}

static uint32_t find_winners(const gs_sweep *sweep, const gs_sweep_verdict *verdict, winner *list)
{
    uint32_t count = 0;
    for (uint32_t g = 0; g < sweep->grid.group_count; g++) {
        if (verdict->best[g] == GS_NO_VALUE) {
            continue;
        }
        const char *label = sweep->points[verdict->preferred[g]].label;
        uint32_t i = 0;
        while (i < count && strcmp(list[i].label, label) != 0) {
            i++;
        }
        if (i == count) {
            list[count++] = (winner){.label = label, .first = g};
        }
        list[i].groups++;
        list[i].tied += verdict->ties[g] > 0 ? 1 : 0;
    }
    qsort(list, count, sizeof *list, by_groups);
    return count;
}

/* Are there points of one group to choose from? */
static bool has_choice(const gs_sweep *sweep)
{
    return sweep->grid.count > sweep->grid.group_count;
}

static void put_winners(const gs_sweep *sweep, const gs_sweep_verdict *verdict, FILE *out)
{
    winner *list = gs_need(calloc((size_t)sweep->grid.group_count + 1, sizeof *list));
    uint32_t count = find_winners(sweep, verdict, list);
    if (count == 0) {
        fputs("no point has a value", out);
    }
    for (uint32_t i = 0; i < count && i < WINNERS_TOLD_MAX; i++) {
        fprintf(out, "%s%s is best in %" PRIu32 " of %" PRIu32, i == 0 ? "" : ", ", list[i].label,
                list[i].groups, sweep->grid.group_count);
        if (list[i].tied > 0) {
            fprintf(out, " (%" PRIu32 " a tie, of which it is the simplest)", list[i].tied);
        }
    }
    if (count > WINNERS_TOLD_MAX) {
        fprintf(out, ", others in the rest");
    }
    free(list);
}

static void put_score(const gs_sweep *sweep, double score, FILE *out)
{
    char text[GS_UNIT_TEXT_BYTES];
    if (sweep->objective == GS_SWEEP_LOSS) {
        fprintf(out, "%.4g", score);
    } else {
        fputs(gs_format_duration(gs_time_of(score), text), out);
    }
}

/* Of one group with a choice: its best point, and how many it is tied with. */
static void put_best(const gs_sweep *sweep, const gs_sweep_verdict *verdict, FILE *out)
{
    uint32_t best = verdict->best[0];
    uint32_t ties = verdict->ties[0];
    if (best == GS_NO_VALUE) {
        fputs("no point has a value", out);
        return;
    }
    char *others = gs_sweep_others(sweep, best, GS_NO_VALUE);
    fprintf(out, "%s has the least %s, ", others, gs_sweep_objective_title(sweep->objective));
    put_score(sweep, verdict->scores[best], out);
    if (ties > 0) {
        fprintf(out, ", a tie with %" PRIu32 " other%s", ties, ties == 1 ? "" : "s");
        if (verdict->preferred[0] != best) {
            char *preferred = gs_sweep_others(sweep, verdict->preferred[0], GS_NO_VALUE);
            fprintf(out, ": prefer %s, the simplest", preferred);
            free(preferred);
        }
    }
    free(others);
}

/* Where nothing is a choice: the ends of what was found. */
static void put_range(const gs_sweep *sweep, const gs_sweep_verdict *verdict, FILE *out)
{
    uint32_t least = GS_NO_VALUE;
    uint32_t most = GS_NO_VALUE;
    for (uint32_t p = 0; p < sweep->grid.count; p++) {
        double score = verdict->scores[p];
        if (isfinite(score)) {
            least = least == GS_NO_VALUE || score < verdict->scores[least] ? p : least;
            most = most == GS_NO_VALUE || score > verdict->scores[most] ? p : most;
        }
    }
    if (least == GS_NO_VALUE) {
        fputs("no point has a value", out);
        return;
    }
    char *at_least = gs_sweep_others(sweep, least, GS_NO_VALUE);
    char *at_most = gs_sweep_others(sweep, most, GS_NO_VALUE);
    fprintf(out, "%s is from ", gs_sweep_objective_title(sweep->objective));
    put_score(sweep, verdict->scores[least], out);
    fprintf(out, " (%s) to ", at_least);
    put_score(sweep, verdict->scores[most], out);
    fprintf(out, " (%s)", at_most);
    free(at_least);
    free(at_most);
}

/* "180 points, 41 pruned (kept for the report), 2 refused, 0 failed". */
static void put_counts(const gs_sweep *sweep, const gs_sweep_verdict *verdict, FILE *out)
{
    fprintf(out, "%" PRIu32 " point%s", sweep->grid.count, sweep->grid.count == 1 ? "" : "s");
    if (sweep->rung_count > 1) {
        fprintf(out, ", %" PRIu32 " pruned (kept for the report)", verdict->pruned);
    }
    if (verdict->refused > 0) {
        fprintf(out, ", %" PRIu32 " refused", verdict->refused);
    }
    if (verdict->unknown > 0) {
        fprintf(out, ", %" PRIu32 " not done", verdict->unknown);
    }
    if (verdict->diverged > 0) {
        fprintf(out, ", %" PRIu32 " run%s diverged", verdict->diverged,
                verdict->diverged == 1 ? "" : "s");
    }
    fprintf(out, ", %" PRIu32 " failed: ", verdict->failed);
}

static void put_next(const gs_sweep *sweep, const gs_sweep_verdict *verdict, FILE *out)
{
    const gs_dimensions *dimensions = &sweep->grid.dimensions;
    uint32_t met = 0;
    bool has_parameter = false;
    for (uint32_t i = 0; i < dimensions->count; i++) {
        const gs_dimension *one = &dimensions->list[i];
        met += one->count > 1 && !gs_dimension_is_choice(one) ? 1 : 0;
        has_parameter = has_parameter || (one->kind == GS_DIMENSION_PARAMETER && one->count > 1);
    }
    if (sweep->shards > 1 && verdict->unknown > 0) {
        fputs(" Next: gradsync db merge, then this sweep without --shard.", out);
    } else if (met >= 2 && has_choice(sweep)) {
        fputs(" Next: gradsync plot heatmap @last", out);
    } else if (has_parameter && sweep->objective != GS_SWEEP_SAMPLE_TIME) {
        fputs(" Next: gradsync plot strictness @last", out);
    }
}

static void tell_answer(const gs_sweep *sweep, const gs_sweep_verdict *verdict, gs_page *page)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = gs_need(open_memstream(&text, &bytes));
    put_counts(sweep, verdict, out);
    if (verdict->unknown > 0) {
        fprintf(out, "what is best is told of the whole");
    } else if (!has_choice(sweep)) {
        put_range(sweep, verdict, out);
    } else if (sweep->grid.group_count == 1) {
        put_best(sweep, verdict, out);
    } else {
        put_winners(sweep, verdict, out);
    }
    fputc('.', out);
    if (sweep->objective == GS_SWEEP_SAMPLE_TIME && has_choice(sweep) && verdict->unknown == 0) {
        fputs(" How many samples a choice needs is not in it: set workload.real_gradients.", out);
    }
    put_next(sweep, verdict, out);
    fclose(out);
    gs_need(text);
    gs_page_note(page, "%s", text);
    if (!gs_json_set(page->document, "answer", gs_json_new_text(text))) {
        gs_need(NULL);
    }
    free(text);
}

void gs_sweep_tell(const gs_sweep *sweep, const gs_sweep_verdict *verdict, gs_page *page)
{
    if (has_choice(sweep)) {
        tell_marks(verdict, sweep, page);
    }
    for (uint32_t i = 0; i < verdict->knee_count && i < KNEES_TOLD_MAX; i++) {
        tell_knee(sweep, &verdict->knees[i], page);
    }
    if (verdict->knee_count > KNEES_TOLD_MAX) {
        gs_page_note(page, "%" PRIu32 " more knees: --json has them.",
                     verdict->knee_count - KNEES_TOLD_MAX);
    }
    tell_answer(sweep, verdict, page);
}
