/* The database as a file: made, migrated, refused, locked, full, and left by a killed process. */
#include "tests/support.h"
#include "tests/traces/store_fixture.h"

#include <inttypes.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

TestSuite(store_file, .init = fixture_init, .fini = fixture_fini, .timeout = 120);

static void assert_open_fails(const char *path, gs_store_mode mode, gs_status code,
                              const char *text_after_path)
{
    gs_store *store = NULL;
    gs_error err = {0};
    cr_assert_eq(gs_store_open(path, mode, &store, &err), code, "%s", err.text);
    cr_assert_eq(err.code, code);
    cr_assert_null(store);
    char wanted[GS_ERROR_TEXT_BYTES];
    (void)snprintf(wanted, sizeof wanted, "%s: %s", path, text_after_path);
    cr_assert_str_eq(err.text, wanted);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_geq(fputs(text, file), 0);
    cr_assert_eq(fclose(file), 0);
}

static void sleep_ms(long ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&time, NULL);
}

Test(store_file, a_new_database_has_its_version_its_mark_and_no_write_ahead_log)
{
    const char *path = fixture_path("runs.db");
    gs_stored_run run = fixture_run(1, 1);
    gs_store *store = fixture_open(path, GS_STORE_WRITE);
    (void)fixture_write(store, &run);
    gs_store_close(store);
    cr_assert_eq(fixture_query(path, "PRAGMA user_version"), gs_store_schema_version);
    cr_assert_eq(fixture_query(path, "PRAGMA application_id"), GS_STORE_APPLICATION);
    cr_assert_eq(fixture_query(path, "SELECT journal_mode = 'delete' FROM pragma_journal_mode"), 1);
    cr_assert_eq(fixture_query(path, "PRAGMA foreign_keys"), 1);
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM status"), GS_RUN_STATUS_COUNT);
    /* Every table is strict: a text in a number column is refused, not kept. */
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM pragma_table_list WHERE strict = 0 AND "
                                     "type = 'table' AND name NOT LIKE 'sqlite_%'"),
                 0);
}

/* Bytes 24 to 27 of a SQLite file count the transactions that have changed it, the highest first.
 */
static int change_count(const char *path)
{
    unsigned char header[28];
    int file = open(path, O_RDONLY);
    cr_assert_geq(file, 0);
    cr_assert_eq(read(file, header, sizeof header), (ssize_t)sizeof header);
    cr_assert_eq(close(file), 0);
    return header[24] << 24 | header[25] << 16 | header[26] << 8 | header[27];
}

Test(store_file, opening_again_changes_nothing)
{
    const char *path = fixture_path("runs.db");
    gs_store_close(fixture_open(path, GS_STORE_WRITE));
    cr_assert_eq(change_count(path), 1); /* made in one transaction */
    gs_store_close(fixture_open(path, GS_STORE_WRITE));
    gs_store_close(fixture_open(path, GS_STORE_READ));
    cr_assert_eq(change_count(path), 1);
}

Test(store_file, a_name_without_a_folder_is_a_file_of_the_current_one)
{
    cr_assert_eq(chdir(fixture_folder), 0);
    gs_store_close(fixture_open("here.db", GS_STORE_WRITE));
    cr_assert_eq(access(fixture_path("here.db"), F_OK), 0);
}

Test(store_file, an_empty_file_becomes_a_database)
{
    const char *path = fixture_path("empty.db");
    write_file(path, "");
    gs_store_close(fixture_open(path, GS_STORE_WRITE));
    cr_assert_eq(fixture_query(path, "PRAGMA user_version"), gs_store_schema_version);
}

enum { STEPS_MAX = 32 };

/* Today's steps and one after them. */
static void add_step(gs_store_migration steps[STEPS_MAX], const char *const *later)
{
    cr_assert_lt(gs_store_schema_version, STEPS_MAX);
    memcpy(steps, gs_store_migrations, (size_t)gs_store_schema_version * sizeof *steps);
    steps[gs_store_schema_version].statements = later;
}

/* "made by a newer gradsync ..." of a database of that schema. */
static const char *newer_text(int64_t schema)
{
    static char text[256];
    (void)snprintf(text, sizeof text,
                   "made by a newer gradsync (its schema is %" PRId64 ", this gradsync knows up to "
                   "%" PRId64 "); use a newer gradsync or another --db",
                   schema, gs_store_schema_version);
    return text;
}

/* A step after today's, as a later version will have: rows written before it must live on.
 */
Test(store_file, an_older_database_is_migrated_with_its_runs)
{
    static const char *const later[] = {"ALTER TABLE run ADD COLUMN note TEXT DEFAULT 'old'",
                                        "CREATE TABLE later(x INTEGER) STRICT", NULL};
    gs_store_migration steps[STEPS_MAX];
    add_step(steps, later);
    int64_t newer = gs_store_schema_version + 1;
    const char *path = fixture_path("older.db");
    gs_stored_run run = fixture_run(1, 1);
    gs_store *store = fixture_open(path, GS_STORE_WRITE);
    (void)fixture_write(store, &run);
    cr_assert_eq(gs_store_migrate(&store->sql, steps, newer, NULL), GS_OK);
    gs_store_close(store);
    cr_assert_eq(fixture_query(path, "PRAGMA user_version"), newer);
    cr_assert_eq(fixture_query(path, "SELECT note = 'old' FROM run WHERE label = 'nightly'"), 1);
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM later"), 0);
    assert_open_fails(path, GS_STORE_READ, GS_EVERSION, newer_text(newer));
}

/* A database as a program of schema 1 left it, with statements run on it. */
static void make_schema_1(const char *path, const char *statements)
{
    gs_sql sql;
    gs_error err = {0};
    cr_assert_eq(gs_sql_open(path, true, &sql, &err), GS_OK, "%s", err.text);
    cr_assert_eq(gs_store_migrate(&sql, gs_store_migrations, 1, &err), GS_OK, "%s", err.text);
    cr_assert_eq(gs_sql_run(&sql, statements, &err), GS_OK, "%s", err.text);
    gs_sql_close(&sql);
}

static const char two_runs[] =
    "INSERT INTO status VALUES('ok', ''), ('deadlock', '');"
    "INSERT INTO metric VALUES('step_p50_ns', 'ns', 'lower', 1, ''),"
    "  ('time_to_target_ns', 'ns', 'lower', 0, ''), ('events', 'events', 'none', 1, '');"
    "INSERT INTO scenario VALUES(1, 'eth10', 'a1b2c3d4e5f60718', '{}', 8, 2, 'mlp', 100);"
    "INSERT INTO strategy VALUES(1, 'allreduce', '1', '{}');"
    "INSERT INTO env(env_id, tool_version, env_hash) VALUES(1, '0.1.0', 'x');"
    "INSERT INTO run VALUES(1, 'k1', 1, 'sim', 1, 1, 1, NULL, 3, 0, 'ok', NULL, 'h',"
    "  '2026-11-29T23:59:58Z', 1500000000),"
    "  (2, 'k2', 2, 'live', 1, 1, 1, NULL, 3, 0, 'ok', NULL, NULL, '2026-11-30T00:10:00Z', 7),"
    "  (3, 'k3', 1, 'sim', 1, 1, 1, NULL, 4, 0, 'deadlock', NULL, NULL, '2026-11-30T00:00:00Z', 7);"
    "INSERT INTO result VALUES(1, 'step_p50_ns', 238500, 0), (1, 'time_to_target_ns', 9.5e9, 1),"
    "  (1, 'events', 4711, 0), (2, 'step_p50_ns', 250000, 0), (3, 'step_p50_ns', 238500, 0);";

/* Run 1 began at 23:59:58 and took 1.5 s: it was stored by 00:00:00 at the latest. Runs that were
 * measured, that failed and metrics that nobody judges foretell nothing. */
Test(store_file, simulated_runs_of_schema_1_are_predictions_since_they_ended)
{
    const char *path = fixture_path("older.db");
    make_schema_1(path, two_runs);
    gs_store_close(fixture_open(path, GS_STORE_WRITE));
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM prediction"), 2);
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM prediction WHERE run_id = 1 AND "
                                     "metric = 'step_p50_ns' AND value = 238500 AND "
                                     "predicted_utc = '2026-11-30T00:00:00Z'"),
                 1);
    cr_assert_eq(fixture_query(path, "SELECT value IS NULL FROM prediction "
                                     "WHERE metric = 'time_to_target_ns'"),
                 1);
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM run"), 3);
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
}

/* 238500 / 250000 - 1 = -0.046. */
Test(store_file, rows_of_validation_of_schema_1_move_along)
{
    const char *path = fixture_path("older.db");
    make_schema_1(path, two_runs);
    fixture_execute(path,
                    "INSERT INTO validation VALUES"
                    "(1, 'step_p50_ns', 238500, NULL, NULL, '2026-11-29T12:00:00Z', 2, 250000,"
                    " 7, '2026-11-30T00:20:00Z', 0.05, 'inside', 'why'),"
                    "(3, 'step_p50_ns', 1, NULL, NULL, '2026-11-29T13:00:00Z', NULL, NULL,"
                    " NULL, NULL, 0.05, 'pending', NULL)");
    gs_store_close(fixture_open(path, GS_STORE_WRITE));
    cr_assert_eq(fixture_query(path,
                               "SELECT count(*) FROM validation WHERE predicted_run_id = 1 AND "
                               "measured_run_id = 2 AND abs(error + 0.046) < 1e-12 AND blind AND "
                               "measured_count = 7 AND rank = -1 AND verdict = 'inside' AND "
                               "reason = 'why' AND measured_utc = '2026-11-30T00:10:00Z'"),
                 1);
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM validation"), 1);
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM prediction WHERE "
                                     "predicted_utc = '2026-11-29T12:00:00Z' AND run_id = 1"),
                 1);
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM prediction WHERE run_id = 3"), 1);
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM sqlite_schema "
                                     "WHERE name = 'validation_of_schema_1'"),
                 0);
}

Test(store_file, a_migration_that_fails_halfway_leaves_the_older_database)
{
    static const char *const later[] = {"CREATE TABLE later(x INTEGER) STRICT",
                                        "ALTER TABLE nothing ADD COLUMN x", NULL};
    gs_store_migration steps[STEPS_MAX];
    add_step(steps, later);
    const char *path = fixture_path("older.db");
    gs_error err = {0};
    gs_store *store = fixture_open(path, GS_STORE_WRITE);
    cr_assert_eq(gs_store_migrate(&store->sql, steps, gs_store_schema_version + 1, &err), GS_EIO);
    gs_store_close(store);
    cr_assert_eq(fixture_query(path, "PRAGMA user_version"), gs_store_schema_version);
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM sqlite_schema WHERE name = 'later'"), 0);
}

Test(store_file, a_newer_database_is_refused_with_both_versions)
{
    const char *path = fixture_path("newer.db");
    gs_store_close(fixture_open(path, GS_STORE_WRITE));
    fixture_execute(path, "PRAGMA user_version = 99");
    assert_open_fails(path, GS_STORE_WRITE, GS_EVERSION, newer_text(99));
}

Test(store_file, a_schema_below_zero_is_refused_for_reading_and_writing)
{
    const char *path = fixture_path("below.db");
    gs_store_close(fixture_open(path, GS_STORE_WRITE));
    fixture_execute(path, "PRAGMA user_version = -1");
    for (int mode = GS_STORE_READ; mode <= GS_STORE_WRITE; mode++) {
        assert_open_fails(path, (gs_store_mode)mode, GS_EPARSE,
                          "its schema is -1, which no gradsync has written; restore a copy, or use "
                          "another --db");
    }
}

Test(store_file, a_database_of_another_program_is_refused_and_left_alone)
{
    const char *path = fixture_path("places.sqlite");
    fixture_execute(path,
                    "CREATE TABLE visits(x); CREATE TABLE places(x); PRAGMA user_version = 7");
    for (int mode = GS_STORE_READ; mode <= GS_STORE_WRITE_MAKE_FOLDERS; mode++) {
        assert_open_fails(path, (gs_store_mode)mode, GS_EPARSE,
                          "belongs to another program (it has a table \"places\"); use another "
                          "--db");
    }
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM sqlite_schema"), 2);
    cr_assert_eq(fixture_query(path, "PRAGMA user_version"), 7);
}

Test(store_file, a_file_that_is_no_database_is_refused_and_left_alone)
{
    const char *path = fixture_path("notes.txt");
    write_file(path, "bandwidth 10Gbit/s\n");
    assert_open_fails(path, GS_STORE_WRITE, GS_EPARSE, "not a database; use another --db");
    struct stat facts;
    cr_assert_eq(stat(path, &facts), 0);
    cr_assert_eq(facts.st_size, 19);
}

Test(store_file, a_damaged_database_is_told_apart_from_none)
{
    const char *path = fixture_path("runs.db");
    gs_store_close(fixture_open(path, GS_STORE_WRITE));
    int file = open(path, O_WRONLY);
    cr_assert_geq(file, 0);
    char rubbish[512];
    memset(rubbish, 0xa5, sizeof rubbish);
    /* Page 1 from behind its header of 100 bytes: the root of the table of tables. */
    cr_assert_eq(pwrite(file, rubbish, sizeof rubbish, 100), (ssize_t)sizeof rubbish);
    cr_assert_eq(close(file), 0);
    gs_store *store = NULL;
    gs_error err = {0};
    gs_status status = gs_store_open(path, GS_STORE_WRITE, &store, &err);
    if (status == GS_OK) { /* found when the tables are read */
        gs_stored_run run = fixture_run(1, 1);
        int64_t id = 0;
        status = gs_store_write_run(store, &run, &id, &err);
        gs_store_close(store);
    }
    cr_assert_eq(status, GS_EPARSE);
    cr_assert_not_null(strstr(err.text, ": the database is damaged ("), "%s", err.text);
    cr_assert_not_null(strstr(err.text, "restore a copy, or use another --db"), "%s", err.text);
}

Test(store_file, places_that_cannot_hold_a_database_are_named)
{
    assert_open_fails(fixture_folder, GS_STORE_WRITE, GS_EINVAL,
                      "a folder, not a database file; use another --db");
    assert_open_fails("/dev/null", GS_STORE_WRITE, GS_EINVAL,
                      "a device or pipe, not a database file; use another --db");
    assert_open_fails(fixture_path("none.db"), GS_STORE_READ, GS_ENOTFOUND,
                      "no such database; `gradsync sim` makes one, or name another with --db");
    char wanted[GS_ERROR_TEXT_BYTES];
    (void)snprintf(wanted, sizeof wanted, "there is no folder %s/a/b; make it, or use another --db",
                   fixture_folder);
    assert_open_fails(fixture_path("a/b/runs.db"), GS_STORE_WRITE, GS_ENOTFOUND, wanted);
    write_file(fixture_path("file"), "x");
    (void)snprintf(wanted, sizeof wanted,
                   "cannot make the folder %s/file/gradsync (Not a directory); name a file with "
                   "--db",
                   fixture_folder);
    assert_open_fails(fixture_path("file/gradsync/runs.db"), GS_STORE_WRITE_MAKE_FOLDERS, GS_EIO,
                      wanted);
}

Test(store_file, the_default_place_follows_xdg_and_its_folders_are_made)
{
    char path[256];
    gs_error err = {0};
    cr_assert_eq(gs_store_default_path("/state", "/home/u", path, sizeof path, &err), GS_OK);
    cr_assert_str_eq(path, "/state/gradsync/runs.db");
    cr_assert_eq(gs_store_default_path(NULL, "/home/u", path, sizeof path, &err), GS_OK);
    cr_assert_str_eq(path, "/home/u/.local/state/gradsync/runs.db");
    cr_assert_eq(gs_store_default_path("relative", "/home/u", path, sizeof path, &err), GS_OK);
    cr_assert_str_eq(path, "/home/u/.local/state/gradsync/runs.db");
    cr_assert_eq(gs_store_default_path("", NULL, path, sizeof path, &err), GS_ENOTFOUND);
    cr_assert_str_eq(err.text, "no place for the database: neither XDG_STATE_HOME nor HOME is an "
                               "absolute path; name a file with --db");
    cr_assert_eq(gs_store_default_path("/state", NULL, path, 12, &err), GS_ELIMIT);
    cr_assert_str_eq(err.text, "the path of the default database is longer than 11 bytes; name a "
                               "file with --db");

    cr_assert_eq(gs_store_default_path(fixture_path("x/y"), NULL, path, sizeof path, &err), GS_OK);
    gs_store_close(fixture_open(path, GS_STORE_WRITE_MAKE_FOLDERS));
    struct stat facts;
    cr_assert_eq(stat(fixture_path("x/y/gradsync"), &facts), 0);
    cr_assert_eq(facts.st_mode & 0777, 0700);
    gs_store_close(fixture_open(path, GS_STORE_WRITE_MAKE_FOLDERS));
}

/* The super-user may write everywhere, so the test becomes somebody else for a moment. */
Test(store_file, a_database_that_cannot_be_written_can_still_be_read)
{
    enum { NOBODY = 65534 };
    const char *path = fixture_path("runs.db");
    gs_stored_run run = fixture_run(1, 1);
    gs_store *store = fixture_open(path, GS_STORE_WRITE);
    (void)fixture_write(store, &run);
    gs_store_close(store);
    make_schema_1(fixture_path("older.db"), two_runs);
    cr_assert_eq(chmod(fixture_path("older.db"), 0444), 0);
    cr_assert_eq(chmod(path, 0444), 0);
    cr_assert_eq(chmod(fixture_folder, 0555), 0);
    uid_t self = geteuid();
    if (self == 0) {
        cr_assert_eq(seteuid(NOBODY), 0);
    }
    assert_open_fails(
        path, GS_STORE_WRITE, GS_EIO,
        "the database cannot be written; allow writing to the file and its folder, or "
        "use another --db");
    assert_open_fails(fixture_path("new.db"), GS_STORE_WRITE, GS_EIO,
                      "cannot be opened; check the rights of the file and its folder, or use "
                      "another --db");
    char older[256];
    (void)snprintf(older, sizeof older,
                   "made by an older gradsync (its schema is 1, today's is %" PRId64 "), and "
                   "bringing it up to date needs writing, which the file does not allow; allow it, "
                   "or use a copy with --db",
                   gs_store_schema_version);
    assert_open_fails(fixture_path("older.db"), GS_STORE_READ, GS_EIO, older);
    int64_t id = 0;
    store = fixture_open(path, GS_STORE_READ);
    cr_assert_eq(gs_store_find_run(store, "@last", &id, NULL), GS_OK);
    gs_store_close(store);
    cr_assert_eq(id, 1);
    cr_assert_eq(seteuid(self), 0);
    cr_assert_eq(chmod(fixture_folder, 0755), 0);
}

Test(store_file, a_lock_that_stays_is_an_error_with_a_cure)
{
    const char *path = fixture_path("runs.db");
    gs_stored_run run = fixture_run(1, 1);
    gs_store *store = fixture_open(path, GS_STORE_WRITE);
    gs_sql other;
    cr_assert_eq(gs_sql_open(path, false, &other, NULL), GS_OK);
    cr_assert_eq(gs_sql_run(&other, "BEGIN IMMEDIATE", NULL), GS_OK);
    int64_t id = 0;
    gs_error err = {0};
    cr_assert_eq(gs_store_write_run(store, &run, &id, &err), GS_EBUSY);
    char wanted[GS_ERROR_TEXT_BYTES];
    (void)snprintf(wanted, sizeof wanted,
                   "%s: another process has locked the database for more than 5 s; wait for it to "
                   "end, or use another --db",
                   path);
    cr_assert_str_eq(err.text, wanted);
    gs_sql_close(&other);
    cr_assert_eq(fixture_write(store, &run), 1);
    gs_store_close(store);
}

Test(store_file, a_lock_that_ends_in_time_is_waited_for)
{
    const char *path = fixture_path("runs.db");
    gs_store_close(fixture_open(path, GS_STORE_WRITE));
    int ready[2];
    cr_assert_eq(pipe(ready), 0);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        gs_sql other;
        bool ok = gs_sql_open(path, false, &other, NULL) == GS_OK &&
                  gs_sql_run(&other, "BEGIN EXCLUSIVE", NULL) == GS_OK;
        ok = ok && write(ready[1], "x", 1) == 1;
        sleep_ms(300);
        _exit(ok ? 0 : 1);
    }
    char byte;
    cr_assert_eq(read(ready[0], &byte, 1), 1);
    gs_stored_run run = fixture_run(1, 1);
    gs_store *store = fixture_open(path, GS_STORE_WRITE);
    cr_assert_eq(fixture_write(store, &run), 1);
    gs_store_close(store);
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0);
}

Test(store_file, a_full_disk_loses_the_run_at_hand_and_no_other)
{
    const char *path = fixture_path("runs.db");
    gs_stored_run run = fixture_run(1, 1);
    gs_store *store = fixture_open(path, GS_STORE_WRITE);
    cr_assert_eq(fixture_write(store, &run), 1);
    char limit[64];
    (void)snprintf(limit, sizeof limit, "PRAGMA max_page_count = %d",
                   (int)fixture_query(path, "PRAGMA page_count"));
    cr_assert_eq(gs_sql_run(&store->sql, limit, NULL), GS_OK);
    gs_record *record = fixture_record(1000);
    run = fixture_run(2, 1);
    run.record = record;
    int64_t id = 0;
    gs_error err = {0};
    cr_assert_eq(gs_store_write_run(store, &run, &id, &err), GS_EIO);
    char wanted[GS_ERROR_TEXT_BYTES];
    (void)snprintf(wanted, sizeof wanted,
                   "%s: the disk is full, the run was not stored; free some space, or use another "
                   "--db",
                   path);
    cr_assert_str_eq(err.text, wanted);
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM run"), 1);
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM step"), 0);
    cr_assert_eq(gs_sql_run(&store->sql, "PRAGMA max_page_count = 1000000", NULL), GS_OK);
    cr_assert_eq(fixture_write(store, &run), 2);
    gs_store_close(store);
    gs_record_destroy(record);
}

enum { KILLED_STEPS = 20000 };

/* Writes runs until it is killed. */
static _Noreturn void write_forever(const char *path)
{
    gs_record *record = fixture_record(KILLED_STEPS);
    gs_store *store = fixture_open(path, GS_STORE_WRITE);
    for (uint64_t seed = 0;; seed++) {
        gs_stored_run run = fixture_run(seed, seed);
        run.record = record;
        (void)fixture_write(store, &run);
    }
}

/* The journal is there from the first page that a transaction changes until it is committed. */
Test(store_file, a_killed_process_leaves_whole_runs_only)
{
    const char *path = fixture_path("runs.db");
    const char *journal = fixture_path("runs.db-journal");
    gs_store_close(fixture_open(path, GS_STORE_WRITE));
    int killed_inside = 0;
    for (int round = 0; round < 20 && killed_inside < 3; round++) {
        pid_t child = fork();
        cr_assert_geq(child, 0);
        if (child == 0) {
            write_forever(path);
        }
        while (access(journal, F_OK) != 0) {
            sleep_ms(1);
        }
        sleep_ms(2 + 11 * round);
        cr_assert_eq(kill(child, SIGKILL), 0);
        cr_assert_eq(waitpid(child, NULL, 0), child);
        killed_inside += access(journal, F_OK) == 0;
        int64_t runs = fixture_query(path, "SELECT count(*) FROM run");
        cr_assert_eq(fixture_query(path, "SELECT count(*) FROM step"), runs * 2 * KILLED_STEPS);
        cr_assert_eq(fixture_query(path, "SELECT count(*) FROM curve"), runs * 2);
        cr_assert_eq(fixture_query(path, "SELECT count(*) FROM pragma_integrity_check "
                                         "WHERE integrity_check <> 'ok'"),
                     0);
    }
    cr_assert_geq(killed_inside, 1, "no child was killed inside a transaction");
    gs_stored_run run = fixture_run(1, 1);
    gs_store *store = fixture_open(path, GS_STORE_WRITE);
    (void)fixture_write(store, &run);
    gs_store_close(store);
}

Test(store_file, two_writers_have_batches_of_their_own)
{
    const char *path = fixture_path("runs.db");
    gs_store *first = fixture_open(path, GS_STORE_WRITE);
    gs_store *second = fixture_open(path, GS_STORE_WRITE);
    for (uint64_t seed = 0; seed < 3; seed++) {
        gs_stored_run run = fixture_run(2 * seed, 1);
        (void)fixture_write(first, &run);
        run = fixture_run(2 * seed + 1, 1);
        (void)fixture_write(second, &run);
    }
    gs_store_close(first);
    gs_store_close(second);
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM run WHERE batch = 1 AND seed % 2 = 0"),
                 3);
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM run WHERE batch = 2 AND seed % 2 = 1"),
                 3);
}

/* Each opens a database that is not there yet and writes its own runs at once. */
Test(store_file, processes_that_start_together_share_a_new_database)
{
    enum { CHILDREN = 4, RUNS = 3 };
    const char *path = fixture_path("runs.db");
    int go[2];
    pid_t children[CHILDREN];
    cr_assert_eq(pipe(go), 0);
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        cr_assert_geq(children[i], 0);
        if (children[i] == 0) {
            char byte;
            (void)close(go[1]);
            bool ok = read(go[0], &byte, 1) == 0; /* all at once: when the parent closes it */
            gs_store *store = NULL;
            ok = ok && gs_store_open(path, GS_STORE_WRITE, &store, NULL) == GS_OK;
            for (int run_index = 0; ok && run_index < RUNS; run_index++) {
                gs_stored_run run = fixture_run((uint64_t)(RUNS * i + run_index), 1);
                int64_t id = 0;
                ok = gs_store_write_run(store, &run, &id, NULL) == GS_OK;
            }
            gs_store_close(store);
            _exit(ok ? 0 : 1);
        }
    }
    cr_assert_eq(close(go[1]), 0);
    for (int i = 0; i < CHILDREN; i++) {
        int status = 0;
        cr_assert_eq(waitpid(children[i], &status, 0), children[i]);
        cr_assert_eq(status, 0, "child %d", i);
    }
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM run"), CHILDREN * RUNS);
    cr_assert_eq(fixture_query(path, "SELECT count(DISTINCT batch) FROM run"), CHILDREN);
    cr_assert_eq(fixture_query(path, "SELECT count(*) FROM (SELECT batch FROM run GROUP BY batch "
                                     "HAVING count(*) = 3)"),
                 CHILDREN);
}

/* One whole round: opened, written, found, read. GS_OK only if nothing failed. */
static gs_status one_round(const char *path, gs_error *err)
{
    gs_store *store = NULL;
    gs_stored_run run = fixture_run(1, 1);
    gs_stored_run got;
    int64_t id = 0;
    gs_arena arena;
    gs_arena_init(&arena);
    gs_status status = gs_store_open(path, GS_STORE_WRITE, &store, err);
    if (status == GS_OK) {
        status = gs_store_write_run(store, &run, &id, err);
    }
    if (status == GS_OK) {
        status = gs_store_find_run(store, "@last", &id, err);
    }
    if (status == GS_OK) {
        status = gs_store_read_run(store, id, &arena, &got, err);
    }
    gs_store_close(store);
    gs_arena_fini(&arena);
    return status;
}

Test(store_file, every_failed_allocation_is_told_and_nothing_leaks)
{
    const char *path = fixture_path("runs.db");
    gs_error err = {0};
    gs_status status = GS_ENOMEM;
    int64_t after = 0;
    while (status != GS_OK) {
        test_fail_allocations(after);
        status = one_round(path, &err);
        test_fail_allocations(-1);
        if (status != GS_OK) {
            cr_assert_eq(status, GS_ENOMEM, "allocation %d", (int)after);
            cr_assert_eq(err.code, GS_ENOMEM);
        }
        after++;
    }
    cr_assert_gt(after, 4);
}

/* Text of docs/formats.md from the heading of a table to the next heading. Owner: caller. */
static char *documented(const char *table)
{
    FILE *file = fopen(GS_TEST_SOURCE_DIR "/docs/formats.md", "rb");
    cr_assert_not_null(file);
    char *text = NULL;
    size_t bytes = 0;
    cr_assert_gt(getdelim(&text, &bytes, '\0', file), 0);
    cr_assert_eq(fclose(file), 0);
    char heading[96];
    (void)snprintf(heading, sizeof heading, "\n### `%s`\n", table);
    char *start = strstr(text, heading);
    cr_assert_not_null(start, "no heading for the table %s", table);
    char *end = strstr(start + strlen(heading), "\n#");
    if (end != NULL) {
        *end = '\0';
    }
    char *section = strdup(start);
    cr_assert_not_null(section);
    free(text);
    return section;
}

Test(store_file, every_table_and_column_is_documented)
{
    gs_store *store = fixture_open(":memory:", GS_STORE_WRITE);
    gs_sql_query query;
    cr_assert_eq(gs_sql_prepare(&store->sql,
                                "SELECT t.name, c.name FROM pragma_table_list t "
                                "JOIN pragma_table_info(t.name) c "
                                "WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite_%'",
                                &query, NULL),
                 GS_OK);
    bool row = true;
    int count = 0;
    cr_assert_eq(gs_sql_step(&query, &row, NULL), GS_OK);
    for (; row; count++) {
        const char *column = gs_sql_text(&query, 1);
        char *section = documented(gs_sql_text(&query, 0));
        char word[96];
        (void)snprintf(word, sizeof word, "`%s`", column);
        cr_assert_not_null(strstr(section, word), "%s: no column %s", gs_sql_text(&query, 0),
                           column);
        free(section);
        cr_assert_eq(gs_sql_step(&query, &row, NULL), GS_OK);
    }
    cr_assert_gt(count, 150);
    gs_sql_finish(&query);
    gs_store_close(store);
}

Test(store_file, closing_nothing_is_allowed)
{
    gs_store_close(NULL);
}
