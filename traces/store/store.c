#include "traces/store/store.h"

#include "base/assert.h"
#include "traces/store/store_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char in_memory[] = ":memory:";

const char *gs_run_status_text(gs_run_status status)
{
    static const char *const texts[] = {
#define GS_RUN_STATUS_TEXT(name, text, help) text,
        GS_RUN_STATUS_LIST(GS_RUN_STATUS_TEXT)
#undef GS_RUN_STATUS_TEXT
    };
    GS_ASSERT(status < GS_RUN_STATUS_COUNT);
    return texts[status];
}

const char *gs_run_source_text(gs_run_source source)
{
    static const char *const texts[] = {"sim", "live", "import"};
    GS_ASSERT(source < sizeof texts / sizeof texts[0]);
    return texts[source];
}

gs_status gs_store_default_path(const char *xdg_state_home, const char *home, char *out,
                                size_t out_bytes, gs_error *err)
{
    bool has_state = xdg_state_home != NULL && xdg_state_home[0] == '/';
    if (!has_state && (home == NULL || home[0] != '/')) {
        return gs_fail(err, GS_ENOTFOUND,
                       "no place for the database: neither XDG_STATE_HOME nor HOME is an absolute "
                       "path; name a file with --db");
    }
    int used = has_state ? snprintf(out, out_bytes, "%s/gradsync/runs.db", xdg_state_home)
                         : snprintf(out, out_bytes, "%s/.local/state/gradsync/runs.db", home);
    if (used < 0 || (size_t)used >= out_bytes) {
        return gs_fail(err, GS_ELIMIT,
                       "the path of the default database is longer than %zu bytes; name a file "
                       "with --db",
                       out_bytes - 1);
    }
    return GS_OK;
}

/* Makes every folder on the way to path, for its user alone as XDG wants it. */
static gs_status make_folders(const char *path, gs_error *err)
{
    char *folder = strdup(path);
    if (folder == NULL) {
        return gs_fail(err, GS_ENOMEM, "%s: %s", path, gs_status_text(GS_ENOMEM));
    }
    gs_status status = GS_OK;
    for (char *slash = strchr(folder + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
            status =
                gs_fail(err, GS_EIO, "%s: cannot make the folder %s (%s); name a file with --db",
                        path, folder, strerror(errno));
            break;
        }
        *slash = '/';
    }
    free(folder);
    return status;
}

/* The folder that path lies in must be there. */
static gs_status check_folder(const char *path, gs_error *err)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL || slash == path) {
        return GS_OK;
    }
    char *folder = strdup(path);
    if (folder == NULL) {
        return gs_fail(err, GS_ENOMEM, "%s: %s", path, gs_status_text(GS_ENOMEM));
    }
    folder[slash - path] = '\0';
    struct stat facts;
    bool is_there = stat(folder, &facts) == 0 && S_ISDIR(facts.st_mode);
    gs_status status = GS_OK;
    if (!is_there) {
        status = gs_fail(err, GS_ENOTFOUND,
                         "%s: there is no folder %s; make it, or use another --db", path, folder);
    }
    free(folder);
    return status;
}

/* Says in our words what SQLite would only call "unable to open database file". */
static gs_status check_path(const char *path, gs_store_mode mode, gs_error *err)
{
    if (strcmp(path, in_memory) == 0) {
        return GS_OK;
    }
    if (strncmp(path, "file:", 5) == 0) {
        return gs_fail(err, GS_EINVAL,
                       "%s: SQLite takes that for an address; write ./%s for a file of that name",
                       path, path);
    }
    struct stat facts;
    if (stat(path, &facts) == 0) {
        if (!S_ISREG(facts.st_mode)) {
            return gs_fail(err, GS_EINVAL, "%s: %s, not a database file; use another --db", path,
                           S_ISDIR(facts.st_mode) ? "a folder" : "a device or pipe");
        }
        return GS_OK;
    }
    if (mode == GS_STORE_READ) {
        return gs_fail(err, GS_ENOTFOUND,
                       "%s: no such database; `gradsync sim` makes one, or name another with --db",
                       path);
    }
    return mode == GS_STORE_WRITE_MAKE_FOLDERS ? make_folders(path, err) : check_folder(path, err);
}

static gs_status prepare_file(gs_sql *sql, gs_store_mode mode, gs_error *err)
{
    if (mode != GS_STORE_READ && gs_sql_is_read_only(sql)) {
        return gs_fail(err, GS_EIO,
                       "%s: the database cannot be written; allow writing to the file and its "
                       "folder, or use another --db",
                       sql->path);
    }
    return gs_store_migrate(sql, gs_store_migrations, gs_store_schema_version, err);
}

gs_status gs_store_open(const char *path, gs_store_mode mode, gs_store **out, gs_error *err)
{
    GS_TRY(check_path(path, mode, err));
    gs_store *store = calloc(1, sizeof *store);
    if (store == NULL) {
        return gs_fail(err, GS_ENOMEM, "%s: %s", path, gs_status_text(GS_ENOMEM));
    }
    gs_status status = gs_sql_open(path, mode != GS_STORE_READ, &store->sql, err);
    if (status != GS_OK) {
        free(store);
        return status;
    }
    status = prepare_file(&store->sql, mode, err);
    if (status != GS_OK) {
        gs_store_close(store);
        return status;
    }
    *out = store;
    return GS_OK;
}

const char *gs_store_library(void)
{
    return gs_sql_library();
}

int64_t gs_store_schema(void)
{
    return gs_store_schema_version;
}

void gs_store_close(gs_store *store)
{
    if (store == NULL) {
        return;
    }
    gs_sql_close(&store->sql);
    free(store);
}
