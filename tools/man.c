#include "tools/man.h"

#include "tools/cli.h"
#include "tools/version.h"

#include <string.h>

/* Text with what roff would read as its own escaped: backslashes, leading dots and quotes, and the
 * hyphens of flags, which would become typographic ones. */
static void put_roff(const char *text, size_t length, FILE *out)
{
    for (size_t i = 0; i < length; i++) {
        bool starts_line = i == 0 || text[i - 1] == '\n';
        if (starts_line && (text[i] == '.' || text[i] == '\'')) {
            fputs("\\&", out);
        }
        if (text[i] == '\\') {
            fputs("\\e", out);
        } else if (text[i] == '-') {
            fputs("\\-", out);
        } else {
            fputc(text[i], out);
        }
    }
}

static void put_text(const char *text, FILE *out)
{
    put_roff(text, strlen(text), out);
}

/* Paragraphs of a verb; examples as they stand. Roff wants each sentence on a line of its own. */
static void put_details(const char *text, FILE *out)
{
    bool in_example = false;
    while (*text != '\0') {
        const char *end = strchr(text, '\n');
        size_t length = end == NULL ? strlen(text) : (size_t)(end - text);
        bool is_example = text[0] == ' ';
        if (is_example && !in_example) {
            fputs(".PP\n.nf\n", out);
        }
        if (!is_example && in_example) {
            fputs(".fi\n", out);
        }
        in_example = is_example;
        if (is_example) {
            put_roff(text, length, out);
            fputc('\n', out);
        } else if (length > 0) {
            fputs(".PP\n", out);
            for (size_t i = 0, from = 0; i < length; i++) {
                bool ends = i + 1 == length || (text[i] == '.' && text[i + 1] == ' ');
                if (ends) {
                    put_roff(text + from, i + 1 - from, out);
                    fputc('\n', out);
                    from = i + 2;
                }
            }
        }
        text += length + (end == NULL ? 0 : 1);
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
    put_text(flag->name, out);
    if (flag->value != NULL) {
        fputc(' ', out);
        put_text(flag->value, out);
    }
    fputc('\n', out);
    put_text(flag->help, out);
    if (flag->field != NULL && flag->field->choices != NULL) {
        char allowed[256];
        fputs(" (", out);
        put_text(gs_config_allowed_text(flag->field, allowed, sizeof allowed), out);
        fputc(')', out);
    }
    if (flag->variable != NULL) {
        fprintf(out, "; environment variable %s", flag->variable);
    }
    fputs(".\n", out);
    if ((flag->verbs & (1U << GS_VERB_completion)) == 0) {
        const char *gap = "Of ";
        for (size_t v = 0; v < GS_VERB_COUNT; v++) {
            if ((flag->verbs >> v & 1U) != 0) {
                fprintf(out, "%s%s", gap, gs_verb_at((gs_verb_id)v)->name);
                gap = ", ";
            }
        }
        fputs(".\n", out);
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
            put_text(flag->name, out);
            fputs(".\n", out);
        }
    }
    fputs(
        ".TP\n.B GRADSYNC_CONFIG\nFile of the user configuration.\n"
        ".TP\n.B NO_COLOR\nNo colour, unless asked for by \\-\\-color always.\n"
        ".TP\n.B WORLD_SIZE, OMPI_COMM_WORLD_SIZE, PMI_SIZE, SLURM_NTASKS\n"
        "Rank count of a launcher; replaces that of the scenario. Those that are set must agree.\n"
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
        ".TP\n.B 130, 143\n"
        "SIGINT, SIGTERM; what had been simulated is stored as interrupted.\n",
        out);
}

void gs_man_print(FILE *out)
{
    fprintf(out, ".TH GRADSYNC 1 %s \"gradsync %s\" \"User Commands\"\n", gs_version_date(),
            gs_version_number());
    fputs(
        ".SH NAME\ngradsync \\- simulate and evaluate gradient synchronisation\n"
        ".SH SYNOPSIS\n.B gradsync\n[\\fIFLAG\\fR...] \\fIVERB\\fR [\\fIWORD\\fR...]\n"
        ".SH DESCRIPTION\n"
        "Answers one question before the money is spent: how should this training job synchronise\n"
        "its gradients on this cluster?\n"
        "Flags may stand before or after the verb.\n",
        out);
    for (size_t i = 0; i < GS_VERB_COUNT; i++) {
        const gs_verb *verb = gs_verb_at((gs_verb_id)i);
        fprintf(out, ".SS %s ", verb->name);
        put_text(verb->words, out);
        fputc('\n', out);
        put_details(gs_verb_details((gs_verb_id)i), out);
    }
    fputs(".SH OPTIONS\n", out);
    for (size_t i = 0; i < GS_FLAG_COUNT; i++) {
        put_flag(gs_flag_at((gs_flag_id)i), out);
    }
    put_rest(out);
}
