#include "tools/cli.h"

#include "base/assert.h"
#include "base/log.h"
#include "base/nearest.h"
#include "tools/cli_sources.h"
#include "tools/launcher.h"
#include "tools/live_crew.h"
#include "tools/message.h"
#include "tools/verbs.h"
#include "tools/version.h"
#include "traces/store/store.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONG_BASE = 0x100 /* getopt codes of flags: above every letter */ };

/* The words after the flags have been taken out; the first is the verb. */
typedef struct word_list {
    const char **words;
    size_t count;
} word_list;

static void describe_options(struct option *longs, char *letters)
{
    size_t used = 0;
    letters[used++] = '-'; /* words come in their order, whatever POSIXLY_CORRECT says */
    letters[used++] = ':';
    for (size_t i = 0; i < GS_FLAG_COUNT; i++) {
        const gs_flag *flag = gs_flag_at((gs_flag_id)i);
        int argument = flag->value == NULL ? no_argument : required_argument;
        longs[i] =
            (struct option){.name = flag->name, .has_arg = argument, .val = LONG_BASE + (int)i};
        if (flag->letter != 0) {
            letters[used++] = flag->letter;
            letters[used] = ':';
            used += flag->value == NULL ? 0 : 1;
        }
    }
    letters[used] = '\0';
}

static gs_flag_id flag_of_code(int code)
{
    for (size_t i = 0; i < GS_FLAG_COUNT; i++) {
        if (code == LONG_BASE + (int)i || code == gs_flag_at((gs_flag_id)i)->letter) {
            return (gs_flag_id)i;
        }
    }
    return GS_FLAG_COUNT;
}

static int complain_unknown(const char *word)
{
    const char *names[GS_FLAG_COUNT];
    char bare[GS_FLAG_TEXT_BYTES];
    snprintf(bare, sizeof bare, "%s", word + strspn(word, "-"));
    bare[strcspn(bare, "=")] = '\0';
    size_t starts = 0;
    for (size_t i = 0; i < GS_FLAG_COUNT; i++) {
        names[i] = gs_flag_at((gs_flag_id)i)->name;
        starts += strncmp(names[i], bare, strlen(bare)) == 0 ? 1 : 0;
    }
    const char *near = gs_nearest_name(bare, names, GS_FLAG_COUNT);
    if (strncmp(word, "--", 2) == 0 && starts > 1) {
        gs_complain("flag --%s: short for more than one flag; write it in full", bare);
    } else if (near != NULL) {
        gs_complain("unknown flag %s; did you mean --%s?", word, near);
    } else {
        gs_complain("unknown flag %s; see gradsync help", word);
    }
    return GS_EXIT_USAGE;
}

/* Where the values of a flag gather that may be repeated. */
typedef struct value_list {
    const char **values;
    size_t *count;
    size_t most;
} value_list;

static value_list list_of(gs_cli *cli, gs_flag_id id)
{
    if (id == GS_FLAG_plugins) {
        return (value_list){cli->plugins, &cli->plugin_count, GS_PLUGINS_MAX};
    }
    if (id == GS_FLAG_gates) {
        return (value_list){cli->gates, &cli->gate_count, GS_CLI_GATES_MAX};
    }
    return (value_list){cli->strategies, &cli->strategy_count, GS_CLI_STRATEGIES_MAX};
}

static int take_flag(gs_cli *cli, gs_flag_id id, const char *value)
{
    const gs_flag *flag = gs_flag_at(id);
    cli->from[id] = GS_FROM_FLAG;
    if (flag->field == NULL) {
        value_list list = list_of(cli, id);
        if (*list.count == list.most) {
            gs_complain("--%s: more than %zu of them", flag->name, list.most);
            return GS_EXIT_USAGE;
        }
        list.values[(*list.count)++] = value;
        return GS_EXIT_OK;
    }
    char place[64];
    snprintf(place, sizeof place, "--%s", flag->name);
    return gs_cli_set(cli, id, flag->value == NULL ? "true" : value, place);
}

/* argv to words and flags. What configuration and environment say comes later and leaves alone what
 * a flag has set. */
static int walk(int argc, char **argv, gs_cli *cli, word_list *words)
{
    struct option longs[GS_FLAG_COUNT + 1] = {{0}};
    char letters[2 * GS_FLAG_COUNT + 8];
    describe_options(longs, letters);
    opterr = 0;
    optind = 0; /* glibc: start afresh */
    words->count = 0;
    for (;;) {
        int before = optind == 0 ? 1 : optind;
        int code = getopt_long(argc, argv, letters, longs, NULL);
        if (code == -1) {
            break;
        }
        if (code == 1) {
            words->words[words->count++] = optarg;
            continue;
        }
        if (code == ':') {
            gs_complain("flag %s needs a value", argv[optind - 1]);
            return GS_EXIT_USAGE;
        }
        gs_flag_id id = flag_of_code(code);
        if (code == '?' || id == GS_FLAG_COUNT) {
            if (optopt >= LONG_BASE) {
                gs_complain("flag --%s takes no value", gs_flag_at(flag_of_code(optopt))->name);
                return GS_EXIT_USAGE;
            }
            return complain_unknown(argv[before]);
        }
        int taken = take_flag(cli, id, optarg);
        if (taken != GS_EXIT_OK) {
            return taken;
        }
    }
    for (int i = optind; i < argc; i++) {
        words->words[words->count++] = argv[i];
    }
    return GS_EXIT_OK;
}

static int complain_verb(const char *name)
{
    const char *names[GS_VERB_COUNT];
    size_t count = 0;
    for (size_t i = 0; i < GS_VERB_COUNT; i++) {
        names[count++] = gs_verb_at((gs_verb_id)i)->name;
    }
    const char *near = gs_nearest_name(name, names, count);
    if (near != NULL) {
        gs_complain("unknown verb %s; did you mean %s?", name, near);
    } else {
        gs_complain("unknown verb %s; see gradsync help", name);
    }
    return GS_EXIT_USAGE;
}

static int check_first_word(const gs_cli *cli)
{
    const gs_verb *verb = gs_verb_at(cli->verb);
    const char *const *allowed = gs_verb_first_words(cli->verb);
    if (allowed == NULL || cli->word_count == 0) {
        return GS_EXIT_OK;
    }
    size_t count = 0;
    for (; allowed[count] != NULL; count++) {
        if (strcmp(allowed[count], cli->words[0]) == 0) {
            return GS_EXIT_OK;
        }
    }
    const char *near = gs_nearest_name(cli->words[0], allowed, count);
    if (near != NULL) {
        gs_complain("%s: unknown word %s; did you mean %s?", verb->name, cli->words[0], near);
    } else {
        char list[256] = "";
        for (size_t i = 0; i < count; i++) {
            size_t used = strlen(list);
            snprintf(list + used, sizeof list - used, "%s%s", i == 0 ? "" : ", ", allowed[i]);
        }
        gs_complain("%s: unknown word \"%s\"; allowed is one of %s", verb->name, cli->words[0],
                    list);
    }
    return GS_EXIT_USAGE;
}

static int check_flags(const gs_cli *cli)
{
    const gs_verb *verb = gs_verb_at(cli->verb);
    for (size_t i = 0; i < GS_FLAG_COUNT; i++) {
        if (cli->from[i] == GS_FROM_FLAG && !gs_flag_is_of((gs_flag_id)i, cli->verb)) {
            gs_complain("--%s is no flag of %s; see gradsync help %s",
                        gs_flag_at((gs_flag_id)i)->name, verb->name, verb->name);
            return GS_EXIT_USAGE;
        }
    }
    if ((cli->flags.json ? 1 : 0) + (cli->flags.csv ? 1 : 0) + (cli->flags.markdown ? 1 : 0) > 1) {
        gs_complain("--json, --csv and --markdown exclude each other; choose one");
        return GS_EXIT_USAGE;
    }
    if (cli->flags.quiet && cli->flags.verbose) {
        gs_complain("--quiet and --verbose exclude each other; choose one");
        return GS_EXIT_USAGE;
    }
    return check_first_word(cli);
}

/* Decides about colour and messages; sets what is process-wide. */
static void settle(gs_cli *cli)
{
    bool terminal = cli->flags.output[0] == '\0' && isatty(STDOUT_FILENO) == 1;
    const char *no_color = getenv("NO_COLOR");
    const char *kind = getenv("TERM");
    if (cli->flags.color == GS_COLOR_AUTO && terminal && no_color != NULL && no_color[0] != '\0') {
        gs_cli_note_variable(cli, "NO_COLOR", no_color);
        terminal = false;
    }
    gs_launcher launcher;
    gs_error err;
    if (gs_launcher_find(&launcher, &err) != GS_OK || launcher.variable != NULL) {
        terminal = false; /* mpirun shows process 0 a terminal, also where it writes to a file */
    }
    cli->bold =
        cli->flags.color == GS_COLOR_ALWAYS || (cli->flags.color == GS_COLOR_AUTO && terminal &&
                                                (kind == NULL || strcmp(kind, "dumb") != 0));
    gs_log_level level = (gs_log_level)cli->flags.log;
    if (cli->from[GS_FLAG_log] < GS_FROM_VARIABLE) {
        level = cli->flags.quiet ? GS_LOG_ERROR : cli->flags.verbose ? GS_LOG_INFO : level;
    }
    gs_log_to(gs_message_log, NULL, level);
}

/* All strategies there will be, before the verb asks for the first of them. */
static int load_plugins(gs_cli *cli)
{
    gs_error err = {0};
    for (size_t i = 0; i < cli->plugin_count; i++) {
        if (gs_plugin_load(cli->plugins[i], &cli->loaded[i], &err) != GS_OK) {
            return gs_complain_error(&err);
        }
    }
    return GS_EXIT_OK;
}

/* The verb before flags are read, which may be wrong ones. */
static gs_verb_id first_verb(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        for (size_t verb = 0; verb < GS_VERB_COUNT; verb++) {
            if (strcmp(gs_verb_at((gs_verb_id)verb)->name, argv[i]) == 0) {
                return (gs_verb_id)verb;
            }
        }
    }
    return GS_VERB_help;
}

static int run_words(int argc, char **argv, word_list *words)
{
    gs_cli cli = {.verb = first_verb(argc, argv)};
    gs_config_defaults(gs_flag_fields(), &cli.flags);
    gs_live_crew_hush(&cli);
    int code = walk(argc, argv, &cli, words);
    if (code != GS_EXIT_OK) {
        return gs_live_crew_refuse(&cli, code);
    }
    if (cli.flags.version) {
        printf("%s\n", gs_version_line());
        return fflush(stdout) == 0 ? GS_EXIT_OK : GS_EXIT_FAILED;
    }
    cli.words = words->words + 1;
    cli.word_count = words->count == 0 ? 0 : words->count - 1;
    cli.verb = words->count == 0 ? GS_VERB_help : GS_VERB_COUNT;
    for (size_t i = 0; i < GS_VERB_COUNT && words->count > 0; i++) {
        cli.verb = strcmp(gs_verb_at((gs_verb_id)i)->name, words->words[0]) == 0 ? (gs_verb_id)i
                                                                                 : cli.verb;
    }
    if (cli.verb == GS_VERB_COUNT) {
        return complain_verb(words->words[0]);
    }
    if (cli.flags.help) {
        cli.words = words->words;
        cli.word_count = cli.verb == GS_VERB_help ? 0 : 1;
        return gs_cmd_help(&cli);
    }
    if (words->count == 0 && !cli.flags.man) {
        gs_complain("no verb; see gradsync help");
        return GS_EXIT_USAGE;
    }
    code = check_flags(&cli);
    if (code == GS_EXIT_OK && cli.verb != GS_VERB_help && cli.verb != GS_VERB_completion) {
        code = gs_cli_read_sources(&cli);
    }
    if (code != GS_EXIT_OK) {
        return gs_live_crew_refuse(&cli, code);
    }
    settle(&cli);
    cli.loaded = gs_need(calloc(GS_PLUGINS_MAX, sizeof *cli.loaded));
    code = load_plugins(&cli);
    code = code == GS_EXIT_OK ? gs_verb_at(cli.verb)->run(&cli) : gs_live_crew_refuse(&cli, code);
    free(cli.loaded);
    return code;
}

int gs_cli_run(int argc, char **argv)
{
    word_list words = {.words = gs_need(calloc((size_t)argc + 1, sizeof *words.words))};
    int code = run_words(argc, argv, &words);
    free(words.words);
    return code;
}

gs_table_format gs_cli_table_format(const gs_cli *cli)
{
    return cli->flags.csv ? GS_TABLE_CSV : cli->flags.markdown ? GS_TABLE_MARKDOWN : GS_TABLE_TEXT;
}

gs_status gs_cli_database(const gs_cli *cli, char *out, size_t out_bytes, bool *out_is_default,
                          gs_error *err)
{
    *out_is_default = cli->flags.db[0] == '\0';
    if (strcmp(cli->flags.db, ":memory:") == 0) {
        return gs_fail(err, GS_EINVAL, "--db :memory: keeps nothing; name a file");
    }
    if (!*out_is_default) {
        snprintf(out, out_bytes, "%s", cli->flags.db);
        return GS_OK;
    }
    return gs_store_default_path(getenv("XDG_STATE_HOME"), getenv("HOME"), out, out_bytes, err);
}

int gs_cli_open_store(const gs_cli *cli, char path[GS_FLAG_TEXT_BYTES], gs_store **out)
{
    bool is_default = false;
    gs_error err = {0};
    gs_status status = gs_cli_database(cli, path, GS_FLAG_TEXT_BYTES, &is_default, &err);
    if (status == GS_OK) {
        status = gs_store_open(path, GS_STORE_READ, out, &err);
    }
    return status == GS_OK ? GS_EXIT_OK : gs_complain_error(&err);
}
