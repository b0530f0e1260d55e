#include "strategies/local_bytes.h"

#include "strategies/coding.h"

enum { STEADY = INT32_MAX }; /* a step after all warm-ups of codecs */

/* Of all ranks together, in their rounds of a whole run or period. */
static double bytes_of_rounds(const gs_local_rule *rule, const gs_job *job, const gs_coding *coding,
                              int64_t rounds)
{
    double total = 0.0;
    for (uint32_t i = 0; i < rule->fragments; i++) {
        int64_t times = (rounds + rule->fragments - 1 - i) / rule->fragments;
        gs_slice part = gs_local_fragment(rule, job, i, GS_GRAD);
        gs_coded_slice coded = gs_coded_slice_of(job, part.offset, part.length);
        total += (double)times * (double)gs_coding_group_bytes(coding, &coded, job->element_bytes,
                                                               job->ranks, STEADY);
    }
    return total;
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
