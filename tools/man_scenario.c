/* Keys of a scenario as gradsync-scenario(5) and as help, from the field tables that read them. */
#include "tools/man.h"

#include "base/config.h"
#include "tools/version.h"
#include "traces/scenario/scenario.h"

#include <string.h>

enum { ALLOWED_BYTES = 512 };

static const char description[] =
    "A scenario is a JSON file: cluster, workload, noise, strategies, and what to measure. It may "
    "extend another with \"extends\", and every key that is not there has its default. A text with "
    "a unit is a size (25MiB), a duration (10us), a rate (25Gbit/s) or a share (5 %). On the "
    "command line KEY=VALUE replaces one value, with the path of the key and numbers for elements "
    "of lists: cluster.nodes.0.count=4. Strategies, codecs, models and data sets have keys of "
    "their "
    "own, which gradsync show NAME prints.";

static const char *title_of(const gs_scenario_section *section)
{
    return section->path[0] == '\0' ? "the file" : section->path;
}

/* "a whole number, 1..1024; default 8". */
static void allowed_text(const gs_field *field, char out[ALLOWED_BYTES])
{
    char allowed[ALLOWED_BYTES / 2] = "";
    gs_config_allowed_text(field, allowed, sizeof allowed);
    if (field->default_text == NULL) {
        snprintf(out, ALLOWED_BYTES, "%s; required", allowed);
    } else {
        bool is_empty = field->default_text[0] == '\0';
        snprintf(out, ALLOWED_BYTES, "%s; default %s", allowed,
                 is_empty ? "none" : field->default_text);
    }
}

/* ---------------------------------------------------------------- for man */

static void put_section(const gs_scenario_section *section, FILE *out)
{
    fputs(".SS ", out);
    gs_man_text(title_of(section), out);
    fputc('\n', out);
    for (size_t i = 0; i < section->table->field_count; i++) {
        const gs_field *field = &section->table->fields[i];
        char allowed[ALLOWED_BYTES];
        char text[2 * ALLOWED_BYTES];
        allowed_text(field, allowed);
        fputs(".TP\n.B ", out);
        gs_man_text(field->name, out);
        fputc('\n', out);
        snprintf(text, sizeof text, "%s (%s).", field->help, allowed);
        gs_man_running(text, out);
    }
}

void gs_man_print_scenario(FILE *out)
{
    fprintf(out, ".TH GRADSYNC\\-SCENARIO 5 %s \"gradsync %s\" \"File Formats\"\n",
            gs_version_date(), gs_version_number());
    fputs(".SH NAME\ngradsync\\-scenario \\- a job of gradsync: cluster, workload, strategies\n"
          ".SH DESCRIPTION\n",
          out);
    gs_man_running(description, out);
    fputs(".SH KEYS\n", out);
    for (size_t i = 0; i < gs_scenario_section_count(); i++) {
        gs_scenario_section section = gs_scenario_section_at(i);
        if (section.table != NULL) {
            put_section(&section, out);
        }
    }
    fputs(".SH EXAMPLES\n.nf\n"
          "gradsync check demo\\-ethernet > my.json\n"
          "gradsync sim my.json cluster.links.nic.bandwidth=25Gbit/s\n"
          ".fi\n"
          ".SH SEE ALSO\n.BR gradsync (1)\n",
          out);
}

/* ---------------------------------------------------------------- for a terminal */

void gs_help_print_scenario(FILE *out)
{
    fprintf(out, "%s\n", description);
    for (size_t i = 0; i < gs_scenario_section_count(); i++) {
        gs_scenario_section section = gs_scenario_section_at(i);
        if (section.table == NULL) {
            continue;
        }
        fprintf(out, "\n%s\n", title_of(&section));
        for (size_t k = 0; k < section.table->field_count; k++) {
            const gs_field *field = &section.table->fields[k];
            char allowed[ALLOWED_BYTES];
            allowed_text(field, allowed);
            fprintf(out, "  %s: %s\n      %s\n", field->name, field->help, allowed);
        }
    }
}
