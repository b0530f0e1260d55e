#include "live/carrier.h"
#include "live/carriers/tcp_socket.h"
#include "tests/support.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROCESSES_MAX = 8, EXIT_OPEN = 3, EXIT_LOST = 4, KILLED = 128 + SIGKILL };

static const gs_carrier *tcp(void)
{
    const gs_carrier *found = NULL;
    gs_error err = {.text = ""};
    TEST_REQUIRE(gs_carrier_find("tcp", &found, &err) == GS_OK, "%s", err.text);
    return found;
}

static gs_time_ns now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * GS_NS_PER_S + time.tv_nsec;
}

/* A port that is free now, and the next ones with it: the kernel gives them out in another range.
 */
static uint32_t free_port(void)
{
    for (uint32_t port = 10000 + (uint32_t)getpid() % 10000; port < 32000; port += 17) {
        int listening = gs_tcp_listen(NULL, port);
        if (listening >= 0) {
            (void)close(listening);
            return port;
        }
    }
    cr_assert_fail("no free port");
    return 0;
}

/* ---------------------------------------------------------------------- processes of their own */

typedef struct processes {
    pid_t pids[PROCESSES_MAX];
    uint32_t count;
    uint32_t port;
    const char *host;
    char said[TEST_PATH_BYTES]; /* the file of their standard error */
    int file;
} processes;

static processes make_processes(uint32_t count)
{
    processes made = {.count = count, .port = free_port(), .host = "localhost"};
    test_temp_path(made.said);
    made.file = open(made.said, O_WRONLY | O_APPEND);
    cr_assert(made.file >= 0);
    return made;
}

static void set_number(const char *name, uint32_t value)
{
    char text[16];
    snprintf(text, sizeof text, "%u", value);
    cr_assert_eq(setenv(name, text, 1), 0);
}

/* As torchrun starts one of `ranks`. */
static void start(processes *all, uint32_t index, uint32_t rank, uint32_t ranks, const char *mode,
                  const char *deadline_ms)
{
    all->pids[index] = fork();
    cr_assert(all->pids[index] >= 0);
    if (all->pids[index] > 0) {
        return;
    }
    set_number("RANK", rank);
    set_number("LOCAL_RANK", rank);
    set_number("WORLD_SIZE", ranks);
    set_number("MASTER_PORT", all->port);
    (void)setenv("MASTER_ADDR", all->host, 1);
    (void)dup2(all->file, STDERR_FILENO);
    char program[TEST_PATH_BYTES];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 32);
    program[length < 0 ? 0 : length] = '\0';
    char *slash = strrchr(program, '/');
    strcpy(slash == NULL ? program : slash + 1, "carried_frames");
    (void)execl(program, program, "tcp", mode, "80", deadline_ms, (char *)NULL);
    _exit(127);
}

static void start_all(processes *all, const char *mode, const char *deadline_ms)
{
    for (uint32_t i = 0; i < all->count; i++) {
        start(all, i, i, all->count, mode, deadline_ms);
    }
}

static int exit_of(processes *all, uint32_t index)
{
    int status = 0;
    cr_assert_eq(waitpid(all->pids[index], &status, 0), all->pids[index]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static const char *said_by(processes *all)
{
    static char text[8192];
    FILE *file = fopen(all->said, "r");
    cr_assert_not_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    return text;
}

static void expect_exits(processes *all, int wanted)
{
    for (uint32_t i = 0; i < all->count; i++) {
        int code = exit_of(all, i);
        cr_expect_eq(code, wanted, "process %u: exit %d: %s", i, code, said_by(all));
    }
}

static void expect_said(processes *all, const char *wanted)
{
    cr_expect(strstr(said_by(all), wanted) != NULL, "wanted: %s; said: %s", wanted, said_by(all));
}

Test(carrier_tcp, frames_from_all_to_all_come_whole_and_in_order)
{
    for (uint32_t count = 1; count <= 5; count += 2) {
        processes all = make_processes(count);
        start_all(&all, "frames", "20000");
        expect_exits(&all, 0);
    }
}

Test(carrier_tcp, processes_meet_by_ipv6_and_by_the_name_of_the_host)
{
    char name[256] = "";
    cr_assert_eq(gethostname(name, sizeof name - 1), 0);
    processes by_name = make_processes(3);
    by_name.host = name;
    start_all(&by_name, "frames", "20000");
    expect_exits(&by_name, 0);
    processes by_six = make_processes(3);
    int six = gs_tcp_listen("::1", by_six.port);
    if (six < 0) {
        cr_skip_test("no IPv6 here");
    }
    (void)close(six);
    by_six.host = "::1";
    start_all(&by_six, "frames", "20000");
    expect_exits(&by_six, 0);
}

Test(carrier_tcp, a_killed_process_is_lost_to_all_others_by_number_and_host)
{
    processes all = make_processes(4);
    start_all(&all, "killed", "20000");
    gs_time_ns begin = now();
    for (uint32_t i = 0; i < 4; i++) {
        cr_expect_eq(exit_of(&all, i), i == 3 ? KILLED : EXIT_LOST);
    }
    cr_expect_lt(now() - begin, 10 * GS_NS_PER_S);
    char name[65] = "";
    cr_assert_eq(gethostname(name, sizeof name - 1), 0);
    /* Who finds out gives up, and tells those who have not found out yet. */
    for (uint32_t i = 0; i < 3; i++) {
        char wanted[160];
        snprintf(wanted, sizeof wanted, "process %u: lost 3: process 3 (host %s) is gone", i, name);
        expect_said(&all, wanted);
    }
}

Test(carrier_tcp, a_process_that_does_not_come_is_named_by_all_at_the_deadline)
{
    processes all = make_processes(4);
    start_all(&all, "absent", "700");
    for (uint32_t i = 0; i < 3; i++) {
        cr_expect_eq(exit_of(&all, i), EXIT_OPEN);
        char wanted[160];
        snprintf(wanted, sizeof wanted,
                 "process %u: tcp: process 3 of 4 has not come to process 0 (host ", i);
        expect_said(&all, wanted);
    }
    expect_said(&all, "within 700 ms");
    cr_expect_eq(exit_of(&all, 3), 0);
}

Test(carrier_tcp, a_missing_process_0_is_named_at_the_deadline)
{
    processes all = make_processes(2);
    start(&all, 1, 1, 2, "frames", "300");
    cr_expect_eq(exit_of(&all, 1), EXIT_OPEN);
    expect_said(&all, "process 1: tcp: process 1 (host ");
    expect_said(&all, "has not found process 0 at localhost, ports ");
    expect_said(&all, "within 300 ms: Connection refused");
}

/* Connects as soon as somebody listens there. */
static int connect_to(uint32_t port)
{
    gs_time_ns until_ns = now() + 5 * GS_NS_PER_S;
    int connected = -1;
    while (connected < 0 && now() < until_ns) {
        connected = gs_tcp_connect("127.0.0.1", port, until_ns);
    }
    cr_assert(connected >= 0, "nobody listens at port %u", port);
    return connected;
}

Test(carrier_tcp, strangers_are_refused_and_do_not_keep_the_others_from_meeting)
{
    processes all = make_processes(3);
    start(&all, 0, 0, 3, "frames", "20000");
    int silent = connect_to(all.port);
    int wrong = connect_to(all.port);
    int hasty = connect_to(all.port);
    (void)close(hasty);
    char words[512];
    memset(words, 'G', sizeof words);
    cr_assert(gs_tcp_put(wrong, words, sizeof words, now() + GS_NS_PER_S));
    char answer;
    cr_expect_not(gs_tcp_get(wrong, &answer, 1, now() + 5 * GS_NS_PER_S),
                  "a stranger was answered");
    cr_expect_eq(errno, ECONNRESET, "a stranger was let in: %s", strerror(errno));
    start(&all, 1, 1, 3, "frames", "20000");
    start(&all, 2, 2, 3, "frames", "20000");
    expect_exits(&all, 0);
    (void)close(silent);
    (void)close(wrong);
}

Test(carrier_tcp, a_port_that_is_taken_gives_way_to_the_next)
{
    processes all = make_processes(3);
    int taken = gs_tcp_listen(NULL, all.port);
    cr_assert(taken >= 0);
    start_all(&all, "frames", "30000");
    expect_exits(&all, 0);
    (void)close(taken);
}

Test(carrier_tcp, processes_of_other_counts_and_equal_numbers_are_told)
{
    processes counts = make_processes(2);
    start(&counts, 0, 0, 2, "frames", "5000");
    start(&counts, 1, 1, 3, "frames", "5000");
    expect_exits(&counts, EXIT_OPEN);
    expect_said(&counts, "was started as one of 3 processes, this one (0) as one of 2");
    expect_said(&counts, "was started as one of 2 processes, this one (1) as one of 3");
    processes twins = make_processes(3);
    start(&twins, 0, 0, 3, "frames", "5000");
    start(&twins, 1, 1, 3, "frames", "5000");
    start(&twins, 2, 1, 3, "frames", "5000");
    expect_exits(&twins, EXIT_OPEN);
    expect_said(&twins, "process 0: tcp: two processes have the number 1, on hosts ");
}

/* ---------------------------------------------------------------------- ends in one process */

enum { ENDS_MAX = 3 };

typedef struct ends {
    uint32_t count;
    gs_carrier_config config[ENDS_MAX];
    void *net[ENDS_MAX];
    gs_status status[ENDS_MAX];
    gs_error err[ENDS_MAX];
} ends;

typedef struct end_of {
    ends *of;
    uint32_t index;
} end_of;

static void *open_end(void *argument)
{
    const end_of *end = argument;
    ends *of = end->of;
    of->status[end->index] =
        tcp()->open(&of->config[end->index], &of->net[end->index], &of->err[end->index]);
    return NULL;
}

static void *close_end(void *argument)
{
    const end_of *end = argument;
    tcp()->close(end->of->net[end->index]);
    return NULL;
}

/* All ends at once: each waits for the others. */
static void all_do(ends *of, void *(*act)(void *))
{
    end_of each[ENDS_MAX];
    pthread_t threads[ENDS_MAX];
    for (uint32_t i = 0; i < of->count; i++) {
        each[i] = (end_of){of, i};
        cr_assert_eq(pthread_create(&threads[i], NULL, act, &each[i]), 0);
    }
    for (uint32_t i = 0; i < of->count; i++) {
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
    }
}

static void open_ends(ends *of, uint32_t count)
{
    static char address[64];
    snprintf(address, sizeof address, "127.0.0.1:%u", free_port());
    *of = (ends){.count = count};
    for (uint32_t i = 0; i < count; i++) {
        of->config[i] = (gs_carrier_config){.chunk_bytes = 65000,
                                            .poll_ns = GS_NS_PER_MS,
                                            .deadline_ns = 5 * GS_NS_PER_S,
                                            .processes = count,
                                            .process = i,
                                            .address = address,
                                            .job = "7.1"};
    }
    all_do(of, open_end);
    for (uint32_t i = 0; i < count; i++) {
        cr_assert_eq(of->status[i], GS_OK, "%s", of->err[i].text);
    }
}

/* The next event of an end, while the one that sends moves too; within 5 s. */
static gs_carried next_of(ends *of, uint32_t index, uint32_t sender)
{
    gs_time_ns until_ns = now() + 5 * GS_NS_PER_S;
    gs_carried said = {0};
    while (said.kind == GS_CARRIED_NOTHING && now() < until_ns) {
        tcp()->poll(of->net[index], &said);
        if (said.kind == GS_CARRIED_NOTHING) {
            /* This writes, and leaves what has happened there to be asked for. */
            tcp()->wait(of->net[sender], now());
        }
    }
    TEST_REQUIRE(said.kind != GS_CARRIED_NOTHING, "nothing came within 5 s");
    return said;
}

/* There and LEFT, with as much padding as body. */
static void pass(ends *of, unsigned char *body, size_t bytes, uint64_t cookie)
{
    gs_frame frame = {.head = "there",
                      .head_bytes = 5,
                      .body = body,
                      .body_bytes = bytes,
                      .padding_bytes = bytes};
    TEST_REQUIRE(tcp()->send(of->net[0], 1, &frame, cookie), "send refused");
    bool has_left = false;
    bool has_come = false;
    while (!has_left || !has_come) {
        gs_carried said;
        tcp()->poll(of->net[0], &said);
        if (said.kind == GS_CARRIED_LEFT) {
            TEST_REQUIRE(!has_left && said.cookie == cookie, "another body has left");
            has_left = true;
        }
        tcp()->poll(of->net[1], &said);
        if (said.kind == GS_CARRIED_FRAME) {
            TEST_REQUIRE(!has_come && said.peer == 0 && said.frame.head_bytes == 5 &&
                             said.frame.body_bytes == bytes &&
                             memcmp(said.frame.head, "there", 5) == 0 &&
                             (bytes == 0 || memcmp(said.frame.body, body, bytes) == 0),
                         "another frame has come");
            tcp()->give_back(of->net[1], said.handle);
            has_come = true;
        }
    }
}

Test(carrier_tcp, what_has_been_seen_once_needs_no_memory_the_next_time)
{
    static const size_t sizes[] = {0, 1, 300, 8192, 65000, 65001, 1000003};
    static unsigned char body[1000003];
    for (size_t i = 0; i < sizeof body; i++) {
        body[i] = (unsigned char)(i * 31 % 251);
    }
    ends of;
    open_ends(&of, 2);
    for (uint64_t round = 0; round < 3; round++) {
        test_fail_allocations(round == 0 ? -1 : 0);
        for (uint64_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            pass(&of, body, sizes[i], 100 * round + i);
        }
    }
    test_fail_allocations(-1);
    all_do(&of, close_end);
}

Test(carrier_tcp, a_frame_that_has_no_memory_is_refused_and_one_without_room_loses_its_sender)
{
    static unsigned char body[100000];
    ends of;
    open_ends(&of, 2);
    gs_frame frame = {.head = "h", .head_bytes = 1, .body = body, .body_bytes = sizeof body};
    test_fail_allocations(0);
    cr_expect_not(tcp()->send(of.net[0], 1, &frame, 1));
    test_fail_allocations(-1);
    cr_assert(tcp()->send(of.net[0], 1, &frame, 2));
    test_fail_allocations(0);
    gs_carried said = next_of(&of, 1, 0);
    test_fail_allocations(-1);
    cr_expect_eq(said.kind, GS_CARRIED_LOST);
    cr_expect_eq(said.peer, 0);
    cr_expect(strstr(said.text, "no memory here for a frame of it") != NULL, "%s", said.text);
    tcp()->abort(of.net[0]);
    tcp()->abort(of.net[1]);
}

Test(carrier_tcp, to_a_lost_process_frames_leave_at_once)
{
    static unsigned char body[3000000];
    ends of;
    open_ends(&of, 2);
    gs_frame frame = {.head = "h", .head_bytes = 1, .body = body, .body_bytes = sizeof body};
    /* More than any socket takes: two of them wait when the other end goes. */
    for (uint64_t cookie = 0; cookie < 3; cookie++) {
        cr_assert(tcp()->send(of.net[0], 1, &frame, cookie));
    }
    tcp()->abort(of.net[1]);
    uint64_t left = 0;
    bool is_lost = false;
    gs_time_ns until_ns = now() + 5 * GS_NS_PER_S;
    while ((left < 4 || !is_lost) && now() < until_ns) {
        gs_carried said;
        tcp()->poll(of.net[0], &said);
        if (said.kind == GS_CARRIED_LEFT) {
            cr_assert_eq(said.cookie, left);
            left++;
        } else if (said.kind == GS_CARRIED_LOST) {
            cr_assert_not(is_lost, "lost twice");
            cr_expect_eq(said.peer, 1);
            is_lost = true;
            cr_assert(tcp()->send(of.net[0], 1, &frame, 3));
        }
    }
    cr_expect_eq(left, 4);
    cr_expect(is_lost);
    tcp()->close(of.net[0]);
}

Test(carrier_tcp, a_destination_that_does_not_read_holds_up_no_other)
{
    static unsigned char body[8000000];
    ends of;
    open_ends(&of, 3);
    gs_frame bulk = {.head = "bulk", .head_bytes = 4, .body = body, .body_bytes = sizeof body};
    gs_frame last = {.head = "last", .head_bytes = 4, .body = body, .body_bytes = 200000};
    for (uint64_t cookie = 0; cookie < 3; cookie++) {
        cr_assert(tcp()->send(of.net[0], 1, &bulk, cookie));
    }
    cr_assert(tcp()->send(of.net[0], 2, &last, 3));
    gs_time_ns until_ns = now() + 5 * GS_NS_PER_S;
    bool has_come = false;
    bool has_last_left = false;
    while (!(has_come && has_last_left) && now() < until_ns) {
        gs_carried said;
        tcp()->poll(of.net[0], &said);
        if (said.kind == GS_CARRIED_LEFT) {
            /* 24 MB are more than sockets hold, and end 1 does not read. */
            cr_assert_neq(said.cookie, 2, "the bulk has left, and nobody has read it");
            has_last_left = has_last_left || said.cookie == 3;
        }
        tcp()->poll(of.net[2], &said);
        if (said.kind == GS_CARRIED_FRAME) {
            cr_expect_eq(said.frame.body_bytes, 200000);
            tcp()->give_back(of.net[2], said.handle);
            has_come = true;
        }
    }
    cr_expect(has_come);
    cr_expect(has_last_left);
    all_do(&of, close_end);
}

static void *wake_later(void *net)
{
    const struct timespec pause = {.tv_nsec = 30 * GS_NS_PER_MS};
    (void)nanosleep(&pause, NULL);
    tcp()->wake(net);
    return NULL;
}

Test(carrier_tcp, a_wait_ends_by_wake_by_its_time_and_by_what_comes)
{
    ends of;
    open_ends(&of, 2);
    pthread_t thread;
    gs_time_ns begin = now();
    cr_assert_eq(pthread_create(&thread, NULL, wake_later, of.net[0]), 0);
    tcp()->wait(of.net[0], GS_TIME_NEVER);
    cr_expect_geq(now() - begin, 25 * GS_NS_PER_MS, "a wait ended before its wake");
    cr_assert_eq(pthread_join(thread, NULL), 0);
    begin = now();
    tcp()->wait(of.net[0], begin + 300 * GS_NS_PER_US);
    cr_expect_geq(now() - begin, 300 * GS_NS_PER_US);
    cr_expect_lt(now() - begin, GS_NS_PER_S);
    gs_frame frame = {.head = "h", .head_bytes = 1};
    cr_assert(tcp()->send(of.net[1], 0, &frame, 9));
    tcp()->wait(of.net[0], GS_TIME_NEVER);
    gs_carried said = next_of(&of, 0, 1);
    cr_expect_eq(said.kind, GS_CARRIED_FRAME);
    tcp()->give_back(of.net[0], said.handle);
    all_do(&of, close_end);
}

static void *close_net(void *net)
{
    tcp()->close(net);
    return NULL;
}

Test(carrier_tcp, close_sends_what_is_queued)
{
    static unsigned char body[3000000];
    ends of;
    open_ends(&of, 2);
    gs_frame frame = {.head = "h", .head_bytes = 1, .body = body, .body_bytes = sizeof body};
    for (uint64_t cookie = 0; cookie < 3; cookie++) {
        cr_assert(tcp()->send(of.net[0], 1, &frame, cookie));
    }
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, close_net, of.net[0]), 0);
    for (int i = 0; i < 3; i++) {
        gs_carried said = {0};
        gs_time_ns until_ns = now() + 5 * GS_NS_PER_S;
        while (said.kind != GS_CARRIED_FRAME && now() < until_ns) {
            tcp()->poll(of.net[1], &said);
        }
        cr_assert_eq(said.kind, GS_CARRIED_FRAME, "frame %d did not come: %s", i, said.text);
        cr_assert_eq(said.frame.body_bytes, sizeof body);
        tcp()->give_back(of.net[1], said.handle);
    }
    tcp()->close(of.net[1]);
    cr_assert_eq(pthread_join(thread, NULL), 0);
}

Test(carrier_tcp, close_gives_up_on_one_who_does_not_part_at_the_deadline)
{
    ends of;
    open_ends(&of, 2);
    /* The other end neither reads nor closes: 5 s is what open_ends gives. */
    gs_time_ns begin = now();
    tcp()->close(of.net[0]);
    cr_expect_geq(now() - begin, 5 * GS_NS_PER_S);
    cr_expect_lt(now() - begin, 8 * GS_NS_PER_S);
    tcp()->abort(of.net[1]);
}

/* ------------------------------------------------------------------------------------ addresses */

Test(carrier_tcp, addresses_are_read_or_refused)
{
    static const struct {
        const char *text;
        const char *host; /* NULL: refused */
        uint32_t port;
        bool is_loopback;
    } cases[] = {
        {"node7.example:29501", "node7.example", 29501, false},
        {"127.0.0.1:1", "127.0.0.1", 1, true},
        {"localhost:65535", "localhost", 65535, true},
        {"[::1]:400", "::1", 400, true},
        {"[2001:db8::7]:400", "2001:db8::7", 400, false},
        {"2001:db8::7:400", NULL, 0, false},
        {"node7", NULL, 0, false},
        {"node7:", NULL, 0, false},
        {":29501", NULL, 0, false},
        {"node7:0", NULL, 0, false},
        {"node7:65536", NULL, 0, false},
        {"node7:29501x", NULL, 0, false},
        {"[]:29501", NULL, 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gs_tcp_address read = {0};
        gs_error err = {0};
        gs_status status = gs_tcp_address_read(cases[i].text, &read, &err);
        if (cases[i].host == NULL) {
            cr_expect_eq(status, GS_EINVAL, "%s", cases[i].text);
            cr_expect(strstr(err.text, cases[i].text) != NULL, "%s", err.text);
            continue;
        }
        cr_assert_eq(status, GS_OK, "%s", err.text);
        cr_expect_str_eq(read.host, cases[i].host);
        cr_expect_eq(read.port, cases[i].port);
        cr_expect_eq(read.is_loopback, cases[i].is_loopback, "%s", cases[i].text);
    }
}

Test(carrier_tcp, without_an_address_it_says_what_to_set)
{
    gs_carrier_config config = {
        .chunk_bytes = 1, .poll_ns = 1, .deadline_ns = 1, .processes = 2, .process = 1};
    void *net = NULL;
    gs_error err = {0};
    cr_expect_eq(tcp()->open(&config, &net, &err), GS_EUNSUPPORTED);
    cr_expect(strstr(err.text, "set MASTER_ADDR and MASTER_PORT") != NULL, "%s", err.text);
}
