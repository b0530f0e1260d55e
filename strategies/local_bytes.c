#include "strategies/local_bytes.h"

#include "strategies/coding.h"

enum { STEADY = INT32_MAX }; /* a step after all warm-ups of codecs */

/* Of all ranks together, in their rounds of a whole run or period: the first fragments are larger.
 */
static double bytes_of_rounds(const gs_local_rule *rule, const gs_job *job, const gs_coding *coding,
                              int64_t rounds)
{
    int64_t least = job->elements / rule->fragments;
    int64_t larger = job->elements % rule->fragments;
    int64_t rest = rounds % rule->fragments;
    int64_t with_more = rounds / rule->fragments * larger + (rest < larger ? rest : larger);
    int64_t more = gs_coding_group_bytes(coding, job->ranks, least + 1, job->element_bytes, STEADY);
    int64_t less = gs_coding_group_bytes(coding, job->ranks, least, job->element_bytes, STEADY);
    return (double)with_more * (double)more + (double)(rounds - with_more) * (double)less;
}

int64_t gs_local_wire_bytes(gs_local_kind kind, const gs_local_config *config, const gs_job *job,
                            const gs_coding *coding)
{
    gs_local_rule rule = gs_local_rule_of(kind, config, job->ranks);
    bool differ = false;
    int64_t steps = rule.period * rule.fragments;
    int64_t rounds = rule.fragments;
    if (job->budget_steps > 0) {
        steps = job->budget_steps;
        rounds = gs_local_rounds(&rule, steps, &differ);
    }
    double bytes = bytes_of_rounds(&rule, job, coding, rounds);
    if (differ) {
        rule.fragments = 1;
        bytes += bytes_of_rounds(&rule, job, coding, 1);
    }
    return (int64_t)(bytes / job->ranks / (double)steps);
}
