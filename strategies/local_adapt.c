#include "strategies/local_adapt.h"

enum { REPORT, ANSWER };            /* tags */
enum { REPORT_LOSS, REPORT_KNOWN }; /* meta */
enum { ANSWER_PERIOD, ANSWER_FIRST };

/* A loss of 1 is so many; none counts more than LOSS_MAX. 2^32 a rank, 2^16 ranks: the sum fits. */
#define LOSS_UNIT 0x1p20
#define LOSS_MAX  0x1p12

gs_local_agreement gs_local_agreed(const gs_local_agreement *agreement)
{
    return (gs_local_agreement){.period = agreement->period,
                                .first_loss = agreement->first_loss,
                                .looked = agreement->looked};
}

void gs_local_hear_loss(gs_local_agreement *agreement, double loss)
{
    if (loss >= 0.0) {
        agreement->loss += (int64_t)((loss < LOSS_MAX ? loss : LOSS_MAX) * LOSS_UNIT);
        agreement->losses++;
    }
}

static gs_peer worker(uint32_t rank)
{
    return (gs_peer){GS_WORKER, (uint16_t)rank};
}

static void decide(gs_local_agreement *agreement, const gs_local_rule *rule)
{
    int64_t mean = agreement->known > 0 ? agreement->sum / agreement->known : 0;
    if (mean <= 0) {
        return;
    }
    if (agreement->first_loss == 0) {
        agreement->first_loss = mean;
        return;
    }
    agreement->period = gs_local_adapt(rule->period, agreement->period,
                                       (double)agreement->first_loss, (double)mean);
}

static void report(gs_world *world, gs_local_agreement *agreement, const gs_local_rule *rule,
                   const int64_t meta[4])
{
    uint32_t ranks = gs_world_job(world)->ranks;
    agreement->sum += meta[REPORT_LOSS];
    agreement->known += (uint32_t)meta[REPORT_KNOWN];
    if (++agreement->heard < ranks) {
        return;
    }
    decide(agreement, rule);
    int64_t answer[4] = {
        [ANSWER_PERIOD] = agreement->period, [ANSWER_FIRST] = agreement->first_loss};
    for (uint32_t rank = 1; rank < ranks; rank++) {
        gs_note(world, worker(rank), ANSWER, answer);
    }
    agreement->sum = 0;
    agreement->known = agreement->heard = 0;
    agreement->asking = false;
}

void gs_local_ask(gs_world *world, gs_local_agreement *agreement, const gs_local_rule *rule,
                  int64_t steps)
{
    int64_t meta[4] = {0};
    if (agreement->losses > 0) {
        meta[REPORT_LOSS] = agreement->loss / agreement->losses;
        meta[REPORT_KNOWN] = 1;
    }
    agreement->loss = agreement->losses = 0;
    if (agreement->looked >= 0 && steps - agreement->looked < rule->interval) {
        return;
    }
    agreement->looked = steps;
    agreement->asking = true;
    if (gs_self(world).index == 0) {
        report(world, agreement, rule, meta);
    } else {
        gs_note(world, worker(0), REPORT, meta);
    }
}

void gs_local_note(gs_world *world, gs_local_agreement *agreement, const gs_local_rule *rule,
                   const gs_event *event)
{
    if (event->tag == REPORT) {
        report(world, agreement, rule, event->meta);
        return;
    }
    agreement->period = event->meta[ANSWER_PERIOD];
    agreement->first_loss = event->meta[ANSWER_FIRST];
    agreement->asking = false;
}
