/* From one leg of a run to the next: the strategy quiesces, ranks hand over, the next one begins.
 *
 * All of it is the driver's, so that every host does the same: who cuts at a common step counts the
 * steps itself, workers tell the servers, and the handover (strategies/handover.h) is a strategy on
 * the same entity. Where the old one cuts on its own the host says when (gs_driver_swap). */
#include "strategies/driver_parts.h"

#include <string.h>

/* Not a strategy's: a worker goes on to leg meta[0], or stops for good. */
enum { TAG_SWAP = 0xffff, TAG_STOP = 0xfffe };

static bool hands_over(const gs_driver *driver)
{
    return driver->leg.now == driver->config->relay->count;
}

/* ---------------------------------------------------------------- when */

uint32_t gs_driver_leg(const gs_driver *driver)
{
    return driver->leg.now;
}

bool gs_driver_next_leg(const gs_driver *driver, uint32_t *out_leg, int64_t *out_step)
{
    const gs_relay *relay = driver->config->relay;
    if (relay == NULL || driver->leg.timed == relay->count) {
        return false;
    }
    *out_leg = driver->leg.timed;
    *out_step = relay->list[driver->leg.timed].from_step;
    return true;
}

/* Steps are the workload's: of so many passes. */
static bool has_come(const gs_driver *driver, int64_t step)
{
    const leg_state *leg = &driver->leg;
    int64_t accumulation = driver->config->job->accumulation;
    accumulation = accumulation > 0 ? accumulation : 1;
    return driver->passes_begun + leg->passes_more >= step * accumulation;
}

static void not_swapped(gs_driver *driver, uint32_t leg, const char *why)
{
    const gs_driver_config *config = driver->config;
    if (config->calls->not_swapped != NULL) {
        config->calls->not_swapped(config->host, driver->entity, leg, why);
    }
}

static void tell_servers(const gs_driver *driver, uint16_t tag, uint32_t to, bool asked)
{
    const gs_driver_config *config = driver->config;
    for (uint32_t i = 0; driver->entity.role == GS_WORKER && i < driver->room->servers; i++) {
        gs_message told = {.from = driver->entity,
                           .to = {GS_SERVER, (uint16_t)i},
                           .tag = tag,
                           .is_note = true,
                           .epoch = driver->leg.epoch,
                           .meta = {to, asked}};
        config->calls->note(config->host, &told);
    }
}

/* The strategy is to end here: for another one, or for good. */
static void end_strategy(gs_driver *driver)
{
    leg_state *leg = &driver->leg;
    bool common = driver->config->layout->cut == GS_CUT_COMMON;
    driver->quiescing = true;
    driver->held = false;
    if (!leg->absent) {
        gs_event event = {.step = common ? driver->steps_begun + driver->begun_more : -1};
        gs_driver_call(driver, driver->config->strategy->quiesce, &event);
    } else if (leg->swapping) {
        driver->over = true;
        gs_driver_settle(driver);
    } else {
        driver->drained = true;
        driver->config->calls->drained(driver->config->host, driver->entity);
    }
}

/* The old strategy is to end here. */
static void begin_swap(gs_driver *driver, uint32_t to, bool asked)
{
    leg_state *leg = &driver->leg;
    uint32_t entered = driver->config->relay->list[to].same_as;
    leg->swap = (gs_swap){.from = leg->now, .to = entered, .asked = asked};
    leg->due = leg->is_asked = false;
    if (!asked) {
        leg->timed = gs_relay_timed(driver->config->relay, to + 1);
    }
    tell_servers(driver, TAG_SWAP, to, asked);
    leg->swapping = true;
    end_strategy(driver);
}

bool gs_driver_swaps_here(gs_driver *driver)
{
    leg_state *leg = &driver->leg;
    uint32_t to;
    int64_t step;
    bool by_time =
        gs_driver_next_leg(driver, &to, &step) &&
        (leg->due || (driver->config->layout->cut == GS_CUT_COMMON && has_come(driver, step)));
    if (by_time && leg->is_asked && leg->asked != to) {
        not_swapped(driver, leg->asked, "another leg begins at this step by its time");
    }
    if (by_time || leg->is_asked) {
        begin_swap(driver, by_time ? to : leg->asked, !by_time);
        return true;
    }
    return false;
}

/* Who is on the way to another leg is there already, as far as its cut goes. */
static gs_cut cut_of(const gs_driver *driver)
{
    const gs_relay *relay = driver->config->relay;
    bool goes_on = driver->leg.swapping || hands_over(driver);
    return relay->list[goes_on ? driver->leg.swap.to : driver->leg.now].layout.cut;
}

/* Where ranks stop where they are, others may have gone on to what is due or was asked for: so does
 * this one, and stops there. */
void gs_driver_stop(gs_driver *driver)
{
    leg_state *leg = &driver->leg;
    leg->stops = true;
    if (driver->entity.role != GS_WORKER || driver->quiescing) {
        return;
    }
    if (cut_of(driver) == GS_CUT_OWN && gs_driver_swaps_here(driver)) {
        return;
    }
    if (leg->is_asked) {
        not_swapped(driver, leg->asked, "the run ends with this step");
    }
    tell_servers(driver, TAG_STOP, 0, false);
    end_strategy(driver);
}

void gs_driver_swap(gs_driver *driver, gs_time_ns at, uint32_t leg)
{
    uint32_t next;
    int64_t step;
    if (!gs_driver_take_input(driver, at) || !gs_driver_next_leg(driver, &next, &step) ||
        next != leg || cut_of(driver) != GS_CUT_OWN) {
        return;
    }
    driver->leg.due = true; /* in a handover: as soon as the next leg asks for a step */
    if (!driver->quiescing && !driver->in_backward) {
        (void)gs_driver_swaps_here(driver);
    }
}

/* ---------------------------------------------------------------- services */

uint32_t gs_leg_count(const gs_world *world)
{
    return world->config->relay != NULL ? world->config->relay->count : 1;
}

uint32_t gs_leg_now(const gs_world *world)
{
    return world->leg.now;
}

void gs_ask_swap(gs_world *world, uint32_t leg)
{
    if (!gs_driver_enter(world, "ask_swap") ||
        !gs_driver_has_index(world, "ask_swap", "leg", leg, gs_leg_count(world))) {
        return;
    }
    if (world->entity.role != GS_WORKER) {
        gs_driver_broke(world, GS_ECONTRACT, "ask_swap: servers follow the workers");
    } else if (world->config->relay == NULL) {
        not_swapped(world, leg, "the run has one leg");
    } else if (world->quiescing) {
        not_swapped(world, leg, "the run or the leg is to end already");
    } else {
        world->leg.is_asked = true;
        world->leg.asked = leg;
    }
}

/* ---------------------------------------------------------------- one after the other */

const gs_driver_config *gs_driver_legs(const gs_driver_config *config, gs_arena *arena)
{
    const gs_relay *relay = config->relay;
    gs_driver_config *legs = GS_TAKE(arena, gs_driver_config, relay->count + 1);
    for (uint32_t i = 0; legs != NULL && i <= relay->count; i++) {
        legs[i] = *config;
        legs[i].strategy = relay->list[i].strategy;
        legs[i].strategy_config = relay->list[i].config;
        legs[i].layout = &relay->list[i].layout;
        legs[i].coding = relay->list[i].coding;
        legs[i].selection = relay->list[i].selection;
    }
    return legs;
}

static void use(gs_driver *driver, uint32_t number)
{
    const gs_leg *leg = &driver->config->relay->list[number];
    driver->leg.now = number;
    driver->leg.epoch++;
    driver->leg.absent =
        driver->entity.role == GS_SERVER && driver->entity.index >= leg->layout.servers;
    driver->config = &driver->legs[number];
    driver->first_line = leg->first_line;
    memset(driver->state, 0, driver->room->state_bytes[driver->entity.role]);
}

static void tell_host(const gs_driver *driver)
{
    const gs_driver_config *config = driver->config;
    const leg_state *leg = &driver->leg;
    gs_leg_turn turn = {.leg = leg->now,
                        .from = leg->swap.from,
                        .to = leg->swap.to,
                        .asked = leg->swap.asked,
                        .passes = driver->passes_begun + leg->passes_more};
    config->calls->leg(config->host, driver->entity, &turn);
}

static void call_init(gs_driver *driver)
{
    const leg_state *leg = &driver->leg;
    const gs_strategy *strategy = driver->config->strategy;
    bool goes_on = leg->swap.from == leg->swap.to && !hands_over(driver);
    gs_driver_move_state(driver);
    driver->hooks_deep++;
    if (goes_on) {
        strategy->import_state(driver, driver->state, leg->kept, leg->kept_bytes);
    } else {
        strategy->init(driver, driver->state);
    }
    driver->hooks_deep--;
}

static void enter_handover(gs_driver *driver)
{
    const gs_driver_config *config = driver->config;
    leg_state *leg = &driver->leg;
    gs_swap *swap = &leg->swap;
    swap->old = config->layout;
    swap->next = &config->relay->list[swap->to].layout;
    swap->passes = driver->passes_begun + leg->passes_more;
    swap->steps = driver->steps_begun + driver->begun_more;
    swap->view = GS_PARAM;
    swap->weight = 1.0;
    if (driver->entity.role == GS_WORKER) {
        gs_driver_model_view(driver, &swap->view, &swap->weight);
    }
    if (swap->from == swap->to && !leg->absent) {
        size_t room = driver->room->state_bytes[driver->entity.role];
        leg->kept_bytes = config->strategy->export_state(driver->state, leg->kept, room);
        GS_ASSERT(leg->kept_bytes <= room);
    }
    gs_driver_forget_receives(driver);
    driver->cancelled = false; /* GRAD is free, whatever it holds */
    leg->swapping = false;
    use(driver, config->relay->count);
    tell_host(driver);
    call_init(driver);
}

static void enter_next(gs_driver *driver)
{
    const gs_driver_config *config = driver->config;
    leg_state *leg = &driver->leg;
    use(driver, leg->swap.to);
    driver->quiescing = false;
    leg->heard = 0;
    if (driver->entity.role == GS_WORKER) {
        const gs_leg *next = &config->relay->list[leg->now];
        driver->buckets = next->buckets_rebuilt != NULL ? next->buckets_rebuilt : next->buckets;
        driver->buckets_next = driver->buckets;
    }
    tell_host(driver);
    if (!leg->absent) {
        call_init(driver);
    }
    if (leg->stops) {
        gs_driver_stop(driver);
    } else if (driver->entity.role == GS_WORKER && !driver->failed) {
        driver->wake_asked = true;
        config->calls->wake(config->host, driver->entity);
    }
}

/* Messages that came before this entity had come so far. */
static void take_early(gs_driver *driver)
{
    message_queue *early = &driver->leg.early;
    uint32_t left = 0;
    for (uint32_t i = 0; i < early->count; i++) {
        gs_message message = early->list[i];
        if (message.epoch == driver->leg.epoch && !driver->failed && !driver->over) {
            gs_driver_message(driver, driver->now, &message);
        } else {
            early->list[left++] = message;
        }
    }
    early->count = left;
}

void gs_driver_settle(gs_driver *driver)
{
    leg_state *leg = &driver->leg;
    if (leg->settling) {
        return;
    }
    leg->settling = true;
    while (driver->over && !driver->failed) {
        driver->over = false;
        if (hands_over(driver)) {
            enter_next(driver);
        } else {
            enter_handover(driver);
        }
        take_early(driver);
    }
    leg->settling = false;
}

bool gs_driver_leg_ends(gs_driver *driver)
{
    leg_state *leg = &driver->leg;
    bool goes_on = driver->config->relay != NULL && (leg->swapping || hands_over(driver));
    driver->over = goes_on;
    return goes_on;
}

/* ---------------------------------------------------------------- messages */

/* A worker goes on, or stops; once all do, so does the server. */
static void hear(gs_driver *driver, const gs_message *message)
{
    leg_state *leg = &driver->leg;
    if (++leg->heard < driver->config->job->ranks) {
        return;
    }
    if (message->tag == TAG_SWAP) {
        begin_swap(driver, (uint32_t)message->meta[0], message->meta[1] != 0);
    } else {
        end_strategy(driver);
    }
}

bool gs_driver_is_of_leg(gs_driver *driver, const gs_message *message)
{
    leg_state *leg = &driver->leg;
    if (message->epoch > leg->epoch) {
        gs_driver_keep(driver, &leg->early, message);
        return false;
    }
    if (message->epoch < leg->epoch) {
        gs_driver_broke(driver, GS_ECONTRACT,
                        "a message of %s %d with tag %u came after the leg had drained that it "
                        "was sent in; count messages in the final notes",
                        message->from.role == GS_WORKER ? "worker" : "server", message->from.index,
                        message->tag);
        return false;
    }
    if (message->is_note && (message->tag == TAG_SWAP || message->tag == TAG_STOP)) {
        hear(driver, message);
        return false;
    }
    return true;
}

/* ---------------------------------------------------------------- the handover */

const gs_swap *gs_world_swap(const gs_world *world)
{
    return &world->leg.swap;
}

void gs_world_count_as(gs_world *world, int64_t passes, int64_t steps)
{
    leg_state *leg = &world->leg;
    leg->passes_more = passes - world->passes_begun;
    world->begun_more = steps - world->steps_begun;
    world->ended_more = world->entity.role == GS_WORKER ? steps - world->steps_ended : 0;
}

void gs_world_moment(gs_world *world, uint32_t number, gs_slice slice, bool stores)
{
    const gs_driver_config *config = world->config;
    if (gs_driver_enter(world, "moment") && gs_driver_may_use(world, "moment", slice, !stores)) {
        config->calls->moment(config->host, world->entity, number, slice, stores);
    }
}
