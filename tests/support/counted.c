/* See counted.h. */
#define _GNU_SOURCE
#include "counted.h"

#include "checks.h"
#include "scale.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- The C library's heap ------------------------------------------------ */

static uint64_t mallocs;

uint64_t counted_mallocs(void)
{
    return __atomic_load_n(&mallocs, __ATOMIC_RELAXED);
}

#if defined(__GLIBC__) && !SCALE_SANITIZED
#define COUNTS_MALLOCS true
#else
#define COUNTS_MALLOCS false
#endif

bool counted_mallocs_possible(void)
{
    return COUNTS_MALLOCS;
}

#if defined(__GLIBC__) && !SCALE_SANITIZED
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *pointer, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static void count_malloc(void)
{
    __atomic_fetch_add(&mallocs, 1, __ATOMIC_RELAXED);
}

void *malloc(size_t bytes)
{
    count_malloc();
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    count_malloc();
    return __libc_calloc(count, bytes);
}

void *realloc(void *pointer, size_t bytes)
{
    count_malloc();
    return __libc_realloc(pointer, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    count_malloc();
    return __libc_memalign(alignment, bytes);
}
#endif

/* ---- A traced child ------------------------------------------------------ */

static void be_traced(counted_fn *prepare, counted_fn *work, void *user)
{
    prepare(user);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit(2);
    (void)raise(SIGSTOP);
    work(user);
    (void)raise(SIGSTOP);
    _exit(0);
}

/* The signal that it stopped with; 0 when it ended as it should. */
static int await(pid_t child)
{
    int status = 0;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    if (WIFSTOPPED(status))
        return WSTOPSIG(status);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with status %d",
                  status);
    return 0;
}

/* How often the child stops on its way from one SIGSTOP to the next. */
static uint64_t stops_between(counted_fn *prepare, counted_fn *work, void *user, int request)
{
    uint64_t stops = 0;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        be_traced(prepare, work, user);
    ck_assert_int_eq(await(child), SIGSTOP);
    for (;; stops++) {
        ck_assert_int_eq(ptrace((enum __ptrace_request)request, child, 0, 0), 0);
        int signal = await(child);
        ck_assert_msg(signal == SIGTRAP || signal == SIGSTOP, "the child got signal %d", signal);
        if (signal == SIGSTOP)
            break;
    }
    ck_assert_int_eq(ptrace(PTRACE_CONT, child, 0, 0), 0);
    ck_assert_int_eq(await(child), 0);
    return stops;
}

static void do_nothing(void *user)
{
    (void)user;
}

/* Less what the stops themselves take. */
static uint64_t stops_of(counted_fn *prepare, counted_fn *work, void *user, int request)
{
    uint64_t none = stops_between(do_nothing, do_nothing, NULL, request);
    uint64_t all = stops_between(prepare, work, user, request);
    ck_assert_uint_ge(all, none);
    return all - none;
}

/* Not under a checker, whose own calls and steps would count. */
bool counted_possible(void)
{
    int status = 0;
    if (getenv("CUARENA_TEST_SLOW") != NULL)
        return false;
    pid_t child = fork();
    if (child == 0)
        _exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 ? 0 : 1);
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* A call stops it twice, before and after. */
uint64_t counted_system_calls(counted_fn *prepare, counted_fn *work, void *user)
{
    return stops_of(prepare, work, user, PTRACE_SYSCALL) / 2;
}

uint64_t counted_instructions(counted_fn *prepare, counted_fn *work, void *user)
{
    return stops_of(prepare, work, user, PTRACE_SINGLESTEP);
}
