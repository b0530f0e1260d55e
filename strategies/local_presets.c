/* Published names of local updates, each a rule of the engine with the parameters that mean
 * something for it. */
#include "strategies/local.h"
#include "strategies/preset.h"
#include "strategies/whole_model.h"

/* clang-format off */
#define PERIOD(text)                                                                               \
    {.name = "period", .kind = GS_FIELD_INT, GS_FIELD_AT(gs_local_config, period),                 \
     .default_text = (text), .minimum = 1, .maximum = 1e9,                                         \
     .help = "local steps between averages"}
#define STEPS(field, member, text, least, words)                                                   \
    {.name = (field), .kind = GS_FIELD_INT, GS_FIELD_AT(gs_local_config, member),                  \
     .default_text = (text), .minimum = (least), .maximum = 1e9, .help = (words)}
#define REAL(field, member, text, least, most, words)                                              \
    {.name = (field), .kind = GS_FIELD_REAL, GS_FIELD_AT(gs_local_config, member),                 \
     .default_text = (text), .minimum = (least), .maximum = (most), .help = (words)}
#define NESTEROV(words)                                                                            \
    {.name = "nesterov", .kind = GS_FIELD_BOOL, GS_FIELD_AT(gs_local_config, nesterov),            \
     .default_text = "true", .help = (words)}
#define OUTER(rate_text, momentum_text)                                                            \
    REAL("rate", rate, rate_text, 1e-9, 1e3, "of the outer optimizer: 1 with momentum 0 is plain averaging"), \
    REAL("momentum", momentum, momentum_text, 0.0, 1.0, "of the outer optimizer"),                 \
    NESTEROV("the outer momentum looks ahead")
/* clang-format on */

static const gs_field fields_local_sgd[] = {PERIOD("8")};
static const gs_field fields_post_local[] = {
    PERIOD("16"), STEPS("start", start, "50", 0,
                        "steps that are averaged one by one before periods begin, as until the "
                        "rate falls first")};
static const gs_field fields_adacomm[] = {
    PERIOD("16"), STEPS("interval", interval, "100", 1,
                        "steps between two looks at the loss, at which the period may change")};
static const gs_field fields_slowmo[] = {
    PERIOD("12"),
    REAL("beta", momentum, "0.5", 0.0, 1.0, "slow momentum, of differences of the model"),
    REAL("alpha", rate, "1", 1e-9, 1e3, "slow rate")};
static const gs_field fields_bmuf[] = {
    PERIOD("50"), REAL("momentum", momentum, "0.875", 0.0, 1.0, "of blocks; about 1 - 1 / ranks"),
    REAL("rate", rate, "1", 1e-9, 1e3, "of blocks"), NESTEROV("the block momentum looks ahead")};
static const gs_field fields_diloco[] = {PERIOD("500"), OUTER("0.7", "0.9")};
static const gs_field fields_streaming_diloco[] = {
    PERIOD("100"),
    STEPS("fragments", fragments, "4", 1,
          "parts of the model, averaged one after the other within a period"),
    STEPS("delay", delay, "5", 0, "steps from sending a fragment to using its mean"),
    REAL("alpha", alpha, "0.5", 0.0, 0.999, "share of the local model that stays when it is used"),
    OUTER("0.7", "0.9")};
static const gs_field fields_easgd[] = {
    PERIOD("10"), REAL("alpha", alpha, "0", 0.0, 1.0,
                       "elastic pull between a rank and the centre; 0: 0.9 / ranks")};
static const gs_field fields_overlap_local_sgd[] = {
    PERIOD("2"),
    REAL("alpha", alpha, "0.6", 0.001, 0.999,
         "how far a rank is pulled to the anchor when it sends"),
    REAL("momentum", momentum, "0.7", 0.0, 1.0, "of the anchor")};
static const gs_field fields_cocod[] = {PERIOD("8")};
static const gs_field fields_dasgd[] = {
    PERIOD("8"), STEPS("delay", delay, "2", 0, "steps from sending to using the mean")};
static const gs_field fields_co2[] = {
    PERIOD("48"), REAL("beta", momentum, "0.5", 0.0, 1.0, "outer momentum"),
    REAL("alpha", rate, "1", 1e-9, 1e3, "outer rate"),
    REAL("penalty", penalty, "1", 1.0, 1e6, "for being late: differences are divided by it")};

/* clang-format off */
GS_PRESET(local, adacomm, GS_LOCAL_ADACOMM, "local_sgd whose period falls with the loss, which all ranks agree on",
       "Wang and Joshi, Adaptive Communication Strategies to Achieve the Best Error-Runtime Trade-off, SysML 2019 (arXiv 1810.08313)");
GS_PRESET(local, bmuf, GS_LOCAL_BMUF, "local_sgd with block momentum: an outer momentum on how far an average moved the model",
       "Chen and Huo, Scalable Training of Deep Learning Machines by Incremental Block Training, ICASSP 2016");
GS_PRESET(local, co2, GS_LOCAL_CO2, "slowmo with the average of the period before: its all-reduce has a whole period",
       "Sun et al., CO2: Efficient Distributed Training with Full Communication-Computation Overlap, ICLR 2024 (arXiv 2401.16265)");
GS_PRESET(local, cocod, GS_LOCAL_COCOD, "local_sgd whose average comes a period late and keeps what a rank learned meanwhile",
       "Shen et al., Faster Distributed Deep Net Training, IJCAI 2019 (arXiv 1906.12043)");
GS_PRESET(local, dasgd, GS_LOCAL_DASGD, "local_sgd whose average comes some steps late and keeps what a rank learned meanwhile",
       "Zhou et al., DaSGD: Squeezing SGD Parallelization Performance, 2020 (arXiv 2006.00441)");
GS_PRESET(local, diloco, GS_LOCAL_DILOCO, "local steps, then an outer optimizer on the mean pseudo-gradient, how far ranks went",
       "Douillard et al., DiLoCo, 2023 (arXiv 2311.08105)");
GS_PRESET(local, easgd, GS_LOCAL_EASGD, "ranks are pulled to a centre, and it to their mean; the model is the centre",
       "Zhang et al., Deep Learning with Elastic Averaging SGD, NeurIPS 2015 (arXiv 1412.6651), synchronous");
GS_PRESET(local, local_sgd, GS_LOCAL_SGD, "local steps, then the mean of all models",
       "Stich, Local SGD Converges Fast and Communicates Little, ICLR 2019 (arXiv 1805.09767)");
GS_PRESET(local, overlap_local_sgd, GS_LOCAL_OVERLAP, "local_sgd whose ranks are pulled to an anchor, which takes their mean a period late",
       "Wang, Liang and Joshi, Overlap Local-SGD, ICASSP 2020 (arXiv 2002.09539)");
GS_PRESET(local, post_local, GS_LOCAL_POST, "averages every step at first, then as local_sgd",
       "Lin et al., Don't Use Large Mini-Batches, Use Local SGD, ICLR 2020 (arXiv 1808.07217)");
GS_PRESET(local, slowmo, GS_LOCAL_SLOWMO, "local_sgd with slow momentum on the average",
       "Wang et al., SlowMo, ICLR 2020 (arXiv 1910.00643)");
GS_PRESET(local, streaming_diloco, GS_LOCAL_STREAMING_DILOCO, "diloco by fragments, one after the other, each used some steps late",
       "Douillard et al., Streaming DiLoCo with Overlapping Communication, 2025 (arXiv 2501.18512)");
/* clang-format on */
