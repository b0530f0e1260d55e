/* sweep: runs a scenario with every combination of values, and says where which choice is best.
 *
 * Started many times, by mpirun, srun or torchrun, process 0 deals the runs, makes some itself,
 * writes and speaks; the others send guests (tools/guests.h). */
#include "tools/interrupt.h"
#include "tools/launcher.h"
#include "tools/message.h"
#include "tools/serve.h"
#include "tools/sweep/sweep_page.h"
#include "tools/verbs.h"
#include "traces/store/store_answer.h"

#include <stdlib.h>

static int code_of(const gs_sweep *sweep, const gs_sweep_verdict *verdict)
{
    if (gs_interrupt_signal() != 0) {
        return GS_EXIT_INTERRUPTED + gs_interrupt_signal();
    }
    uint32_t bad = verdict->missed + verdict->refused;
    bool none_good = verdict->unknown + verdict->pruned == 0 && bad == sweep->grid.count;
    return verdict->failed > 0 || none_good || sweep->stored != GS_OK ? GS_EXIT_FAILED : GS_EXIT_OK;
}

/* Keeps what the page says last, for reports of these runs. */
static void keep_answer(gs_sweep *sweep, const gs_page *page)
{
    gs_json_at at = {.value = page->document};
    gs_json_at answer;
    const char *text = NULL;
    if (sweep->store != NULL && sweep->stored == GS_OK && gs_json_find(&at, "answer", &answer) &&
        gs_json_text(&answer, &text, NULL) == GS_OK) {
        sweep->stored = gs_store_write_answer(sweep->store, "sweep", text, &sweep->error);
    }
}

static int print(gs_sweep *sweep)
{
    gs_page page;
    gs_page_init(&page, "sweep", NULL);
    int code = GS_EXIT_OK;
    if (sweep->cli->flags.dry_run) {
        gs_sweep_plan_page(sweep, &page);
    } else {
        gs_sweep_verdict verdict;
        gs_sweep_verdict_make(sweep, &verdict);
        code = code_of(sweep, &verdict);
        gs_sweep_page(sweep, &verdict, code, &page);
        gs_sweep_verdict_free(&verdict);
        keep_answer(sweep, &page);
    }
    int written = gs_page_print(&page, sweep->cli);
    gs_page_fini(&page);
    if (sweep->stored != GS_OK) {
        gs_complain("%s", sweep->error.text);
    }
    return code == GS_EXIT_OK ? written : code;
}

static int deal(gs_sweep *sweep, const gs_launch *launch)
{
    gs_guests *guests = NULL;
    gs_error err = {0};
    if (!sweep->cli->flags.dry_run) {
        if (launch->ranks > 1 && gs_guests_open(launch, sweep->key, &guests, &err) != GS_OK) {
            return gs_complain_error(&err);
        }
        gs_sweep_run(sweep, guests);
        gs_guests_close(guests);
        if (sweep->cli->flags.verbose) {
            gs_complain("%u runs were in the database", sweep->reused);
        }
    }
    return print(sweep);
}

static int send_guests(gs_sweep *sweep, const gs_launch *launch)
{
    gs_meeting meeting;
    gs_error err = {0};
    if (sweep->cli->flags.dry_run) {
        return GS_EXIT_OK;
    }
    if (gs_guests_find_host(launch, &meeting, &err) != GS_OK) {
        return gs_complain_error(&err);
    }
    gs_deal deal = gs_sweep_deal(sweep);
    deal.jobs = sweep->cli->flags.jobs > 0 ? sweep->cli->flags.jobs : 1;
    return gs_serve(&meeting, sweep->key, &deal);
}

int gs_cmd_sweep(const gs_cli *cli)
{
    gs_launch launch;
    gs_sweep sweep;
    gs_error err = {0};
    if (gs_launch_find(&launch, &err) != GS_OK) {
        return gs_complain_error(&err);
    }
    if (launch.rank > 0) {
        gs_message_keep(); /* process 0 says it */
    }
    int code = gs_sweep_begin(cli, &sweep);
    if (code == GS_EXIT_OK) {
        code = launch.rank > 0 ? send_guests(&sweep, &launch) : deal(&sweep, &launch);
    }
    gs_sweep_free(&sweep);
    return code;
}
