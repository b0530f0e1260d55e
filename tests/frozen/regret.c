#include "tests/frozen/regret.h"

#include "base/json.h"
#include "tools/message.h"
#include "traces/stats/bootstrap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_LENGTH = 1024, COMMAND_LENGTH = 4 * PATH_LENGTH };

/* Two-sided 90 %: its upper end is the one-sided bound of 95 %. */
#define ALPHA 0.1

typedef struct frozen_advice {
    gs_json *document;
    const char *arm;
    double rate, simulations;
} frozen_advice;

/* --- asking ----------------------------------------------------------------------------------- */

static char *answer_of(const char *program, const char *folder, const char *file)
{
    char command[COMMAND_LENGTH];
    char *text = NULL;
    size_t length = 0;
    snprintf(command, sizeof command, "'%s' recommend '%s' --json -q --db '%s/runs.db'", program,
             file, folder);
    FILE *pipe = popen(command, "r");
    FILE *out = gs_need(open_memstream(&text, &length));
    for (int byte = 0; pipe != NULL && (byte = fgetc(pipe)) != EOF;) {
        fputc(byte, out);
    }
    bool ended = pipe != NULL && pclose(pipe) == 0;
    if (fclose(out) != 0) {
        gs_need(NULL);
    }
    if (!ended) {
        free(text);
        text = NULL;
    }
    return text;
}

static bool read_advice(const char *text, frozen_advice *out)
{
    gs_json_at root;
    gs_json_at part;
    gs_json_at value;
    gs_error err = {0};
    if (gs_json_parse(text, strlen(text), "recommend", &root, &err) != GS_OK) {
        gs_complain_error(&err);
        return false;
    }
    *out = (frozen_advice){.document = root.value};
    bool done = gs_json_find(&root, "recommendation", &part) &&
                gs_json_find(&part, "recommended", &value) &&
                gs_json_text(&value, &out->arm, &err) == GS_OK &&
                gs_json_find(&part, "rate", &value) &&
                gs_json_real(&value, &out->rate, &err) == GS_OK &&
                gs_json_find(&part, "simulations", &value) &&
                gs_json_real(&value, &out->simulations, &err) == GS_OK;
    if (!done) {
        gs_complain("recommend: recommends nothing: %s", err.text);
        gs_json_free(root.value);
    }
    return done;
}

static bool ask(const char *program, const frozen_bench *bench, frozen_advice *out)
{
    char folder[] = "/tmp/gs_frozen_XXXXXX";
    char path[PATH_LENGTH];
    char database[PATH_LENGTH];
    if (mkdtemp(folder) == NULL) {
        gs_complain("%s: cannot be made", folder);
        return false;
    }
    snprintf(path, sizeof path, "%s/%s.json", folder, bench->name);
    snprintf(database, sizeof database, "%s/runs.db", folder);
    FILE *file = fopen(path, "w");
    bool written = file != NULL && fputs(bench->text, file) >= 0;
    written = file != NULL && fclose(file) == 0 && written;
    char *text = written ? answer_of(program, folder, path) : NULL;
    bool done = text != NULL && read_advice(text, out);
    free(text);
    unlink(path);
    unlink(database);
    rmdir(folder);
    return done;
}

/* --- judging ---------------------------------------------------------------------------------- */

static const gs_arm *arm_of(const frozen_bench *bench, const char *label, uint32_t *out_runnable)
{
    const gs_arm *found = NULL;
    *out_runnable = 0;
    for (uint32_t i = 0; i < bench->all.arm_count; i++) {
        const gs_arm *arm = &bench->all.arms[i];
        *out_runnable += arm->state == GS_ARM_IN ? 1 : 0;
        found = strcmp(arm->label, label) == 0 ? arm : found;
    }
    return found;
}

typedef struct frozen_loss {
    double regret, cost;
} frozen_loss;

/* What was advised, on the seeds of the truth. Where it turns out better than the best of the
 * truth, which tried two rates of each arm, nothing is lost. */
static bool judge(const frozen_truth *truth, frozen_bench *bench, const frozen_advice *advice,
                  frozen_loss *out)
{
    const truth_row *best = truth_best(truth, bench->name);
    uint32_t runnable = 0;
    const gs_arm *arm = arm_of(bench, advice->arm, &runnable);
    double factor = advice->rate / bench->scenario.workload.task.optimizer.rate;
    bench_result result;
    if (arm == NULL ||
        !bench_measure(bench, arm, factor, BENCH_FINAL_FIRST, BENCH_FINAL_SEEDS, &result)) {
        gs_complain("%s: %s cannot be measured", bench->name, advice->arm);
        return false;
    }
    double ratio = result.seconds / best->result.seconds;
    *out =
        (frozen_loss){.regret = fmax(0.0, ratio - 1.0),
                      .cost = advice->simulations / (runnable * TRUTH_RATES * BENCH_FINAL_SEEDS)};
    printf("%s,%s,%g,%.6g,%s,%g,%.6g,%.4f,%.4f\n", bench->name, advice->arm, factor, result.seconds,
           best->arm, best->factor, best->result.seconds, out->regret, out->cost);
    fflush(stdout);
    return true;
}

static bool measure(const frozen_truth *truth, const char *program, uint32_t index,
                    frozen_loss *out)
{
    frozen_bench bench;
    frozen_advice advice;
    bench_open(index, &bench);
    bool done = bench_arms(&bench) && ask(program, &bench, &advice);
    if (done) {
        done = judge(truth, &bench, &advice, out);
        gs_json_free(advice.document);
    }
    bench_close(&bench);
    return done;
}

int regret_measure(const frozen_truth *truth, const char *program, uint32_t first, uint32_t count)
{
    double regrets[FROZEN_COUNT];
    double regret = 0.0;
    double cost = 0.0;
    gs_interval interval;
    puts("scenario,recommended,factor,seconds,best,best_factor,best_seconds,regret,cost");
    for (uint32_t i = 0; i < count; i++) {
        frozen_loss loss;
        if (!measure(truth, program, first + i, &loss)) {
            return GS_EXIT_FAILED;
        }
        regrets[i] = loss.regret;
        regret += loss.regret / count;
        cost += loss.cost / count;
    }
    gs_samples samples = {.values = {regrets}, .counts = {count}};
    if (gs_bca(&samples, gs_statistic_mean, ALPHA, &interval) != GS_OK) {
        gs_need(NULL);
    }
    printf("Mean regret %.2f %%, surely (95 %%) at most %.2f %% (goal: %g %%); %.1f %% of the "
           "exhaustive search's runs (goal: %g %%).\n",
           100.0 * regret, 100.0 * interval.high, 100.0 * REGRET_MAX, 100.0 * cost,
           100.0 * REGRET_COST_MAX);
    return interval.high <= REGRET_MAX && cost <= REGRET_COST_MAX ? GS_EXIT_OK : GS_EXIT_OUTSIDE;
}
