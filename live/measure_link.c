#include "live/measure_link.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "live/measure_talk.h"

const int64_t gs_link_sizes[GS_LINK_SIZES] = {4, 3000, 48000, 190000, 760000, 2000000};

/* Messages of a repeat: as many as make it long against the clock, and streams of small ones long
 * enough that making them is what takes the time. */
static const uint32_t rounds_of[GS_LINK_SIZES] = {8, 4, 2, 1, 1, 1};
static const uint32_t stream_of[GS_LINK_SIZES] = {64, 32, 8, 4, 3, 2};

int64_t gs_link_stream_bytes(void)
{
    return gs_link_sizes[GS_LINK_SIZES - 1] * stream_of[GS_LINK_SIZES - 1];
}

/* A direction takes about this long, and has so many repeats. */
#define DIRECTION_NS (3 * GS_NS_PER_S)
enum { REPEATS_MIN = 5, REPEATS_MAX = 25, ROOT_PEERS_MAX = 32 };

/* ---------------------------------------------------------------- who with whom */

static uint32_t even(uint32_t members)
{
    return members + members % 2;
}

/* Of so many others process 0 is measured with at most ROOT_PEERS_MAX, evenly spread. */
static uint32_t root_peers(uint32_t members)
{
    return members - 3 < ROOT_PEERS_MAX ? members - 3 : ROOT_PEERS_MAX;
}

uint32_t gs_survey_rounds(uint32_t members)
{
    if (members <= GS_ALL_PAIRS_MAX) {
        return members < 2 ? 0 : even(members) - 1;
    }
    return 2 + members % 2 + root_peers(members);
}

/* The circle method: all but the last go round, the last one stays. */
static uint32_t on_circle(uint32_t members, uint32_t round, uint32_t self)
{
    uint32_t places = even(members) - 1;
    if (self == places) {
        /* Whoever meets its own place in this round: 2 p = round. */
        return (round % 2 == 0 ? round : round + places) / 2;
    }
    uint32_t peer = (round + places - self % places) % places;
    peer = peer == self ? places : peer;
    return peer < members ? peer : self;
}

/* Pairs (0, 1), (2, 3) ...; then (1, 2), (3, 4) ...; of an odd ring at last (n - 1, 0). */
static uint32_t on_ring(uint32_t members, uint32_t round, uint32_t self)
{
    uint32_t right = self + 1 == members ? 0 : self + 1;
    uint32_t left = self == 0 ? members - 1 : self - 1;
    if (round == 2) {
        return self == 0 ? left : self == members - 1 ? right : self;
    }
    bool begins = self % 2 == round;
    uint32_t peer = begins ? right : left;
    bool is_closing = (begins && self == members - 1) || (!begins && self == 0);
    return is_closing && members % 2 == 1 ? self : peer;
}

uint32_t gs_survey_peer(uint32_t members, uint32_t round, uint32_t self)
{
    GS_ASSERT(round < gs_survey_rounds(members) && self < members);
    if (members <= GS_ALL_PAIRS_MAX) {
        return on_circle(members, round, self);
    }
    uint32_t ring = 2 + members % 2;
    if (round < ring) {
        return on_ring(members, round, self);
    }
    uint64_t step = round - ring;
    uint32_t other = 2 + (uint32_t)(step * (members - 3) / root_peers(members));
    return self == 0 ? other : self == other ? 0 : self;
}

/* ---------------------------------------------------------------- one direction */

static gs_status ping_pong(gs_talk *talk, uint32_t to, size_t size, gs_error *err)
{
    for (uint32_t i = 0; i < rounds_of[size]; i++) {
        gs_carried came;
        GS_TRY(gs_talk_send(talk, to, GS_PROBE_PING, 0, (size_t)gs_link_sizes[size], err));
        GS_TRY(gs_talk_hear(talk, to, &came, err));
        gs_crew_give_back(talk->crew, &came);
    }
    return GS_OK;
}

static gs_status stream(gs_talk *talk, uint32_t to, size_t size, gs_error *err)
{
    gs_carried came;
    for (uint32_t left = stream_of[size]; left-- > 0;) {
        GS_TRY(gs_talk_send(talk, to, GS_PROBE_STREAM, left, (size_t)gs_link_sizes[size], err));
    }
    GS_TRY(gs_talk_hear(talk, to, &came, err));
    gs_crew_give_back(talk->crew, &came);
    return GS_OK;
}

/* All points once, small ones first; times_ns [GS_LINK_POINTS]. The answer of the longest stream,
 * which is the last, was as long on its way as one of a few bytes. */
static gs_status repeat(gs_talk *talk, uint32_t to, double *times_ns, double *out_ahead_ns,
                        gs_error *err)
{
    for (size_t i = 0; i < GS_LINK_POINTS; i++) {
        size_t size = i % GS_LINK_SIZES;
        gs_time_ns start = gs_live_clock();
        GS_TRY(i < GS_LINK_SIZES ? ping_pong(talk, to, size, err) : stream(talk, to, size, err));
        times_ns[i] = (double)(gs_live_clock() - start);
    }
    double answer_ns = times_ns[0] / (2.0 * rounds_of[0]);
    *out_ahead_ns = (double)(gs_live_clock() - talk->left_ns) - answer_ns;
    return GS_OK;
}

/* How often everything is measured, from what it took once. Others may be done much earlier, and
 * wait no longer than the deadline: on slow links there are fewer repeats. */
static uint32_t repeats_for(gs_time_ns once_ns, gs_time_ns deadline_ns)
{
    gs_time_ns count = DIRECTION_NS / (once_ns + 1);
    gs_time_ns allowed = deadline_ns / 2 / (once_ns + 1);
    count = count < REPEATS_MIN ? REPEATS_MIN : count;
    count = count < allowed ? count : allowed;
    return count < 1 ? 1 : count > REPEATS_MAX ? REPEATS_MAX : (uint32_t)count;
}

/* What a process has measured itself: [round][repeats][GS_LINK_POINTS]. */
typedef struct own_times {
    uint32_t from, to, repeats, reserved;
    double times_ns[REPEATS_MAX][GS_LINK_POINTS];
    double ahead_ns[REPEATS_MAX];
} own_times;

/* The first time warms up buffers and windows, and does not count. */
static gs_status measure(gs_talk *talk, uint32_t to, own_times *out, gs_error *err)
{
    double unused[GS_LINK_POINTS], unused_ahead;
    gs_time_ns start = gs_live_clock();
    GS_TRY(repeat(talk, to, unused, &unused_ahead, err));
    *out = (own_times){.from = gs_crew_self(talk->crew),
                       .to = to,
                       .repeats =
                           repeats_for(gs_live_clock() - start, gs_crew_deadline_ns(talk->crew))};
    for (uint32_t i = 0; i < out->repeats; i++) {
        GS_TRY(repeat(talk, to, out->times_ns[i], &out->ahead_ns[i], err));
    }
    GS_TRY(gs_talk_send(talk, to, GS_PROBE_END, 0, 0, err));
    return gs_talk_flush(talk, err);
}

static gs_status answer(gs_talk *talk, uint32_t to, gs_error *err)
{
    for (;;) {
        gs_carried came;
        GS_TRY(gs_talk_hear(talk, to, &came, err));
        gs_probe probe = gs_probe_of(&came);
        size_t bytes = came.frame.body_bytes;
        gs_crew_give_back(talk->crew, &came);
        if (probe.kind == GS_PROBE_END) {
            return gs_talk_flush(talk, err);
        }
        if (probe.kind == GS_PROBE_PING) {
            GS_TRY(gs_talk_send(talk, to, GS_PROBE_ANSWER, 0, bytes, err));
        } else if (probe.left == 0) {
            GS_TRY(gs_talk_send(talk, to, GS_PROBE_ANSWER, 0, 0, err));
        }
    }
}

/* ---------------------------------------------------------------- all of them */

static bool take_times(const gs_crew_bytes *from, gs_arena *arena, gs_link_survey *out)
{
    const own_times *own = from->data;
    for (size_t i = 0; i < from->count / sizeof *own; i++) {
        gs_link_times *link = &out->links[out->link_count++];
        *link = (gs_link_times){.from = own[i].from,
                                .to = own[i].to,
                                .ahead_ns = GS_TAKE(arena, double, own[i].repeats)};
        if (link->ahead_ns == NULL) {
            return false;
        }
        memcpy(link->ahead_ns, own[i].ahead_ns, own[i].repeats * sizeof *link->ahead_ns);
        for (size_t p = 0; p < GS_LINK_POINTS; p++) {
            size_t size = p % GS_LINK_SIZES;
            bool is_ping = p < GS_LINK_SIZES;
            gs_link_point *point = &link->points[p];
            *point = (gs_link_point){
                .pattern = is_ping ? GS_LINK_PING_PONG : GS_LINK_STREAM,
                .messages = is_ping ? rounds_of[size] : stream_of[size],
                .bytes = gs_link_sizes[size],
                .times_ns = GS_TAKE(arena, double, own[i].repeats),
                .repeats = own[i].repeats,
            };
            if (point->times_ns == NULL) {
                return false;
            }
            for (uint32_t r = 0; r < own[i].repeats; r++) {
                point->times_ns[r] = own[i].times_ns[r][p];
            }
        }
    }
    return true;
}

/* To process 0, which has them by process and round. */
static gs_status gather(gs_crew *crew, const own_times *own, uint32_t count, gs_arena *arena,
                        gs_link_survey *out, gs_error *err)
{
    uint32_t size = gs_crew_size(crew);
    gs_crew_bytes *all = GS_TAKE(arena, gs_crew_bytes, size);
    gs_status status = all == NULL ? gs_fail(err, GS_ENOMEM, "no memory for what was measured")
                                   : gs_crew_gather(crew, own, count * sizeof *own, all, err);
    if (status == GS_OK && gs_crew_self(crew) == 0) {
        size_t links = 0;
        for (uint32_t i = 0; i < size; i++) {
            links += all[i].count / sizeof *own;
        }
        *out = (gs_link_survey){.links = GS_TAKE(arena, gs_link_times, links)};
        bool ok = out->links != NULL;
        for (uint32_t i = 0; i < size; i++) {
            ok = ok && take_times(&all[i], arena, out);
        }
        status = ok ? GS_OK : gs_fail(err, GS_ENOMEM, "no memory for what was measured");
    }
    for (uint32_t i = 0; all != NULL && i < size; i++) {
        free(all[i].data);
    }
    return status;
}

/* The party of this process: its members in order, and how many rounds the longest one takes. */
typedef struct party {
    uint32_t *members;
    uint32_t count, self, rounds;
    bool all_pairs; /* of every party */
} party;

static bool find_party(gs_crew *crew, const uint32_t *party_of, gs_arena *arena, party *out)
{
    uint32_t size = gs_crew_size(crew);
    uint32_t mine = party_of[gs_crew_self(crew)];
    *out = (party){.members = GS_TAKE(arena, uint32_t, size), .all_pairs = true};
    for (uint32_t i = 0; i < size && out->members != NULL; i++) {
        uint32_t count = 0;
        for (uint32_t k = 0; k < size && party_of[i] != GS_NO_PARTY; k++) {
            count += party_of[k] == party_of[i] ? 1 : 0;
        }
        uint32_t rounds = gs_survey_rounds(count);
        out->rounds = rounds > out->rounds ? rounds : out->rounds;
        out->all_pairs = out->all_pairs && count <= GS_ALL_PAIRS_MAX;
        if (mine != GS_NO_PARTY && party_of[i] == mine) {
            out->self = i == gs_crew_self(crew) ? out->count : out->self;
            out->members[out->count++] = i;
        }
    }
    return out->members != NULL;
}

/* Whom this process meets in a round; itself: nobody. */
static uint32_t peer_in(const party *of, uint32_t round, uint32_t self)
{
    if (round >= gs_survey_rounds(of->count)) {
        return self;
    }
    return of->members[gs_survey_peer(of->count, round, of->self)];
}

gs_status gs_measure_links(gs_crew *crew, const uint32_t *party_of, gs_arena *arena,
                           gs_link_survey *out, gs_error *err)
{
    uint32_t self = gs_crew_self(crew);
    size_t body_bytes = (size_t)gs_link_sizes[GS_LINK_SIZES - 1];
    gs_talk talk = {.crew = crew, .body = gs_arena_take(arena, 1, body_bytes)};
    party mine;
    own_times *own = NULL;
    if (find_party(crew, party_of, arena, &mine)) {
        own = GS_TAKE(arena, own_times, mine.rounds);
    }
    if (own == NULL || talk.body == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory to measure links");
    }
    memset(talk.body, 0x5a, body_bytes);
    uint32_t count = 0;
    for (uint32_t phase = 0; phase < 2 * mine.rounds; phase++) {
        uint32_t peer = peer_in(&mine, phase / 2, self);
        bool measures = (self < peer) == (phase % 2 == 0);
        gs_time_ns start;
        GS_TRY(gs_crew_meet(crew, &start, err));
        GS_TRY(gs_talk_until(&talk, start, err));
        if (peer != self) {
            GS_TRY(measures ? measure(&talk, peer, &own[count++], err) : answer(&talk, peer, err));
        }
    }
    GS_TRY(gather(crew, own, count, arena, out, err));
    out->all_pairs = mine.all_pairs;
    return GS_OK;
}
