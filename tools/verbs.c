#include "tools/verbs.h"

#include "base/assert.h"

/* Words that may follow a verb; the lists of kinds and shells are the verbs' own. */
static const char *const kinds[] = {"strategies", "codecs",     "collectives", "models",
                                    "datasets",   "formats",    "scenarios",   "profiles",
                                    "metrics",    "transports", "devices",     NULL};
static const char *const traces[] = {"probe", "stat", "import", "slow", NULL};
static const char *const figures[] = {
    "timeline",   "breakdown", "cdf",   "time-to-accuracy", "pareto",    "heatmap", "scaling",
    "strictness", "history",   "busbw", "gradients",        "predicted", NULL};
static const char *const actions[] = {"set", "list", "rm", "ack", NULL};
static const char *const database_jobs[] = {"merge", "gc", "export", "check", NULL};
static const char *const shells[] = {"bash", "zsh", "fish", NULL};

#define EXAMPLE "\n    "

/* Paragraphs are parted by empty lines; a paragraph that starts with spaces is an example. */
static const char *const details[GS_VERB_COUNT] = {
    [GS_VERB_sim] =
        "SCENARIO is a file, - for standard input, or a bundled name (gradsync list scenarios). "
        "KEY=VALUE replaces one value of it. Every strategy runs once for each seed; strategies "
        "are compared pairwise by seed, with 95 % intervals where there are several seeds. An "
        "interval that contains 1 is called a tie. Runs are stored in the database.\n\n"
        "Under torchrun, mpirun or srun the launcher's rank count replaces the "
        "scenario's.\n" EXAMPLE "gradsync sim demo-ethernet" EXAMPLE
        "gradsync sim my.json cluster.links.nic.bandwidth=25Gbit/s -s "
        "allreduce:bucket=10MiB" EXAMPLE
        "gradsync sim demo-ethernet --seeds 5 --json | jq .runs[0].metrics.step_p50_ns",
    [GS_VERB_sweep] =
        "Runs SCENARIO with every combination of the values given. KEY=a,b,c lists them; "
        "KEY=LOW..HIGH:N takes N of them, evenly or with :log in even ratios, and HIGH's unit "
        "holds "
        "for both; whole numbers one by one as KEY=LOW..HIGH. strategy=a,b or strategy=all, and "
        "strategy.PARAM=... for a parameter of every strategy or codec that has it. years=0..10 "
        "lets compute grow by 30 % and networks by 15 % a year. {\"sweep\": [...]} in the file is "
        "a "
        "dimension too. Other KEY=VALUE words hold for all points.\n\n"
        "Says which strategy is best where, and where the curves bend: at least six values, two "
        "lines that meet over logarithms, with an interval from seeds and left-out values. Points "
        "that differ in choices only (strategies, their parameters, optimizer, batch) are one "
        "group.\n\n"
        "Runs are stored as they end, and one that the database has is not made again: the same "
        "command goes on after a kill. --jobs processes run at a time; started by mpirun, srun or "
        "torchrun all of its processes share the work, --jobs each (1 unless said); shards of a "
        "job array are merged by gradsync db merge.\n" EXAMPLE
        "gradsync sweep my.json cluster.links.nic.bandwidth=1..100Gbit/s:9:log strategy=all" EXAMPLE
        "gradsync sweep my.json -s local_sgd strategy.period=1..64:7:log --prune halving" EXAMPLE
        "mpirun -n 8 gradsync sweep my.json noise.compute.cv=0,0.1,0.3 years=0..10:6",
    [GS_VERB_recommend] =
        "Finds the strategy that reaches the target of SCENARIO with the least --objective: of a "
        "bundled list and of what the scenario names, or of plain all-reduce and what -s names. "
        "Those that do not run here, do not fit, or cannot win by their time per sample leave "
        "first; the others are tuned (learning rate) and raced with real gradients; the finalists "
        "run again on the scenario's own seeds, which are stored. Of strategies that tie the "
        "simpler one is recommended. Prints also where the choice flips, what to fall back to at "
        "run time, what rules of thumb would have cost, and settings to paste into PyTorch, "
        "DeepSpeed, Horovod or torchft. How it decides is in docs/recommend.md.\n\n"
        "Without real gradients or a target only strategies with the updates of plain SGD are "
        "compared, by their time per sample. The answer does not depend on --jobs; with --budget "
        "it depends on how fast this machine is.\n" EXAMPLE
        "gradsync recommend demo-ethernet" EXAMPLE
        "gradsync recommend my.json --min-accuracy 0.97 --budget 60s" EXAMPLE
        "gradsync recommend my.json -s allreduce+fp16 -s local_sgd:period=16 --objective cost",
    [GS_VERB_live] =
        "Runs the strategies of SCENARIO where time is a clock: the same objects as in sim, on "
        "threads of this process, or started by mpirun, srun or torchrun on every rank, one "
        "process for each rank and each parameter server; the number of processes less "
        "cluster.servers.count replaces the scenario's ranks. live.compute=train computes real "
        "gradients, replay lets the profile's durations pass with the scenario's noise. The rows "
        "are those of sim, so that both lie side by side: gradsync validate holds one against the "
        "other. Process 0 alone prints and writes. A rank that is gone ends the run within "
        "live.deadline, and what was measured before is kept.\n" EXAMPLE
        "gradsync live demo-ethernet" EXAMPLE
        "mpirun -n 4 gradsync live my.json -s allreduce+fp16 --repeat 7 --label nightly" EXAMPLE
        "torchrun --no_python --nproc-per-node 4 gradsync live my.json --transport tcp",
    [GS_VERB_calibrate] =
        "Started like live, by mpirun, srun or torchrun, one process for each rank and each "
        "parameter server: times messages between all pairs of processes (of more than 16 "
        "between neighbours, and process 0 with others), all-reduces, codecs of the strategies, "
        "vector operations, and the layers of the model where it trains. Prints what came out with "
        "99 % intervals and the sizes used. -o FILE writes the scenario with these values, and "
        "beside it FILE.profile.json (layers), FILE.ring.json and FILE.native.json (curves for "
        "cluster.links.nic.curve). Network cards of other speeds become kinds of node of their "
        "own. Without a launcher only what one process can do is measured.\n" EXAMPLE
        "mpirun -n 4 gradsync calibrate my.json -o here.json" EXAMPLE
        "gradsync sim here.json --label p",
    [GS_VERB_check] =
        "Reads SCENARIO as sim does, with the same KEY=VALUE words, and prints it as JSON with "
        "every default written out: the text that is hashed and stored. Notes about what the "
        "input lacks go to standard error.\n" EXAMPLE
        "gradsync check my.json workload.batch_per_rank=128",
    [GS_VERB_explain] =
        "Simulates SCENARIO, or the scenario and strategy of a stored RUN (its id, its label, "
        "@last), again and again with one thing changed, and prints what limits a step, what each "
        "cause costs (added alone to an ideal step, and taken away from the actual one), what each "
        "next change would give, how the job scales, and above which bandwidth it beats one node "
        "of it. Gradients have no numbers in these simulations, and nothing is stored.\n" EXAMPLE
        "gradsync explain demo-ethernet" EXAMPLE
        "gradsync explain my.json cluster.links.nic.bandwidth=25Gbit/s -s "
        "allreduce:bucket=10MiB" EXAMPLE "gradsync explain @last --json | jq .waterfall",
    [GS_VERB_validate] =
        "Holds simulated runs (their id, their label, label:NAME for all that bear it, @last~1) "
        "against measured ones: median step and its 95 %, exposed communication, wait, bytes, time "
        "to target, final accuracy, number of decisions, and single ranks where --steps all kept "
        "them. Runs belong together by scenario, strategy and parameters; the value of several "
        "runs is their median. Predictions are in the database since the simulation; one that was "
        "stored after the measurement began is said not to be blind. Says whether strategies come "
        "out in the predicted order wherever measured steps differ by more than 10 %. Verdicts "
        "are kept; gradsync doctor shows the running error of all of them, -n keeps none.\n\n"
        "Ends with 5 where a prediction is outside its tolerance or the order is wrong, with 6 "
        "where there is nothing to compare or a needed run failed.\n" EXAMPLE
        "gradsync sim my.json --label p" EXAMPLE
        "mpirun -n 4 gradsync live my.json --label m" EXAMPLE
        "gradsync validate label:p label:m" EXAMPLE
        "gradsync validate p m --tolerance 3%,step_p95=8%",
    [GS_VERB_compare] =
        "Compares the runs of CANDIDATE (default: those of the last command) with those of BASE "
        "(default: the baseline set last, else the command before): an id, a label, label:NAME, "
        "@last~1, baseline:NAME, commit:SHA, or FILE.db#RUN of another database. Runs belong "
        "together by scenario, strategy and parameters. What differs in configuration and "
        "environment comes first. Exact metrics of simulations are compared bit for bit and judged "
        "by the size of the change; others as samples, paired by seed where both sides were "
        "simulated: worse is what is beyond its limit with certainty, after Holm's correction over "
        "all rows. Verdicts are kept; -n keeps none. docs/compare.md has the statistics.\n\n"
        "Ends with 3 where a gate failed, 6 where something needed is missing or cannot be "
        "compared, and 4 where it cannot be told and --inconclusive=fail.\n" EXAMPLE
        "gradsync compare" EXAMPLE
        "gradsync compare baseline:main @last --gate 'time_to_target<=+3%' --gate "
        "'final_accuracy>=-0.002'" EXAMPLE
        "gradsync compare main.db#@last @last --markdown >> \"$GITHUB_STEP_SUMMARY\"" EXAMPLE
        "gradsync compare --format github-action-benchmark -o benchmark.json",
    [GS_VERB_baseline] =
        "set gives runs a name (those of the last command, or RUN) under which compare finds them; "
        "list shows the names and the changes that were accepted; rm takes a name away and leaves "
        "the runs. A baseline whose runs were replaced by others is gone and says so. ack accepts "
        "one change that compare has found worse, as it names it, with the reason: from then on it "
        "is acknowledged, as long as it gets no worse than that and the base is older than the "
        "ack.\n" EXAMPLE "gradsync baseline set main" EXAMPLE
        "gradsync baseline set release label:v1 --why 'released 2026-11-30'" EXAMPLE
        "gradsync baseline ack eth10/powersgd:rank=4 time_to_target --why 'warm-up is longer now'",
    [GS_VERB_report] =
        "Writes one HTML page about stored RUNs (an id, a label, @last) or about a comparison: the "
        "answer, what it rests on, where a step goes, who learns how fast, what was swept, tails, "
        "a timeline, validation, what differs in configuration, and the command that makes it "
        "again. The page needs no network and no scripts, follows the reader's light or dark "
        "setting, and has the data of every figure below it. Without gnuplot in PATH it has tables "
        "only, and says so. Simulated and measured runs named side by side are validated.\n" EXAMPLE
        "gradsync report @last -o report.html" EXAMPLE
        "gradsync report p m -o validated.html" EXAMPLE
        "gradsync report --comparison 3 -o change.html",
    [GS_VERB_list] =
        "KIND is strategies, codecs, collectives, models, datasets, formats, scenarios, profiles, "
        "metrics, "
        "transports "
        "or devices.\n" EXAMPLE "gradsync list strategies" EXAMPLE "gradsync list metrics --csv",
    [GS_VERB_show] =
        "NAME is anything that list prints, or a stored run: its id, its label, @last, @last~1. "
        "With --scenario a strategy also shows what a rank sends in a step, keeps and needs of "
        "memory on that job, which KEY=VALUE words change and -s gives parameters and a codec. A "
        "collective takes ranks, bytes, bandwidth and latency as KEY=VALUE. matrix is the table "
        "of which strategy works with which codec and optimizer, and why not.\n" EXAMPLE
        "gradsync show matrix" EXAMPLE
        "gradsync show asp --scenario demo-ethernet cluster.servers.count=2 -s asp+topk" EXAMPLE
        "gradsync show ring ranks=8 bytes=4GB bandwidth=100Gbit/s" EXAMPLE "gradsync show @last",
    [GS_VERB_trace] =
        "probe says in one line what FILEs are. stat prints what they hold: ranks, steps, and "
        "where the time of a step goes. import writes a profile for workload.profile of a "
        "scenario; files of one job belong together. slow says which rank the others wait "
        "for, when and why, from traces of several ranks or a CSV of steps. Files may be "
        "gzipped.\n" EXAMPLE "gradsync trace probe rank0.json.gz" EXAMPLE
        "gradsync trace import rank*.json.gz -o profile.json" EXAMPLE
        "gradsync trace slow rank*.json.gz",
    [GS_VERB_plot] =
        "timeline SCENARIO draws what each rank did over a few steps (--window) of the first "
        "strategy and seed; breakdown and cdf take stored runs or a scenario and show where a step "
        "goes and how long steps are; busbw takes files of nccl-tests, or [KIND] SCENARIO as show "
        "collective does, and prints "
        "the table as well; gradients takes a stored run made with --gradients; predicted takes "
        "simulated and measured runs as validate does.\n\n"
        "Of stored RUNs only: time-to-accuracy shows what is learned by time and by samples, "
        "pareto the time of a run against what it has learned, heatmap the best strategy over two "
        "swept keys (bandwidth and noise first), scaling samples per second by ranks, strictness "
        "a swept number of the strategies against what is learned, time and drift, and history "
        "RUN [METRIC] a metric over the commands that have stored it. KEY=VALUE keeps the runs to "
        "which a sweep gave that value.\n\n"
        "-o names the picture: .svg, .png or .pdf. Its data and its gnuplot script are written "
        "beside it, as FILE.csv and FILE.gp; without gnuplot in PATH only these two. Without -o "
        "the picture is drawn in characters.\n" EXAMPLE
        "gradsync plot timeline demo-ethernet --window 10..12 -o timeline.svg" EXAMPLE
        "gradsync plot breakdown @last -o breakdown.png" EXAMPLE
        "gradsync plot heatmap @last -o heatmap.svg" EXAMPLE
        "gradsync plot history @last step_p50 -o history.svg" EXAMPLE
        "gradsync plot busbw all_reduce.txt" EXAMPLE
        "gradsync plot predicted label:p label:m -o predicted.svg",
    [GS_VERB_db] =
        "merge FILE... takes the runs of other databases over into that of --db, with all their "
        "rows; the same run is kept once, two results of one key are an error, and nothing of that "
        "file is merged then. gc drops the runs that --older-than, --label and --interrupted all "
        "hold for, what no run uses, and gives the room back; -n says what would go. Runs of a "
        "baseline stay. export prints a row for each metric of RUNs, or of all, as CSV or --json. "
        "check looks at pages, references, keys and hashes, and ends with 1 where something is "
        "damaged.\n" EXAMPLE "gradsync db merge shard-*.db --db all.db" EXAMPLE
        "gradsync db gc --older-than 30d -n" EXAMPLE "gradsync db export @last -o runs.csv" EXAMPLE
        "gradsync db check",
    [GS_VERB_doctor] =
        "Prints version, libraries, thread variables, places of data and database, what else is "
        "found on this machine, and how well predictions in the database have come true.",
    [GS_VERB_completion] = "Prints a completion script from the same tables as the help.\n" EXAMPLE
                           "source <(gradsync completion bash)" EXAMPLE
                           "gradsync completion fish > ~/.config/fish/completions/gradsync.fish",
    [GS_VERB_help] =
        "Prints the list of verbs, the help of one, or every key of a scenario with "
        "its default, what is allowed and what it does.\n" EXAMPLE "gradsync help sim" EXAMPLE
        "gradsync help scenario | less" EXAMPLE "gradsync help --man | man -l -" EXAMPLE
        "gradsync help scenario --man | man -l -",
};

static const char *const *const first_words[GS_VERB_COUNT] = {
    [GS_VERB_baseline] = actions, [GS_VERB_list] = kinds,        [GS_VERB_trace] = traces,
    [GS_VERB_plot] = figures,     [GS_VERB_completion] = shells, [GS_VERB_db] = database_jobs,
};

static const gs_verb verbs[GS_VERB_COUNT] = {
#define GS_VERB(verb, text_words, text_summary)                                                    \
    [GS_VERB_##verb] = {#verb, text_words, text_summary, gs_cmd_##verb},
#include "tools/verbs.def"
#undef GS_VERB
};

const gs_verb *gs_verb_at(gs_verb_id id)
{
    GS_ASSERT(id < GS_VERB_COUNT);
    return &verbs[id];
}

const char *gs_verb_details(gs_verb_id id)
{
    GS_ASSERT(id < GS_VERB_COUNT);
    return details[id];
}

const char *const *gs_verb_first_words(gs_verb_id id)
{
    GS_ASSERT(id < GS_VERB_COUNT);
    return first_words[id];
}
