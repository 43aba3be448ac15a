/*
 * The monitor: what it answers, whom, and at which paths; snapshots on a signal; forks; arenas that
 * end while somebody asks about them.
 */
#define _GNU_SOURCE
#include "support/configs.h"
#include "support/expect.h"
#include "support/peer.h"
#include "support/scale.h"
#include "support/snapshots.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- A monitor --------------------------------------------------------- */

static cuarena_t *arena;

static void end_monitor(void)
{
    expect_ok(cuarena_monitor_close());
    if (arena != NULL)
        expect_ok(cuarena_destroy_forced(&arena));
}

/* The path of a monitor, which ends with the test, as does an arena with one block. */
static const char *opened(void)
{
    static char path[320];
    void *pointer;
    snprintf(path, sizeof path, "%s", in_folder("socket"));
    arena = arena_of("memory=none,pool=1MiB,name=watched");
    expect_ok(cuarena_alloc(arena, 1000, &pointer));
    after_test(end_monitor);
    expect_ok(cuarena_monitor_open(path));
    return path;
}

static void expect_has(const char *text, const char *part)
{
    ck_assert_msg(strstr(text, part) != NULL, "expected %s in:\n%s", part, text);
}

static void expect_begins(const char *text, const char *begin)
{
    ck_assert_msg(strncmp(text, begin, strlen(begin)) == 0, "expected %s... in:\n%s", begin, text);
}

/* "ok LENGTH" and so many bytes, which it gives. */
static const char *expect_whole(const char *answer)
{
    char *end;
    expect_begins(answer, "ok ");
    unsigned long long length = strtoull(answer + 3, &end, 10);
    ck_assert_int_eq(*end, '\n');
    expect_u64(strlen(end + 1), length);
    return end + 1;
}

/* ---- Requests ---------------------------------------------------------- */

START_TEST(list_names_arenas)
{
    char want[64];
    const char *text = expect_whole(peer_ask(opened(), "list"));
    snprintf(want, sizeof want,
             "{\"version\":1,\"pid\":%d,\"arenas\":[{\"number\":", (int)getpid());
    expect_begins(text, want);
    expect_has(text, "\"name\":\"watched\"}]}\n");
}
END_TEST

START_TEST(stats_have_figures)
{
    const char *text = expect_whole(peer_ask(opened(), "stats"));
    expect_has(text, "\"streams\":0,\"statistics\":{\"reserved_bytes\":1048576,");
    expect_has(text, "\"live_bytes\":1024,\"requested_bytes\":1000,");
}
END_TEST

/* The number of the arena that was made last. */
static unsigned last_number(const char *path)
{
    const char *at = peer_ask(path, "list");
    unsigned number = 0;
    while ((at = strstr(at, "\"number\":")) != NULL)
        number = (unsigned)strtoul(at += 9, NULL, 10);
    return number;
}

static void save(const char *name, const char *bytes, size_t size)
{
    FILE *file = fopen(in_folder(name), "wb");
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

START_TEST(snapshots_are_those_of_the_call)
{
    char request[40];
    const char *path = opened();
    unsigned number = last_number(path);
    snprintf(request, sizeof request, "snapshot %u json", number);
    const char *text = expect_whole(peer_ask(path, request));
    save("one.json", text, strlen(text));
    snprintf(request, sizeof request, "snapshot %u pytorch", number);
    expect_begins(peer_ask(path, request), "ok ");
    expect_ok(cuarena_snapshot_write(arena, CUARENA_SNAPSHOT_PYTORCH, in_folder("one.pickle")));
    expect_ok(cuarena_monitor_close());
    expect_right_snapshots();
}
END_TEST

START_TEST(unknown_requests_are_errors)
{
    static const char *const requests[] = {"",
                                           "lists",
                                           "list ",
                                           "snapshot",
                                           "snapshot 1",
                                           "snapshot x json",
                                           "snapshot 1 jsonx",
                                           "snapshot -1 json",
                                           "snapshot 99999999999999999999 json"};
    const char *path = opened();
    for (size_t i = 0; i < COUNT_OF(requests); i++)
        expect_begins(peer_ask(path, requests[i]), "error the request is none of: list, stats,");
    expect_begins(peer_ask(path, "snapshot 123456 json"), "error no arena has the number 123456\n");
    expect_whole(peer_ask(path, "list"));
}
END_TEST

/* Garbage, and peers that go: the next one is answered. */
START_TEST(bad_peers_do_no_harm)
{
    char garbage[4096];
    const char *path = opened();
    memset(garbage, 0xfe, sizeof garbage);
    int fd = peer_connect(path);
    peer_send(fd, garbage, sizeof garbage);
    (void)peer_read(fd); /* an error, or nothing where the rest was not read */
    close(peer_connect(path));
    fd = peer_connect(path);
    peer_send(fd, "li", 2);
    shutdown(fd, SHUT_WR);
    expect_begins(peer_read(fd), "error no request came in one line");
    fd = peer_connect(path);
    peer_send(fd, "stats\n", 6);
    close(fd);
    expect_whole(peer_ask(path, "list"));
}
END_TEST

/* A peer that sends a byte now and then is let go before its line is too long. */
START_TEST(peer_that_drips_is_let_go)
{
    const struct timespec moment = {.tv_nsec = 100000000};
    char answer[200] = "";
    int sent = 0;
    int fd = peer_connect(opened());
    while (recv(fd, answer, sizeof answer - 1, MSG_DONTWAIT) < 0 && sent < 60) {
        (void)send(fd, "l", 1, MSG_NOSIGNAL);
        sent++;
        (void)nanosleep(&moment, NULL);
    }
    expect_begins(answer, "error no request came in one line");
    ck_assert_msg(sent < 50, "%d bytes were waited for", sent);
    close(fd);
}
END_TEST

/* A peer that asks for much and does not read is let go. */
START_TEST(peer_that_takes_nothing_is_let_go)
{
    char request[40];
    const char *path = opened();
    for (int i = 0; i < 4000; i++)
        expect_ok(cuarena_block_alloc(arena, 200, &(cuarena_block_t){0}));
    snprintf(request, sizeof request, "snapshot %u json\n", last_number(path));
    int fd = peer_connect(path);
    peer_send(fd, request, strlen(request));
    expect_whole(peer_ask(path, "list"));
    close(fd);
}
END_TEST

/* ---- Paths ------------------------------------------------------------- */

START_TEST(socket_is_its_owners)
{
    struct stat facts;
    mode_t before = umask(0);
    const char *path = opened();
    umask(before);
    ck_assert_int_eq(lstat(path, &facts), 0);
    expect_u64(facts.st_mode & 07777, 0600);
    ck_assert(S_ISSOCK(facts.st_mode));
    expect_ok(cuarena_monitor_close());
    expect_u64(files_ending(""), 0);
}
END_TEST

START_TEST(second_monitor_is_busy)
{
    const char *path = opened();
    expect_status(cuarena_monitor_open(in_folder("other")), CUARENA_BUSY);
    expect_status(cuarena_monitor_open(path), CUARENA_BUSY);
    expect_whole(peer_ask(path, "list"));
}
END_TEST

START_TEST(path_that_is_there_is_refused)
{
    after_test(end_monitor);
    save("file", "x", 1);
    expect_status(cuarena_monitor_open(in_folder("file")), CUARENA_BAD_ARGUMENT);
    expect_has(cuarena_last_error(), "is there; accepted: what is not there, or a socket");
    expect_text(text_of(in_folder("file")), "x");
    ck_assert_int_eq(symlink(in_folder("nowhere"), in_folder("link")), 0);
    expect_status(cuarena_monitor_open(in_folder("link")), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_monitor_open(in_folder("none/a")), CUARENA_DRIVER);
    ck_assert_int_eq(last_error().driver_code, ENOENT);
}
END_TEST

/* A socket at a path, listening. */
static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    ck_assert_int_eq(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(fd, 1), 0);
    return fd;
}

START_TEST(only_a_socket_that_was_left_is_replaced)
{
    after_test(end_monitor);
    int other = listen_at(in_folder("socket"));
    expect_status(cuarena_monitor_open(in_folder("socket")), CUARENA_BUSY);
    expect_has(cuarena_last_error(), "another process listens at");
    close(other);
    expect_ok(cuarena_monitor_open(in_folder("socket")));
    expect_whole(peer_ask(in_folder("socket"), "list"));
}
END_TEST

/* At the end a path that is somebody else's by now stays. */
START_TEST(path_that_was_taken_over_stays)
{
    const char *path = opened();
    ck_assert_int_eq(unlink(path), 0);
    save("socket", "x", 1);
    expect_ok(cuarena_monitor_close());
    expect_text(text_of(path), "x");
}
END_TEST

START_TEST(paths_that_cannot_be)
{
    char path[300];
    memset(path, 'x', sizeof path);
    path[200] = '\0';
    expect_status(cuarena_monitor_open(path), CUARENA_BAD_ARGUMENT);
    expect_has(cuarena_last_error(), "path: 200 bytes; accepted: 1 to 107");
    path[200] = 'x';
    path[299] = '\0';
    expect_status(cuarena_monitor_open(path), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_monitor_open(""), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_monitor_open("a%n"), CUARENA_BAD_ARGUMENT);
    expect_has(cuarena_last_error(), "accepted: up to 255 bytes, behind a % a p");
    expect_ok(cuarena_monitor_close());
}
END_TEST

START_TEST(environment_names_a_path)
{
    char name[32];
    after_test(end_monitor);
    unsetenv("CUARENA_MONITOR");
    expect_ok(cuarena_monitor_environment());
    setenv("CUARENA_MONITOR", "", 1);
    expect_ok(cuarena_monitor_environment());
    setenv("CUARENA_MONITOR", in_folder("%p"), 1);
    expect_ok(cuarena_monitor_environment());
    snprintf(name, sizeof name, "%d", (int)getpid());
    expect_whole(peer_ask(in_folder(name), "list"));
}
END_TEST

/* What a child came to. */
static void expect_child_succeeds(pid_t child)
{
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

#define NOBODY 65534

/* Everybody may connect, as somebody who changed the mode made it; other users are told off. The
 * child stands in the folder, since the folders above it may be closed to others. */
START_TEST(other_users_are_refused)
{
    const char *path = opened();
    if (geteuid() != 0) {
        printf("skipped: %s: it takes root to be another user\n", __func__);
        return;
    }
    ck_assert_int_eq(chmod(in_folder("."), 0755), 0);
    ck_assert_int_eq(chmod(path, 0666), 0);
    pid_t child = fork();
    if (child == 0) {
        bool other = chdir(in_folder(".")) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0;
        const char *answer = other ? peer_ask("socket", "list") : "";
        _exit(strcmp(answer, "error this process belongs to another user\n") != 0);
    }
    expect_child_succeeds(child);
}
END_TEST

/* ---- Signals ----------------------------------------------------------- */

START_TEST(signal_writes_all_arenas)
{
    cuarena_t *other = arena_of("memory=none,pool=1MiB");
    after_test(end_monitor);
    arena = arena_of("memory=none,pool=1MiB");
    expect_ok(cuarena_monitor_open(NULL));
    expect_ok(cuarena_monitor_signal(SIGUSR1, in_folder("%p-%n.json")));
    raise(SIGUSR1);
    expect_ok(cuarena_monitor_close()); /* writes what was asked for */
    expect_u64(files_ending(".json"), 2);
    expect_u64(files_ending("-1.json"), 1);
    expect_right_snapshots();
    expect_ok(cuarena_destroy(&other));
}
END_TEST

static volatile sig_atomic_t heard;

static void hear(int signal)
{
    heard = signal;
}

START_TEST(signals_that_cannot_be)
{
    after_test(end_monitor);
    const char *pattern = in_folder("%n");
    expect_status(cuarena_monitor_signal(SIGUSR1, pattern), CUARENA_STALE);
    expect_ok(cuarena_monitor_open(NULL));
    expect_status(cuarena_monitor_signal(SIGUSR1, NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_monitor_signal(SIGUSR1, "a"), CUARENA_BAD_ARGUMENT);
    expect_has(cuarena_last_error(), "pattern: 'a'; accepted: with %n for the number");
    expect_status(cuarena_monitor_signal(SIGUSR1, "%n%x"), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_monitor_signal(SIGSEGV, pattern), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_monitor_signal(SIGKILL, pattern), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_monitor_signal(0, pattern), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_monitor_signal(-1, pattern), CUARENA_BAD_ARGUMENT);
    signal(SIGUSR2, hear);
    expect_status(cuarena_monitor_signal(SIGUSR2, pattern), CUARENA_BAD_ARGUMENT);
    expect_ok(cuarena_monitor_signal(SIGUSR1, pattern));
    expect_status(cuarena_monitor_signal(SIGHUP, pattern), CUARENA_BUSY);
    raise(SIGUSR2);
    ck_assert_int_eq(heard, SIGUSR2);
    signal(SIGUSR2, SIG_DFL);
}
END_TEST

START_TEST(signal_does_what_it_did_once_the_monitor_ends)
{
    struct sigaction now;
    signal(SIGUSR1, SIG_IGN);
    expect_ok(cuarena_monitor_open(NULL));
    expect_ok(cuarena_monitor_signal(SIGUSR1, in_folder("%n")));
    expect_ok(cuarena_monitor_close());
    ck_assert_int_eq(sigaction(SIGUSR1, NULL, &now), 0);
    ck_assert(now.sa_handler == SIG_IGN);
    signal(SIGUSR1, SIG_DFL);
    expect_ok(cuarena_monitor_close());
}
END_TEST

/* ---- Forks ------------------------------------------------------------- */

/* ThreadSanitizer knows no threads of a child. */
#if defined(__SANITIZE_THREAD__)
#define CHILD_HAS_THREADS false
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CHILD_HAS_THREADS false
#endif
#endif
#if !defined(CHILD_HAS_THREADS)
#define CHILD_HAS_THREADS true
#endif

/* In the child; 0: all was as it should be. */
static int have_none(const char *own)
{
    struct sigaction now;
    bool signal = sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == SIG_DFL;
    bool none = cuarena_monitor_signal(SIGUSR1, "%n") == CUARENA_STALE &&
                cuarena_monitor_close() == CUARENA_OK;
    if (!CHILD_HAS_THREADS || scale_is_emulated())
        return signal && none ? 0 : 1;
    bool opens = cuarena_monitor_open(own) == CUARENA_OK;
    bool answers = opens && strncmp(peer_ask(own, "list"), "ok ", 3) == 0;
    return signal && none && answers && cuarena_monitor_close() == CUARENA_OK ? 0 : 1;
}

START_TEST(child_has_no_monitor)
{
    const char *path = opened();
    expect_ok(cuarena_monitor_signal(SIGUSR1, in_folder("%n")));
    expect_whole(peer_ask(path, "list")); /* so its thread is within no allocator */
    pid_t child = fork();
    if (child == 0)
        _exit(have_none(in_folder("child")));
    expect_child_succeeds(child);
    expect_whole(peer_ask(path, "list"));
    expect_u64(files_ending("socket"), 1);
}
END_TEST

/* ---- Threads ----------------------------------------------------------- */

#define ARENAS 200

static atomic_bool over;

static void *make_arenas(void *unused)
{
    (void)unused;
    for (int i = 0; i < ARENAS; i++) {
        cuarena_t *one = arena_of("memory=none,pool=1MiB");
        void *pointer;
        expect_ok(cuarena_alloc(one, 1000, &pointer));
        expect_ok(cuarena_destroy_forced(&one));
    }
    atomic_store(&over, true);
    return NULL;
}

START_TEST(arenas_end_while_they_are_asked_about)
{
    char request[40];
    pthread_t thread;
    const char *path = opened();
    ck_assert_int_eq(pthread_create(&thread, NULL, make_arenas, NULL), 0);
    while (!atomic_load(&over)) {
        expect_whole(peer_ask(path, "stats"));
        snprintf(request, sizeof request, "snapshot %u json", last_number(path));
        const char *answer = peer_ask(path, request);
        if (strncmp(answer, "error no arena has the number", 29) != 0)
            expect_whole(answer);
    }
    pthread_join(thread, NULL);
}
END_TEST

static void *fork_often(void *unused)
{
    (void)unused;
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        expect_child_succeeds(child);
    }
    atomic_store(&over, true);
    return NULL;
}

START_TEST(monitors_begin_and_end_beside_forks)
{
    pthread_t thread;
    const char *path = in_folder("socket");
    if (scale_is_emulated()) {
        printf("skipped: %s: the emulator forks no process of several threads\n", __func__);
        return;
    }
    ck_assert_int_eq(pthread_create(&thread, NULL, fork_often, NULL), 0);
    while (!atomic_load(&over)) {
        expect_ok(cuarena_monitor_open(path));
        expect_whole(peer_ask(path, "stats"));
        expect_ok(cuarena_monitor_close());
    }
    pthread_join(thread, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("monitor");
    use_folder(suite_add_list(
        suite, "requests",
        TEST_LIST(list_names_arenas, stats_have_figures, snapshots_are_those_of_the_call,
                  unknown_requests_are_errors, bad_peers_do_no_harm, peer_that_drips_is_let_go,
                  peer_that_takes_nothing_is_let_go)));
    use_folder(suite_add_list(
        suite, "paths",
        TEST_LIST(socket_is_its_owners, second_monitor_is_busy, path_that_is_there_is_refused,
                  only_a_socket_that_was_left_is_replaced, path_that_was_taken_over_stays,
                  paths_that_cannot_be, environment_names_a_path, other_users_are_refused)));
    use_folder(suite_add_list(suite, "signals",
                              TEST_LIST(signal_writes_all_arenas, signals_that_cannot_be,
                                        signal_does_what_it_did_once_the_monitor_ends)));
    use_folder(suite_add_list(suite, "beside",
                              TEST_LIST(child_has_no_monitor, arenas_end_while_they_are_asked_about,
                                        monitors_begin_and_end_beside_forks)));
    return suite_main(suite);
}
