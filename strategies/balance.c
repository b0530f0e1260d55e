#include "strategies/balance.h"

static void count_before(gs_balance *balance, const gs_share *shares)
{
    balance->before = 0;
    for (uint32_t rank = 0; rank < balance->own; rank++) {
        balance->before += shares[rank].samples;
    }
}

void gs_balance_init(gs_balance *balance, gs_share *shares, uint32_t ranks, uint32_t own,
                     int64_t batch)
{
    *balance = (gs_balance){.ranks = ranks, .own = own};
    for (uint32_t rank = 0; rank < ranks; rank++) {
        shares[rank] = (gs_share){.samples = batch};
    }
    count_before(balance, shares);
}

bool gs_balance_hear(gs_balance *balance, gs_share *shares, int64_t step, uint32_t rank,
                     int64_t took_ns)
{
    uint32_t parity = (uint32_t)(step % 2);
    shares[rank].took_ns[parity] = took_ns;
    balance->told[parity]++;
    return step == balance->step && balance->told[parity] == balance->ranks;
}

void gs_balance_next(gs_balance *balance, gs_share *shares, double keep,
                     const gs_share_bounds *bounds)
{
    uint32_t parity = (uint32_t)(balance->step % 2);
    balance->told[parity] = 0;
    balance->step++;
    for (uint32_t rank = 0; rank < balance->ranks; rank++) {
        gs_share_timed(&shares[rank], shares[rank].took_ns[parity], keep);
    }
    gs_share_out(shares, balance->ranks, bounds);
    count_before(balance, shares);
}
