#include "tools/cli_sources.h"

#include "tools/message.h"
#include "tools/places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int gs_cli_set(gs_cli *cli, gs_flag_id id, const char *value, const char *place)
{
    gs_error err = {0};
    const gs_field_table *table = gs_flag_fields();
    if (gs_config_set_text(table, &cli->flags, gs_flag_at(id)->name, value, &err) == GS_OK) {
        return GS_EXIT_OK;
    }
    /* The table says "flag.jobs: "; people know it as --jobs or by its variable. */
    const char *what = strstr(err.text, ": ");
    gs_complain("%s: %s", place, what == NULL ? err.text : what + 2);
    return GS_EXIT_USAGE;
}

void gs_cli_note_variable(gs_cli *cli, const char *name, const char *value)
{
    size_t used = strlen(cli->environment);
    snprintf(cli->environment + used, sizeof cli->environment - used, "%s%s=%s",
             used == 0 ? "" : " ", name, value);
}

/* Copies the member of one flag. */
static void copy_member(gs_flags *to, const gs_flags *from, const gs_field *field)
{
    memcpy((char *)to + field->offset, (const char *)from + field->offset, field->size);
}

static int read_configuration(gs_cli *cli, const char *file)
{
    gs_error err = {0};
    gs_json_at document;
    if (gs_json_read(file, &document, &err) != GS_OK) {
        return gs_complain_error(&err);
    }
    gs_flags read = cli->flags;
    gs_status status = gs_config_read(gs_flag_configuration(), &read, &document, NULL, &err);
    for (size_t i = 0; i < GS_FLAG_COUNT && status == GS_OK; i++) {
        const gs_flag *flag = gs_flag_at((gs_flag_id)i);
        gs_json_at value;
        if (flag->in_configuration && cli->from[i] == GS_FROM_BUILT_IN &&
            gs_json_find(&document, flag->name, &value)) {
            copy_member(&cli->flags, &read, flag->field);
            cli->from[i] = GS_FROM_CONFIGURATION;
        }
    }
    gs_json_free(document.value);
    return status == GS_OK ? GS_EXIT_OK : gs_complain_error(&err);
}

int gs_cli_read_sources(gs_cli *cli)
{
    const char *file = gs_places_config();
    const char *named = getenv("GRADSYNC_CONFIG");
    bool is_named = named != NULL && named[0] != '\0';
    if (is_named) {
        gs_cli_note_variable(cli, "GRADSYNC_CONFIG", named);
    }
    /* A file that nobody has named may be absent. */
    if (file[0] != '\0' && (is_named || access(file, F_OK) == 0)) {
        int code = read_configuration(cli, file);
        if (code != GS_EXIT_OK) {
            return code;
        }
    }
    for (size_t i = 0; i < GS_FLAG_COUNT; i++) {
        const gs_flag *flag = gs_flag_at((gs_flag_id)i);
        const char *value = flag->variable == NULL ? NULL : getenv(flag->variable);
        if (value == NULL || value[0] == '\0' || cli->from[i] == GS_FROM_FLAG ||
            !gs_flag_is_of((gs_flag_id)i, cli->verb)) {
            continue;
        }
        int code = gs_cli_set(cli, (gs_flag_id)i, value, flag->variable);
        if (code != GS_EXIT_OK) {
            return code;
        }
        cli->from[i] = GS_FROM_VARIABLE;
        gs_cli_note_variable(cli, flag->variable, value);
    }
    return GS_EXIT_OK;
}
