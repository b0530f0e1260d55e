/* validate: simulated runs against measured ones; every prediction gets its error and a verdict. */
#include "tools/message.h"
#include "tools/validate.h"
#include "tools/validate_page.h"
#include "tools/verbs.h"
#include "traces/store/ledger.h"

#include <stdlib.h>

static int code_of(const gs_validate *validate)
{
    if (validate->outside > 0 || validate->in_order < validate->ordered) {
        return GS_EXIT_OUTSIDE;
    }
    return validate->missing > 0 ? GS_EXIT_REFUSED : GS_EXIT_OK;
}

static gs_validation row_of(const gs_validate_pair *pair, const gs_validate_row *row)
{
    return (gs_validation){
        .predicted_run_id = pair->predicted[0]->id,
        .measured_run_id = pair->measured[0]->id,
        .name = row->what->name,
        .rank = row->rank,
        .predicted_count = row->predicted.count,
        .measured_count = row->measured.count,
        .predicted = row->predicted.value,
        .predicted_low = row->predicted.low,
        .predicted_high = row->predicted.high,
        .measured = row->measured.value,
        .measured_low = row->measured.low,
        .measured_high = row->measured.high,
        .predicted_utc = pair->predicted_utc[0] == '\0' ? NULL : pair->predicted_utc,
        .measured_utc = pair->measured_utc,
        .blind = pair->blind,
        .yardstick = gs_yardstick_text(row->what->yardstick),
        .error = row->judgement.error,
        .tolerance = row->tolerance,
        .inside = row->judgement.inside,
        .reason = row->reason[0] == '\0' ? NULL : row->reason,
    };
}

static gs_status keep(const gs_validate *validate, gs_store *store, gs_error *err)
{
    gs_validation *rows = gs_need(calloc((size_t)validate->row_count + 1, sizeof *rows));
    uint32_t count = 0;
    for (uint32_t i = 0; i < validate->pair_count; i++) {
        for (uint32_t k = 0; k < validate->pairs[i].row_count; k++) {
            rows[count++] = row_of(&validate->pairs[i], &validate->pairs[i].rows[k]);
        }
    }
    gs_status status = gs_store_write_validations(store, rows, count, err);
    free(rows);
    return status;
}

/* Prints, and only then says what went wrong with the database: a result is never lost. */
static int tell(const gs_cli *cli, const gs_validate *validate, gs_store *store)
{
    gs_error err = {0};
    int code = code_of(validate);
    gs_status kept = cli->flags.dry_run ? GS_OK : keep(validate, store, &err);
    gs_page page;
    gs_page_init(&page, "validate", NULL);
    bool machine = cli->flags.json || cli->flags.csv;
    gs_validate_page(validate, code, machine || cli->flags.verbose, &page);
    int written = gs_page_print(&page, cli);
    gs_page_fini(&page);
    if (kept != GS_OK) {
        gs_complain("%s", err.text);
    }
    if (code == GS_EXIT_OUTSIDE) {
        char *answer = gs_validate_answer(validate);
        gs_complain("validate: %s", answer);
        free(answer);
    } else if (code == GS_EXIT_REFUSED) {
        gs_complain("validate: %u strateg%s could not be judged: no run ended well on one side",
                    validate->missing, validate->missing == 1 ? "y" : "ies");
    }
    if (code != GS_EXIT_OK) {
        return code;
    }
    return kept == GS_OK ? written : GS_EXIT_FAILED;
}

int gs_cmd_validate(const gs_cli *cli)
{
    if (cli->word_count != 2) {
        gs_complain("validate: two words are wanted, the simulated runs and the measured ones (an "
                    "id, a label, label:NAME or @last), not %zu",
                    cli->word_count);
        return GS_EXIT_USAGE;
    }
    char path[GS_FLAG_TEXT_BYTES];
    gs_store *store = NULL;
    int code = gs_cli_open_store(cli, path, &store);
    if (code != GS_EXIT_OK) {
        return code;
    }
    gs_validate validate;
    code = gs_validate_make(cli, 0, store, &validate);
    if (code == GS_EXIT_OK) {
        code = tell(cli, &validate, store);
    }
    gs_validate_free(&validate);
    gs_store_close(store);
    return code;
}
