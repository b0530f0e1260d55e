/* recommend: which strategy reaches the target of a scenario with the least time, cost, energy or
 * samples; how sure that is, and what would change it. */
#include "base/config.h"
#include "tools/explain_ranks.h"
#include "tools/interrupt.h"
#include "tools/launcher.h"
#include "tools/message.h"
#include "tools/output.h"
#include "tools/places.h"
#include "tools/recommend/keep.h"
#include "tools/recommend/page.h"
#include "tools/recommend/rates.h"
#include "tools/recommend/screen.h"
#include "tools/run_one.h"
#include "tools/scenario_load.h"
#include "tools/sim_batch.h"
#include "tools/troupe.h"
#include "tools/verbs.h"
#include "traces/result_json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORD_BYTES = 64 };

#define NS_PER_HOUR 3.6e12
#define FLIPS_FROM  0.8 /* of all the work, roughly: what the search for flips begins at */

/* --- what is asked for ------------------------------------------------------------------------ */

static double node_price(const gs_recommend *all, const gs_node_group *group)
{
    return all->objective == GS_OBJECTIVE_COST ? group->usd_per_hour : group->watts;
}

/* Prices are the user's: without them there is no cost. */
static int check_prices(const gs_recommend *all)
{
    bool is_priced = all->objective == GS_OBJECTIVE_COST || all->objective == GS_OBJECTIVE_ENERGY;
    const char *key = all->objective == GS_OBJECTIVE_COST ? "usd_per_hour" : "watts";
    const gs_cluster *cluster = &all->scenario->cluster;
    for (uint32_t i = 0; is_priced && i < cluster->group_count; i++) {
        if (!(node_price(all, &cluster->groups[i]) > 0.0)) {
            gs_complain("%s: --objective %s: cluster.nodes[%u].%s is not stated; set "
                        "cluster.nodes.%u.%s=%s, of one node",
                        all->scenario->name, gs_objective_names[all->objective], i, key, i, key,
                        all->objective == GS_OBJECTIVE_COST ? "PRICE" : "WATTS");
            return GS_EXIT_USAGE;
        }
    }
    return GS_EXIT_OK;
}

static int check_limits(const gs_recommend *all)
{
    const gs_cli *cli = all->cli;
    const gs_workload *workload = &all->scenario->workload;
    gs_error err = {0};
    if (cli->flags.label[0] != '\0' && gs_store_check_label(cli->flags.label, &err) != GS_OK) {
        return gs_complain_error(&err);
    }
    if (gs_scenario_runnable(all->scenario, &err) != GS_OK && err.code != GS_ELIMIT) {
        return gs_complain_error(&err);
    }
    if (cli->flags.min_accuracy > 0.0 &&
        (!workload->real_gradients || workload->quality != GS_ACCURACY)) {
        gs_complain("%s: --min-accuracy: %s; leave it out, or set %s", all->scenario->name,
                    workload->real_gradients ? "what is learned has no accuracy"
                                             : "nothing is learned",
                    workload->real_gradients ? "workload.target.metric=accuracy"
                                             : "workload.real_gradients=true");
        return GS_EXIT_USAGE;
    }
    if (cli->flags.min_fidelity > 0.0 && !workload->real_gradients) {
        gs_complain("%s: --min-fidelity: there are no updates to compare; leave it out, or set "
                    "workload.real_gradients=true",
                    all->scenario->name);
        return GS_EXIT_USAGE;
    }
    if (all->objective == GS_OBJECTIVE_SAMPLES && !all->learns) {
        gs_complain("%s: --objective samples: there is no target to count them to; set "
                    "workload.real_gradients=true and workload.target.value",
                    all->scenario->name);
        return GS_EXIT_USAGE;
    }
    if (cli->from[GS_FLAG_seeds] == GS_FROM_FLAG && all->scenario->seeds > GS_CONFIRM_SEEDS_MAX) {
        gs_complain("--seeds %" PRId64 ": at most %d confirm a recommendation; give fewer",
                    all->scenario->seeds, GS_CONFIRM_SEEDS_MAX);
        return GS_EXIT_USAGE;
    }
    return check_prices(all);
}

/* Strategies that differ by 1 % are told apart only where the evaluations that see the target
 * reached are not much further apart: a thousandth of the budget, a hundredth of a tenth of it. */
static int64_t evaluation_steps(const gs_scenario *scenario)
{
    enum { EVALUATIONS = 1000 };
    int64_t own = gs_scenario_evaluation_steps(scenario);
    int64_t fine = scenario->workload.budget_steps / EVALUATIONS;
    fine = fine > 1 ? fine : 1;
    return fine < own ? fine : own;
}

static void take_flags(const gs_cli *cli, const gs_scenario *scenario, gs_recommend *out)
{
    const gs_flags *flags = &cli->flags;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    double target = scenario->workload.target_value;
    *out = (gs_recommend){
        .cli = cli,
        .scenario = scenario,
        .objective = (gs_objective)flags->objective,
        .min_accuracy = flags->min_accuracy > 0.0 ? flags->min_accuracy : (double)NAN,
        .min_fidelity = flags->min_fidelity > 0.0 ? flags->min_fidelity : (double)NAN,
        .max_memory_bytes = flags->max_memory,
        .jobs = flags->jobs > 0  ? flags->jobs
                : processors < 1 ? 1
                                 : processors,
        .threads = flags->threads,
        .target = flags->min_accuracy > target ? flags->min_accuracy : target,
        .began_ns = gs_wall_ns(),
    };
    out->own_jobs = out->jobs;
    out->learns = scenario->workload.real_gradients && out->target > 0.0;
    out->evaluation_steps =
        out->learns ? evaluation_steps(scenario) : gs_scenario_evaluation_steps(scenario);
    gs_arena_init(&out->arena);
}

/* --- arms ------------------------------------------------------------------------------------- */

static void start_reader(gs_recommend *all, char *text)
{
    const char *user_dir = gs_places_scenarios();
    all->reader = (gs_arm_reader){
        .name = all->scenario->name,
        .text = text,
        .data_dir = gs_places_data(),
        .user_dir = user_dir[0] == '\0' ? NULL : user_dir,
        .arena = &all->arena,
    };
    if (all->target > all->scenario->workload.target_value) {
        char word[WORD_BYTES];
        snprintf(word, sizeof word, "workload.target.value=%.17g", all->target);
        all->reader.overrides[all->reader.override_count++] = "workload.target.metric=accuracy";
        all->reader.overrides[all->reader.override_count++] =
            gs_need(gs_arena_text(&all->arena, word));
    }
    if (all->scenario->stops_at_target) {
        all->reader.overrides[all->reader.override_count++] = "evaluate.stop=budget";
    }
    if (all->evaluation_steps < gs_scenario_evaluation_steps(all->scenario)) {
        char word[WORD_BYTES];
        snprintf(word, sizeof word, "evaluate.every=%" PRId64, all->evaluation_steps);
        all->reader.overrides[all->reader.override_count++] =
            gs_need(gs_arena_text(&all->arena, word));
    }
}

/* Of a ns of all its nodes. 0: its servers have no price. */
static double price_of(const gs_recommend *all, const gs_arm *arm)
{
    const gs_cluster *cluster = &arm->scenario->cluster;
    if (all->objective == GS_OBJECTIVE_TIME || all->objective == GS_OBJECTIVE_SAMPLES) {
        return 1.0;
    }
    double sum = 0.0;
    for (uint32_t i = 0; i < cluster->group_count; i++) {
        sum += node_price(all, &cluster->groups[i]) * (double)cluster->groups[i].count;
    }
    double server =
        all->objective == GS_OBJECTIVE_COST ? cluster->server_usd_per_hour : cluster->server_watts;
    uint32_t servers = arm->scenario->servers[0];
    return servers > 0 && !(server > 0.0) ? 0.0 : (sum + server * servers) / NS_PER_HOUR;
}

static void check_arm(gs_recommend *all, gs_arm *arm)
{
    char bytes[GS_UNIT_TEXT_BYTES];
    char most[GS_UNIT_TEXT_BYTES];
    int64_t needed = gs_arm_memory_bytes(arm);
    arm->price = price_of(all, arm);
    if (all->max_memory_bytes > 0 && needed > all->max_memory_bytes) {
        gs_arm_drop(arm, GS_ARM_REFUSED, &all->arena, "needs %s of memory, over --max-memory %s",
                    gs_format_bytes(needed, bytes), gs_format_bytes(all->max_memory_bytes, most));
    } else if (!(arm->price > 0.0)) {
        gs_arm_drop(arm, GS_ARM_REFUSED, &all->arena,
                    "its servers have no price: set cluster.servers.%s",
                    all->objective == GS_OBJECTIVE_COST ? "usd_per_hour" : "watts");
    } else if (!all->learns && arm->family != GS_FAMILY_EXACT) {
        gs_arm_drop(arm, GS_ARM_REFUSED, &all->arena,
                    "how many samples it needs is known only with workload.real_gradients and a "
                    "target");
    }
}

/* A word that is no strategy at all is a mistake, not an arm that does not run here. */
static int check_words(const gs_recommend *all)
{
    for (size_t i = 0; i < all->cli->strategy_count; i++) {
        gs_scenario own;
        gs_error err = {0};
        gs_status status = gs_arm_read(&all->reader, all->cli->strategies[i], NULL, &own, &err);
        if (status == GS_OK) {
            gs_scenario_free(&own);
        } else if (gs_arm_is_misspelt(&err)) {
            return gs_complain_error(&err);
        }
    }
    return GS_EXIT_OK;
}

static void make_arms(gs_recommend *all)
{
    const gs_scenario *scenario = all->scenario;
    size_t count = all->cli->strategy_count;
    const char **words = gs_need(calloc((size_t)scenario->strategy_count + 1, sizeof *words));
    for (uint32_t i = 0; i < scenario->strategy_count; i++) {
        words[i] = scenario->strategies[i].label;
    }
    all->arm_count =
        count > 0 ? gs_arms_make(&all->reader, all->cli->strategies, count, true, &all->arms)
                  : gs_arms_make(&all->reader, words, scenario->strategy_count, false, &all->arms);
    free(words);
    for (uint32_t i = 0; i < all->arm_count; i++) {
        if (all->arms[i].state == GS_ARM_IN) {
            check_arm(all, &all->arms[i]);
        }
    }
}

static uint32_t arms_in(const gs_recommend *all)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < all->arm_count; i++) {
        count += all->arms[i].state == GS_ARM_IN ? 1 : 0;
    }
    return count;
}

/* --- the stages ------------------------------------------------------------------------------- */

/* The name of the stage that a signal ended; NULL: all are done. */
static const char *find(gs_recommend *all)
{
    const struct {
        const char *name;
        bool (*run)(gs_recommend *all);
        bool learns; /* only where there is a target */
        double to;   /* share of all the work, roughly */
        uint64_t runs;
    } stages[] = {{"screening", gs_screen, false, 0.1, 2},
                  {"the tuning of rates", gs_rates, true, 0.5, gs_rates_runs(1)},
                  {"the race", gs_race_arms, true, 0.65, GS_RACE_SEEDS_MAX},
                  {"the confirmation", gs_confirm_arms, false, FLIPS_FROM, GS_CONFIRM_SEEDS_MAX}};
    double from = 0.0;
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        uint64_t runs = all->runs;
        double wall_ns = all->wall_ns;
        if (stages[i].learns && !all->learns) {
            continue;
        }
        gs_trial_begin_stage(all, from, stages[i].to, stages[i].runs * arms_in(all));
        from = stages[i].to;
        if (!stages[i].run(all)) {
            return stages[i].name;
        }
        if (all->cli->flags.verbose) {
            gs_complain("%s: %" PRIu64 " simulations, %.3g s of one processor, %u strategies in",
                        stages[i].name, all->runs - runs, (all->wall_ns - wall_ns) / 1e9,
                        arms_in(all));
        }
    }
    return NULL;
}

/* --- printing --------------------------------------------------------------------------------- */

static void put_flags(const gs_cli *cli, FILE *out)
{
    char text[GS_UNIT_TEXT_BYTES];
    if (cli->flags.objective != GS_OBJECTIVE_TIME) {
        fprintf(out, " --objective %s", gs_objective_names[cli->flags.objective]);
    }
    if (cli->flags.min_accuracy > 0.0) {
        fprintf(out, " --min-accuracy %s", gs_exact_real(cli->flags.min_accuracy, text));
    }
    if (cli->flags.min_fidelity > 0.0) {
        fprintf(out, " --min-fidelity %s", gs_exact_real(cli->flags.min_fidelity, text));
    }
    if (cli->flags.max_memory > 0) {
        fprintf(out, " --max-memory %s", gs_exact_bytes(cli->flags.max_memory, text));
    }
    if (cli->flags.budget > 0) {
        fprintf(out, " --budget %s", gs_exact_duration(cli->flags.budget, text));
    }
}

/* Makes the same again. --seeds only where it was given: it decides how many confirm. Owner:
 * caller, free(). */
static char *command_text(const gs_cli *cli, const gs_loaded *loaded)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = gs_need(open_memstream(&text, &bytes));
    gs_scenario_put_command(cli, loaded, out);
    put_flags(cli, out);
    fclose(out);
    gs_need(text);
    char *seeds = strstr(text, " --seeds ");
    if (seeds != NULL && cli->from[GS_FLAG_seeds] != GS_FROM_FLAG) {
        size_t length = strlen(" --seeds ") + strspn(seeds + strlen(" --seeds "), "0123456789");
        memmove(seeds, seeds + length, strlen(seeds + length) + 1);
    }
    return text;
}

/* Owner: caller, free(). */
static char *header_text(const gs_recommend *all, const gs_loaded *loaded)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = gs_need(open_memstream(&text, &bytes));
    uint32_t counts[GS_ARM_STATE_COUNT] = {0};
    uint32_t confirmed = 0;
    gs_sim_batch_header(all->cli, loaded, NULL, out);
    for (uint32_t i = 0; i < all->arm_count; i++) {
        counts[all->arms[i].state]++;
        confirmed += all->arms[i].outcomes != NULL ? 1 : 0;
    }
    fprintf(out,
            "%u strategies: %u do not run here, %u cannot win by the timing model, %u lost the "
            "race, %u failed, %u outside the limits, %u in",
            all->arm_count, counts[GS_ARM_REFUSED], counts[GS_ARM_DOMINATED], counts[GS_ARM_OUT],
            counts[GS_ARM_FAILED], counts[GS_ARM_LIMIT], counts[GS_ARM_IN]);
    if (counts[GS_ARM_UNTRIED] > 0) {
        fprintf(out, ", %u not tried", counts[GS_ARM_UNTRIED]);
    }
    fprintf(out, "; %u confirmed on %u fresh seeds; %" PRIu64 " simulations\n", confirmed,
            all->confirm_seeds, all->runs);
    if (all->evaluation_steps < gs_scenario_evaluation_steps(all->scenario)) {
        char every[WORD_BYTES] = "step";
        if (all->evaluation_steps > 1) {
            snprintf(every, sizeof every, "%" PRId64 " steps", all->evaluation_steps);
        }
        fprintf(out, "the target is looked for every %s instead: strategies are told apart by it\n",
                every);
    }
    if (!all->learns) {
        fputs("no target to reach with real gradients: only strategies with the updates of plain "
              "SGD are compared, by time per sample\n",
              out);
    }
    fclose(out);
    return gs_need(text);
}

static int print(gs_findings *findings, gs_loaded *loaded, gs_output *output)
{
    const gs_recommend *all = findings->all;
    gs_error err = {0};
    char *command = command_text(all->cli, loaded);
    gs_json *document = all->cli->flags.json
                            ? gs_need(gs_result_json_create(command, &all->keep->environment))
                            : NULL;
    /* A result is never lost: what is wrong with the database is said last. */
    int stored = gs_keep_end(all->keep, findings->answer, document, &err) == GS_OK ? GS_EXIT_OK
                                                                                   : GS_EXIT_FAILED;
    int code = findings->exit_code == GS_EXIT_OK ? stored : findings->exit_code;
    if (document != NULL) {
        if (!gs_json_set(document, "recommendation", gs_recommend_json(findings)) ||
            gs_result_json_finish(document, findings->answer, code, &err) != GS_OK) {
            gs_need(NULL);
        }
        char *text = gs_need(gs_json_write(document, true));
        fprintf(output->text, "%s\n", text);
        free(text);
        gs_json_free(document);
    } else {
        char *header = header_text(all, loaded);
        gs_recommend_print(findings, header, command, output->text);
        free(header);
    }
    free(command);
    int written = gs_output_close(output);
    if (stored != GS_EXIT_OK) {
        gs_complain("%s", err.text);
    }
    return code == GS_EXIT_OK ? written : code;
}

/* --- the plan --------------------------------------------------------------------------------- */

/* Wall time of one run; the outcome is not looked at. */
static gs_time_ns time_one(gs_recommend *all, const gs_scenario *scenario)
{
    gs_outcome outcome;
    (void)gs_trial_run(all, &scenario, 1, 0, 1, &outcome);
    gs_time_ns took = outcome.wall_ns;
    gs_outcome_fini(&outcome);
    return took;
}

/* By one run of either kind of the first arm that is in. */
static void tell_time(gs_recommend *all, uint64_t timed, uint64_t learned, FILE *out)
{
    const gs_arm *first = NULL;
    char each[2][GS_UNIT_TEXT_BYTES];
    char whole[GS_UNIT_TEXT_BYTES];
    for (uint32_t i = 0; i < all->arm_count && first == NULL; i++) {
        first = all->arms[i].state == GS_ARM_IN ? &all->arms[i] : NULL;
    }
    if (first == NULL) {
        return;
    }
    gs_time_ns timing = time_one(all, gs_trial_timing(first, GS_SCREEN_STEPS, &all->arena));
    gs_time_ns learning = learned == 0 ? 0 : time_one(all, first->scenario);
    double sum = (double)timing * (double)timed + (double)learning * (double)learned;
    fprintf(out, "one run of %s took %s here without numbers", first->label,
            gs_format_duration(timing, each[0]));
    if (learned > 0) {
        fprintf(out, " and %s with them, to the end of the budget",
                gs_format_duration(learning, each[1]));
    }
    fprintf(out,
            ": %" PRIu64 " and %" PRIu64 " runs at most take about %s with %" PRId64
            " at a time, less where arms leave and runs end at the target\n",
            timed, learned, gs_format_duration((gs_time_ns)(sum / (double)all->jobs), whole),
            all->jobs);
}

/* What would be run at most, and how long that takes. */
static int tell_plan(gs_recommend *all, const gs_loaded *loaded, gs_output *output)
{
    uint32_t in = arms_in(all);
    uint64_t timed = in * 2ULL + gs_flips_runs();
    uint64_t learned = 0;
    uint32_t finalists = (in < GS_FINALISTS_MAX ? in : GS_FINALISTS_MAX) + 1;
    uint64_t confirming = (uint64_t)finalists * GS_CONFIRM_SEEDS_MAX;
    gs_sim_batch_header(all->cli, loaded, NULL, output->text);
    for (uint32_t i = 0; i < all->arm_count; i++) {
        const gs_arm *arm = &all->arms[i];
        bool would = arm->state == GS_ARM_IN;
        fprintf(output->text, "%s %s%s%s\n", would ? "would try" : "refused:", arm->label,
                would ? "" : ": ", would ? "" : arm->reason);
    }
    fprintf(output->text, "would screen %u strategies by the timing model", in);
    if (all->learns) {
        uint64_t tuning = gs_rates_runs(in);
        uint64_t racing = (uint64_t)in * GS_RACE_SEEDS_MAX;
        learned = tuning + racing + confirming;
        fprintf(output->text,
                ", tune rates with at most %" PRIu64 " runs, race with at most %" PRIu64, tuning,
                racing);
    } else {
        timed += confirming;
    }
    fprintf(
        output->text,
        ", confirm at most %u with up to %d seeds each, and look for flips with at most %" PRIu64
        " runs of the timing model\n",
        finalists, GS_CONFIRM_SEEDS_MAX, gs_flips_runs());
    tell_time(all, timed, learned, output->text);
    return gs_output_close(output);
}

/* --- all of it -------------------------------------------------------------------------------- */

/* Where a launcher has started several processes they share the runs: one at a time each, unless
 * --jobs says more. *out_over: this one has no part in it any more. */
static int join(gs_recommend *all, const gs_launch *launch, bool *out_over)
{
    gs_error err = {0};
    *out_over = all->cli->flags.dry_run && launch->rank > 0;
    if (launch->ranks == 1 || all->cli->flags.dry_run) {
        return GS_EXIT_OK;
    }
    all->own_jobs = all->cli->flags.jobs > 0 ? all->cli->flags.jobs : 1;
    all->jobs = all->own_jobs * launch->ranks;
    if (gs_troupe_open(launch, all->scenario->config_hash, all->own_jobs, &all->troupe, out_over,
                       &err) != GS_OK) {
        return gs_complain_error(&err);
    }
    return GS_EXIT_OK;
}

static int recommend(gs_recommend *all, const gs_launch *launch, gs_loaded *loaded)
{
    gs_output output;
    bool is_over = false;
    int code = join(all, launch, &is_over);
    if (code != GS_EXIT_OK || is_over) {
        return code;
    }
    code = gs_output_open(&output, all->cli->flags.output);
    if (code != GS_EXIT_OK) {
        gs_troupe_part(all->troupe);
        return code;
    }
    gs_interrupt_watch();
    make_arms(all);
    if (all->cli->flags.dry_run) {
        return tell_plan(all, loaded, &output);
    }
    gs_findings findings = {.all = all};
    gs_keep keep;
    gs_keep_begin(all, &keep);
    all->keep = &keep;
    if (arms_in(all) > 0) {
        findings.stage = find(all);
        findings.verdict = gs_contest_verdict(all);
    }
    if (findings.stage == NULL && findings.verdict.winner != NULL) {
        gs_trial_begin_stage(all, FLIPS_FROM, 1.0, gs_flips_runs());
        (void)gs_flips_find(all, findings.verdict.winner, &findings.flips);
    }
    gs_troupe_part(all->troupe); /* guests end here: process 0 alone stores and prints */
    gs_findings_make(&findings);
    code = print(&findings, loaded, &output);
    gs_findings_free(&findings);
    return code;
}

int gs_cmd_recommend(const gs_cli *cli)
{
    gs_loaded loaded;
    gs_recommend all = {0};
    gs_launch launch;
    gs_error err = {0};
    if (gs_launch_find(&launch, &err) != GS_OK) {
        return gs_complain_error(&err);
    }
    if (launch.rank > 0) {
        gs_message_keep(); /* process 0 says it */
    }
    gs_cli base = *cli;
    if (base.strategy_count > 0) { /* each is read by itself: one that does not run is no error */
        base.strategies[0] = "allreduce";
        base.strategy_count = 1;
    }
    int code = gs_scenario_load(&base, &loaded);
    if (code == GS_EXIT_OK) {
        take_flags(cli, &loaded.scenario, &all);
        code = check_limits(&all);
        if (code == GS_EXIT_OK) {
            char *text = gs_need(gs_json_write(loaded.scenario.resolved, false));
            start_reader(&all, text);
            code = check_words(&all);
            code = code == GS_EXIT_OK ? recommend(&all, &launch, &loaded) : code;
            gs_arms_free(all.arms, all.arm_count, all.confirm_seeds);
            free(text);
        }
        gs_arena_fini(&all.arena);
    }
    gs_scenario_unload(&loaded);
    return code;
}
