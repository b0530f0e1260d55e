#include "live/measure_talk.h"

#include <string.h>

#include "base/assert.h"

gs_probe gs_probe_of(const gs_carried *frame)
{
    gs_probe probe;
    GS_ASSERT(frame->frame.head_bytes == sizeof probe);
    memcpy(&probe, frame->frame.head, sizeof probe);
    return probe;
}

gs_status gs_talk_send(gs_talk *talk, uint32_t to, gs_probe_kind kind, uint32_t left, size_t bytes,
                       gs_error *err)
{
    gs_probe probe = {.kind = kind, .left = left};
    gs_frame frame = {
        .head = &probe, .head_bytes = sizeof probe, .body = talk->body, .body_bytes = bytes};
    if (!gs_crew_send(talk->crew, to, &frame, 0)) {
        return gs_fail(err, GS_ENOMEM, "no memory for a message");
    }
    talk->unsent++;
    return GS_OK;
}

gs_status gs_talk_turn(gs_talk *talk, gs_carried *out, bool *out_frame, gs_error *err)
{
    gs_crew_poll(talk->crew, out);
    const gs_error *broken = gs_crew_broken(talk->crew);
    if (broken != NULL) {
        *err = *broken;
        return err->code;
    }
    if (out->kind == GS_CARRIED_LEFT) {
        talk->unsent--;
        talk->left_ns = gs_live_clock();
    }
    *out_frame = out->kind == GS_CARRIED_FRAME;
    return GS_OK;
}

static gs_status too_late(gs_talk *talk, uint32_t whom, gs_error *err)
{
    (void)gs_fail(err, GS_EDEADLOCK,
                  "%s has sent nothing for %.3g s while links were measured: it was killed or "
                  "stopped, or its host cannot be reached",
                  gs_crew_name(talk->crew, whom), (double)gs_crew_deadline_ns(talk->crew) / 1e9);
    gs_crew_break(talk->crew, whom, err);
    return err->code;
}

gs_status gs_talk_hear(gs_talk *talk, uint32_t whom, gs_carried *out, gs_error *err)
{
    gs_time_ns until = gs_live_clock() + gs_crew_deadline_ns(talk->crew);
    bool is_frame = false;
    for (;;) {
        GS_TRY(gs_talk_turn(talk, out, &is_frame, err));
        if (is_frame) {
            return GS_OK;
        }
        if (out->kind == GS_CARRIED_NOTHING) {
            if (gs_live_clock() > until) {
                return too_late(talk, whom, err);
            }
            gs_crew_wait(talk->crew, until);
        } else {
            until = gs_live_clock() + gs_crew_deadline_ns(talk->crew);
        }
    }
}

gs_status gs_talk_flush(gs_talk *talk, gs_error *err)
{
    gs_time_ns until = gs_live_clock() + gs_crew_deadline_ns(talk->crew);
    while (talk->unsent > 0) {
        gs_carried came;
        bool is_frame = false;
        GS_TRY(gs_talk_turn(talk, &came, &is_frame, err));
        GS_ASSERT(!is_frame);
        if (came.kind == GS_CARRIED_NOTHING) {
            if (gs_live_clock() > until) {
                return too_late(talk, gs_crew_self(talk->crew), err);
            }
            gs_crew_wait(talk->crew, until);
        }
    }
    return GS_OK;
}

gs_status gs_talk_until(gs_talk *talk, gs_time_ns at_ns, gs_error *err)
{
    while (gs_live_clock() < at_ns) {
        gs_crew_wait(talk->crew, at_ns);
        const gs_error *broken = gs_crew_broken(talk->crew);
        if (broken != NULL) {
            *err = *broken;
            return err->code;
        }
    }
    return GS_OK;
}
