#include "live/live_shelf.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ELEMENTS = 1000 };

static float model[ELEMENTS];

static const gs_live_mark *mark_of(int64_t step)
{
    static gs_live_mark mark;
    mark = (gs_live_mark){.row = {.step = step, .time_ns = 17 * step}, .weight = 0.25};
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        model[i] = (float)step + (float)i / 8; /* exact */
    }
    return &mark;
}

/* Step `step` lies there, with its model. */
static void check_record(const gs_live_shelf *shelf, uint32_t index, int64_t step)
{
    gs_error err;
    gs_live_mark mark;
    unsigned char *record = malloc(gs_live_shelf_bytes(shelf));
    cr_assert_eq(gs_live_shelf_get(shelf, index, record, &err), GS_OK, "%s", err.text);
    memcpy(&mark, record, sizeof mark);
    cr_assert_eq(mark.row.step, step);
    cr_assert_eq(mark.row.time_ns, 17 * step);
    cr_assert_eq(mark.weight, 0.25);
    (void)mark_of(step);
    cr_assert_eq(memcmp(record + sizeof mark, model, sizeof model), 0);
    free(record);
}

static void keep(gs_live_shelf *shelf, uint32_t index, int64_t step)
{
    gs_error err;
    const gs_live_mark *mark = mark_of(step);
    cr_assert_eq(gs_live_shelf_put(shelf, index, mark, model, &err), GS_OK, "%s", err.text);
}

Test(live_shelf, gives_what_was_kept_and_the_last_one_can_be_replaced)
{
    gs_live_shelf shelf;
    gs_error err;
    cr_assert_eq(gs_live_shelf_create(&shelf, 0, ELEMENTS, &err), GS_OK, "%s", err.text);
    for (uint32_t i = 0; i < 5; i++) {
        keep(&shelf, i, 10 * i);
    }
    keep(&shelf, 4, 41);
    cr_assert_eq(shelf.count, 5);
    check_record(&shelf, 0, 0);
    check_record(&shelf, 3, 30);
    check_record(&shelf, 4, 41);
    gs_live_shelf_close(&shelf);
}

/* A process that keeps two models and is killed; its shelf was found meanwhile. */
Test(live_shelf, outlives_the_process_that_kept_it_and_leaves_no_file)
{
    int go[2], said[2];
    char byte = 0;
    gs_live_shelf found;
    cr_assert_eq(pipe(go) + pipe(said), 0);
    pid_t child = fork();
    if (child == 0) {
        gs_live_shelf own;
        gs_error err;
        bool ok = gs_live_shelf_create(&own, getpid(), ELEMENTS, &err) == GS_OK;
        ok = ok && write(said[1], &byte, 1) == 1 && read(go[0], &byte, 1) == 1;
        for (uint32_t i = 0; ok && i < 2; i++) {
            const gs_live_mark *mark = mark_of(7 * (i + 1));
            ok = gs_live_shelf_put(&own, i, mark, model, &err) == GS_OK;
        }
        _exit(ok && write(said[1], &byte, 1) == 1 ? 0 : 1); /* without closing it */
    }
    cr_assert_eq(read(said[0], &byte, 1), 1);
    gs_live_shelf_find(&found, child, ELEMENTS);
    cr_assert_gt(found.file_after, 0);
    gs_live_shelf again;
    gs_live_shelf_find(&again, child, ELEMENTS);
    cr_assert_eq(again.file_after, 0, "a shelf that was found has still its name");
    cr_assert_eq(write(go[1], &byte, 1), 1);
    int status = -1;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0);
    gs_live_shelf_look(&found);
    cr_assert_eq(found.count, 2);
    check_record(&found, 0, 7);
    check_record(&found, 1, 14);
    gs_live_shelf_close(&found);
}

/* Killed while it wrote: the record that is not whole is none. */
Test(live_shelf, has_no_record_that_is_not_whole)
{
    gs_live_shelf own, found;
    gs_error err;
    cr_assert_eq(gs_live_shelf_create(&own, getpid(), ELEMENTS, &err), GS_OK, "%s", err.text);
    gs_live_shelf_find(&found, getpid(), ELEMENTS);
    keep(&own, 0, 3);
    off_t half = (off_t)(gs_live_shelf_bytes(&own) + gs_live_shelf_bytes(&own) / 2);
    cr_assert_eq(ftruncate(own.file_after - 1, half), 0);
    gs_live_shelf_look(&found);
    cr_assert_eq(found.count, 1);
    check_record(&found, 0, 3);
    gs_live_shelf_close(&found);
    gs_live_shelf_close(&own);
}

Test(live_shelf, says_where_models_cannot_be_kept)
{
    gs_live_shelf shelf;
    gs_error err;
    cr_assert_eq(setenv("TMPDIR", "/dev/null", 1), 0);
    cr_assert_eq(gs_live_shelf_create(&shelf, getpid(), ELEMENTS, &err), GS_EIO);
    cr_assert_str_eq(
        err.text, "/dev/null: models to be evaluated cannot be kept there (Not a directory); set "
                  "TMPDIR to a folder with room, or evaluate less often (evaluate.every)");
    gs_live_shelf_close(&shelf);
}
