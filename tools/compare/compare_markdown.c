/* A comparison as the summary of a pull request, and as the list of github-action-benchmark. */
#include "tools/compare/compare_page.h"

#include "base/json.h"
#include "tools/message.h"
#include "tools/shell_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Text in a table cell: names come from files and may hold what Markdown or HTML would act on. */
static void put(const char *text, FILE *out)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '|':
        case '*':
        case '_':
        case '`':
        case '[':
        case ']':
        case '\\':
            fprintf(out, "\\%c", *text);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        case '\n':
        case '\r':
            fputc(' ', out);
            break;
        default:
            fputc(*text, out);
        }
    }
}

static void put_owned(char *text, FILE *out)
{
    put(text, out);
    free(text);
}

static const char *mark_of(const gs_compare_row *row)
{
    static const char *const marks[GS_VERDICT_COUNT] = {
        [GS_VERDICT_WORSE] = "\xf0\x9f\x94\xb4",
        [GS_VERDICT_INVALID] = "\xe2\x9b\x94",
        [GS_VERDICT_MISSING] = "\xe2\x9d\x94",
        [GS_VERDICT_INCONCLUSIVE] = "\xf0\x9f\x9f\xa1",
        [GS_VERDICT_ACKNOWLEDGED] = "\xf0\x9f\x94\xb5",
        [GS_VERDICT_BETTER] = "\xf0\x9f\x9f\xa2",
        [GS_VERDICT_NEW] = "\xe2\x9e\x95",
        [GS_VERDICT_SAME] = "\xe2\x9a\xaa"};
    return row->gated ? marks[row->word] : "";
}

static void put_row(const gs_compare_row *row, FILE *out)
{
    char cell[GS_COMPARE_CELL_BYTES];
    char name[GS_LIMIT_TEXT_BYTES];
    const char *better = gs_metric_at(row->metric)->better;
    fprintf(out, "| %s%s%s | ", mark_of(row), row->gated ? " " : "", gs_verdict_text(row->word));
    put(row->job->scenario, out);
    fputs(" / ", out);
    put(row->job->strategy, out);
    fputs(" | ", out);
    put(gs_metric_short(row->metric, name), out);
    fprintf(out, "%s | ",
            strcmp(better, "lower") == 0    ? " \xe2\x86\x93"
            : strcmp(better, "higher") == 0 ? " \xe2\x86\x91"
                                            : "");
    put(gs_compare_side_text(row, GS_SIDE_BASE, cell), out);
    fputs(" | ", out);
    put(gs_compare_side_text(row, GS_SIDE_CANDIDATE, cell), out);
    fputs(" | ", out);
    put(gs_compare_change_text(row, cell), out);
    fputs(" | ", out);
    put(gs_compare_p_text(row->p_adjusted, cell), out);
    fprintf(out, " | %s | ", row->gated ? gs_gate_limit_text(&row->limit, name) : "-");
    put(row->reason, out);
    fputs(" |\n", out);
}

/* Folded away: nothing there to act on. */
static bool is_unchanged(const gs_compare_row *row)
{
    return row->word == GS_VERDICT_SAME && row->reason[0] == '\0';
}

/* Rows of a kind as a table; how many there were. */
static uint32_t put_table(const gs_compare *compare, bool unchanged, FILE *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < compare->row_count; i++) {
        const gs_compare_row *row = &compare->rows[i];
        if (is_unchanged(row) != unchanged || gs_compare_is_quiet(row)) {
            continue;
        }
        if (count++ == 0) {
            fprintf(out,
                    "| | scenario / strategy | metric | base | candidate | change [%.3g %% CI] | p "
                    "(Holm) | limit | why |\n"
                    "|---|---|---|---:|---:|---:|---:|---:|---|\n",
                    100.0 * (1.0 - compare->alpha));
        }
        put_row(row, out);
    }
    return count;
}

/* All that is unchanged, and how much of it is quiet. */
static uint32_t count_unchanged(const gs_compare *compare, uint32_t *out_quiet)
{
    uint32_t count = 0;
    *out_quiet = 0;
    for (uint32_t i = 0; i < compare->row_count; i++) {
        count += is_unchanged(&compare->rows[i]) ? 1 : 0;
        *out_quiet += gs_compare_is_quiet(&compare->rows[i]) ? 1 : 0;
    }
    return count;
}

/* A command as the shell takes it. */
static void put_word(const char *word, FILE *command)
{
    fputc(' ', command);
    gs_shell_put(word, command);
}

static void put_pair(const char *flag, const char *value, FILE *command)
{
    put_word(flag, command);
    put_word(value, command);
}

/* What was asked beside the two sides. */
static void put_flags(const gs_cli *cli, FILE *command)
{
    for (size_t i = 0; i < cli->gate_count; i++) {
        put_pair("--gate", cli->gates[i], command);
    }
    if (cli->flags.limit[0] != '\0') {
        put_pair("--limit", cli->flags.limit, command);
    }
    if (cli->from[GS_FLAG_alpha] != GS_FROM_BUILT_IN) {
        char alpha[GS_LIMIT_TEXT_BYTES];
        snprintf(alpha, sizeof alpha, "%.15g", cli->flags.alpha);
        put_pair("--alpha", alpha, command);
    }
    if (cli->flags.inconclusive == GS_INCONCLUSIVE_FAIL) {
        put_word("--inconclusive=fail", command);
    }
    if (cli->flags.rerun) {
        put_word("--rerun", command);
    }
    if (cli->flags.acks[0] != '\0') {
        put_pair("--acks", cli->flags.acks, command);
    }
}

static char *compare_command(const gs_compare *compare)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *command = gs_need(open_memstream(&text, &bytes));
    fputs("gradsync compare", command);
    put_pair("--db", compare->store_file, command);
    for (int i = 0; i < GS_SIDES; i++) {
        const gs_compare_side *side = &compare->sides[i];
        char *word = side->owns_store ? gs_text("%s#%s", side->file, side->selector)
                                      : gs_text("%s", side->selector);
        put_word(word, command);
        free(word);
    }
    put_flags(compare->cli, command);
    fclose(command);
    return gs_need(text);
}

/* The database has the comparison, without which there is nothing to accept. */
static char *accept_command(const gs_compare *compare, const gs_compare_row *row)
{
    char *text = NULL;
    size_t bytes = 0;
    char name[GS_LIMIT_TEXT_BYTES];
    FILE *command = gs_need(open_memstream(&text, &bytes));
    char *of = gs_text("%s/%s", row->job->scenario, row->job->strategy);
    fputs("gradsync baseline ack", command);
    put_pair("--db", compare->store_file, command);
    put_pair(of, gs_metric_short(row->metric, name), command);
    free(of);
    if (compare->cli->flags.acks[0] != '\0') {
        put_pair("--acks", compare->cli->flags.acks, command);
    }
    put_pair("--why", "...", command);
    fclose(command);
    return gs_need(text);
}

static void put_code(char *command, FILE *out)
{
    fputs("<code>", out);
    put_owned(command, out);
    fputs("</code>", out);
}

/* How to see it again, and how to accept what is worse. */
static void put_footer(const gs_compare *compare, FILE *out)
{
    fputs("Reproduce: ", out);
    put_code(compare_command(compare), out);
    const char *what = " \xc2\xb7 accept: ";
    for (uint32_t i = 0; i < compare->row_count; i++) {
        const gs_compare_row *row = &compare->rows[i];
        if (row->gated && row->word == GS_VERDICT_WORSE) {
            fputs(what, out);
            put_code(accept_command(compare, row), out);
            what = ", ";
        }
    }
    fputc('\n', out);
}

void gs_compare_markdown(const gs_compare *compare, FILE *out)
{
    fputs("### gradsync: ", out);
    put_owned(gs_compare_answer(compare), out);
    if (strcmp(compare->verdict, "invalid") == 0) {
        fputs("\n\n**Not compared:** ", out);
        put(compare->cause, out);
    }
    fputs("\n\nBaseline ", out);
    put_owned(gs_compare_side_words(&compare->sides[GS_SIDE_BASE]), out);
    fputs(" \xc2\xb7 candidate ", out);
    put_owned(gs_compare_side_words(&compare->sides[GS_SIDE_CANDIDATE]), out);
    fputs(" \xc2\xb7 gates: ", out);
    put_owned(gs_compare_gate_words(compare), out);
    fputs("\n\n**Config:** ", out);
    put_owned(gs_compare_difference_words(compare), out);
    fputs(" \xc2\xb7 **environment:** ", out);
    put(compare->environment[0] == '\0' ? "same" : compare->environment, out);
    fputs("\n\n", out);
    if (put_table(compare, false, out) > 0) {
        fputc('\n', out);
    }
    uint32_t quiet = 0;
    uint32_t unchanged = count_unchanged(compare, &quiet);
    if (unchanged > 0) {
        fprintf(out, "<details><summary>%" PRIu32 " unchanged</summary>\n\n", unchanged);
        if (put_table(compare, true, out) > 0) {
            fputc('\n', out);
        }
        if (quiet > 0) {
            fprintf(out, "%" PRIu32 " metrics without a gate are the same bit for bit.\n\n", quiet);
        }
        fputs("</details>\n\n", out);
    }
    for (uint32_t i = 0; i < compare->remark_count; i++) {
        put(compare->remarks[i], out);
        fputs("\n\n", out);
    }
    put_footer(compare, out);
}

/* ---------------------------------------------------------------- github-action-benchmark */

static void set(gs_json *object, const char *key, gs_json *value)
{
    if (!gs_json_set(object, key, value)) {
        gs_need(NULL);
    }
}

void gs_compare_benchmark(const gs_compare *compare, FILE *out)
{
    gs_json *list = gs_need(gs_json_new_list());
    for (uint32_t i = 0; i < compare->row_count; i++) {
        const gs_compare_row *row = &compare->rows[i];
        const gs_metric *metric = gs_metric_at(row->metric);
        if (!row->measured || !row->gated || strcmp(metric->better, "lower") != 0) {
            continue;
        }
        char name[GS_LIMIT_TEXT_BYTES];
        char change[GS_COMPARE_CELL_BYTES];
        char *title = gs_text("%s / %s / %s", row->job->scenario, row->job->strategy,
                              gs_metric_short(row->metric, name));
        char *extra = gs_text("%s against %s: %s, limit %s", gs_compare_change_text(row, change),
                              compare->sides[GS_SIDE_BASE].selector, gs_verdict_text(row->word),
                              gs_gate_limit_text(&row->limit, name));
        gs_json *item = gs_need(gs_json_new_object());
        set(item, "name", gs_json_new_text(title));
        set(item, "unit", gs_json_new_text(metric->unit));
        set(item, "value", gs_json_new_real(row->change.candidate));
        set(item, "extra", gs_json_new_text(extra));
        free(title);
        free(extra);
        if (!gs_json_add(list, item)) {
            gs_need(NULL);
        }
    }
    char *text = gs_need(gs_json_write(list, true));
    fprintf(out, "%s\n", text);
    free(text);
    gs_json_free(list);
}
