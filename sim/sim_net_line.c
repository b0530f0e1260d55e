#include "sim/sim_net_line.h"

#include "base/assert.h"

#include <string.h>

bool gs_sim_lines_init(gs_sim_lines *lines, uint32_t link_count, gs_arena *arena)
{
    *lines = (gs_sim_lines){
        .of = GS_TAKE(arena, gs_sim_line, link_count),
        .free_turn = GS_NO_TURN,
        .first_listed = GS_NO_LINE,
        .last_listed = GS_NO_LINE,
        .arena = arena,
    };
    for (uint32_t link = 0; lines->of != NULL && link < link_count; link++) {
        lines->of[link] = (gs_sim_line){.first = GS_NO_TURN, .last = GS_NO_TURN};
    }
    return lines->of != NULL;
}

static bool grow(gs_sim_lines *lines)
{
    uint32_t capacity = lines->turn_capacity == 0 ? 64 : 2 * lines->turn_capacity;
    gs_sim_turn *turns = GS_TAKE(lines->arena, gs_sim_turn, capacity);
    if (turns == NULL) {
        return false;
    }
    if (lines->turn_count > 0) {
        memcpy(turns, lines->turns, lines->turn_count * sizeof *turns);
    }
    lines->turns = turns;
    lines->turn_capacity = capacity;
    return true;
}

/* Somebody has joined or left it. */
static void list(gs_sim_lines *lines, uint32_t link)
{
    gs_sim_line *line = &lines->of[link];
    if (line->is_listed) {
        return;
    }
    line->is_listed = true;
    line->next_listed = GS_NO_LINE;
    if (lines->first_listed == GS_NO_LINE) {
        lines->first_listed = link;
    } else {
        lines->of[lines->last_listed].next_listed = link;
    }
    lines->last_listed = link;
}

bool gs_sim_line_join(gs_sim_lines *lines, gs_sim_turn turn)
{
    uint32_t index = lines->free_turn;
    if (index != GS_NO_TURN) {
        lines->free_turn = lines->turns[index].next;
    } else if (lines->turn_count < lines->turn_capacity || grow(lines)) {
        index = lines->turn_count++;
    } else {
        return false;
    }
    turn.next = GS_NO_TURN;
    lines->turns[index] = turn;
    gs_sim_line *line = &lines->of[turn.link];
    if (line->first == GS_NO_TURN) {
        line->first = index;
    } else {
        lines->turns[line->last].next = index;
    }
    line->last = index;
    list(lines, turn.link);
    return true;
}

void gs_sim_line_leave(gs_sim_lines *lines, uint32_t link)
{
    gs_sim_line *line = &lines->of[link];
    GS_ASSERT(line->is_served);
    uint32_t index = line->first;
    line->first = lines->turns[index].next;
    line->is_served = false;
    lines->turns[index].next = lines->free_turn;
    lines->free_turn = index;
    list(lines, link);
}

bool gs_sim_lines_next(gs_sim_lines *lines, gs_sim_turn *out)
{
    while (lines->first_listed != GS_NO_LINE) {
        gs_sim_line *line = &lines->of[lines->first_listed];
        lines->first_listed = line->next_listed;
        line->is_listed = false;
        if (!line->is_served && line->first != GS_NO_TURN) {
            line->is_served = true;
            *out = lines->turns[line->first];
            return true;
        }
    }
    return false;
}
