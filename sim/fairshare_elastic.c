/* Elastic links: bottlenecks whose level moves alone, in the time of a route.
 *
 * Into a server go thousands of flows, and each that ends lets all others rise a little. A repair
 * would look at every one of them. But as long as nothing else that they cross fills up, and
 * nothing else holds anybody back there, all that happens is that their common rate changes. How
 * far it may is found once, by a look at all of them; room on links that flows of several elastic
 * links share is given to each up to its ceiling, which is at most twice its level. */
#include "sim/fairshare_parts.h"

#include <math.h>

enum {
    FLOWS_MIN = 16,   /* below that a repair costs no more */
    COMPANY_MAX = 64, /* flows looked at where an added one has company */
};
/* A look that finds the link elastic must last for about that many events. */
static const double EVENTS_MIN = 4.0;

/* The most that a flow may come to have without a repair. */
static double ceiling_of(const gs_fairshare *fairshare, uint32_t place)
{
    uint32_t code = fairshare->codes[place >> fairshare->route_shift];
    const gs_fairshare_elastic *elastic = &fairshare->work->elastic[code / 2];
    return code / 2 < fairshare->link_count && elastic->is_elastic ? elastic->ceiling
                                                                   : fairshare->levels[code];
}

/* Of all flows on a link but those that `but` holds. */
static double sum_of_ceilings(const gs_fairshare *fairshare, uint32_t link, uint32_t but)
{
    double sum = 0.0;
    for (gs_fairshare_run run = gs_fairshare_first_run(fairshare, link); run.count > 0;
         run = gs_fairshare_next_run(fairshare, run)) {
        for (uint32_t i = 0; i < run.count; i++) {
            uint32_t code = fairshare->codes[run.places[i] >> fairshare->route_shift];
            sum += code / 2 == but ? 0.0 : ceiling_of(fairshare, run.places[i]);
        }
    }
    return sum;
}

static void end_elastic(gs_fairshare *fairshare, uint32_t link)
{
    gs_fairshare_elastic *elastic = &fairshare->work->elastic[link];
    fairshare->work->elastic_count -= elastic->is_elastic;
    elastic->is_elastic = false;
}

void gs_fairshare_elastic_forget(gs_fairshare *fairshare, uint32_t link)
{
    if (fairshare->work->elastic_count == 0) {
        return;
    }
    end_elastic(fairshare, link);
    for (gs_fairshare_run run = gs_fairshare_first_run(fairshare, link); run.count > 0;
         run = gs_fairshare_next_run(fairshare, run)) {
        for (uint32_t i = 0; i < run.count; i++) {
            uint32_t code = fairshare->codes[run.places[i] >> fairshare->route_shift];
            if (code / 2 < fairshare->link_count) {
                end_elastic(fairshare, code / 2);
            }
        }
    }
}

/* ---------------------------------------------------------------- the look */

/* Counts, link by link, the flows that `link` holds. */
static void count_crossings(gs_fairshare *fairshare, uint32_t link, uint32_t flow)
{
    gs_fairshare_work *work = fairshare->work;
    const gs_fairshare_hop *hops = gs_fairshare_route(fairshare, flow);
    for (uint32_t hop = 0; hop < fairshare->route_counts[flow]; hop++) {
        uint32_t other = hops[hop].link;
        if (other != link && work->links[other].members++ == 0) {
            work->touched[work->touched_count++] = other;
        }
    }
}

/* Notes floor and rest, and whose flows cross what. */
static void look_at_flows(gs_fairshare *fairshare, uint32_t link)
{
    gs_fairshare_elastic *elastic = &fairshare->work->elastic[link];
    elastic->floor = elastic->rest = 0.0;
    for (gs_fairshare_run run = gs_fairshare_first_run(fairshare, link); run.count > 0;
         run = gs_fairshare_next_run(fairshare, run)) {
        for (uint32_t i = 0; i < run.count; i++) {
            uint32_t flow = run.places[i] >> fairshare->route_shift;
            if (fairshare->codes[flow] == 2 * link) {
                count_crossings(fairshare, link, flow);
                continue;
            }
            double rate = gs_fairshare_rate(fairshare, flow);
            elastic->rest += rate;
            elastic->floor = rate > elastic->floor ? rate : elastic->floor;
        }
    }
}

/* The level at which a link that the flows cross would fill up; forgets the count. */
static double limit_of(gs_fairshare *fairshare, uint32_t link)
{
    gs_fairshare_work *work = fairshare->work;
    double limit = HUGE_VAL;
    for (uint32_t i = 0; i < work->touched_count; i++) {
        uint32_t other = work->touched[i];
        double room = fairshare->links[other].capacity - sum_of_ceilings(fairshare, other, link);
        double share = room / work->links[other].members;
        limit = share < limit ? share : limit;
        work->links[other].members = 0;
    }
    work->touched_count = 0;
    return limit;
}

/* Whether the link is elastic, by a look if it is not known. */
static bool is_elastic(gs_fairshare *fairshare, uint32_t link)
{
    gs_fairshare_link *at = &fairshare->links[link];
    gs_fairshare_elastic *elastic = &fairshare->work->elastic[link];
    if (elastic->is_elastic) {
        return true;
    }
    if (at->held_count < FLOWS_MIN) {
        return false;
    }
    if (at->retry > 0) {
        at->retry--;
        return false;
    }
    look_at_flows(fairshare, link);
    double limit = limit_of(fairshare, link);
    double level = gs_fairshare_level(fairshare, link);
    elastic->ceiling = limit < 2.0 * level ? limit : 2.0 * level;
    elastic->is_elastic = elastic->ceiling >= level * (1.0 + EVENTS_MIN / at->held_count);
    fairshare->work->elastic_count += elastic->is_elastic;
    at->retry = elastic->is_elastic ? 0 : at->held_count / 4;
    return elastic->is_elastic;
}

/* ---------------------------------------------------------------- events */

/* Gives the link the level that fits so many flows. False: it goes too far for that. */
static bool change_level(gs_fairshare *fairshare, uint32_t link, uint32_t held_count)
{
    const gs_fairshare_elastic *elastic = &fairshare->work->elastic[link];
    double level = (fairshare->links[link].capacity - elastic->rest) / held_count;
    if (level < elastic->floor || level > elastic->ceiling) {
        end_elastic(fairshare, link);
        return false;
    }
    double *old = &fairshare->levels[2 * (size_t)link];
    if (level != *old) {
        fairshare->levelled[fairshare->levelled_count++] = link;
    }
    *old = level;
    return true;
}

/* The bottlenecks of others on a route: how many, and the last one. */
static uint32_t count_bottlenecks(const gs_fairshare *fairshare, uint32_t flow, uint32_t *out_link)
{
    const gs_fairshare_hop *hops = gs_fairshare_route(fairshare, flow);
    uint32_t count = 0;
    for (uint32_t hop = 0; hop < fairshare->route_counts[flow]; hop++) {
        if (fairshare->links[hops[hop].link].held_count > 0) {
            *out_link = hops[hop].link;
            count++;
        }
    }
    return count;
}

/* Room for the flow at the ceiling of its bottleneck, wherever else it goes. */
static bool has_room(const gs_fairshare *fairshare, uint32_t flow, uint32_t link)
{
    double ceiling = fairshare->work->elastic[link].ceiling;
    const gs_fairshare_hop *hops = gs_fairshare_route(fairshare, flow);
    for (uint32_t hop = 0; hop < fairshare->route_counts[flow]; hop++) {
        uint32_t other = hops[hop].link;
        const gs_fairshare_link *at = &fairshare->links[other];
        if (other != link &&
            (at->flow_count > COMPANY_MAX ||
             sum_of_ceilings(fairshare, other, fairshare->link_count) + ceiling > at->capacity)) {
            return false;
        }
    }
    return true;
}

bool gs_fairshare_elastic_add(gs_fairshare *fairshare, uint32_t flow)
{
    uint32_t link = 0;
    if (count_bottlenecks(fairshare, flow, &link) != 1 || !is_elastic(fairshare, link) ||
        !has_room(fairshare, flow, link) ||
        !change_level(fairshare, link, fairshare->links[link].held_count + 1)) {
        return false;
    }
    fairshare->links[link].held_count++;
    fairshare->codes[flow] = 2 * link;
    fairshare->moved[fairshare->moved_count++] = (gs_fairshare_move){flow, fairshare->link_count};
    return true;
}

bool gs_fairshare_elastic_remove(gs_fairshare *fairshare, uint32_t flow, uint32_t bottleneck)
{
    uint32_t link = bottleneck;
    uint32_t count = count_bottlenecks(fairshare, flow, &link);
    if (fairshare->links[bottleneck].held_count < 2) {
        end_elastic(fairshare, bottleneck);
    }
    return count == 0 || (count == 1 && link == bottleneck && is_elastic(fairshare, link) &&
                          change_level(fairshare, link, fairshare->links[link].held_count));
}

bool gs_fairshare_elastic_capacity(gs_fairshare *fairshare, uint32_t link)
{
    if (fairshare->links[link].held_count == 0) {
        return sum_of_ceilings(fairshare, link, fairshare->link_count) <=
               fairshare->links[link].capacity;
    }
    return is_elastic(fairshare, link) &&
           change_level(fairshare, link, fairshare->links[link].held_count);
}

/* ---------------------------------------------------------------- checks */

bool gs_fairshare_elastic_validate(const gs_fairshare *fairshare)
{
    const gs_fairshare_work *work = fairshare->work;
    uint32_t count = 0;
    for (uint32_t link = 0; link < fairshare->link_count; link++) {
        const gs_fairshare_link *at = &fairshare->links[link];
        bool is = work->elastic[link].is_elastic;
        count += is;
        if (is && (at->held_count == 0 ||
                   gs_fairshare_level(fairshare, link) > work->elastic[link].ceiling)) {
            return false;
        }
        if (at->held_count == 0 && sum_of_ceilings(fairshare, link, fairshare->link_count) >
                                       at->capacity * (1.0 + 2 * GS_FAIRSHARE_TOLERANCE)) {
            return false;
        }
    }
    return count == work->elastic_count;
}
