/* cluster.collectives: by which programs collectives run, as the user says: rules that stand before
 * all others. */
#include "traces/scenario/scenario_parts.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/nearest.h"
#include "strategies/group.h"

enum { RULES_MAX = 64, NAMES_MAX = 64, RINGS_MAX = 64 };

/* By gs_collective_kind, as far as strategies ask for them. */
static const char *const kinds[] = {"all_reduce", "reduce_scatter", "all_gather", "broadcast",
                                    NULL};

/* cluster.collectives[] as the file says it. */
typedef struct rule_config {
    int kind;
    int64_t up_to_bytes;
    char algorithm[GS_NAME_BYTES];
    int64_t rings, inner, middle;
    int64_t piece_bytes;
} rule_config;

/* clang-format off */
static const gs_field rule_fields[] = {
    {"kind", GS_FIELD_CHOICE, GS_FIELD_AT(rule_config, kind), "all_reduce", 0, 0, kinds,
     "of the collective"},
    {"up_to", GS_FIELD_BYTES, GS_FIELD_AT(rule_config, up_to_bytes), "0B", 0, 1e15, NULL,
     "ops of at most so many bytes, that no rule before holds for; 0B: of any size"},
    {"algorithm", GS_FIELD_TEXT, GS_FIELD_AT(rule_config, algorithm), NULL, 0, 0, NULL,
     "a name of `gradsync list collectives`, of that kind"},
    {"rings", GS_FIELD_INT, GS_FIELD_AT(rule_config, rings), "1", 1, RINGS_MAX, NULL,
     "rings, pairs of trees or chains side by side, each with its share"},
    {"inner", GS_FIELD_INT, GS_FIELD_AT(rule_config, inner), "0", 0, GS_ENTITIES_MAX, NULL,
     "ranks that follow one another and count as a node; 0: those of a node"},
    {"middle", GS_FIELD_INT, GS_FIELD_AT(rule_config, middle), "1", 1, GS_ENTITIES_MAX, NULL,
     "nodes of a group, for a third level of hierarchical_ring"},
    {"piece", GS_FIELD_BYTES, GS_FIELD_AT(rule_config, piece_bytes), "0B", 0, 1e12, NULL,
     "of a pipelined algorithm; 0B: its own"},
};
/* clang-format on */

const gs_field_table gs_scenario_collectives_table =
    GS_SCENARIO_TABLE("cluster.collectives[]", rule_config, rule_fields);

static gs_status find_program(const gs_scenario_reader *reader, const char *path,
                              const rule_config *rule, const gs_collective **out, gs_error *err)
{
    const char *names[NAMES_MAX];
    size_t count = 0;
    for (uint32_t i = 0; i < gs_collective_count() && count < NAMES_MAX; i++) {
        if ((int)gs_collective_at(i)->kind == rule->kind) {
            names[count++] = gs_collective_at(i)->name;
        }
    }
    *out = gs_collective_find(rule->algorithm);
    if (*out != NULL && (int)(*out)->kind == rule->kind) {
        return GS_OK;
    }
    const char *near = gs_nearest_name(rule->algorithm, names, count);
    return gs_scenario_fail(reader, GS_EINVAL, path, err, "\"%s\" is no algorithm of %s; %s%s%s",
                            rule->algorithm, kinds[rule->kind],
                            near == NULL ? "see `gradsync list collectives`" : "did you mean ",
                            near == NULL ? "" : near, near == NULL ? "" : "?");
}

/* What an algorithm does not look at may not be said. */
static gs_status check_takes(const gs_scenario_reader *reader, uint32_t number,
                             const rule_config *rule, const gs_collective *program, gs_error *err)
{
    const struct {
        const char *key;
        bool said;
        unsigned takes;
    } keys[] = {{"rings", rule->rings != 1, GS_TAKES_RINGS},
                {"inner", rule->inner != 0, GS_TAKES_NODES},
                {"middle", rule->middle != 1, GS_TAKES_LEVELS},
                {"piece", rule->piece_bytes != 0, GS_TAKES_PIECES}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (keys[i].said && (program->takes & keys[i].takes) == 0) {
            char path[GS_JSON_PATH_BYTES];
            snprintf(path, sizeof path, "cluster.collectives[%u].%s", number, keys[i].key);
            return gs_scenario_fail(reader, GS_EINVAL, path, err,
                                    "%s has none; leave it out, or take another algorithm",
                                    program->name);
        }
    }
    return GS_OK;
}

/* Members add the same two terms each by itself: bits are equal where terms are what travels. */
static gs_status check_numbers(const gs_scenario_reader *reader, const char *path,
                               const gs_collective *program, gs_error *err)
{
    gs_number number = reader->out->workload.number;
    bool is_half = number == GS_FP16 || number == GS_BF16;
    if (program->is_mutual && is_half && reader->out->workload.real_gradients) {
        return gs_scenario_fail(reader, GS_EINVAL, path, err,
                                "%s: both of a pair add, and of real 16-bit numbers ranks would "
                                "end with different last bits; take halving_doubling",
                                program->name);
    }
    return GS_OK;
}

static bool holds_before(const rule_config *before, const rule_config *rule)
{
    int64_t limit = before->up_to_bytes;
    return before->kind == rule->kind &&
           (limit == 0 || (rule->up_to_bytes > 0 && rule->up_to_bytes <= limit));
}

static gs_status read_rule(gs_scenario_reader *reader, const rule_config *rules, uint32_t number,
                           gs_selection_rule *out, gs_error *err)
{
    const rule_config *rule = &rules[number];
    const gs_collective *program;
    char path[GS_JSON_PATH_BYTES];
    snprintf(path, sizeof path, "cluster.collectives[%u].algorithm", number);
    GS_TRY(find_program(reader, path, rule, &program, err));
    GS_TRY(check_takes(reader, number, rule, program, err));
    GS_TRY(check_numbers(reader, path, program, err));
    for (uint32_t i = 0; i < number; i++) {
        if (holds_before(&rules[i], rule)) {
            snprintf(path, sizeof path, "cluster.collectives[%u].up_to", number);
            return gs_scenario_fail(reader, GS_EINVAL, path, err,
                                    "every %s of this rule meets rule %u first; give sizes in "
                                    "ascending order, 0B last",
                                    kinds[rule->kind], i);
        }
    }
    *out = (gs_selection_rule){
        .communicator = GS_ANY_COMMUNICATOR,
        .kind = (gs_collective_kind)rule->kind,
        .up_to_bytes = rule->up_to_bytes == 0 ? INT64_MAX : rule->up_to_bytes,
        .choice = {.program = program,
                   .rings = (uint32_t)rule->rings,
                   .inner = (uint32_t)rule->inner,
                   .middle = (uint32_t)rule->middle,
                   .piece_bytes = rule->piece_bytes > 0 ? rule->piece_bytes : program->piece_bytes},
    };
    return GS_OK;
}

gs_status gs_scenario_read_collectives(gs_scenario_reader *reader, gs_error *err)
{
    void *items = NULL;
    uint32_t count = 0;
    GS_TRY(gs_scenario_read_list(reader, "cluster.collectives", &gs_scenario_collectives_table,
                                 RULES_MAX, &items, &count, err));
    gs_selection_rule *rules = GS_TAKE(reader->arena, gs_selection_rule, count);
    bool *is_met = GS_TAKE(reader->arena, bool, count);
    if (rules == NULL || is_met == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    for (uint32_t i = 0; i < count; i++) {
        GS_TRY(read_rule(reader, items, i, &rules[i], err));
    }
    reader->collectives =
        (gs_scenario_rules){.said = items, .selection = {rules, count}, .is_met = is_met};
    return GS_OK;
}

/* Nodes and their groups must divide the members of a communicator. */
static gs_status check_rule(const gs_scenario_reader *reader, uint32_t number, const gs_job *job,
                            gs_group group, const char *strategy, gs_error *err)
{
    const gs_choice *choice = &reader->collectives.selection.rules[number].choice;
    gs_shape shape = gs_choice_shape(choice, job, group, 0, 0, 0);
    if (shape.members % shape.inner == 0 && shape.members / shape.inner % shape.middle == 0) {
        return GS_OK;
    }
    bool is_middle = shape.members % shape.inner == 0;
    char path[GS_JSON_PATH_BYTES];
    snprintf(path, sizeof path, "cluster.collectives[%u].%s", number,
             is_middle ? "middle" : "inner");
    return gs_scenario_fail(reader, GS_EINVAL, path, err,
                            "%u does not divide the %u %s that %s reduces over; write a divisor",
                            is_middle ? shape.middle : shape.inner,
                            is_middle ? shape.members / shape.inner : shape.members,
                            is_middle ? "nodes" : "ranks", strategy);
}

gs_status gs_scenario_choose_programs(gs_scenario_reader *reader, const gs_job *job,
                                      const gs_layout *layout, gs_strategy_choice *choice,
                                      gs_error *err)
{
    const gs_scenario_rules *of = &reader->collectives;
    for (uint32_t i = 0; i < layout->communicator_count; i++) {
        const gs_communicator *communicator = &layout->communicators[i];
        uint32_t asked = gs_communicator_kinds(communicator);
        for (uint32_t k = 0; k < of->selection.rule_count; k++) {
            gs_collective_kind kind = of->selection.rules[k].kind;
            bool is_named = kind == GS_ALL_REDUCE && communicator->all_reduce != NULL;
            if ((asked >> kind & 1U) != 0 && !is_named) {
                of->is_met[k] = true;
                GS_TRY(check_rule(reader, k, job, communicator->group, choice->label, err));
            }
        }
    }
    choice->selection = of->selection;
    return GS_OK;
}

void gs_scenario_check_collectives(gs_scenario_reader *reader)
{
    const gs_scenario_rules *of = &reader->collectives;
    for (uint32_t i = 0; i < of->selection.rule_count; i++) {
        if (!of->is_met[i]) {
            const char *kind = gs_collective_kind_name(of->selection.rules[i].kind);
            gs_scenario_note(reader,
                             "cluster.collectives[%u] has no effect: no strategy leaves the "
                             "algorithm of %s open",
                             i, kind);
        }
    }
}

bool gs_scenario_write_collectives(const gs_scenario_reader *reader, gs_json *cluster)
{
    const gs_scenario_rules *of = &reader->collectives;
    return gs_scenario_put_list(cluster, "collectives", &gs_scenario_collectives_table, of->said,
                                of->selection.rule_count);
}
