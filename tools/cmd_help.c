/* Help of the program and of a verb, and the manual page: from the tables of verbs and flags. */
#include "tools/output.h"
#include "tools/man.h"
#include "tools/message.h"
#include "tools/verbs.h"
#include "tools/version.h"

#include "base/nearest.h"

#include <stdio.h>
#include <string.h>

enum { LINE_COLUMNS = 100, FLAG_COLUMNS = 34, VERB_COLUMNS = 40 };

/* Words of text from `column` on, indented in the lines that follow. */
static void put_wrapped(const char *text, size_t column, size_t indent, FILE *out)
{
    bool starts_line = true;
    while (*text != '\0') {
        size_t length = strcspn(text, " \n");
        if (!starts_line && column + 1 + length > LINE_COLUMNS) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
            starts_line = true;
        }
        fprintf(out, "%s%.*s", starts_line ? "" : " ", (int)length, text);
        column += length + (starts_line ? 0 : 1);
        starts_line = false;
        text += length;
        text += strspn(text, " \n");
    }
    fputc('\n', out);
}

static void put_details(const char *text, FILE *out)
{
    while (*text != '\0') {
        const char *end = strchr(text, '\n');
        size_t length = end == NULL ? strlen(text) : (size_t)(end - text);
        char line[2048];
        snprintf(line, sizeof line, "%.*s", (int)length, text);
        if (line[0] == ' ' || line[0] == '\0') {
            fprintf(out, "%s\n", line);
        } else {
            put_wrapped(line, 0, 0, out);
        }
        text += length + (end == NULL ? 0 : 1);
    }
}

static void put_flags(gs_verb_id verb, FILE *out)
{
    for (size_t i = 0; i < GS_FLAG_COUNT; i++) {
        const gs_flag *flag = gs_flag_at((gs_flag_id)i);
        if (!gs_flag_is_of((gs_flag_id)i, verb)) {
            continue;
        }
        char names[128];
        char letter[8] = "    ";
        if (flag->letter != 0) {
            snprintf(letter, sizeof letter, "-%c, ", flag->letter);
        }
        snprintf(names, sizeof names, "  %s--%s%s%s", letter, flag->name,
                 flag->value == NULL ? "" : " ", flag->value == NULL ? "" : flag->value);
        size_t used = strlen(names);
        if (used + 2 > FLAG_COLUMNS) {
            fprintf(out, "%s\n%*s", names, FLAG_COLUMNS, "");
        } else {
            fprintf(out, "%-*s", FLAG_COLUMNS, names);
        }
        char text[512];
        char allowed[256] = "";
        if (flag->field != NULL && flag->field->choices != NULL) {
            snprintf(allowed, sizeof allowed, " (");
            gs_config_allowed_text(flag->field, allowed + 2, sizeof allowed - 3);
            memcpy(allowed + strlen(allowed), ")", 2);
        }
        snprintf(text, sizeof text, "%s%s%s%s", flag->help, allowed,
                 flag->variable == NULL ? "" : "; ", flag->variable == NULL ? "" : flag->variable);
        put_wrapped(text, FLAG_COLUMNS, FLAG_COLUMNS, out);
    }
}

static void put_program(FILE *out)
{
    fprintf(out, "usage: gradsync [FLAG...] VERB [WORD...]\n\n"
                 "How should this training job synchronise its gradients on this cluster?\n\n");
    for (size_t i = 0; i < GS_VERB_COUNT; i++) {
        const gs_verb *verb = gs_verb_at((gs_verb_id)i);
        char start[64];
        snprintf(start, sizeof start, "  %s %s", verb->name, verb->words);
        fprintf(out, "%-*s%s\n", VERB_COLUMNS, start, verb->summary);
    }
    fprintf(out, "\nFlags of every verb, before or after it:\n");
    put_flags(GS_VERB_completion, out);
    fprintf(out, "\nFirst steps: gradsync sim demo-ethernet; gradsync help sim\n"
                 "Exit codes: 0 done, 1 failed, 2 usage or unreadable input, 3 a gate of compare "
                 "failed, 4 it is\ninconclusive with --inconclusive fail, 5 outside the calibrated "
                 "range with --strict or of validate's\ntolerance, 6 runs that cannot be compared, "
                 "129, 130 and 143 interrupted\n");
}

static void put_verb(gs_verb_id id, FILE *out)
{
    const gs_verb *verb = gs_verb_at(id);
    fprintf(out, "usage: gradsync %s %s [FLAG...]\n\n", verb->name, verb->words);
    put_details(gs_verb_details(id), out);
    fprintf(out, "\nFlags:\n");
    put_flags(id, out);
}

int gs_cmd_help(const gs_cli *cli)
{
    gs_verb_id id = GS_VERB_COUNT;
    const char *names[GS_VERB_COUNT];
    for (size_t i = 0; i < GS_VERB_COUNT; i++) {
        names[i] = gs_verb_at((gs_verb_id)i)->name;
        if (cli->word_count > 0 && strcmp(names[i], cli->words[0]) == 0) {
            id = (gs_verb_id)i;
        }
    }
    bool is_scenario = cli->word_count > 0 && strcmp(cli->words[0], "scenario") == 0;
    if (cli->word_count > 0 && id == GS_VERB_COUNT && !is_scenario) {
        const char *near = gs_nearest_name(cli->words[0], names, GS_VERB_COUNT);
        gs_complain("help: unknown verb %s; %s%s%s", cli->words[0],
                    near == NULL ? "see gradsync help" : "did you mean ", near == NULL ? "" : near,
                    near == NULL ? "" : "?");
        return GS_EXIT_USAGE;
    }
    gs_output output;
    int code = gs_output_open(&output, cli->flags.output);
    if (code != GS_EXIT_OK) {
        return code;
    }
    if (is_scenario) {
        (cli->flags.man ? gs_man_print_scenario : gs_help_print_scenario)(output.text);
    } else if (cli->flags.man) {
        gs_man_print(output.text);
    } else if (id == GS_VERB_COUNT) {
        put_program(output.text);
    } else {
        put_verb(id, output.text);
    }
    return gs_output_close(&output);
}
