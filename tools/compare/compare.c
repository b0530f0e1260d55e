#include "tools/compare/compare.h"

#include "tools/message.h"
#include "traces/scenario/scenario.h"
#include "traces/stats/permutation.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *gs_verdict_text(gs_verdict_word word)
{
    static const char *const texts[GS_VERDICT_COUNT] = {
#define GS_VERDICT_TEXT(name, text) text,
        GS_VERDICT_LIST(GS_VERDICT_TEXT)
#undef GS_VERDICT_TEXT
    };
    return texts[word];
}

/* ---------------------------------------------------------------- texts */

static const char *format_list(gs_compare *compare, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

static const char *format_list(gs_compare *compare, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = gs_need(gs_arena_take(&compare->arena, (size_t)length + 1, 1));
    vsnprintf(text, (size_t)length + 1, format, arguments);
    return text;
}

const char *gs_compare_text(gs_compare *compare, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = format_list(compare, format, arguments);
    va_end(arguments);
    return text;
}

const char *gs_compare_label(gs_compare *compare, const char *strategy, const char *params_json)
{
    return gs_need(gs_strategy_stored_label(strategy, params_json, &compare->arena));
}

static void add_text(gs_compare *compare, const char *text, const char ***list, uint32_t *count,
                     uint32_t *capacity)
{
    if (*count == *capacity) {
        uint32_t grown = 2 * *capacity + 16;
        const char **moved = gs_need(GS_TAKE(&compare->arena, const char *, grown));
        if (*count > 0) {
            memcpy(moved, *list, *count * sizeof *moved);
        }
        *list = moved;
        *capacity = grown;
    }
    (*list)[(*count)++] = text;
}

void gs_compare_remark(gs_compare *compare, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = format_list(compare, format, arguments);
    va_end(arguments);
    add_text(compare, text, &compare->remarks, &compare->remark_count, &compare->remark_capacity);
}

void gs_compare_differs(gs_compare *compare, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = format_list(compare, format, arguments);
    va_end(arguments);
    add_text(compare, text, &compare->differences, &compare->difference_count,
             &compare->difference_capacity);
}

/* ---------------------------------------------------------------- what was asked for */

static int read_limit(const gs_cli *cli, gs_compare *compare)
{
    gs_error err = {0};
    compare->share = 0.03;
    compare->auto_limit = strcmp(cli->flags.limit, "auto") == 0;
    if (cli->flags.limit[0] == '\0' || compare->auto_limit) {
        return GS_EXIT_OK;
    }
    if (gs_parse_ratio(cli->flags.limit, &compare->share, &err) != GS_OK || compare->share < 0.0 ||
        compare->share >= 1.0) {
        gs_complain("--limit: \"%s\" is no share below 100 %%; write 3%%, or auto for the noise of "
                    "the base's history",
                    cli->flags.limit);
        return GS_EXIT_USAGE;
    }
    return GS_EXIT_OK;
}

/* Gates of the command line, else of the candidate's scenario, else built in. */
static int read_gates(const gs_cli *cli, gs_compare *compare)
{
    gs_error err = {0};
    compare->gates = (gs_gates){.from = "--gate"};
    for (size_t i = 0; i < cli->gate_count; i++) {
        gs_gate gate;
        if (gs_gate_parse(cli->gates[i], &gate, &err) != GS_OK ||
            gs_gates_add(&compare->gates, &gate, &err) != GS_OK) {
            return gs_complain_error(&err);
        }
    }
    return GS_EXIT_OK;
}

static double number_at(const gs_json_at *at, const char *key, double otherwise)
{
    gs_json_at member;
    double value = otherwise;
    if (gs_json_find(at, key, &member) && gs_json_real(&member, &value, NULL) != GS_OK) {
        return otherwise;
    }
    return value;
}

/* alpha of the flag, else of the candidate's scenario, which says 0.05 where nobody did. */
static void read_alpha(const gs_cli *cli, const char *config_json, gs_compare *compare)
{
    compare->alpha = cli->flags.alpha;
    gs_json_at root;
    gs_json_at evaluate;
    if (cli->from[GS_FLAG_alpha] != GS_FROM_BUILT_IN ||
        gs_json_parse(config_json, strlen(config_json), "the stored scenario", &root, NULL) !=
            GS_OK) {
        return;
    }
    if (gs_json_find(&root, "evaluate", &evaluate)) {
        compare->alpha = number_at(&evaluate, "alpha", compare->alpha);
    }
    gs_json_free(root.value);
}

static int read_scenario(const gs_cli *cli, gs_compare *compare)
{
    const gs_compare_side *side = &compare->sides[GS_SIDE_CANDIDATE];
    const char *config_json = side->runs[side->count - 1].run.scenario.config_json;
    gs_error err = {0};
    read_alpha(cli, config_json, compare);
    if (compare->gates.count == 0 &&
        gs_gates_of_scenario(config_json, &compare->gates, &err) != GS_OK) {
        return gs_complain_error(&err);
    }
    if (compare->gates.count == 0) {
        gs_gates_built_in(compare->share, &compare->gates);
    }
    return GS_EXIT_OK;
}

/* ---------------------------------------------------------------- the whole */

/* Jobs whose strategy needs surely fewer samples than plain all-reduce: no way of synchronising
 * should, so a rate, a target or data have changed. One-sided at 5 %: two-sided at 10 %. */
static void flag_too_good(gs_compare *compare, const gs_compare_job *plain,
                          const gs_compare_job *job)
{
    uint32_t metric = gs_metric_find("samples_to_target");
    uint32_t count = 0;
    double *logs =
        gs_need(GS_TAKE(&compare->arena, double, (size_t)job->counts[GS_SIDE_CANDIDATE] + 1));
    double sum = 0.0;
    for (uint32_t i = 0; i < job->counts[GS_SIDE_CANDIDATE]; i++) {
        const gs_stored_run *run = &job->runs[GS_SIDE_CANDIDATE][i]->run;
        for (uint32_t k = 0; k < plain->counts[GS_SIDE_CANDIDATE]; k++) {
            const gs_stored_run *other = &plain->runs[GS_SIDE_CANDIDATE][k]->run;
            double ratio = run->values[metric] / other->values[metric];
            if (other->seed == run->seed && isfinite(ratio) && ratio > 0.0) {
                sum += logs[count++] = log(ratio);
            }
        }
    }
    if (count > 0 && sum < 0.0 && gs_sign_flip(logs, count) <= 0.1) {
        gs_compare_remark(compare,
                          "TOO GOOD: %s / %s needs %.3g times the samples of %s: synchronising "
                          "otherwise saves time, not samples; look for another rate, target or "
                          "data.",
                          job->scenario, job->strategy, exp(sum / count), plain->strategy);
    }
}

static void look_for_too_good(gs_compare *compare)
{
    for (uint32_t i = 0; i < compare->job_count; i++) {
        const gs_compare_job *plain = &compare->jobs[i];
        for (uint32_t k = 0; k < compare->job_count; k++) {
            const gs_compare_job *job = &compare->jobs[k];
            if (k != i && strcmp(plain->strategy, "allreduce") == 0 &&
                strcmp(plain->scenario, job->scenario) == 0) {
                flag_too_good(compare, plain, job);
            }
        }
    }
}

static int by_verdict(const void *left, const void *right)
{
    const gs_compare_row *a = left;
    const gs_compare_row *b = right;
    if (a->word != b->word) {
        return (int)a->word - (int)b->word;
    }
    if (a->gated != b->gated) {
        return a->gated ? -1 : 1;
    }
    double further = fabs(b->change.effect) - fabs(a->change.effect);
    if (a->change.of_ratio == b->change.of_ratio && further != 0.0) {
        return further > 0.0 ? 1 : -1;
    }
    int scenario = strcmp(a->job->scenario, b->job->scenario);
    int strategy = strcmp(a->job->strategy, b->job->strategy);
    return scenario != 0 ? scenario : strategy != 0 ? strategy : (int)a->metric - (int)b->metric;
}

/* A gate that the user has set and that no row answers has not been checked. */
static uint32_t count_idle_gates(gs_compare *compare)
{
    uint32_t idle = 0;
    for (uint32_t i = 0; i < compare->gates.count; i++) {
        bool used = strcmp(compare->gates.from, "built in") == 0;
        for (uint32_t k = 0; k < compare->row_count; k++) {
            used = used || compare->rows[k].metric == compare->gates.gates[i].metric;
        }
        if (!used) {
            char name[GS_LIMIT_TEXT_BYTES];
            gs_compare_remark(compare, "The gate of %s was not checked: no run has this metric.",
                              gs_metric_short(compare->gates.gates[i].metric, name));
            compare->cause = compare->remarks[compare->remark_count - 1];
            idle++;
        }
    }
    return idle;
}

/* Of rows before gates: why a row cannot be compared says more. */
static const char *cause_of(gs_compare *compare)
{
    for (uint32_t i = 0; i < compare->row_count; i++) {
        const gs_compare_row *row = &compare->rows[i];
        if (row->gated && (row->word == GS_VERDICT_INVALID || row->word == GS_VERDICT_MISSING)) {
            return gs_compare_text(compare, "%s / %s: %s", row->job->scenario, row->job->strategy,
                                   row->reason);
        }
    }
    return compare->cause;
}

static void conclude(gs_compare *compare, bool inconclusive_fails)
{
    uint32_t idle = count_idle_gates(compare);
    look_for_too_good(compare);
    if (compare->row_count > 1) {
        qsort(compare->rows, compare->row_count, sizeof *compare->rows, by_verdict);
    }
    for (uint32_t i = 0; i < compare->row_count; i++) {
        compare->counts[compare->rows[i].word] += compare->rows[i].gated ? 1 : 0;
    }
    if (compare->counts[GS_VERDICT_WORSE] > 0) {
        compare->verdict = "fail";
        compare->exit_code = GS_EXIT_GATE;
    } else if (compare->counts[GS_VERDICT_INVALID] + compare->counts[GS_VERDICT_MISSING] + idle >
               0) {
        compare->verdict = "invalid";
        compare->cause = cause_of(compare);
        compare->exit_code = GS_EXIT_REFUSED;
    } else if (compare->counts[GS_VERDICT_INCONCLUSIVE] > 0) {
        compare->verdict = "inconclusive";
        compare->exit_code = inconclusive_fails ? GS_EXIT_INCONCLUSIVE : GS_EXIT_OK;
    } else {
        compare->verdict = "pass";
        compare->exit_code = GS_EXIT_OK;
    }
}

int gs_compare_make(const gs_cli *cli, gs_store *store, const char *file, gs_compare *out)
{
    *out = (gs_compare){.verdict = "invalid", .cause = "", .cli = cli, .store_file = file};
    gs_arena_init(&out->arena);
    int code = read_limit(cli, out);
    code = code == GS_EXIT_OK ? read_gates(cli, out) : code;
    code = code == GS_EXIT_OK ? gs_compare_read(out, cli, store, file) : code;
    code = code == GS_EXIT_OK ? read_scenario(cli, out) : code;
    if (code != GS_EXIT_OK) {
        return code;
    }
    gs_compare_match(out);
    code = gs_compare_judge(out);
    if (code == GS_EXIT_OK && cli->flags.rerun) {
        code = gs_compare_rerun(out, cli);
    }
    if (code == GS_EXIT_OK) {
        conclude(out, cli->flags.inconclusive == GS_INCONCLUSIVE_FAIL);
    }
    return code;
}

void gs_compare_free(gs_compare *compare)
{
    for (int side = 0; side < GS_SIDES; side++) {
        if (compare->sides[side].owns_store) {
            gs_store_close(compare->sides[side].store);
        }
    }
    gs_arena_fini(&compare->arena);
}

char *gs_compare_words(const char *verdict, const uint32_t *counts)
{
    static const char *const heads[][2] = {{"pass", "PASS"},
                                           {"fail", "FAIL"},
                                           {"inconclusive", "INCONCLUSIVE"},
                                           {"invalid", "INVALID"}};
    const char *head = "";
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        head = strcmp(heads[i][0], verdict) == 0 ? heads[i][1] : head;
    }
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = gs_need(open_memstream(&text, &bytes));
    fprintf(out,
            "%s: %" PRIu32 " worse, %" PRIu32 " better, %" PRIu32 " same, %" PRIu32 " inconclusive",
            head, counts[GS_VERDICT_WORSE], counts[GS_VERDICT_BETTER], counts[GS_VERDICT_SAME],
            counts[GS_VERDICT_INCONCLUSIVE]);
    static const gs_verdict_word rare[] = {GS_VERDICT_INVALID, GS_VERDICT_MISSING,
                                           GS_VERDICT_ACKNOWLEDGED, GS_VERDICT_NEW};
    for (size_t i = 0; i < sizeof rare / sizeof rare[0]; i++) {
        if (counts[rare[i]] > 0) {
            fprintf(out, ", %" PRIu32 " %s", counts[rare[i]], gs_verdict_text(rare[i]));
        }
    }
    fputs(".", out);
    fclose(out);
    return gs_need(text);
}

char *gs_compare_answer(const gs_compare *compare)
{
    return gs_compare_words(compare->verdict, compare->counts);
}
