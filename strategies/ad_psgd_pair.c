#include "strategies/ad_psgd_pair.h"

#include "strategies/whole_model.h"

void gs_pair_listen(gs_world *world)
{
    gs_recv(world, (gs_peer){GS_WORKER, GS_ANY}, GS_PAIR_TAG_QUESTION,
            gs_whole(world, GS_PAIR_QUESTION), 0);
}

void gs_pair_ask(gs_world *world, gs_pair *pair, uint32_t rank)
{
    gs_peer other = {GS_WORKER, (uint16_t)rank};
    pair->open = 2;
    gs_recv(world, other, GS_PAIR_TAG_ANSWER, gs_whole(world, GS_PAIR_ANSWER), 0);
    gs_send(world, other, GS_PAIR_TAG_QUESTION, gs_whole(world, GS_PAIR_AT), NULL, GS_SEND_LENT);
}

static void answer(gs_world *world, gs_pair *pair, gs_peer who)
{
    gs_whole_vec(world, GS_VOP_sub, GS_PAIR_QUESTION, GS_PARAM, 0.0); /* theirs - mine */
    gs_whole_vec(world, GS_VOP_scale, GS_PAIR_QUESTION, GS_PAIR_QUESTION, 0.5);
    gs_whole_vec(world, GS_VOP_add, GS_PARAM, GS_PAIR_QUESTION, 0.0);
    pair->answering = gs_send(world, who, GS_PAIR_TAG_ANSWER, gs_whole(world, GS_PAIR_QUESTION),
                              NULL, GS_SEND_LENT);
    pair->answered++;
}

void gs_pair_hear(gs_world *world, gs_pair *pair, const gs_event *event)
{
    switch (event->tag) {
    case GS_PAIR_TAG_QUESTION:
        answer(world, pair, event->from);
        break;
    case GS_PAIR_TAG_ANSWER:
        gs_whole_vec(world, GS_VOP_sub, GS_PARAM, GS_PAIR_ANSWER, 0.0);
        pair->open--;
        break;
    default:
        pair->counts++;
        pair->expected += event->meta[0];
    }
}

void gs_pair_sent(gs_world *world, gs_pair *pair, gs_op op)
{
    if (op == pair->answering) {
        pair->answering = 0;
        gs_pair_listen(world);
    } else {
        pair->open--;
    }
}
