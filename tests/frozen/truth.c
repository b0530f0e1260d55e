#include "tests/frozen/truth.h"

#include "tools/message.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 512 };

/* Closes a scenario whose rows are all there. */
static const char whole[] = "(whole)";

/* Of the scenario's rate: those that recommend begins with. */
static const double factors[TRUTH_RATES] = {0.25, 0.5, 1.0, 2.0, 4.0};

/* An arm at a factor goes on where in the stage before it needed at most own_ratio times the time
 * of the arm at its best factor, and all_ratio times that of the best arm. Logarithms of times to a
 * target spread by 0.06 to 0.25 (standard deviation over seeds of plain all-reduce at several
 * rates), so that two of them differ by chance by 0.35 at most, and two means of three by 0.2: each
 * ratio is at least three of these but for 1.4, which is 1.7, 4 at a spread of 0.1. */
static const struct {
    const char *name;
    uint32_t seeds, first_seed;
    double own_ratio, all_ratio;
} stages[TRUTH_STAGES] = {
    {"first", 1, BENCH_TRIAL_FIRST, 0.0, 0.0}, /* everything */
    {"trial", BENCH_TRIAL_SEEDS, BENCH_TRIAL_FIRST, 3.0, 4.0},
    {"final", BENCH_FINAL_SEEDS, BENCH_FINAL_FIRST, 1.4, 2.0},
};

/* --- the file --------------------------------------------------------------------------------- */

static void keep(frozen_truth *truth, const truth_row *row)
{
    if (truth->count == truth->capacity) {
        truth->capacity = truth->capacity == 0 ? 64 : 2 * truth->capacity;
        truth->rows = gs_need(realloc(truth->rows, truth->capacity * sizeof *truth->rows));
    }
    truth->rows[truth->count++] = *row;
}

static void header(char out[LINE_BYTES])
{
    snprintf(out, LINE_BYTES,
             "# scenarios %016" PRIx64 "\nscenario,arm,factor,stage,seeds,reached,seconds\n",
             frozen_hash());
}

static void stop(const char *path, const char *why)
{
    gs_complain("%s: %s", path, why);
    exit(GS_EXIT_FAILED);
}

static void write_text(frozen_truth *truth, const char *text)
{
    bool is_cut = access(truth->path, F_OK) != 0 || truncate(truth->path, truth->bytes) == 0;
    FILE *file = is_cut ? fopen(truth->path, "a") : NULL;
    bool written = file != NULL && fputs(text, file) >= 0;
    written = file != NULL && fclose(file) == 0 && written;
    if (!written) {
        stop(truth->path, "cannot be written; name a file in a folder that can");
    }
    truth->bytes += (int64_t)strlen(text);
}

static truth_stage stage_of(const char *name)
{
    uint32_t stage = 0;
    while (stage < TRUTH_STAGES && strcmp(stages[stage].name, name) != 0) {
        stage++;
    }
    return (truth_stage)stage;
}

static void parse(frozen_truth *truth, const char *line)
{
    truth_row row = {0};
    char stage[8] = "";
    int fields = sscanf(line, "%31[^,],%95[^,],%lf,%7[^,],%" SCNu32 ",%" SCNu32 ",%lf",
                        row.scenario, row.arm, &row.factor, stage, &row.result.seeds,
                        &row.result.reached, &row.result.seconds);
    row.stage = stage_of(stage);
    if (fields != 7 || row.stage == TRUTH_STAGES) {
        stop(truth->path, "holds a line that is not of this table; begin with another file");
    }
    keep(truth, &row);
}

void truth_open(const char *path, frozen_truth *out)
{
    char first[LINE_BYTES];
    char line[LINE_BYTES];
    uint32_t number = 0;
    header(first);
    *out = (frozen_truth){.path = path};
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return;
    }
    while (fgets(line, sizeof line, file) != NULL && strchr(line, '\n') != NULL) {
        const char *wanted = number == 0 ? first : strchr(first, '\n') + 1;
        if (number >= 2) {
            parse(out, line);
        } else if (strncmp(line, wanted, strlen(line)) != 0) {
            stop(path, "is of other scenarios; begin with another file");
        }
        out->bytes = ftell(file);
        number++;
    }
    out->bytes = number < 2 ? 0 : out->bytes;
    fclose(file);
}

void truth_close(frozen_truth *truth)
{
    free(truth->rows);
    *truth = (frozen_truth){0};
}

static void append(frozen_truth *truth, const truth_row *row)
{
    char line[LINE_BYTES];
    if (truth->bytes == 0) {
        header(line);
        write_text(truth, line);
    }
    snprintf(line, sizeof line, "%s,%s,%g,%s,%" PRIu32 ",%" PRIu32 ",%.9g\n", row->scenario,
             row->arm, row->factor, stages[row->stage].name, row->result.seeds, row->result.reached,
             row->result.seconds);
    write_text(truth, line);
    keep(truth, row);
}

/* --- what it says ----------------------------------------------------------------------------- */

const truth_row *truth_find(const frozen_truth *truth, const char *scenario, const char *arm,
                            double factor, truth_stage stage)
{
    for (uint32_t i = 0; i < truth->count; i++) {
        const truth_row *row = &truth->rows[i];
        if (row->stage == stage && fabs(row->factor - factor) < 1e-9 &&
            strcmp(row->scenario, scenario) == 0 && strcmp(row->arm, arm) == 0) {
            return row;
        }
    }
    return NULL;
}

const truth_row *truth_best(const frozen_truth *truth, const char *scenario)
{
    const truth_row *best = NULL;
    for (uint32_t i = 0; i < truth->count; i++) {
        const truth_row *row = &truth->rows[i];
        bool counts = row->stage == TRUTH_FINAL && strcmp(row->scenario, scenario) == 0 &&
                      strcmp(row->arm, whole) != 0;
        if (counts && (best == NULL || row->result.seconds < best->result.seconds)) {
            best = row;
        }
    }
    return truth_find(truth, scenario, whole, 1.0, TRUTH_FINAL) == NULL ? NULL : best;
}

/* --- making it -------------------------------------------------------------------------------- */

/* The least time of the arm at any factor in that stage; NULL: of any arm. INFINITY: there is none.
 */
static double least(const frozen_truth *truth, const char *scenario, const char *arm,
                    truth_stage stage)
{
    double out = (double)INFINITY;
    for (uint32_t i = 0; i < truth->count; i++) {
        const truth_row *row = &truth->rows[i];
        if (row->stage == stage && strcmp(row->scenario, scenario) == 0 &&
            (arm == NULL || strcmp(row->arm, arm) == 0)) {
            out = row->result.seconds < out ? row->result.seconds : out;
        }
    }
    return out;
}

/* Does the arm go on to that stage at that factor? Exact ones go as plain all-reduce does, the
 * first in the list: they make the same updates, so that the same rate is theirs. */
static bool goes_on(const frozen_truth *truth, const frozen_bench *bench, const gs_arm *arm,
                    double factor, truth_stage stage)
{
    bool is_shared = arm->family == GS_FAMILY_EXACT && !gs_arm_is_plain(arm);
    if (arm->state != GS_ARM_IN || (is_shared && stage != TRUTH_FINAL)) {
        return false;
    }
    if (stage == TRUTH_FIRST) {
        return true;
    }
    const char *label = is_shared ? bench->all.arms[0].label : arm->label;
    truth_stage before = (truth_stage)(stage - 1);
    const truth_row *row = truth_find(truth, bench->name, label, factor, before);
    return row != NULL &&
           row->result.seconds <=
               stages[stage].own_ratio * least(truth, bench->name, label, before) &&
           (is_shared || row->result.seconds <=
                             stages[stage].all_ratio * least(truth, bench->name, NULL, before));
}

static bool measure(frozen_truth *truth, frozen_bench *bench, const gs_arm *arm, double factor,
                    truth_stage stage)
{
    truth_row row = {.factor = factor, .stage = stage};
    if (truth_find(truth, bench->name, arm->label, factor, stage) != NULL) {
        return true;
    }
    snprintf(row.scenario, sizeof row.scenario, "%s", bench->name);
    snprintf(row.arm, sizeof row.arm, "%s", arm->label);
    if (!bench_measure(bench, arm, factor, stages[stage].first_seed, stages[stage].seeds,
                       &row.result)) {
        return false;
    }
    append(truth, &row);
    return true;
}

static bool play(frozen_truth *truth, frozen_bench *bench, truth_stage stage)
{
    bool done = true;
    for (uint32_t i = 0; i < bench->all.arm_count; i++) {
        const gs_arm *arm = &bench->all.arms[i];
        for (uint32_t k = 0; done && k < TRUTH_RATES; k++) {
            done = !goes_on(truth, bench, arm, factors[k], stage) ||
                   measure(truth, bench, arm, factors[k], stage);
        }
    }
    return done;
}

bool truth_make(frozen_truth *truth, uint32_t index)
{
    frozen_bench bench;
    truth_row end = {.factor = 1.0, .stage = TRUTH_FINAL};
    frozen_name(index, end.scenario);
    snprintf(end.arm, sizeof end.arm, "%s", whole);
    if (truth_best(truth, end.scenario) != NULL) {
        return true;
    }
    bench_open(index, &bench);
    bool done = bench_arms(&bench);
    for (uint32_t stage = 0; done && stage < TRUTH_STAGES; stage++) {
        done = play(truth, &bench, (truth_stage)stage);
    }
    if (done) {
        append(truth, &end);
    }
    bench_close(&bench);
    return done;
}
