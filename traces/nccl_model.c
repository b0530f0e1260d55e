#include "traces/nccl_model.h"

#include "base/assert.h"
#include "traces/device.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { NODE_COLUMNS = 3, LINK_ROWS = 3, CORRECTIONS = 24 };
enum { NVLINK, PCIE, NETWORK };
enum { MOST_THREADS = 640, SLOW_RING_THREADS = 256 };
/* src/init.cc and device.h: buffers of a channel hold 8 steps each; of LL128 and LL their size
 * follows from threads, lines and flags. */
enum {
    BUFFER_BYTES = 4 << 20,
    BUFFER_STEPS = 8,
    LL_STEP_BYTES = 32 << 10,    /* without flags, half of what the step takes */
    LL128_STEP_BYTES = 600 << 10 /* with flags, which are a 16th */
};

static const double PCIE_GBPS = 12.0; /* topo.h: what a slow ring stays within */

const char *const gs_nccl_function_names[] = {"Broadcast",     "Reduce",    "AllGather",
                                              "ReduceScatter", "AllReduce", NULL};
const char *const gs_nccl_algorithm_names[] = {
#define GS_NCCL_ALGORITHM(stem, name, ...) name,
#include "traces/nccl_model.def"
    NULL};
const char *const gs_nccl_protocol_names[] = {
#define GS_NCCL_PROTOCOL(stem, name, ...) name,
#include "traces/nccl_model.def"
    NULL};
const char *const gs_nccl_generation_names[] = {
#define GS_NCCL_GENERATION(stem, name, ...) name,
#include "traces/nccl_model.def"
    NULL};

typedef struct algorithm_row {
    double base_us[GS_NCCL_PROTOCOL_COUNT];
    double step_us[LINK_ROWS][GS_NCCL_PROTOCOL_COUNT];
} algorithm_row;

typedef struct generation_row {
    double nvls_efficiency;
    double ll_cap[NODE_COLUMNS];
    double ring_ll128_cap[NODE_COLUMNS];
    double tree_ll128_cap[NODE_COLUMNS];
    double tree_cap[NODE_COLUMNS];
    double nvls_tree_cap[NODE_COLUMNS];
} generation_row;

typedef struct protocol_row {
    int64_t thread_threshold;
    uint32_t most_threads;
    double tree_corrections[CORRECTIONS];
} protocol_row;

static const algorithm_row algorithm_rows[] = {
#define GS_NCCL_ALGORITHM(stem, name, b0, b1, b2, v0, v1, v2, p0, p1, p2, n0, n1, n2)              \
    {{b0, b1, b2}, {{v0, v1, v2}, {p0, p1, p2}, {n0, n1, n2}}},
#include "traces/nccl_model.def"
};

static const generation_row generation_rows[] = {
#define GS_NCCL_GENERATION(stem, name, capability, nvls, a0, a1, a2, b0, b1, b2, c0, c1, c2, d0,   \
                           d1, d2, e0, e1, e2)                                                     \
    {nvls, {a0, a1, a2}, {b0, b1, b2}, {c0, c1, c2}, {d0, d1, d2}, {e0, e1, e2}},
#include "traces/nccl_model.def"
};

static const protocol_row protocol_rows[] = {
#define GS_NCCL_PROTOCOL(stem, name, threshold, threads, ...) {threshold, threads, {__VA_ARGS__}},
#include "traces/nccl_model.def"
};

static const struct device_row {
    const char *name;
    int generation;
} device_rows[] = {
#define GS_NCCL_DEVICE(name, generation) {name, GS_NCCL_##generation},
#include "traces/nccl_model.def"
};

int gs_nccl_generation_of(const char *device)
{
    const gs_device *known = gs_device_find(device);
    for (size_t i = 0; known != NULL && i < sizeof device_rows / sizeof *device_rows; i++) {
        if (strcmp(device_rows[i].name, known->name) == 0) {
            return device_rows[i].generation;
        }
    }
    return -1;
}

/* ---------------------------------------------------------------- the parts of a time */

static int least(int a, int b)
{
    return a < b ? a : b;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static int floor_log2(uint64_t value)
{
    int log = -1;
    for (; value > 0; value >>= 1) {
        log++;
    }
    return log;
}

/* One on which a model is made; so many arguments would be asked of every function below. */
typedef struct maker {
    const gs_nccl_machine *machine;
    const gs_nccl_settings *settings;
    const generation_row *caps;
    int column;    /* of node counts */
    double ll_cap; /* GB/s */
} maker;

static bool scatters(gs_nccl_function function)
{
    return function == GS_NCCL_ALL_GATHER || function == GS_NCCL_REDUCE_SCATTER;
}

/* Steps of a ring: to all ranks, or between nodes. */
static double ring_steps(gs_nccl_function function, uint32_t places)
{
    return function == GS_NCCL_ALL_REDUCE ? 2.0 * (places - 1)
           : scatters(function)           ? places - 1.0
                                          : places;
}

/* Which combinations there are at all, whatever the machine. */
static bool exists(gs_nccl_function f, gs_nccl_algorithm a, gs_nccl_protocol p)
{
    switch (a) {
    case GS_NCCL_RING:
        return true;
    case GS_NCCL_TREE:
        return f == GS_NCCL_ALL_REDUCE;
    case GS_NCCL_NVLS:
        return p == GS_NCCL_SIMPLE && (f == GS_NCCL_ALL_REDUCE || scatters(f));
    case GS_NCCL_NVLS_TREE:
        return p == GS_NCCL_SIMPLE && f == GS_NCCL_ALL_REDUCE;
    case GS_NCCL_PAT:
        return p == GS_NCCL_SIMPLE && scatters(f);
    case GS_NCCL_ALGORITHM_COUNT:
        break;
    }
    return false;
}

/* LL128 relies on 128 bytes arriving as one, which not every way of copying keeps. */
static bool ll128_is_safe(const gs_nccl_machine *machine)
{
    return !machine->pcie && (machine->nodes == 1 || !machine->far_nic);
}

static bool is_on(const maker *of, gs_nccl_function f, gs_nccl_algorithm a, gs_nccl_protocol p)
{
    const gs_nccl_machine *machine = of->machine;
    int protocol = of->settings->protocols[f][p];
    if (protocol == 0 || !of->settings->algorithms[f][a]) {
        return false;
    }
    if (protocol == 2 && p == GS_NCCL_LL128 && !ll128_is_safe(machine)) {
        return false;
    }
    switch (a) {
    case GS_NCCL_NVLS: /* over several nodes only with CollNet */
        return machine->nvls && machine->nodes == 1 && machine->graphs[a].channels >= 2;
    case GS_NCCL_NVLS_TREE:
        return machine->nvls && machine->nodes > 1 && machine->graphs[a].channels >= 2;
    case GS_NCCL_PAT:
        return of->settings->pat == 2 ? machine->nodes == machine->ranks : of->settings->pat == 1;
    case GS_NCCL_TREE:
    case GS_NCCL_RING:
    case GS_NCCL_ALGORITHM_COUNT:
        break;
    }
    return true;
}

/* GB/s of one channel through a switch that sums and copies. */
static double nvls_channel_gbps(const maker *of, gs_nccl_function f, gs_nccl_algorithm a)
{
    const gs_nccl_graph *graph = &of->machine->graphs[a];
    double node_ranks = (double)of->machine->ranks / of->machine->nodes;
    double channels = graph->channels;
    double intra = graph->intra_gbps * of->caps->nvls_efficiency * (channels - 1.0) / channels;
    /* An all-reduce pipelines its two halves. */
    intra *= f == GS_NCCL_ALL_REDUCE ? 2.0 : (node_ranks - 1.0) / node_ranks;
    if (of->machine->nodes == 1) {
        return intra;
    }
    double inter = graph->inter_gbps * (of->machine->nodes == 2 ? 2.0 : 1.0);
    return smaller(smaller(intra, inter), of->caps->nvls_tree_cap[of->column]);
}

/* GB/s that links carry (busbw). */
static double bus_gbps(const maker *of, gs_nccl_function f, gs_nccl_algorithm a, gs_nccl_protocol p)
{
    const gs_nccl_machine *machine = of->machine;
    const gs_nccl_graph *graph = &machine->graphs[a];
    double channels = graph->channels;
    double bus = channels * (machine->nodes <= 2 ? graph->intra_gbps : graph->inter_gbps);
    switch (a) {
    case GS_NCCL_RING:
        if (p == GS_NCCL_LL) {
            return smaller(of->ll_cap, bus * 0.5); /* a flag of 4 bytes with each 4 bytes */
        }
        return p == GS_NCCL_LL128
                   ? smaller(bus * 0.92, channels * of->caps->ring_ll128_cap[of->column])
                   : bus;
    case GS_NCCL_TREE:
        bus = smaller(bus * 0.92, channels * of->caps->tree_cap[of->column]);
        if (p == GS_NCCL_LL) {
            bus = smaller(bus / 3.8, of->ll_cap);
        } else if (p == GS_NCCL_LL128) {
            bus = smaller(bus * (machine->nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0),
                          channels * of->caps->tree_ll128_cap[of->column]);
        }
        return machine->split_tree ? bus : bus * 0.85;
    case GS_NCCL_NVLS:
    case GS_NCCL_NVLS_TREE:
        return channels * nvls_channel_gbps(of, f, a);
    case GS_NCCL_PAT:
        return bus * 0.75;
    case GS_NCCL_ALGORITHM_COUNT:
        break;
    }
    return 0.0;
}

/* Size over time, of busbw. */
static double algorithm_gbps(const maker *of, gs_nccl_function f, gs_nccl_algorithm a, double bus)
{
    if (a != GS_NCCL_RING && scatters(f)) {
        return bus;
    }
    double ranks = of->machine->ranks;
    return a == GS_NCCL_TREE ? bus * 0.5 : bus * ranks / ring_steps(f, of->machine->ranks);
}

static double net_overhead_us(const maker *of, gs_nccl_protocol p)
{
    double overhead = of->settings->net_overhead_ns >= 0
                          ? (double)of->settings->net_overhead_ns * 1e-3
                      : of->machine->cpu == GS_NCCL_AMD ? 2.0
                                                        : 1.0;
    return p == GS_NCCL_SIMPLE ? 3.0 * overhead : overhead;
}

static double ring_latency_us(const maker *of, gs_nccl_function f, gs_nccl_protocol p, double intra,
                              double inter)
{
    const gs_nccl_machine *machine = of->machine;
    if (!scatters(f) && f != GS_NCCL_ALL_REDUCE) {
        /* Channels that enter and leave a node by the same NIC (NCCL: sameChannels), as its search
         * prefers. */
        int row = machine->nodes > 1 ? NETWORK : machine->pcie ? PCIE : NVLINK;
        return algorithm_rows[GS_NCCL_RING].step_us[row][p];
    }
    double steps = ring_steps(f, machine->ranks);
    double between = machine->nodes == 1 ? 0.0 : ring_steps(f, machine->nodes);
    double step = machine->nodes == 1 ? intra : larger(intra, net_overhead_us(of, p));
    return (steps - between) * step + between * inter;
}

static double latency_us(const maker *of, gs_nccl_function f, gs_nccl_algorithm a,
                         gs_nccl_protocol p)
{
    const gs_nccl_machine *machine = of->machine;
    const algorithm_row *row = &algorithm_rows[a];
    uint32_t node_ranks = machine->ranks / machine->nodes;
    double levels = floor_log2(machine->nodes);
    double intra = row->step_us[machine->pcie ? PCIE : NVLINK][p];
    /* With one rank a node nothing hides the network: NCCL takes the tree's step for all. */
    double inter =
        algorithm_rows[machine->ranks == machine->nodes ? GS_NCCL_TREE : a].step_us[NETWORK][p];
    inter += machine->net_latency_us * (p == GS_NCCL_SIMPLE ? 2.0 : 1.0); /* and a flush */
    switch (a) {
    case GS_NCCL_RING:
        return row->base_us[p] + ring_latency_us(of, f, p, intra, inter);
    case GS_NCCL_TREE:
        return row->base_us[p] + 2.0 * ((node_ranks - 1) * intra + levels * inter);
    case GS_NCCL_NVLS:
        return intra;
    case GS_NCCL_NVLS_TREE:
        return row->base_us[p] + intra + 2.0 * levels * inter;
    case GS_NCCL_PAT:
        return row->base_us[p] + levels * (inter / 3.5) + machine->ranks * 2.8;
    case GS_NCCL_ALGORITHM_COUNT:
        break;
    }
    return 0.0;
}

static uint32_t threads_of(const maker *of, gs_nccl_algorithm a, gs_nccl_protocol p)
{
    const gs_nccl_graph *ring = &of->machine->graphs[GS_NCCL_RING];
    uint32_t asked = p == GS_NCCL_LL128 ? of->settings->ll128_threads : of->settings->threads;
    if (a != GS_NCCL_RING && a != GS_NCCL_TREE) {
        return MOST_THREADS;
    }
    if (asked != 0) {
        return asked;
    }
    bool slow =
        a == GS_NCCL_RING && p == GS_NCCL_SIMPLE && ring->channels * ring->intra_gbps <= PCIE_GBPS;
    return slow ? SLOW_RING_THREADS : protocol_rows[p].most_threads;
}

void gs_nccl_model_init(gs_nccl_model *model, const gs_nccl_machine *machine,
                        const gs_nccl_settings *settings)
{
    GS_ASSERT(machine->ranks >= 2 && machine->nodes >= 1);
    GS_ASSERT(machine->ranks % machine->nodes == 0);
    GS_ASSERT(machine->generation >= 0 && machine->generation < GS_NCCL_GENERATION_COUNT);
    int cap_row = machine->nodes == 1           ? machine->generation
                  : machine->cpu == GS_NCCL_AMD ? GS_NCCL_AMPERE
                                                : GS_NCCL_VOLTA;
    maker of = {machine, settings, &generation_rows[machine->generation],
                least((int)machine->nodes, NODE_COLUMNS) - 1, 0.0};
    of.ll_cap = generation_rows[cap_row].ll_cap[of.column];
    *model = (gs_nccl_model){.ranks = machine->ranks,
                             .nodes = machine->nodes,
                             .channels = machine->channels,
                             .buffer_bytes =
                                 settings->buffer_bytes > 0 ? settings->buffer_bytes : BUFFER_BYTES,
                             .generation = machine->generation,
                             .is_x86 = machine->cpu != GS_NCCL_OTHER_CPU};
    for (int a = 0; a < GS_NCCL_ALGORITHM_COUNT; a++) {
        for (int p = 0; p < GS_NCCL_PROTOCOL_COUNT; p++) {
            model->threads[a][p] = threads_of(&of, (gs_nccl_algorithm)a, (gs_nccl_protocol)p);
            for (int f = 0; f < GS_NCCL_FUNCTION_COUNT; f++) {
                gs_nccl_function function = (gs_nccl_function)f;
                gs_nccl_algorithm algorithm = (gs_nccl_algorithm)a;
                gs_nccl_protocol protocol = (gs_nccl_protocol)p;
                if (exists(function, algorithm, protocol) &&
                    is_on(&of, function, algorithm, protocol)) {
                    double bus = bus_gbps(&of, function, algorithm, protocol);
                    model->rate_gbps[f][a][p] = algorithm_gbps(&of, function, algorithm, bus);
                    model->latency_us[f][a][p] = latency_us(&of, function, algorithm, protocol);
                }
            }
        }
    }
}

/* ---------------------------------------------------------------- asking a model */

/* What medium sizes leave of a tree's rate. */
static double correction(const gs_nccl_model *model, gs_nccl_algorithm a, gs_nccl_protocol p,
                         int64_t bytes)
{
    int size = floor_log2((uint64_t)bytes >> 6);
    bool tree = a == GS_NCCL_TREE && size < CORRECTIONS - 1;
    bool nvls_tree = a == GS_NCCL_NVLS_TREE && size < CORRECTIONS && model->is_x86 &&
                     model->generation >= GS_NCCL_BLACKWELL;
    return size >= 0 && (tree || nvls_tree) ? protocol_rows[p].tree_corrections[size] : 1.0;
}

double gs_nccl_time_us(const gs_nccl_model *model, gs_nccl_function function,
                       gs_nccl_algorithm algorithm, gs_nccl_protocol protocol, int64_t bytes)
{
    double rate = model->rate_gbps[function][algorithm][protocol];
    double latency = model->latency_us[function][algorithm][protocol];
    if (rate <= 0.0) {
        return -1.0;
    }
    rate *= correction(model, algorithm, protocol, bytes);
    /* A ring over the network has a plateau before its rate shows. */
    if (algorithm == GS_NCCL_RING && protocol == GS_NCCL_SIMPLE && model->nodes > 1 &&
        function == GS_NCCL_ALL_REDUCE && bytes / ((int64_t)model->channels * model->ranks) >= 64) {
        latency *= model->generation < GS_NCCL_AMPERE ? 1.9 : 1.4;
    }
    return latency + (double)bytes / (1000.0 * rate);
}

bool gs_nccl_choose(const gs_nccl_model *model, gs_nccl_function function, int64_t bytes,
                    gs_nccl_algorithm *out_algorithm, gs_nccl_protocol *out_protocol)
{
    double best = -1.0;
    for (int a = 0; a < GS_NCCL_ALGORITHM_COUNT; a++) {
        for (int p = 0; p < GS_NCCL_PROTOCOL_COUNT; p++) {
            double time =
                gs_nccl_time_us(model, function, (gs_nccl_algorithm)a, (gs_nccl_protocol)p, bytes);
            if (time >= 0.0 && (best < 0.0 || time < best)) {
                best = time;
                *out_algorithm = (gs_nccl_algorithm)a;
                *out_protocol = (gs_nccl_protocol)p;
            }
        }
    }
    return best >= 0.0;
}

uint32_t gs_nccl_channels(const gs_nccl_model *model, gs_nccl_algorithm algorithm,
                          gs_nccl_protocol protocol, int64_t bytes)
{
    if (algorithm != GS_NCCL_RING && algorithm != GS_NCCL_TREE) {
        return model->channels;
    }
    int64_t threshold = protocol_rows[protocol].thread_threshold;
    if (algorithm == GS_NCCL_RING && protocol == GS_NCCL_LL) {
        threshold *= model->ranks;
    }
    int64_t fit = bytes / (threshold * model->threads[algorithm][protocol]);
    return fit < 1 ? 1 : fit < model->channels ? (uint32_t)fit : model->channels;
}

/* A piece becomes half as long while fewer than so many of it are on their way a channel. */
static int64_t halve(int64_t piece, int64_t channel_bytes, double pieces, int64_t least)
{
    while ((double)(channel_bytes / piece) < pieces && piece > least) {
        piece /= 2;
    }
    return piece;
}

int64_t gs_nccl_piece_bytes(const gs_nccl_model *model, gs_nccl_algorithm algorithm,
                            gs_nccl_protocol protocol, int64_t bytes)
{
    if (algorithm != GS_NCCL_TREE) {
        return 0;
    }
    int64_t share = bytes / gs_nccl_channels(model, algorithm, protocol, bytes);
    double node_ranks = (double)model->ranks / model->nodes;
    int levels = floor_log2(model->nodes);
    int64_t piece = model->buffer_bytes / BUFFER_STEPS;
    switch (protocol) {
    case GS_NCCL_LL:
        return LL_STEP_BYTES;
    case GS_NCCL_LL128: {
        double steps = 1.0 + levels + 0.1 * node_ranks;
        piece = halve(LL128_STEP_BYTES, share, steps * 64.0 / node_ranks, 128 << 10);
        return halve(piece, share, steps * 16.0 / node_ranks, 32 << 10) / 16 * 15;
    }
    case GS_NCCL_SIMPLE: {
        double depth = floor(node_ranks) - 1.0 + levels;
        piece = halve(piece, share, depth * 8.0, 128 << 10);
        piece = halve(piece, share, depth * 4.0, 64 << 10);
        return halve(piece, share, depth, 32 << 10);
    }
    case GS_NCCL_PROTOCOL_COUNT:
        break;
    }
    return 0;
}
