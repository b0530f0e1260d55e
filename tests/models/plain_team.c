/* A team of threads under ThreadSanitizer: every job runs once, whoever runs it, and what it wrote
 * is there after the join. Prints what failed. */
#include "models/team.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

enum { JOBS = 16, ROUNDS = 500, MEMBERS_MAX = 8 };

typedef struct sum {
    gs_team_job job;
    uint64_t from, result;
    uint32_t runs;
    uint64_t *scratch; /* [members]: each member's own */
} sum;

static int failures;

static void expect(bool condition, const char *what, uint32_t members)
{
    if (!condition) {
        failures++;
        (void)printf("%u members: %s\n", members, what);
    }
}

/* The scratch of a member is written without a lock: two members with one index would race. */
static void add_up(gs_team_job *job, uint32_t member)
{
    sum *own = (sum *)job;
    uint64_t *scratch = &own->scratch[member];
    *scratch = 0;
    for (uint64_t i = 0; i < 200; i++) {
        *scratch += own->from + i;
    }
    own->result = *scratch;
    own->runs++;
}

/* 0 + 1 + ... + 199 is 19900. */
static void check(const sum *done, uint32_t round, uint32_t members)
{
    expect(done->runs == round + 1, "a job ran twice or never", members);
    expect(done->result == 200 * done->from + 19900, "a job wrote something else", members);
}

/* Rounds of jobs, joined in another order than they were submitted; now and then the owner is away
 * long enough for all threads to sleep. */
static void run(uint32_t members)
{
    gs_arena arena;
    gs_arena_init(&arena);
    gs_team *team = NULL;
    gs_error err;
    uint64_t scratch[MEMBERS_MAX] = {0};
    sum jobs[JOBS] = {0};
    expect(gs_team_create(members, &arena, &team, &err) == GS_OK, "create", members);
    expect(gs_team_members(team) == members, "another number of members", members);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < JOBS; i++) {
            jobs[i].job.run = add_up;
            jobs[i].scratch = scratch;
            jobs[i].from = round + i;
            gs_team_submit(team, &jobs[i].job);
        }
        for (uint32_t i = 0; i < JOBS; i++) {
            uint32_t other = 7 * i % JOBS;
            gs_team_join(team, &jobs[other].job);
            check(&jobs[other], round, members);
        }
        if (round % 100 == 0) {
            (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        }
    }
    /* What is still queued at the end need not run, and nothing of it is touched afterwards. */
    for (uint32_t i = 0; i < JOBS; i++) {
        gs_team_submit(team, &jobs[i].job);
    }
    gs_team_destroy(team);
    gs_arena_fini(&arena);
}

/* Jobs that are taken back before anybody began them have not run, and can be submitted again. */
static void take_back(uint32_t members)
{
    gs_arena arena;
    gs_arena_init(&arena);
    gs_team *team = NULL;
    gs_error err;
    uint64_t scratch[MEMBERS_MAX] = {0};
    sum jobs[JOBS] = {0};
    uint32_t ran[JOBS] = {0};
    expect(gs_team_create(members, &arena, &team, &err) == GS_OK, "create", members);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < JOBS; i++) {
            jobs[i].job.run = add_up;
            jobs[i].scratch = scratch;
            gs_team_submit(team, &jobs[i].job);
        }
        for (uint32_t i = 0; i < JOBS; i++) {
            uint32_t other = 7 * i % JOBS;
            bool withdrawn = other % 2 == 0 && gs_team_withdraw(team, &jobs[other].job);
            expect(!withdrawn || jobs[other].runs == ran[other], "a withdrawn job ran", members);
            expect(withdrawn || members > 1 || other % 2 == 1, "nobody has begun it", members);
            if (!withdrawn) {
                gs_team_join(team, &jobs[other].job);
                check(&jobs[other], ran[other]++, members);
            }
        }
    }
    gs_team_destroy(team);
    gs_arena_fini(&arena);
}

int main(void)
{
    for (uint32_t members = 1; members <= MEMBERS_MAX; members++) {
        run(members);
        take_back(members);
    }
    gs_team_destroy(NULL);
    return failures > 0;
}
