/* Completion scripts of three shells, from the tables of verbs and flags; names of scenarios and
 * strategies are asked of the program when they are needed. */
#include "tools/message.h"
#include "tools/output.h"
#include "tools/verbs.h"

#include <string.h>

/* Flags of a verb, or with GS_VERB_COUNT all, each after a space. */
static void put_flag_names(gs_verb_id verb, FILE *out)
{
    for (size_t i = 0; i < GS_FLAG_COUNT; i++) {
        if (verb == GS_VERB_COUNT || gs_flag_is_of((gs_flag_id)i, verb)) {
            fprintf(out, " --%s", gs_flag_at((gs_flag_id)i)->name);
        }
    }
}

static void put_list(const char *const *names, FILE *out)
{
    for (size_t i = 0; names != NULL && names[i] != NULL; i++) {
        fprintf(out, "%s%s", i == 0 ? "" : " ", names[i]);
    }
}

static void put_verb_names(const char *between, FILE *out)
{
    for (size_t i = 0; i < GS_VERB_COUNT; i++) {
        fprintf(out, "%s%s", i == 0 ? "" : between, gs_verb_at((gs_verb_id)i)->name);
    }
}

static bool takes_file(const gs_flag *flag)
{
    return flag->value != NULL && strcmp(flag->value, "FILE") == 0;
}

/* Words that name stored runs; labels, commits and baselines follow the colon. */
static const char selectors[] = "@last @last~1 label: commit: baseline:";

static bool takes_run(gs_verb_id verb)
{
    return verb == GS_VERB_explain || verb == GS_VERB_validate || verb == GS_VERB_compare ||
           verb == GS_VERB_report || verb == GS_VERB_show || verb == GS_VERB_plot;
}

static bool takes_scenario(gs_verb_id verb)
{
    return verb == GS_VERB_sim || verb == GS_VERB_sweep || verb == GS_VERB_recommend ||
           verb == GS_VERB_live || verb == GS_VERB_calibrate || verb == GS_VERB_check ||
           verb == GS_VERB_explain || verb == GS_VERB_plot;
}

/* What `list` prints the values of the flag as; NULL: no such list. */
static const char *kind_of_values(gs_flag_id id)
{
    if (id == GS_FLAG_gates) {
        return "metrics";
    }
    return gs_flag_at(id)->field == NULL ? "strategies" : id == GS_FLAG_format ? "formats" : NULL;
}

/* What follows flags that take a value, and the verbs, as a bash case. */
static void put_bash_values(FILE *out)
{
    fputs("    case \"$before\" in\n", out);
    for (size_t i = 0; i < GS_FLAG_COUNT; i++) {
        const gs_flag *flag = gs_flag_at((gs_flag_id)i);
        if (flag->value == NULL) {
            continue;
        }
        fprintf(out, "    --%s", flag->name);
        if (flag->letter != 0) {
            fprintf(out, "|-%c", flag->letter);
        }
        if (takes_file(flag)) {
            fputs(") COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n", out);
        } else if (kind_of_values((gs_flag_id)i) != NULL) {
            fprintf(out,
                    ") COMPREPLY=($(compgen -W \"$(_gradsync_names %s)\" -- \"$word\")); "
                    "return ;;\n",
                    kind_of_values((gs_flag_id)i));
        } else if (flag->field->choices != NULL) {
            fputs(") COMPREPLY=($(compgen -W \"", out);
            put_list(flag->field->choices, out);
            fputs("\" -- \"$word\")); return ;;\n", out);
        } else {
            fputs(") return ;;\n", out);
        }
    }
    fputs("    esac\n", out);
}

/* Parameters behind "-s NAME:", of which bash makes words of their own at the colon. */
static void put_bash_parameters(FILE *out)
{
    fputs("    local at=0\n"
          "    if [[ $word == : ]]; then at=1 word=''; elif [[ $before == : ]]; then at=2; fi\n"
          "    if ((at > 0 && COMP_CWORD > at)); then\n"
          "        case \"${COMP_WORDS[COMP_CWORD-at-1]}\" in -s|--strategy)\n"
          "            COMPREPLY=($(compgen -S = -W \"$(gradsync show "
          "\"${COMP_WORDS[COMP_CWORD-at]}\" --csv 2>/dev/null | tail -n +2 | cut -d, -f1)\" -- "
          "\"$word\"))\n"
          "            compopt -o nospace +o filenames 2>/dev/null\n"
          "            return ;;\n"
          "        esac\n"
          "    fi\n",
          out);
}

static void put_bash_words(gs_verb_id verb, FILE *out)
{
    put_list(gs_verb_first_words(verb), out);
    fputs(takes_scenario(verb) ? " $(_gradsync_names scenarios)" : "", out);
    fprintf(out, "%s%s", takes_run(verb) ? " " : "", takes_run(verb) ? selectors : "");
    if (verb == GS_VERB_help) {
        put_verb_names(" ", out);
        fputs(" scenario", out);
    } else if (verb == GS_VERB_show) {
        fputs(" $(for k in strategies collectives models formats scenarios profiles metrics "
              "devices; do _gradsync_names $k; done)",
              out);
    }
}

/* Verbs whose words may be files, as a pattern of case. */
static void put_file_verbs(FILE *out)
{
    for (size_t i = 0; i < GS_VERB_COUNT; i++) {
        if (takes_scenario((gs_verb_id)i)) {
            fprintf(out, "%s|", gs_verb_at((gs_verb_id)i)->name);
        }
    }
    fputs("trace", out);
}

static void put_bash_verbs(FILE *out)
{
    fputs("    case \"$verb\" in\n", out);
    for (size_t i = 0; i < GS_VERB_COUNT; i++) {
        fprintf(out, "    %s) flags=\"", gs_verb_at((gs_verb_id)i)->name);
        put_flag_names((gs_verb_id)i, out);
        fputs("\" words=\"", out);
        put_bash_words((gs_verb_id)i, out);
        fputs("\" ;;\n", out);
    }
    fputs("    *) flags=\"", out);
    put_flag_names(GS_VERB_COUNT, out);
    fputs("\" words=\"", out);
    put_verb_names(" ", out);
    fputs("\" ;;\n    esac\n", out);
}

static void put_bash(FILE *out)
{
    fputs(
        "# bash completion of gradsync; made by: gradsync completion bash\n"
        "_gradsync_names() { gradsync list \"$1\" --csv 2>/dev/null | tail -n +2 | cut -d, -f1; }\n"
        "_gradsync() {\n"
        "    local word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
        "    local verb='' flags words i\n"
        "    COMPREPLY=()\n"
        "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
        "        case \"${COMP_WORDS[i]}\" in\n        ",
        out);
    put_verb_names("|", out);
    fputs(") verb=\"${COMP_WORDS[i]}\"; break ;;\n        esac\n    done\n", out);
    put_bash_parameters(out);
    put_bash_values(out);
    put_bash_verbs(out);
    fputs("    if [[ $word == -* ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n"
          "    else\n"
          "        COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
          "        case \"$verb\" in ",
          out);
    put_file_verbs(out);
    fputs(") COMPREPLY+=($(compgen -f -- \"$word\")) ;; esac\n"
          "    fi\n"
          "}\n"
          "complete -o filenames -F _gradsync gradsync\n",
          out);
}

/* Text within single quotes of zsh and fish; brackets and colons of zsh's own escaped. */
static void put_quoted(const char *text, bool zsh, FILE *out)
{
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '\'') {
            fputs(zsh ? "'\\''" : "\\'", out);
            continue;
        }
        if (zsh && (*c == '[' || *c == ']' || *c == ':')) {
            fputc('\\', out);
        }
        fputc(*c, out);
    }
}

static void put_zsh_words(gs_verb_id verb, FILE *out)
{
    if (gs_verb_first_words(verb) != NULL) {
        fputs("compadd -- ", out);
        put_list(gs_verb_first_words(verb), out);
        fputs("; ", out);
    }
    if (takes_run(verb)) {
        fprintf(out, "compadd -- %s; ", selectors);
    }
    fputs(takes_scenario(verb) ? "_gradsync_names scenarios; " : "", out);
    fputs(takes_scenario(verb) || verb == GS_VERB_trace ? "_files; " : "", out);
    if (verb == GS_VERB_help) {
        fputs("compadd -- ", out);
        put_verb_names(" ", out);
        fputs(" scenario; ", out);
    } else if (verb == GS_VERB_show) {
        fputs("for k in strategies collectives models profiles devices; do _gradsync_names $k; "
              "done; ",
              out);
    }
    fputc(':', out);
}

static void put_zsh(FILE *out)
{
    fputs("#compdef gradsync\n# zsh completion of gradsync; made by: gradsync completion zsh\n"
          "_gradsync_names() { compadd -- ${(f)\"$(gradsync list $1 --csv 2>/dev/null | tail -n +2 "
          "| cut -d, -f1)\"} }\n_gradsync() {\n    _arguments -S \\\n",
          out);
    for (size_t i = 0; i < GS_FLAG_COUNT; i++) {
        const gs_flag *flag = gs_flag_at((gs_flag_id)i);
        fprintf(out, "        '%s--%s[", flag->field == NULL ? "*" : "", flag->name);
        put_quoted(flag->help, true, out);
        fputc(']', out);
        if (flag->value != NULL) {
            fputc(':', out);
            put_quoted(flag->value, true, out);
            fputc(':', out);
            if (takes_file(flag)) {
                fputs("_files", out);
            } else if (kind_of_values((gs_flag_id)i) != NULL) {
                fprintf(out, "_gradsync_names %s", kind_of_values((gs_flag_id)i));
            } else if (flag->field->choices != NULL) {
                fputc('(', out);
                put_list(flag->field->choices, out);
                fputc(')', out);
            }
        }
        fputs("' \\\n", out);
    }
    fputs("        '1:verb:(", out);
    put_verb_names(" ", out);
    fputs(")' '*::word:->word'\n    case $words[1] in\n", out);
    for (size_t i = 0; i < GS_VERB_COUNT; i++) {
        fprintf(out, "    %s) ", gs_verb_at((gs_verb_id)i)->name);
        put_zsh_words((gs_verb_id)i, out);
        fputs(" ;;\n", out);
    }
    fputs("    esac\n}\n_gradsync \"$@\"\n", out);
}

static void put_fish(FILE *out)
{
    fputs("# fish completion of gradsync; made by: gradsync completion fish\n"
          "function __gradsync_names\n"
          "    gradsync list $argv[1] --csv 2>/dev/null | tail -n +2 | cut -d, -f1\n"
          "end\n",
          out);
    for (size_t i = 0; i < GS_VERB_COUNT; i++) {
        const gs_verb *verb = gs_verb_at((gs_verb_id)i);
        fprintf(out, "complete -c gradsync -n __fish_use_subcommand -a %s -d '", verb->name);
        put_quoted(verb->summary, false, out);
        fputs("'\n", out);
        if (gs_verb_first_words((gs_verb_id)i) != NULL) {
            fprintf(out, "complete -c gradsync -n '__fish_seen_subcommand_from %s' -a '",
                    verb->name);
            put_list(gs_verb_first_words((gs_verb_id)i), out);
            fputs("'\n", out);
        }
    }
    for (size_t i = 0; i < GS_VERB_COUNT; i++) {
        const char *name = gs_verb_at((gs_verb_id)i)->name;
        if (takes_scenario((gs_verb_id)i)) {
            fprintf(out,
                    "complete -c gradsync -n '__fish_seen_subcommand_from %s' -a "
                    "'(__gradsync_names scenarios)'\n",
                    name);
        }
        if (takes_run((gs_verb_id)i)) {
            fprintf(out, "complete -c gradsync -n '__fish_seen_subcommand_from %s' -a '%s'\n", name,
                    selectors);
        }
    }
    for (size_t i = 0; i < GS_FLAG_COUNT; i++) {
        const gs_flag *flag = gs_flag_at((gs_flag_id)i);
        fprintf(out, "complete -c gradsync -l %s", flag->name);
        if (flag->letter != 0) {
            fprintf(out, " -s %c", flag->letter);
        }
        fputs(flag->value == NULL ? "" : takes_file(flag) ? " -r" : " -x", out);
        if (kind_of_values((gs_flag_id)i) != NULL) {
            fprintf(out, " -a '(__gradsync_names %s)'", kind_of_values((gs_flag_id)i));
        } else if (flag->field->choices != NULL) {
            fputs(" -a '", out);
            put_list(flag->field->choices, out);
            fputc('\'', out);
        }
        fputs(" -d '", out);
        put_quoted(flag->help, false, out);
        fputs("'\n", out);
    }
}

int gs_cmd_completion(const gs_cli *cli)
{
    if (cli->word_count != 1) {
        gs_complain("completion: which shell? allowed is bash, zsh or fish");
        return GS_EXIT_USAGE;
    }
    gs_output output;
    int code = gs_output_open(&output, cli->flags.output);
    if (code != GS_EXIT_OK) {
        return code;
    }
    if (strcmp(cli->words[0], "bash") == 0) {
        put_bash(output.text);
    } else if (strcmp(cli->words[0], "zsh") == 0) {
        put_zsh(output.text);
    } else {
        put_fish(output.text);
    }
    return gs_output_close(&output);
}
