#include "tools/recommend/paste.h"

#include "tools/message.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const gs_paste_kind_names[] = {"python", "json", "shell"};

typedef struct paste_list {
    const gs_scenario *scenario;
    const gs_strategy_choice *choice;
    const gs_codec *codec; /* NULL: none */
    gs_paste *out;
    uint32_t count;
} paste_list;

/* --- helpers ---------------------------------------------------------------------------------- */

static bool is_strategy(const paste_list *list, const char *name)
{
    return strcmp(list->choice->strategy->name, name) == 0;
}

static bool is_codec(const paste_list *list, const char *name)
{
    return list->codec != NULL && strcmp(list->codec->name, name) == 0;
}

/* A number of the strategy's parameters; `other` where it has none of this name. */
static int64_t number_of(const paste_list *list, const char *key, int64_t other)
{
    const gs_field_table *table = list->choice->strategy->config;
    size_t field = gs_config_find(table, key);
    int64_t value = other;
    if (field < table->field_count) {
        memcpy(&value, (const char *)list->choice->config + table->fields[field].offset,
               sizeof value);
    }
    return value;
}

/* Any of them, as a user would write it; `other` where it has none of this name. */
static const char *text_of(const paste_list *list, const char *key, const char *other, char out[64])
{
    const gs_field_table *table = list->choice->strategy->config;
    size_t field = gs_config_find(table, key);
    return field == table->field_count
               ? other
               : gs_config_value_text(&table->fields[field], list->choice->config, out, 64);
}

static const gs_optimizer_config *optimizer_of(const paste_list *list)
{
    return &list->scenario->workload.task.optimizer;
}

/* Its class in torch.optim and in DeepSpeed's list; NULL: neither has it, or nothing was learned
 * and the rate is not known. */
static const char *class_of(const paste_list *list)
{
    if (!list->scenario->workload.real_gradients) {
        return NULL;
    }
    switch ((gs_optimizer_kind)optimizer_of(list)->kind) {
    case GS_SGD:
        return "SGD";
    case GS_ADAM:
        return "Adam";
    case GS_ADAMW:
        return "AdamW";
    case GS_LARS:
        break;
    }
    return NULL;
}

static void add(paste_list *list, const char *framework, gs_paste_kind kind, char *text)
{
    list->out[list->count++] = (gs_paste){framework, kind, text};
}

/* "torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)", or the user's own. Owner: caller. */
static char *optimizer_text(const paste_list *list)
{
    const gs_optimizer_config *optimizer = optimizer_of(list);
    const char *name = class_of(list);
    if (name == NULL) {
        return gs_text("your_optimizer(model.parameters())");
    }
    char *momentum = optimizer->kind == GS_SGD
                         ? gs_text(", momentum=%.9g, nesterov=%s", optimizer->momentum,
                                   optimizer->nesterov ? "True" : "False")
                         : gs_text(", betas=(%.9g, %.9g), eps=%.9g", optimizer->beta1,
                                   optimizer->beta2, optimizer->epsilon);
    char *text = gs_text("torch.optim.%s(model.parameters(), lr=%.9g%s, weight_decay=%.9g)", name,
                         optimizer->rate, momentum, optimizer->weight_decay);
    free(momentum);
    return text;
}

/* "# lr is that of gradients averaged over 8 ranks of 32 samples: it is not to be scaled again"
 * where the rate is known. Owner: caller. */
static char *rate_text(const paste_list *list)
{
    const gs_workload *workload = &list->scenario->workload;
    return class_of(list) == NULL
               ? gs_text("%s", "")
               : gs_text("# lr is for %u ranks of %" PRId64
                         " samples as it stands: not to be scaled again\n",
                         list->scenario->ranks, workload->batch_per_rank * workload->accumulation);
}

/* --- PyTorch ---------------------------------------------------------------------------------- */

/* What ranks that step on their own need beside the averaging of parameters. DDP makes them alike
 * at the start; statistics of BatchNorm are no parameters. */
static const char same_start[] = "for tensor in model.state_dict().values():  # the same start\n"
                                 "    dist.broadcast(tensor, src=0)\n";
static const char average_buffers[] = "def average_buffers():  # statistics of BatchNorm: with the "
                                      "parameters, and before evaluating\n"
                                      "    for buffer in model.buffers():\n"
                                      "        if buffer.is_floating_point():\n"
                                      "            dist.all_reduce(buffer)\n"
                                      "            buffer /= dist.get_world_size()\n";

static const char torchft_note[] =
    "# the manager copies the first one's weights at the start; statistics of BatchNorm stay each\n"
    "# rank's own: average them before evaluating\n";

static const char ddp_head[] = "import torch\n"
                               "from torch.nn.parallel import DistributedDataParallel as DDP\n";

static void add_ddp(paste_list *list)
{
    char *optimizer = optimizer_text(list);
    int64_t bucket = number_of(list, "bucket", 0);
    char *wrap = bucket > 0 ? gs_text("model = DDP(model, bucket_cap_mb=%.9g)\n",
                                      (double)bucket / (1024.0 * 1024.0))
                            : gs_text("model = DDP(model)\n");
    char *hook = NULL;
    if (is_codec(list, "fp16") || is_codec(list, "bf16")) {
        hook = gs_text("from torch.distributed.algorithms.ddp_comm_hooks import default_hooks\n"
                       "model.register_comm_hook(None, default_hooks.%s_compress_hook)\n",
                       list->codec->name);
    } else if (is_codec(list, "powersgd")) {
        const gs_codec_config *config = &list->choice->coding.config;
        hook = gs_text("from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook\n"
                       "state = powerSGD_hook.PowerSGDState(\n"
                       "    process_group=None, matrix_approximation_rank=%" PRId64 ",\n"
                       "    start_powerSGD_iter=%" PRId64 ", min_compression_rate=%.9g,\n"
                       "    use_error_feedback=%s, warm_start=%s)\n"
                       "model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)\n",
                       config->rank, config->start_step > 2 ? config->start_step : 2,
                       config->min_compression, config->feedback ? "True" : "False",
                       config->warm_start ? "True" : "False");
    }
    if (list->codec == NULL || hook != NULL) {
        char *rate = rate_text(list);
        add(list, "PyTorch DDP", GS_PASTE_PYTHON,
            gs_text("%s%s%s%soptimizer = %s\n", ddp_head, wrap, hook == NULL ? "" : hook, rate,
                    optimizer));
        free(rate);
    }
    free(hook);
    free(wrap);
    free(optimizer);
}

/* Reduce-scatter inside each node, all-reduce of the parts between nodes, all-gather inside. */
static const char hierarchical_hook[] =
    "nodes = [dist.new_group(range(i, i + inside)) for i in range(0, world, inside)]\n"
    "lanes = [dist.new_group(range(i, world, inside)) for i in range(inside)]\n"
    "node, lane = nodes[rank // inside], lanes[rank % inside]\n"
    "def hierarchical(state, bucket):\n"
    "    count = bucket.buffer().numel()\n"
    "    whole = torch.nn.functional.pad(bucket.buffer() / world, (0, -count % inside))\n"
    "    part = whole.new_empty(whole.numel() // inside)\n"
    "    dist.reduce_scatter_tensor(part, whole, group=node)\n"
    "    dist.all_reduce(part, group=lane)\n"
    "    dist.all_gather_into_tensor(whole, part, group=node)\n"
    "    future = torch.futures.Future()\n"
    "    future.set_result(whole[:count])\n"
    "    return future\n";

static void add_hierarchical(paste_list *list)
{
    const gs_cluster *cluster = &list->scenario->cluster;
    if (list->codec != NULL) {
        return;
    }
    char *optimizer = optimizer_text(list);
    char *rate = rate_text(list);
    int64_t bucket = number_of(list, "bucket", 25LL << 20);
    add(list, "PyTorch DDP", GS_PASTE_PYTHON,
        gs_text("%s"
                "import torch.distributed as dist\n"
                "inside, world, rank = %u, dist.get_world_size(), dist.get_rank()\n"
                "%s"
                "model = DDP(model, bucket_cap_mb=%.9g)\n"
                "model.register_comm_hook(None, hierarchical)\n"
                "%soptimizer = %s\n",
                ddp_head, (unsigned)cluster->groups[0].ranks, hierarchical_hook,
                (double)bucket / (1024.0 * 1024.0), rate, optimizer));
    free(rate);
    free(optimizer);
}

/* Steps before `start` are averaged one by one. */
static void add_post_local(paste_list *list)
{
    char *optimizer = optimizer_text(list);
    char *rate = rate_text(list);
    int64_t start = number_of(list, "start", 0);
    int64_t period = number_of(list, "period", 1);
    add(list, "PyTorch DDP", GS_PASTE_PYTHON,
        gs_text(
            "%s"
            "import torch.distributed as dist\n"
            "from torch.distributed.algorithms.ddp_comm_hooks import post_localSGD_hook as hook\n"
            "from torch.distributed.algorithms.model_averaging import averagers\n"
            "from torch.distributed.optim import PostLocalSGDOptimizer\n"
            "model = DDP(model, broadcast_buffers=False)\n"
            "%s"
            "state = hook.PostLocalSGDState(\n"
            "    process_group=None, subgroup=None, start_localSGD_iter=%" PRId64 ",\n"
            "    post_local_gradient_allreduce=False)\n"
            "model.register_comm_hook(state, hook.post_localSGD_hook)\n"
            "%soptimizer = PostLocalSGDOptimizer(\n"
            "    optim=%s,\n"
            "    averager=averagers.PeriodicModelAverager(period=%" PRId64 ", warmup_steps=%" PRId64
            "))\n",
            ddp_head, average_buffers, start, rate, optimizer, period, start));
    free(rate);
    free(optimizer);
}

/* Periods of the averager count from its first call: a whole one comes before the first average. */
static void add_hierarchical_local(paste_list *list)
{
    char *optimizer = optimizer_text(list);
    char *rate = rate_text(list);
    gs_node_group first = list->scenario->cluster.groups[0];
    add(list, "PyTorch", GS_PASTE_PYTHON,
        gs_text("import torch\n"
                "import torch.distributed as dist\n"
                "from collections import OrderedDict\n"
                "from torch.distributed.algorithms.model_averaging import "
                "hierarchical_model_averager as averagers\n"
                "%s%s"
                "%soptimizer = %s\n"
                "averager = averagers.HierarchicalModelAverager(\n"
                "    period_group_size_dict=OrderedDict([(%" PRId64 ", %" PRId64 "), (%" PRId64
                ", %u)]),\n"
                "    warmup_steps=1)\n"
                "averager.step = 1\n"
                "# the model stays unwrapped; after each optimizer.step():\n"
                "# averager.average_parameters(model.parameters())\n",
                same_start, average_buffers, rate, optimizer, number_of(list, "inside", 1),
                first.ranks, number_of(list, "between", 1), list->scenario->ranks));
    free(rate);
    free(optimizer);
}

static void add_local(paste_list *list)
{
    char *optimizer = optimizer_text(list);
    char *rate = rate_text(list);
    int64_t period = number_of(list, "period", 1);
    add(list, "PyTorch", GS_PASTE_PYTHON,
        gs_text("import torch\n"
                "import torch.distributed as dist\n"
                "from torch.distributed.algorithms.model_averaging import averagers\n"
                "%s%s"
                "%soptimizer = %s\n"
                "averager = averagers.PeriodicModelAverager(period=%" PRId64
                ", warmup_steps=%" PRId64 ")\n"
                "# the model stays unwrapped; after each optimizer.step():\n"
                "# averager.average_parameters(model.parameters())\n",
                same_start, average_buffers, rate, optimizer, period, period - 1));
    add(list, "Hugging Face Accelerate", GS_PASTE_PYTHON,
        gs_text("import torch\n"
                "import torch.distributed as dist\n"
                "from accelerate import Accelerator\n"
                "from accelerate.local_sgd import LocalSGD\n"
                "accelerator = Accelerator()\n"
                "%soptimizer = %s\n"
                "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)\n"
                "%s"
                "with LocalSGD(accelerator=accelerator, model=model, local_sgd_steps=%" PRId64
                ") as local_sgd:\n"
                "    for inputs, targets in loader:\n"
                "        accelerator.backward(loss_function(model(inputs), targets))\n"
                "        optimizer.step()\n"
                "        optimizer.zero_grad()\n"
                "        local_sgd.step()\n",
                rate, optimizer, average_buffers, period));
    add(list, "torchft", GS_PASTE_PYTHON,
        gs_text("import torch\n"
                "from torchft.local_sgd import LocalSGD\n"
                "%soptimizer = %s\n"
                "%s"
                "with LocalSGD(manager, model, optimizer, sync_every=%" PRId64 "):\n"
                "    train(model, optimizer)\n",
                rate, optimizer, torchft_note, period));
    free(rate);
    free(optimizer);
}

static void add_diloco(paste_list *list)
{
    char *optimizer = optimizer_text(list);
    char rate[64];
    char momentum[64];
    char nesterov[64];
    char *scale = rate_text(list);
    bool ahead = strcmp(text_of(list, "nesterov", "true", nesterov), "true") == 0;
    add(list, "torchft", GS_PASTE_PYTHON,
        gs_text("import torch\n"
                "from torchft.local_sgd import DiLoCo\n"
                "%sinner = %s\n"
                "outer = torch.optim.SGD(model.parameters(), lr=%s, momentum=%s, nesterov=%s)\n"
                "%s"
                "with DiLoCo(manager, [model], inner, outer, sync_every=%" PRId64 "):\n"
                "    train(model, inner)\n",
                scale, optimizer, text_of(list, "rate", "0.7", rate),
                text_of(list, "momentum", "0.9", momentum), ahead ? "True" : "False", torchft_note,
                number_of(list, "period", 1)));
    free(scale);
    free(optimizer);
}

static void add_zero(paste_list *list)
{
    const gs_optimizer_config *optimizer = optimizer_of(list);
    if (class_of(list) != NULL && optimizer->kind == GS_SGD) {
        char *rate = rate_text(list);
        add(list, "PyTorch DDP", GS_PASTE_PYTHON,
            gs_text("%sfrom torch.distributed.optim import ZeroRedundancyOptimizer\n"
                    "model = DDP(model)\n"
                    "%soptimizer = ZeroRedundancyOptimizer(\n"
                    "    model.parameters(), optimizer_class=torch.optim.SGD, lr=%.9g, "
                    "momentum=%.9g,\n"
                    "    nesterov=%s, weight_decay=%.9g)\n",
                    ddp_head, rate, optimizer->rate, optimizer->momentum,
                    optimizer->nesterov ? "True" : "False", optimizer->weight_decay));
        free(rate);
    }
}

/* --- others ----------------------------------------------------------------------------------- */

/* What DeepSpeed calls the type of what travels; NULL: it has no such codec. */
static const char *deepspeed_type(const paste_list *list)
{
    if (list->codec == NULL) {
        return "fp32";
    }
    return is_codec(list, "fp16") ? "fp16" : is_codec(list, "bf16") ? "bfp16" : NULL;
}

static void add_deepspeed(paste_list *list, int stage)
{
    const gs_workload *workload = &list->scenario->workload;
    const gs_optimizer_config *optimizer = optimizer_of(list);
    const char *type = deepspeed_type(list);
    const char *name = class_of(list);
    if (type == NULL || name == NULL) {
        return;
    }
    char *momentum =
        optimizer->kind == GS_SGD
            ? gs_text(", \"momentum\": %.9g, \"nesterov\": %s, \"weight_decay\": %.9g",
                      optimizer->momentum, optimizer->nesterov ? "true" : "false",
                      optimizer->weight_decay)
            : gs_text(", \"betas\": [%.9g, %.9g], \"eps\": %.9g, \"weight_decay\": %.9g",
                      optimizer->beta1, optimizer->beta2, optimizer->epsilon,
                      optimizer->weight_decay);
    int64_t bucket = number_of(list, "bucket", 0);
    char *buckets = stage > 0 && bucket > 0 ? gs_text(", \"reduce_bucket_size\": %" PRId64,
                                                      bucket / workload->element_bytes)
                                            : gs_text("%s", "");
    add(list, "DeepSpeed", GS_PASTE_JSON,
        gs_text("{\"train_micro_batch_size_per_gpu\": %" PRId64
                ", \"gradient_accumulation_steps\": %" PRId64 ",\n"
                " \"optimizer\": {\"type\": \"%s\", \"params\": {\"lr\": %.9g%s}},\n"
                " \"communication_data_type\": \"%s\", \"zero_optimization\": {\"stage\": %d%s}}\n",
                workload->batch_per_rank, workload->accumulation, name, optimizer->rate, momentum,
                type, stage, buckets));
    free(momentum);
    free(buckets);
}

static void add_horovod(paste_list *list)
{
    bool is_plain = list->codec == NULL;
    if (!is_plain && !is_codec(list, "fp16")) {
        return;
    }
    char *optimizer = optimizer_text(list);
    int64_t fusion = number_of(list, "fusion", 0);
    int64_t cycle_ns = number_of(list, "cycle", 0);
    if (is_strategy(list, "horovod")) {
        add(list, "Horovod", GS_PASTE_SHELL,
            gs_text("export HOROVOD_FUSION_THRESHOLD=%" PRId64 "\n"
                    "export HOROVOD_CYCLE_TIME=%.9g\n",
                    fusion, (double)cycle_ns / 1e6));
    } else if (is_strategy(list, "hierarchical")) {
        add(list, "Horovod", GS_PASTE_SHELL, gs_text("export HOROVOD_HIERARCHICAL_ALLREDUCE=1\n"));
    }
    if (!is_plain || !is_strategy(list, "allreduce")) {
        char *rate = rate_text(list);
        add(list, "Horovod", GS_PASTE_PYTHON,
            gs_text("import torch\n"
                    "import horovod.torch as hvd\n"
                    "hvd.init()\n"
                    "hvd.broadcast_parameters(model.state_dict(), root_rank=0)  # the same start\n"
                    "%soptimizer = hvd.DistributedOptimizer(\n"
                    "    %s,\n"
                    "    named_parameters=model.named_parameters(), "
                    "compression=hvd.Compression.%s)\n",
                    rate, optimizer, is_plain ? "none" : "fp16"));
        free(rate);
    }
    free(optimizer);
}

/* Only what the user pins: else NCCL chooses, as this program assumes that it does. */
static void add_nccl(paste_list *list)
{
    char value[64];
    const char *algorithm = text_of(list, "algorithm", "auto", value);
    const char *name = strcmp(algorithm, "ring") == 0                 ? "Ring"
                       : strcmp(algorithm, "double_binary_tree") == 0 ? "Tree"
                                                                      : NULL;
    if (name != NULL && list->count > 0) {
        add(list, "NCCL", GS_PASTE_SHELL, gs_text("export NCCL_ALGO=%s\n", name));
    }
}

uint32_t gs_pastes_make(const gs_scenario *scenario, gs_paste out[GS_PASTES_MAX])
{
    const gs_strategy_choice *choice = &scenario->strategies[0];
    const gs_codec *codec = choice->coding.codec;
    paste_list list = {
        .scenario = scenario,
        .choice = choice,
        .codec = codec == NULL || strcmp(codec->name, "none") == 0 ? NULL : codec,
        .out = out,
    };
    if (is_strategy(&list, "allreduce")) {
        add_ddp(&list);
        add_deepspeed(&list, 0);
        add_horovod(&list);
        add_nccl(&list);
    } else if (is_strategy(&list, "sharded")) {
        add_zero(&list);
        add_deepspeed(&list, 1);
    } else if (is_strategy(&list, "hierarchical")) {
        add_hierarchical(&list);
        add_horovod(&list);
    } else if (is_strategy(&list, "horovod")) {
        add_horovod(&list);
    } else if (is_strategy(&list, "post_local") && list.codec == NULL) {
        add_post_local(&list);
    } else if (is_strategy(&list, "local_sgd") && list.codec == NULL) {
        add_local(&list);
    } else if (is_strategy(&list, "hier_avg") && list.codec == NULL) {
        add_hierarchical_local(&list);
    } else if (is_strategy(&list, "diloco") && list.codec == NULL) {
        add_diloco(&list);
    }
    return list.count;
}
