#include "live/crew.h"

#include "base/assert.h"
#include "live/live_net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUND_TRIPS = 9, START_AFTER_NS = 20 * GS_NS_PER_MS, LINGER_NS = 1000 * GS_NS_PER_MS };
enum { LIVES_ON_NS = 10 * GS_NS_PER_MS };

/* Cookies of frames between runs: none that a run gives. */
#define SERVICE_COOKIE UINT64_MAX

typedef enum frame_type {
    FRAME_OF_RUN,
    FRAME_OF_SERVICE,
    FRAME_OF_LIFE,
    FRAME_OF_HASTE /* to process 0, of one that waits for it and was told to end */
} frame_type;

/* Before the head of every frame. */
typedef struct prefix {
    uint32_t type;
    uint32_t run; /* of a service: which call of them it is, so that one late is no other's */
    uint64_t reserved;
} prefix;

_Static_assert(sizeof(prefix) + GS_CREW_HEAD_BYTES == GS_FRAME_HEAD_BYTES, "heads are full");

/* A frame that came before it was asked for. */
typedef struct early {
    gs_carried carried;
    prefix prefix;
    struct early *next;
} early;

typedef struct member {
    char host[64];
    int64_t pid;
} member;

struct gs_crew {
    gs_crew_config config;
    void *net;
    uint32_t size, self;
    member *members;     /* [size] */
    gs_time_ns alive_ns; /* process 0 has said then that it works on; 0: never */
    uint32_t run;        /* under way, or the last one */
    uint32_t service;    /* calls so far */
    uint32_t unsent;     /* frames of services that have not left */
    gs_time_ns hurry_ns; /* nothing waits beyond it */
    early *first, *last; /* by arrival */
    bool is_urged;       /* somebody was told to end */
    bool has_urged;      /* process 0 was told so */
    bool is_broken;
    uint32_t lost; /* who broke it; GS_NOT_HERE: no process */
    gs_error broken;
    char name[128];
};

/* ---------------------------------------------------------------- who is there */

uint32_t gs_crew_size(const gs_crew *crew)
{
    return crew->size;
}

uint32_t gs_crew_self(const gs_crew *crew)
{
    return crew->self;
}

gs_time_ns gs_crew_deadline_ns(const gs_crew *crew)
{
    return crew->config.carried.deadline_ns;
}

void gs_crew_hurry(gs_crew *crew, gs_time_ns until_ns)
{
    crew->hurry_ns = until_ns;
}

const char *gs_crew_name(gs_crew *crew, uint32_t process)
{
    const member *who = &crew->members[process];
    if (who->host[0] == '\0') {
        snprintf(crew->name, sizeof crew->name, "process %u", process);
    } else {
        snprintf(crew->name, sizeof crew->name, "process %u (host %s, pid %lld)", process,
                 who->host, (long long)who->pid);
    }
    return crew->name;
}

uint32_t gs_crew_on_host(const gs_crew *crew)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < crew->size; i++) {
        count += strcmp(crew->members[i].host, crew->members[crew->self].host) == 0;
    }
    return count;
}

int64_t gs_crew_pid_here(const gs_crew *crew, uint32_t process)
{
    const member *who = &crew->members[process], *own = &crew->members[crew->self];
    return strcmp(who->host, own->host) == 0 ? who->pid : 0;
}

bool gs_crew_is_urged(const gs_crew *crew)
{
    return crew->is_urged || (crew->config.interrupted != NULL && crew->config.interrupted());
}

const gs_error *gs_crew_broken(const gs_crew *crew)
{
    return crew->is_broken ? &crew->broken : NULL;
}

uint32_t gs_crew_lost(const gs_crew *crew)
{
    return crew->is_broken ? crew->lost : GS_NOT_HERE;
}

void gs_crew_break(gs_crew *crew, uint32_t lost, const gs_error *err)
{
    if (!crew->is_broken) {
        crew->is_broken = true;
        crew->lost = lost;
        crew->broken = *err;
    }
}

const gs_carrier *gs_crew_native(const gs_crew *crew, void **out_carrier)
{
    *out_carrier = crew->net;
    return crew->config.carrier->all_reduce != NULL ? crew->config.carrier : NULL;
}

/* ---------------------------------------------------------------- frames */

static bool send(gs_crew *crew, frame_type type, uint32_t number, uint32_t to,
                 const gs_frame *frame, uint64_t cookie)
{
    unsigned char head[GS_FRAME_HEAD_BYTES];
    prefix before = {.type = type, .run = number};
    GS_ASSERT(frame->head_bytes <= GS_CREW_HEAD_BYTES);
    memcpy(head, &before, sizeof before);
    if (frame->head_bytes > 0) {
        memcpy(head + sizeof before, frame->head, frame->head_bytes);
    }
    gs_frame whole = *frame;
    whole.head = head;
    whole.head_bytes = sizeof before + frame->head_bytes;
    return crew->config.carrier->send(crew->net, to, &whole, cookie);
}

bool gs_crew_send(gs_crew *crew, uint32_t to, const gs_frame *frame, uint64_t cookie)
{
    GS_ASSERT(cookie != SERVICE_COOKIE);
    return send(crew, FRAME_OF_RUN, crew->run, to, frame, cookie);
}

static void keep_early(gs_crew *crew, const gs_carried *carried, const prefix *before)
{
    early *kept = malloc(sizeof *kept);
    if (kept == NULL) {
        gs_error err;
        (void)gs_fail(&err, GS_ENOMEM, "no memory for a frame");
        gs_crew_break(crew, GS_NOT_HERE, &err);
        return;
    }
    *kept = (early){.carried = *carried, .prefix = *before};
    if (crew->first == NULL) {
        crew->first = kept;
    } else {
        crew->last->next = kept;
    }
    crew->last = kept;
}

/* The first kept frame of that kind and number, from anybody or from one; true: it is out. */
static bool take_early(gs_crew *crew, frame_type type, uint32_t number, uint32_t from,
                       gs_carried *out)
{
    early *before = NULL;
    for (early *kept = crew->first; kept != NULL; before = kept, kept = kept->next) {
        if (kept->prefix.type == type && kept->prefix.run == number &&
            (from == GS_NOT_HERE || kept->carried.peer == from)) {
            *out = kept->carried;
            if (before == NULL) {
                crew->first = kept->next;
            } else {
                before->next = kept->next;
            }
            crew->last = crew->last == kept ? before : crew->last;
            free(kept);
            return true;
        }
    }
    return false;
}

static void lost(gs_crew *crew, const gs_carried *carried)
{
    gs_error err;
    (void)gs_fail(&err, GS_EDEADLOCK, "%s", carried->text);
    if (carried->peer != crew->self && crew->members[carried->peer].pid != 0) {
        size_t used = strlen(err.text);
        (void)snprintf(err.text + used, sizeof err.text - used, "; its pid was %lld",
                       (long long)crew->members[carried->peer].pid);
    }
    gs_crew_break(crew, carried->peer, &err);
}

/* What came, looked at once: prefix off. A frame that nobody waits for yet is kept. */
static void look(gs_crew *crew, gs_carried *out)
{
    crew->config.carrier->poll(crew->net, out);
    if (out->kind == GS_CARRIED_LOST) {
        lost(crew, out);
    } else if (out->kind == GS_CARRIED_LEFT && out->cookie == SERVICE_COOKIE) {
        crew->unsent--;
        out->kind = GS_CARRIED_DONE; /* looked at: poll again */
        out->cookie = SERVICE_COOKIE;
    } else if (out->kind == GS_CARRIED_FRAME) {
        prefix before;
        memcpy(&before, out->frame.head, sizeof before);
        out->frame.head = (const unsigned char *)out->frame.head + sizeof before;
        out->frame.head_bytes -= sizeof before;
        if (before.type == FRAME_OF_RUN && before.run == crew->run) {
            return;
        }
        if (before.type == FRAME_OF_LIFE) {
            crew->alive_ns = gs_live_clock();
            gs_crew_give_back(crew, out);
        } else if (before.type == FRAME_OF_HASTE) {
            crew->is_urged = true;
            gs_crew_give_back(crew, out);
        } else if (before.type == FRAME_OF_SERVICE || before.run > crew->run) {
            keep_early(crew, out, &before);
        } else {
            gs_crew_give_back(crew, out);
        }
        out->kind = GS_CARRIED_DONE;
        out->cookie = SERVICE_COOKIE;
    }
}

void gs_crew_poll(gs_crew *crew, gs_carried *out)
{
    if (take_early(crew, FRAME_OF_RUN, crew->run, GS_NOT_HERE, out)) {
        return;
    }
    do {
        look(crew, out);
    } while (out->kind == GS_CARRIED_DONE && out->cookie == SERVICE_COOKIE);
}

void gs_crew_give_back(gs_crew *crew, const gs_carried *frame)
{
    crew->config.carrier->give_back(crew->net, frame->handle);
}

void gs_crew_wait(gs_crew *crew, gs_time_ns until_ns)
{
    if (crew->first == NULL) {
        crew->config.carrier->wait(crew->net, until_ns);
    }
}

void gs_crew_wake(gs_crew *crew)
{
    if (crew->config.carrier->wake != NULL) {
        crew->config.carrier->wake(crew->net);
    }
}

/* ---------------------------------------------------------------- services */

static gs_status broken(const gs_crew *crew, gs_error *err)
{
    *err = crew->broken;
    return err->code;
}

/* Moves things on while nobody is asked for anything; frames of the run that ended are dropped. */
static gs_status turn(gs_crew *crew, gs_time_ns until_ns, gs_error *err)
{
    gs_carried came;
    look(crew, &came);
    if (crew->is_broken) {
        return broken(crew, err);
    }
    if (came.kind == GS_CARRIED_FRAME) {
        gs_crew_give_back(crew, &came);
    } else if (came.kind == GS_CARRIED_NOTHING) {
        crew->config.carrier->wait(crew->net, until_ns);
    }
    return GS_OK;
}

/* process: GS_NOT_HERE: one of the others. */
static gs_status too_late(gs_crew *crew, uint32_t process, gs_time_ns began_ns, gs_error *err)
{
    gs_error late;
    gs_time_ns now = gs_live_clock();
    const char *who = process == GS_NOT_HERE ? "another process" : gs_crew_name(crew, process);
    if (now > crew->hurry_ns) {
        (void)gs_fail(
            &late, GS_EDEADLOCK,
            "%s has not said how far it was when the run was interrupted: it was killed or "
            "stopped, or is late",
            who);
    } else {
        (void)gs_fail(&late, GS_EDEADLOCK,
                      "%s has not answered for %.2g s: it was killed or stopped, it runs something "
                      "else, or its host cannot be reached",
                      who, (double)(now - began_ns) / 1e9);
    }
    gs_crew_break(crew, process, &late);
    return broken(crew, err);
}

/* It called another of these functions: what follows would be taken for what it is not. */
static gs_status fail_other(gs_crew *crew, uint32_t process, gs_error *err)
{
    gs_error other;
    (void)gs_fail(&other, GS_EMISMATCH, "%s runs something else than process %u; start all alike",
                  gs_crew_name(crew, process), crew->self);
    gs_crew_break(crew, process, &other);
    return broken(crew, err);
}

static gs_status tell(gs_crew *crew, uint32_t to, const void *bytes, size_t count, gs_error *err)
{
    gs_frame frame = {.body = (void *)(uintptr_t)bytes, .body_bytes = count};
    crew->unsent++;
    if (!send(crew, FRAME_OF_SERVICE, crew->service, to, &frame, SERVICE_COOKIE)) {
        return gs_fail(err, GS_ENOMEM, "no memory for a frame");
    }
    return GS_OK;
}

/* When a wait that begins then is over. */
static gs_time_ns end_of_wait(const gs_crew *crew, gs_time_ns began_ns)
{
    gs_time_ns until = began_ns + gs_crew_deadline_ns(crew);
    return until < crew->hurry_ns ? until : crew->hurry_ns;
}

/* What was told may be written over again. */
static gs_status flush(gs_crew *crew, gs_error *err)
{
    gs_time_ns began = gs_live_clock();
    gs_time_ns until = end_of_wait(crew, began);
    while (crew->unsent > 0) {
        if (gs_live_clock() > until) {
            return too_late(crew, GS_NOT_HERE, began, err);
        }
        GS_TRY(turn(crew, until, err));
    }
    return GS_OK;
}

/* While this process waits for process 0: it was told to end, which is said once. */
static void urge(gs_crew *crew)
{
    const gs_frame empty = {.body_bytes = 0};
    if (crew->self != 0 && !crew->has_urged && gs_crew_is_urged(crew)) {
        crew->has_urged = true;
        crew->unsent++;
        if (!send(crew, FRAME_OF_HASTE, 0, 0, &empty, SERVICE_COOKIE)) {
            crew->unsent--; /* no memory: process 0 goes on */
        }
    }
}

/* Owner of what came: caller, gs_crew_give_back. */
static gs_status hear(gs_crew *crew, uint32_t from, gs_carried *out, gs_error *err)
{
    gs_time_ns began = gs_live_clock();
    while (!take_early(crew, FRAME_OF_SERVICE, crew->service, from, out)) {
        began = from == 0 && crew->alive_ns > began ? crew->alive_ns : began;
        gs_time_ns until = end_of_wait(crew, began);
        if (gs_live_clock() > until) {
            return too_late(crew, from, began, err);
        }
        urge(crew);
        GS_TRY(turn(crew, until, err));
    }
    return GS_OK;
}

/* So many bytes of process 0. */
static gs_status hear_first(gs_crew *crew, void *bytes, size_t count, gs_error *err)
{
    gs_carried came = {0};
    GS_TRY(hear(crew, 0, &came, err));
    bool fits = came.frame.body_bytes == count;
    if (fits && count > 0) {
        memcpy(bytes, came.frame.body, count);
    }
    gs_crew_give_back(crew, &came);
    return fits ? GS_OK : fail_other(crew, 0, err);
}

/* To all, unless what was told before is still here. */
static void tell_life(gs_crew *crew)
{
    const gs_frame empty = {.body_bytes = 0};
    bool has_left = crew->unsent == 0;
    for (uint32_t i = 1; has_left && i < crew->size && !crew->is_broken; i++) {
        crew->unsent++;
        if (!send(crew, FRAME_OF_LIFE, 0, i, &empty, SERVICE_COOKIE)) {
            gs_error err;
            (void)gs_fail(&err, GS_ENOMEM, "no memory for a frame");
            gs_crew_break(crew, GS_NOT_HERE, &err);
        }
    }
}

void gs_crew_live_on(gs_crew *crew, const atomic_bool *is_over)
{
    gs_time_ns told_ns = gs_live_clock();
    gs_error err;
    GS_ASSERT(crew->self == 0);
    while (!crew->is_broken && !atomic_load(is_over)) {
        gs_time_ns now = gs_live_clock();
        if (now - told_ns >= gs_crew_deadline_ns(crew) / 8) {
            told_ns = now;
            tell_life(crew);
        }
        if (turn(crew, now + LIVES_ON_NS, &err) != GS_OK) {
            return; /* it is broken, which whoever calls next is told */
        }
    }
}

gs_status gs_crew_share(gs_crew *crew, void *bytes, size_t count, gs_error *err)
{
    crew->service++;
    if (crew->is_broken) {
        return broken(crew, err);
    }
    if (crew->self == 0) {
        for (uint32_t i = 1; i < crew->size; i++) {
            GS_TRY(tell(crew, i, bytes, count, err));
        }
        return flush(crew, err);
    }
    return hear_first(crew, bytes, count, err);
}

static gs_status keep(const gs_carried *came, gs_crew_bytes *out, gs_error *err)
{
    out->data = malloc(came->frame.body_bytes + 1); /* a text ends */
    if (out->data == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory for what %u says", came->peer);
    }
    out->count = came->frame.body_bytes;
    if (out->count > 0) {
        memcpy(out->data, came->frame.body, out->count);
    }
    ((char *)out->data)[out->count] = '\0';
    return GS_OK;
}

gs_status gs_crew_gather(gs_crew *crew, const void *bytes, size_t count, gs_crew_bytes *out,
                         gs_error *err)
{
    crew->service++;
    if (crew->is_broken) {
        return broken(crew, err);
    }
    if (crew->self != 0) {
        GS_TRY(tell(crew, 0, bytes, count, err));
        return flush(crew, err);
    }
    memset(out, 0, crew->size * sizeof *out);
    gs_carried own = {.frame = {.body = (void *)(uintptr_t)bytes, .body_bytes = count}};
    GS_TRY(keep(&own, &out[0], err));
    for (uint32_t i = 1; i < crew->size; i++) {
        gs_carried came;
        GS_TRY(hear(crew, i, &came, err));
        gs_status kept = keep(&came, &out[i], err);
        gs_crew_give_back(crew, &came);
        GS_TRY(kept);
    }
    return GS_OK;
}

static void free_all(const gs_crew *crew, gs_crew_bytes *bytes)
{
    for (uint32_t i = 0; i < crew->size; i++) {
        free(bytes[i].data);
    }
    free(bytes);
}

static gs_crew_bytes *room(const gs_crew *crew, gs_error *err)
{
    gs_crew_bytes *out = calloc(crew->size, sizeof *out);
    if (out == NULL) {
        (void)gs_fail(err, GS_ENOMEM, "no memory for what %u processes say", crew->size);
    }
    return out;
}

gs_status gs_crew_same(gs_crew *crew, const char *what, const char *mine, gs_error *err)
{
    gs_crew_bytes *all = room(crew, err);
    gs_error verdict = {.code = all == NULL ? GS_ENOMEM : GS_OK};
    gs_status status = all == NULL ? err->code : gs_crew_gather(crew, mine, strlen(mine), all, err);
    for (uint32_t i = 1; status == GS_OK && crew->self == 0 && i < crew->size; i++) {
        if (verdict.code == GS_OK && strcmp(all[i].data, mine) != 0) {
            (void)gs_fail(&verdict, GS_EMISMATCH,
                          "%s has another %s: %.160s, and process 0 %.160s; start all alike",
                          gs_crew_name(crew, i), what, (const char *)all[i].data, mine);
        }
    }
    if (status == GS_OK) {
        status = gs_crew_share(crew, &verdict, sizeof verdict, err);
    }
    if (all != NULL) {
        free_all(crew, all);
    }
    if (status == GS_OK && verdict.code != GS_OK) {
        *err = verdict;
        status = verdict.code;
    }
    return status;
}

/* ---------------------------------------------------------------- clocks */

/* Process 0 says its time to whoever asks, one process after the other. */
static gs_status answer_times(gs_crew *crew, uint32_t process, gs_error *err)
{
    for (int i = 0; i < ROUND_TRIPS; i++) {
        gs_carried came;
        crew->service++;
        GS_TRY(hear(crew, process, &came, err));
        gs_crew_give_back(crew, &came);
        gs_time_ns now = gs_live_clock();
        GS_TRY(tell(crew, process, &now, sizeof now, err));
        GS_TRY(flush(crew, err));
    }
    return GS_OK;
}

/* What is to be added to this clock to have that of process 0: of the round trip that was fastest.
 */
static gs_status ask_times(gs_crew *crew, gs_time_ns *out_offset_ns, gs_error *err)
{
    gs_time_ns best = GS_TIME_NEVER;
    for (int i = 0; i < ROUND_TRIPS; i++) {
        gs_time_ns theirs;
        crew->service++;
        gs_time_ns asked = gs_live_clock();
        GS_TRY(tell(crew, 0, NULL, 0, err));
        GS_TRY(hear_first(crew, &theirs, sizeof theirs, err));
        gs_time_ns heard = gs_live_clock();
        GS_TRY(flush(crew, err));
        if (heard - asked < best) {
            best = heard - asked;
            *out_offset_ns = theirs - (asked + best / 2);
        }
    }
    return GS_OK;
}

gs_status gs_crew_meet(gs_crew *crew, gs_time_ns *out_start_ns, gs_error *err)
{
    gs_time_ns offset = 0;
    if (crew->is_broken) {
        return broken(crew, err);
    }
    for (uint32_t i = 1; i < crew->size; i++) {
        if (crew->self == 0) {
            GS_TRY(answer_times(crew, i, err));
        } else if (crew->self == i) {
            GS_TRY(ask_times(crew, &offset, err));
        } else {
            crew->service += ROUND_TRIPS;
        }
    }
    gs_time_ns start = gs_live_clock() + START_AFTER_NS;
    GS_TRY(gs_crew_share(crew, &start, sizeof start, err));
    *out_start_ns = start - offset;
    crew->run++;
    return GS_OK;
}

/* ---------------------------------------------------------------- opening and closing */

static gs_status learn_members(gs_crew *crew, gs_error *err)
{
    member mine = {.pid = getpid()};
    if (gethostname(mine.host, sizeof mine.host - 1) != 0) {
        mine.host[0] = '\0';
    }
    gs_crew_bytes *all = room(crew, err);
    if (all == NULL) {
        return err->code;
    }
    gs_status status = gs_crew_gather(crew, &mine, sizeof mine, all, err);
    for (uint32_t i = 0; status == GS_OK && crew->self == 0 && i < crew->size; i++) {
        if (all[i].count == sizeof mine) {
            memcpy(&crew->members[i], all[i].data, sizeof mine);
        } else {
            status = fail_other(crew, i, err);
        }
    }
    free_all(crew, all);
    return status == GS_OK
               ? gs_crew_share(crew, crew->members, crew->size * sizeof *crew->members, err)
               : status;
}

gs_status gs_crew_open(const gs_crew_config *config, gs_crew **out, gs_error *err)
{
    gs_crew *crew = calloc(1, sizeof *crew);
    member *members = calloc(config->carried.processes, sizeof *members);
    if (crew == NULL || members == NULL) {
        free(crew);
        free(members);
        return gs_fail(err, GS_ENOMEM, "no memory for %u processes", config->carried.processes);
    }
    *crew = (gs_crew){.config = *config,
                      .size = config->carried.processes,
                      .self = config->carried.process,
                      .hurry_ns = GS_TIME_NEVER,
                      .members = members};
    gs_status status = config->carrier->open(&config->carried, &crew->net, err);
    if (status == GS_OK) {
        status = learn_members(crew, err);
    }
    if (status != GS_OK) {
        gs_crew_close(crew);
        return status;
    }
    *out = crew;
    return GS_OK;
}

/* Launchers kill all others soon after one has ended badly: process 0, who writes, ends first. */
static void let_first_end(gs_crew *crew)
{
    gs_time_ns patience = gs_crew_deadline_ns(crew);
    patience = patience < LINGER_NS ? patience : LINGER_NS;
    gs_time_ns until = gs_live_clock() + patience;
    bool is_gone = crew->self == 0 || crew->lost == 0;
    while (!is_gone && gs_live_clock() < until) {
        gs_carried came;
        crew->config.carrier->poll(crew->net, &came);
        is_gone = came.kind == GS_CARRIED_LOST && came.peer == 0;
        if (came.kind == GS_CARRIED_FRAME) {
            gs_crew_give_back(crew, &came);
        } else if (came.kind == GS_CARRIED_NOTHING) {
            crew->config.carrier->wait(crew->net, until);
        }
    }
}

void gs_crew_close(gs_crew *crew)
{
    if (crew == NULL) {
        return;
    }
    gs_carried kept;
    for (early *first = crew->first; first != NULL; first = crew->first) {
        kept = first->carried;
        crew->first = first->next;
        free(first);
        gs_crew_give_back(crew, &kept);
    }
    if (crew->net != NULL && crew->is_broken) {
        let_first_end(crew);
        crew->config.carrier->abort(crew->net);
    } else if (crew->net != NULL) {
        crew->config.carrier->close(crew->net);
    }
    free(crew->members);
    free(crew);
}
