#include "traces/result_json.h"

#include "base/assert.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static gs_json *text_or_null(const char *text)
{
    return text == NULL ? gs_json_new_null() : gs_json_new_text(text);
}

/* 64-bit numbers as in the database: 16 hexadecimal digits. */
static gs_json *new_hash(uint64_t hash)
{
    char text[17];
    (void)snprintf(text, sizeof text, "%016" PRIx64, hash);
    return gs_json_new_text(text);
}

/* Sets a member and keeps whether all went well so far. */
static void set(bool *ok, gs_json *object, const char *key, gs_json *value)
{
    *ok = gs_json_set(object, key, value) && *ok;
}

/* The object, or NULL with everything given back. */
static gs_json *complete(bool ok, gs_json *object)
{
    if (ok) {
        return object;
    }
    gs_json_free(object);
    return NULL;
}

static gs_json *environment_json(const gs_environment *environment)
{
    bool ok = true;
    gs_json *object = gs_json_new_object();
    set(&ok, object, "tool_version", gs_json_new_text(environment->tool_version));
    set(&ok, object, "commit", gs_json_new_text(environment->commit));
    set(&ok, object, "dirty", gs_json_new_bool(environment->dirty));
    set(&ok, object, "compiler", text_or_null(environment->compiler));
    set(&ok, object, "cpu", text_or_null(environment->cpu));
    set(&ok, object, "os", text_or_null(environment->os));
    set(&ok, object, "blas", text_or_null(environment->blas));
    set(&ok, object, "runner", text_or_null(environment->runner));
    return complete(ok, object);
}

static gs_json *scenario_json(const gs_stored_scenario *scenario)
{
    bool ok = true;
    gs_json *object = gs_json_new_object();
    set(&ok, object, "name", gs_json_new_text(scenario->name));
    set(&ok, object, "config_hash", new_hash(scenario->config_hash));
    set(&ok, object, "ranks", gs_json_new_int(scenario->ranks));
    set(&ok, object, "nodes", gs_json_new_int(scenario->nodes));
    set(&ok, object, "model", gs_json_new_text(scenario->model));
    set(&ok, object, "gradient_bytes", gs_json_new_int(scenario->gradient_bytes));
    return complete(ok, object);
}

static gs_json *inputs_json(const gs_stored_run *run)
{
    bool all_ok = true;
    gs_json *list = gs_json_new_list();
    for (uint32_t i = 0; i < run->input_count; i++) {
        const gs_stored_input *input = &run->inputs[i];
        bool ok = true;
        gs_json *object = gs_json_new_object();
        set(&ok, object, "role", gs_json_new_text(input->role));
        set(&ok, object, "name", gs_json_new_text(input->name));
        set(&ok, object, "format", gs_json_new_text(input->format));
        set(&ok, object, "bytes", gs_json_new_int(input->bytes));
        set(&ok, object, "xxh3", new_hash(input->xxh3));
        all_ok = gs_json_add(list, complete(ok, object)) && all_ok;
    }
    return complete(all_ok, list);
}

static gs_json *metrics_json(const gs_stored_run *run)
{
    bool ok = true;
    gs_json *object = gs_json_new_object();
    for (uint32_t i = 0; i < gs_metric_count(); i++) {
        double value = run->values == NULL ? (double)NAN : run->values[i];
        set(&ok, object, gs_metric_at(i)->name, gs_json_new_real(value));
    }
    return complete(ok, object);
}

/* Names of the metrics whose value is a lower bound. */
static gs_json *censored_json(const gs_stored_run *run)
{
    bool ok = true;
    gs_json *list = gs_json_new_list();
    if (run->values != NULL && run->target_censored) {
        ok = gs_json_add(list, gs_json_new_text("time_to_target_ns"));
    }
    return complete(ok, list);
}

/* Takes params. */
static gs_json *strategy_json(const gs_stored_strategy *strategy, gs_json *params)
{
    bool ok = true;
    gs_json *object = gs_json_new_object();
    set(&ok, object, "name", gs_json_new_text(strategy->name));
    set(&ok, object, "version", gs_json_new_text(strategy->version));
    set(&ok, object, "params", params);
    return complete(ok, object);
}

/* Takes params. */
static gs_json *run_json(const gs_stored_run *run, int64_t run_id, gs_json *params)
{
    bool ok = true;
    gs_json *object = gs_json_new_object();
    set(&ok, object, "run_id", run_id == 0 ? gs_json_new_null() : gs_json_new_int(run_id));
    set(&ok, object, "source", gs_json_new_text(gs_run_source_text(run->source)));
    set(&ok, object, "scenario", scenario_json(&run->scenario));
    set(&ok, object, "strategy", strategy_json(&run->strategy, params));
    set(&ok, object, "label", text_or_null(run->label));
    set(&ok, object, "seed", gs_json_new_int((int64_t)run->seed));
    set(&ok, object, "repeat", gs_json_new_int(run->repeat));
    set(&ok, object, "status", gs_json_new_text(gs_run_status_text(run->status)));
    set(&ok, object, "error", text_or_null(run->error_text));
    set(&ok, object, "result_hash", run->exact ? new_hash(run->result_hash) : gs_json_new_null());
    set(&ok, object, "started_utc", text_or_null(run->started_utc));
    set(&ok, object, "wall_ns",
        run->started_utc == NULL ? gs_json_new_null() : gs_json_new_int(run->wall_ns));
    set(&ok, object, "inputs", inputs_json(run));
    set(&ok, object, "metrics", metrics_json(run));
    set(&ok, object, "censored", censored_json(run));
    return complete(ok, object);
}

static gs_status fail_memory(gs_error *err)
{
    return gs_fail(err, GS_ENOMEM, "result as JSON: %s", gs_status_text(GS_ENOMEM));
}

gs_json *gs_result_json_create(const char *command, const gs_environment *environment)
{
    bool ok = true;
    gs_json *object = gs_json_new_object();
    set(&ok, object, "schema", gs_json_new_text(GS_RESULT_SCHEMA));
    set(&ok, object, "command", gs_json_new_text(command));
    set(&ok, object, "environment", environment_json(environment));
    set(&ok, object, "runs", gs_json_new_list());
    set(&ok, object, "strategies", gs_json_new_null());
    set(&ok, object, "verdict", gs_json_new_null());
    set(&ok, object, "exit_code", gs_json_new_null());
    return complete(ok, object);
}

gs_status gs_result_json_add_run(gs_json *document, const gs_stored_run *run, int64_t run_id,
                                 gs_error *err)
{
    const char *params = run->strategy.params_json;
    gs_json_at parsed = {0};
    GS_TRY(gs_json_parse(params, strlen(params), "strategy parameters", &parsed, err));
    gs_json *added = run_json(run, run_id, parsed.value);
    gs_json_at runs;
    bool found = gs_json_find(&(gs_json_at){.value = document, .file = "result"}, "runs", &runs);
    GS_ASSERT(found);
    return gs_json_add(runs.value, added) ? GS_OK : fail_memory(err);
}

gs_status gs_result_json_finish(gs_json *document, const char *verdict, int exit_code,
                                gs_error *err)
{
    bool ok = true;
    set(&ok, document, "verdict", gs_json_new_text(verdict));
    set(&ok, document, "exit_code", gs_json_new_int(exit_code));
    return ok ? GS_OK : fail_memory(err);
}
