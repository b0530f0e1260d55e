#include "traces/tuning.h"

#include "base/assert.h"

#include <math.h>
#include <string.h>

enum { SIZE_BITS = 48, CORRECTED_BITS = 30, FIRST_CAPACITY = 16 };

static const int64_t LARGEST = (INT64_C(1) << SIZE_BITS) - 1; /* beyond it nothing changes */

bool gs_rule_list_add(gs_rule_list *list, const gs_selection_rule *rule)
{
    if (list->count == list->capacity) {
        uint32_t wanted = list->capacity == 0 ? FIRST_CAPACITY : 2 * list->capacity;
        gs_selection_rule *grown = GS_TAKE(list->arena, gs_selection_rule, wanted);
        if (grown == NULL) {
            return false;
        }
        if (list->count > 0) {
            memcpy(grown, list->items, list->count * sizeof *grown);
        }
        list->items = grown;
        list->capacity = wanted;
    }
    list->items[list->count++] = *rule;
    return true;
}

/* ---------------------------------------------------------------- where an answer changes */

/* An answer for each size. Between two of the breaks sizes of one answer follow one another: times
 * are straight lines there, and the least of some straight lines changes only at crossings. */
typedef struct question {
    const void *of;
    uint64_t (*answer)(const void *of, int64_t bytes);
    const int64_t *breaks; /* ascending; a new piece begins at each */
    uint32_t break_count;
    bool (*found)(void *into, int64_t from, int64_t to, uint64_t answer);
    void *into;
} question;

/* The last size in [from, to] with the answer of from. */
static int64_t end_of(const question *asked, int64_t from, int64_t to)
{
    uint64_t answer = asked->answer(asked->of, from);
    if (asked->answer(asked->of, to) == answer) {
        return to;
    }
    int64_t same = from;
    int64_t other = to;
    while (same + 1 < other) {
        int64_t middle = same + (other - same) / 2;
        if (asked->answer(asked->of, middle) == answer) {
            same = middle;
        } else {
            other = middle;
        }
    }
    return same;
}

/* Tells every piece of one answer, from 1 byte on. false: a told one said so. */
static bool walk_sizes(const question *asked)
{
    int64_t from = 1;
    for (uint32_t i = 0; i <= asked->break_count; i++) {
        int64_t to = i < asked->break_count ? asked->breaks[i] - 1 : LARGEST;
        while (from <= to) {
            int64_t end = end_of(asked, from, to);
            if (!asked->found(asked->into, from, end, asked->answer(asked->of, from))) {
                return false;
            }
            from = end + 1;
        }
    }
    return true;
}

/* Rules out of pieces: neighbours of one choice become one. */
typedef struct rule_maker {
    gs_rule_list *list;
    gs_selection_rule next;
    bool has_one; /* the list's last rule is of these */
    void (*choose)(const void *of, uint64_t answer, gs_choice *out);
    const void *of;
} rule_maker;

static bool is_same(const gs_choice *a, const gs_choice *b)
{
    return a->program == b->program && a->rings == b->rings && a->piece_bytes == b->piece_bytes;
}

static bool add_piece(void *into, int64_t from, int64_t to, uint64_t answer)
{
    rule_maker *maker = into;
    (void)from;
    maker->next.up_to_bytes = to == LARGEST ? INT64_MAX : to;
    maker->choose(maker->of, answer, &maker->next.choice);
    gs_selection_rule *last = maker->has_one ? &maker->list->items[maker->list->count - 1] : NULL;
    if (last != NULL && is_same(&last->choice, &maker->next.choice)) {
        last->up_to_bytes = maker->next.up_to_bytes;
        return true;
    }
    maker->has_one = true;
    return gs_rule_list_add(maker->list, &maker->next);
}

/* ---------------------------------------------------------------- NCCL */

bool gs_nccl_function_of(gs_collective_kind kind, gs_nccl_function *out)
{
    static const struct {
        gs_collective_kind kind;
        gs_nccl_function function;
    } functions[] = {{GS_ALL_REDUCE, GS_NCCL_ALL_REDUCE},
                     {GS_REDUCE_SCATTER, GS_NCCL_REDUCE_SCATTER},
                     {GS_ALL_GATHER, GS_NCCL_ALL_GATHER},
                     {GS_BROADCAST, GS_NCCL_BROADCAST}};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (functions[i].kind == kind) {
            *out = functions[i].function;
            return true;
        }
    }
    return false;
}

const gs_collective *gs_nccl_program(gs_nccl_algorithm algorithm, gs_collective_kind kind)
{
    static const struct {
        gs_nccl_algorithm algorithm;
        gs_collective_kind kind;
        const char *program;
    } programs[] = {
        {GS_NCCL_RING, GS_ALL_REDUCE, "ring"},
        {GS_NCCL_RING, GS_REDUCE_SCATTER, "ring_reduce_scatter"},
        {GS_NCCL_RING, GS_ALL_GATHER, "ring_all_gather"},
        {GS_NCCL_RING, GS_BROADCAST, "chain_broadcast"},
        {GS_NCCL_TREE, GS_ALL_REDUCE, "double_binary_tree"},
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        if (programs[i].algorithm == algorithm && programs[i].kind == kind) {
            return gs_collective_find(programs[i].program);
        }
    }
    return NULL;
}

/* The model for one function; rules leave out what ranks cannot do by sending. */
typedef struct nccl_view {
    gs_nccl_model model;
    gs_nccl_function function;
    gs_collective_kind kind;
    uint32_t ways;
    int64_t breaks[CORRECTED_BITS + 2];
    uint32_t break_count;
} nccl_view;

static void add_break(nccl_view *view, int64_t at)
{
    uint32_t i = view->break_count;
    while (i > 0 && view->breaks[i - 1] > at) {
        view->breaks[i] = view->breaks[i - 1];
        i--;
    }
    view->breaks[i] = at;
    view->break_count++;
}

/* Sizes at which a time may jump: the tree's corrections, and the ring's plateau. */
static void find_breaks(nccl_view *view)
{
    view->break_count = 0;
    for (int bit = 6; bit <= CORRECTED_BITS; bit++) {
        add_break(view, INT64_C(1) << bit);
    }
    add_break(view, 64 * (int64_t)view->model.channels * view->model.ranks);
}

enum { ALGORITHM_BITS = 3, PROTOCOL_BITS = 2, CHANNEL_BITS = 16, ANSWER_NONE = 7 };

static uint64_t nccl_answer(const void *of, int64_t bytes)
{
    const nccl_view *view = of;
    gs_nccl_algorithm a = GS_NCCL_ALGORITHM_COUNT;
    gs_nccl_protocol p = GS_NCCL_PROTOCOL_COUNT;
    if (!gs_nccl_choose(&view->model, view->function, bytes, &a, &p)) {
        return ANSWER_NONE;
    }
    uint64_t channels = gs_nccl_channels(&view->model, a, p, bytes);
    uint64_t piece = (uint64_t)gs_nccl_piece_bytes(&view->model, a, p, bytes);
    return (uint64_t)a | (uint64_t)p << ALGORITHM_BITS |
           channels << (ALGORITHM_BITS + PROTOCOL_BITS) |
           piece << (ALGORITHM_BITS + PROTOCOL_BITS + CHANNEL_BITS);
}

gs_choice gs_nccl_choice(const gs_collective *program, uint32_t ways, uint32_t channels,
                         int64_t piece_bytes)
{
    ways = piece_bytes > 0 ? 1 : ways;
    return (gs_choice){.program = program,
                       .rings = channels < ways ? channels : ways,
                       .piece_bytes = piece_bytes * channels};
}

static void choose_nccl(const void *of, uint64_t answer, gs_choice *out)
{
    const nccl_view *view = of;
    const gs_collective *program =
        gs_nccl_program((gs_nccl_algorithm)(answer & ((1U << ALGORITHM_BITS) - 1)), view->kind);
    GS_ASSERT(program != NULL);
    uint64_t channels = answer >> (ALGORITHM_BITS + PROTOCOL_BITS) & ((1U << CHANNEL_BITS) - 1);
    *out = gs_nccl_choice(program, view->ways, (uint32_t)channels,
                          (int64_t)(answer >> (ALGORITHM_BITS + PROTOCOL_BITS + CHANNEL_BITS)));
}

bool gs_tuning_by_nccl(const gs_nccl_model *model, uint32_t ways, gs_collective_kind kind,
                       uint32_t communicator, gs_rule_list *list)
{
    nccl_view view = {.model = *model, .kind = kind, .ways = ways};
    if (!gs_nccl_function_of(kind, &view.function)) {
        return true;
    }
    for (int a = 0; a < GS_NCCL_ALGORITHM_COUNT; a++) {
        if (gs_nccl_program((gs_nccl_algorithm)a, kind) == NULL) {
            memset(view.model.rate_gbps[view.function][a], 0,
                   sizeof view.model.rate_gbps[view.function][a]);
        }
    }
    find_breaks(&view);
    if (nccl_answer(&view, 1) == ANSWER_NONE) {
        return true; /* only what a switch does is allowed */
    }
    rule_maker maker = {.list = list,
                        .next = {.communicator = communicator, .kind = kind},
                        .choose = choose_nccl,
                        .of = &view};
    question asked = {&view, nccl_answer, view.breaks, view.break_count, add_piece, &maker};
    return walk_sizes(&asked);
}

/* ---------------------------------------------------------------- NCCL's model as a curve */

typedef struct curve_maker {
    const nccl_view *view;
    gs_arena *arena;
    gs_curve_point *points;
    uint32_t count, capacity;
} curve_maker;

static bool add_point(curve_maker *maker, int64_t bytes, gs_nccl_algorithm a, gs_nccl_protocol p)
{
    if (maker->count == maker->capacity) {
        uint32_t wanted = maker->capacity == 0 ? 4 * FIRST_CAPACITY : 2 * maker->capacity;
        gs_curve_point *grown = GS_TAKE(maker->arena, gs_curve_point, wanted);
        if (grown == NULL) {
            return false;
        }
        if (maker->count > 0) {
            memcpy(grown, maker->points, maker->count * sizeof *grown);
        }
        maker->points = grown;
        maker->capacity = wanted;
    }
    double time_us = gs_nccl_time_us(&maker->view->model, maker->view->function, a, p, bytes);
    maker->points[maker->count++] =
        (gs_curve_point){bytes, (gs_time_ns)fmax(1.0, ceil(time_us * 1e3))};
    return true;
}

/* Times are straight from the first to the last size of a piece. */
static bool add_ends(void *into, int64_t from, int64_t to, uint64_t answer)
{
    gs_nccl_algorithm a = (gs_nccl_algorithm)(answer & ((1U << ALGORITHM_BITS) - 1));
    gs_nccl_protocol p = (gs_nccl_protocol)(answer >> ALGORITHM_BITS & ((1U << PROTOCOL_BITS) - 1));
    return add_point(into, from, a, p) && (to == from || add_point(into, to, a, p));
}

/* Only by which algorithm and protocol: over how many channels does not change a time. */
static uint64_t nccl_winner(const void *of, int64_t bytes)
{
    return nccl_answer(of, bytes) & ((1U << (ALGORITHM_BITS + PROTOCOL_BITS)) - 1);
}

const gs_curve *gs_tuning_nccl_curve(const gs_nccl_model *model, gs_arena *arena)
{
    nccl_view view = {.model = *model, .function = GS_NCCL_ALL_REDUCE, .kind = GS_ALL_REDUCE};
    find_breaks(&view);
    if (nccl_answer(&view, 1) == ANSWER_NONE) {
        return NULL;
    }
    curve_maker maker = {.view = &view, .arena = arena};
    question asked = {&view, nccl_winner, view.breaks, view.break_count, add_ends, &maker};
    gs_curve *curve = GS_TAKE(arena, gs_curve, 1);
    if (curve == NULL || !walk_sizes(&asked)) {
        return NULL;
    }
    *curve = (gs_curve){.collective = "all_reduce",
                        .ranks = (int32_t)model->ranks,
                        .hosts = (int32_t)model->nodes,
                        .device = "",
                        .points = maker.points,
                        .point_count = maker.count,
                        .source = "NCCL 2.30.7's tuning model"};
    return curve;
}

/* ---------------------------------------------------------------- MPICH */

static bool is_power_of_two(uint32_t members)
{
    return (members & (members - 1)) == 0;
}

static bool add_named(gs_rule_list *list, uint32_t communicator, const char *program,
                      int64_t up_to_bytes)
{
    const gs_collective *found = gs_collective_find(program);
    GS_ASSERT(found != NULL);
    return gs_rule_list_add(list, &(gs_selection_rule){.communicator = communicator,
                                                       .kind = found->kind,
                                                       .up_to_bytes = up_to_bytes,
                                                       .choice = {.program = found, .rings = 1}});
}

bool gs_tuning_by_mpich(uint32_t members, gs_collective_kind kind, uint32_t communicator,
                        gs_rule_list *list)
{
    enum {
        ALL_REDUCE_SHORT = 2048,  /* MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE */
        ALL_GATHER_SHORT = 81920, /* MPIR_CVAR_ALLGATHER_SHORT_MSG_SIZE, of all data */
        ALL_GATHER_LONG = 524288, /* MPIR_CVAR_ALLGATHER_LONG_MSG_SIZE */
        BROADCAST_SHORT = 12288,  /* MPIR_CVAR_BCAST_SHORT_MSG_SIZE */
        BROADCAST_FEW = 8         /* MPIR_CVAR_BCAST_MIN_PROCS */
    };
    if (kind == GS_ALL_REDUCE) {
        return add_named(list, communicator, "recursive_doubling", ALL_REDUCE_SHORT) &&
               add_named(list, communicator, "halving_doubling", INT64_MAX);
    }
    if (kind == GS_ALL_GATHER) {
        /* A power of two does recursive doubling up to the long ones: Bruck's steps and bytes. */
        int64_t most = is_power_of_two(members) ? ALL_GATHER_LONG : ALL_GATHER_SHORT;
        return add_named(list, communicator, "bruck_all_gather", most - 1) &&
               add_named(list, communicator, "ring_all_gather", INT64_MAX);
    }
    if (kind == GS_REDUCE_SCATTER) { /* MPICH halves below 512 KiB, which no program here does */
        return add_named(list, communicator, "pairwise_reduce_scatter", INT64_MAX);
    }
    if (kind == GS_BROADCAST) { /* longer ones MPICH scatters and gathers, which none here does */
        return add_named(list, communicator, "binomial_broadcast",
                         members < BROADCAST_FEW ? INT64_MAX : BROADCAST_SHORT - 1);
    }
    return true;
}

/* ---------------------------------------------------------------- measured tables */

typedef struct table_view {
    const gs_tuning_table *tables;
    uint32_t count;
} table_view;

static uint64_t fastest_table(const void *of, int64_t bytes)
{
    const table_view *view = of;
    uint64_t best = 0;
    gs_time_ns least = 0;
    for (uint32_t i = 0; i < view->count; i++) {
        bool outside;
        gs_time_ns time = gs_curve_time(view->tables[i].curve, bytes, &outside);
        if (i == 0 || time < least) {
            best = i;
            least = time;
        }
    }
    return best;
}

static void choose_table(const void *of, uint64_t answer, gs_choice *out)
{
    const table_view *view = of;
    *out = view->tables[answer].choice;
}

static uint32_t sorted_sizes(const table_view *view, int64_t *sizes)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < view->count; t++) {
        const gs_curve *curve = view->tables[t].curve;
        uint32_t at = 0;
        for (uint32_t i = 0; i < curve->point_count; i++) {
            int64_t bytes = curve->points[i].bytes;
            while (at < count && sizes[at] < bytes) {
                at++;
            }
            if (at < count && sizes[at] == bytes) {
                continue;
            }
            memmove(&sizes[at + 1], &sizes[at], (count - at) * sizeof *sizes);
            sizes[at] = bytes;
            count++;
        }
    }
    return count;
}

bool gs_tuning_by_tables(const gs_tuning_table *tables, uint32_t table_count, uint32_t communicator,
                         gs_rule_list *list)
{
    table_view view = {tables, table_count};
    size_t all = 1;
    GS_ASSERT(table_count > 0);
    for (uint32_t t = 0; t < table_count; t++) {
        all += tables[t].curve->point_count;
    }
    int64_t *sizes = GS_TAKE(list->arena, int64_t, all);
    if (sizes == NULL) {
        return false;
    }
    rule_maker maker = {.list = list,
                        .next = {.communicator = communicator, .kind = GS_ALL_REDUCE},
                        .choose = choose_table,
                        .of = &view};
    question asked = {&view, fastest_table, sizes, sorted_sizes(&view, sizes), add_piece, &maker};
    return walk_sizes(&asked);
}
