#include "tools/man.h"

#include "tools/cli.h"
#include "tools/version.h"

#include <string.h>

enum { LINE_COLUMNS = 78 };

/* Characters that roff would read as its own: backslashes, a dot or quote that starts a line, and
 * the hyphens of flags, which would become typographic ones. Returns the columns that it took. */
static size_t put_roff(const char *text, size_t length, bool starts_line, FILE *out)
{
    size_t columns = 0;
    for (size_t i = 0; i < length; i++) {
        const char *before = text[i] == '-' ? "\\" : "";
        if (i == 0 && starts_line && (text[i] == '.' || text[i] == '\'')) {
            before = "\\&";
        }
        if (text[i] == '\\') {
            columns += (size_t)fprintf(out, "\\e");
        } else {
            columns += (size_t)fprintf(out, "%s%c", before, text[i]);
        }
    }
    return columns;
}

void gs_man_text(const char *text, FILE *out)
{
    put_roff(text, strlen(text), false, out);
}

/* Running text: short lines, and each sentence on lines of its own, as roff wants it. */
static void put_running(const char *text, size_t length, FILE *out)
{
    size_t column = 0;
    for (size_t at = 0; at < length;) {
        size_t word = strcspn(text + at, " \n");
        word = word > length - at ? length - at : word;
        bool fits = column == 0 || column + 1 + word < LINE_COLUMNS - 4;
        if (column > 0) {
            fputc(fits ? ' ' : '\n', out);
        }
        column = (fits && column > 0 ? column + 1 : 0) +
                 put_roff(text + at, word, column == 0 || !fits, out);
        at += word + 1;
        if (word > 0 && text[at - 2] == '.' && at < length) {
            fputc('\n', out);
            column = 0;
        }
    }
    fputs(column > 0 ? "\n" : "", out);
}

void gs_man_running(const char *text, FILE *out)
{
    put_running(text, strlen(text), out);
}

/* Paragraphs of a verb; examples as they stand. */
static void put_details(const char *text, FILE *out)
{
    bool in_example = false;
    bool first = true; /* a heading starts its first paragraph itself */
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        bool is_example = text[0] == ' ';
        if (is_example && !in_example) {
            fputs(".PP\n.nf\n", out);
        }
        if (!is_example && in_example) {
            fputs(".fi\n", out);
        }
        in_example = is_example;
        if (is_example) {
            put_roff(text, length, true, out);
            fputc('\n', out);
        } else if (length > 0) {
            fputs(first ? "" : ".PP\n", out);
            put_running(text, length, out);
            first = false;
        }
        text += length + (text[length] == '\0' ? 0 : 1);
    }
    fputs(in_example ? ".fi\n" : "", out);
}

static void put_flag(const gs_flag *flag, FILE *out)
{
    fputs(".TP\n.B ", out);
    if (flag->letter != 0) {
        fprintf(out, "\\-%c, ", flag->letter);
    }
    fputs("\\-\\-", out);
    gs_man_text(flag->name, out);
    if (flag->value != NULL) {
        fputc(' ', out);
        gs_man_text(flag->value, out);
    }
    fputc('\n', out);
    char text[512];
    char allowed[256] = "";
    if (flag->field != NULL && flag->field->choices != NULL) {
        gs_config_allowed_text(flag->field, allowed, sizeof allowed);
    }
    snprintf(text, sizeof text, "%s%s%s%s%s.", flag->help, allowed[0] == '\0' ? "" : "; ", allowed,
             flag->variable == NULL ? "" : "; environment variable ",
             flag->variable == NULL ? "" : flag->variable);
    put_running(text, strlen(text), out);
    if ((flag->verbs & (1U << GS_VERB_completion)) == 0) {
        char verbs[512] = "Of ";
        const char *gap = "";
        size_t used = strlen(verbs);
        for (size_t v = 0; v < GS_VERB_COUNT && used < sizeof verbs; v++) {
            if ((flag->verbs >> v & 1U) != 0) {
                used += (size_t)snprintf(verbs + used, sizeof verbs - used, "%s%s", gap,
                                         gs_verb_at((gs_verb_id)v)->name);
                gap = ", ";
            }
        }
        if (used + 1 < sizeof verbs) {
            verbs[used++] = '.';
        }
        put_running(verbs, used, out);
    }
}

static void put_rest(FILE *out)
{
    fputs(".SH ENVIRONMENT\n"
          "Each variable that counts is printed in the header of the output.\n",
          out);
    for (size_t i = 0; i < GS_FLAG_COUNT; i++) {
        const gs_flag *flag = gs_flag_at((gs_flag_id)i);
        if (flag->variable != NULL) {
            fprintf(out, ".TP\n.B %s\nAs ", flag->variable);
            fputs("\\-\\-", out);
            gs_man_text(flag->name, out);
            fputs(".\n", out);
        }
    }
    fputs(
        ".TP\n.B GRADSYNC_CONFIG\nFile of the user configuration.\n"
        ".TP\n.B NO_COLOR\nNo colour, unless asked for by \\-\\-color always.\n"
        ".TP\n.B WORLD_SIZE, OMPI_COMM_WORLD_SIZE, PMI_SIZE, SLURM_NTASKS\n"
        "Rank count of a launcher; replaces that of the scenario.\n"
        "Those that are set must agree.\n"
        ".SH FILES\n"
        ".TP\n.I $XDG_CONFIG_HOME/gradsync/config.json\n"
        "User configuration: an object of flags by their long names.\n"
        "A flag wins over the environment, that over the scenario, that over this file.\n"
        ".TP\n.I $XDG_STATE_HOME/gradsync/runs.db\nThe database of runs.\n"
        ".TP\n.I $XDG_DATA_HOME/gradsync/scenarios\nMore scenarios by name.\n"
        ".SH EXIT STATUS\n"
        ".TP\n.B 0\nDone; a tie is an answer.\n"
        ".TP\n.B 1\nA run, or its input and output, failed; all seeds of a strategy diverged.\n"
        ".TP\n.B 2\nUsage, unknown key, bad unit, unreadable scenario or trace; nothing was run.\n"
        ".TP\n.B 5\nA prediction lies outside the calibrated range, with \\-\\-strict.\n"
        ".TP\n.B 129, 130, 143\n"
        "SIGHUP, SIGINT, SIGTERM; what had been simulated is stored as interrupted.\n",
        out);
}

void gs_man_print(FILE *out)
{
    fprintf(out, ".TH GRADSYNC 1 %s \"gradsync %s\" \"User Commands\"\n", gs_version_date(),
            gs_version_number());
    fputs(".SH NAME\ngradsync \\- simulate and evaluate gradient synchronisation\n"
          ".SH SYNOPSIS\n.B gradsync\n[\\fIFLAG\\fR...] \\fIVERB\\fR [\\fIWORD\\fR...]\n"
          ".SH DESCRIPTION\n"
          "Answers one question before the money is spent: how should this training\n"
          "job synchronise its gradients on this cluster?\n"
          "Flags may stand before or after the verb.\n",
          out);
    for (size_t i = 0; i < GS_VERB_COUNT; i++) {
        const gs_verb *verb = gs_verb_at((gs_verb_id)i);
        fprintf(out, ".SS %s%s", verb->name, verb->words[0] == '\0' ? "" : " ");
        gs_man_text(verb->words, out);
        fputc('\n', out);
        put_details(gs_verb_details((gs_verb_id)i), out);
    }
    fputs(".SH OPTIONS\n", out);
    for (size_t i = 0; i < GS_FLAG_COUNT; i++) {
        put_flag(gs_flag_at((gs_flag_id)i), out);
    }
    put_rest(out);
    fputs(".SH SEE ALSO\n.BR gradsync\\-scenario (5)\n", out);
}
