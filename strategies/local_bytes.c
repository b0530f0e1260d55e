#include "strategies/local_bytes.h"

#include "strategies/coding.h"

/* Of all ranks together, in `count` rounds, the first of which is round `before`. */
static double bytes_of_rounds(const gs_local_rule *rule, const gs_job *job, const gs_coding *coding,
                              int64_t before, gs_coding_series rounds)
{
    double total = 0.0;
    for (uint32_t i = 0; i < rule->fragments; i++) {
        int64_t skipped = (i + rule->fragments - before % rule->fragments) % rule->fragments;
        gs_slice part = gs_local_fragment(rule, job, i, GS_GRAD);
        gs_coded_slice coded = gs_coded_slice_of(job, part.offset, part.length);
        gs_coding_series own = {rounds.first + skipped * rounds.every,
                                rounds.every * rule->fragments,
                                (rounds.count - skipped + rule->fragments - 1) / rule->fragments};
        total += gs_coding_series_bytes(coding, &coded, job->element_bytes, job->ranks, own);
    }
    return total;
}

/* Averages of a budget of steps: after every step at first, then of each period. */
static double bytes_of_budget(const gs_local_rule *rule, const gs_job *job, const gs_coding *coding)
{
    bool differ = false;
    int64_t rounds = gs_local_rounds(rule, job->budget_steps, &differ);
    int64_t single = job->budget_steps < rule->every_step ? job->budget_steps : rule->every_step;
    double bytes = bytes_of_rounds(rule, job, coding, 0, (gs_coding_series){0, 1, single}) +
                   bytes_of_rounds(rule, job, coding, single,
                                   (gs_coding_series){single + rule->period - 1, rule->period,
                                                      rounds - single});
    if (differ) {
        gs_local_rule whole = *rule;
        whole.fragments = 1;
        bytes +=
            bytes_of_rounds(&whole, job, coding, 0, (gs_coding_series){job->budget_steps, 1, 1});
    }
    return bytes;
}

int64_t gs_local_wire_bytes(gs_local_kind kind, const gs_local_config *config, const gs_job *job,
                            const gs_coding *coding)
{
    gs_local_rule rule = gs_local_rule_of(kind, config, job->ranks);
    int64_t steps = job->budget_steps;
    double bytes;
    if (steps > 0) {
        bytes = bytes_of_budget(&rule, job, coding);
    } else { /* a round of each fragment, after all warm-ups of codecs */
        steps = rule.period * rule.fragments;
        bytes = bytes_of_rounds(&rule, job, coding, 0,
                                (gs_coding_series){INT32_MAX, 1, rule.fragments});
    }
    return (int64_t)(bytes / job->ranks / (double)steps);
}
