#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "support/waits.h"
#include "checks.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#define LOOKS_ASLEEP 3 /* in a row */
#define LOOKS_UNTOLD 50

static long own_number(void)
{
#if defined(__linux__)
    return syscall(SYS_gettid);
#else
    return 1;
#endif
}

void waiter_begin(waiter_t *waiter)
{
    atomic_store(&waiter->thread, own_number());
}

void waiter_end(waiter_t *waiter)
{
    atomic_store(&waiter->over, true);
}

/* 'S' where the thread sleeps, another letter where it does not; '\0' where
 * the system does not tell. Its name, in parentheses, may hold anything. */
static char state_of(long thread)
{
    char path[64];
    char line[256] = "";
    snprintf(path, sizeof(path), "/proc/self/task/%ld/stat", thread);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return '\0';
    const char *read = fgets(line, sizeof(line), file);
    fclose(file);
    const char *end = read != NULL ? strrchr(read, ')') : NULL;
    return end != NULL ? end[2] : '\0';
}

bool falls_asleep(waiter_t *waiter)
{
    const struct timespec moment = {0, 1000000};
    int asleep = 0;
    int untold = 0;
    while (asleep < LOOKS_ASLEEP && untold < LOOKS_UNTOLD) {
        (void)nanosleep(&moment, NULL);
        long thread = atomic_load(&waiter->thread);
        char state = thread != 0 ? state_of(thread) : 'R';
        if (atomic_load(&waiter->over))
            return false;
        asleep = state == 'S' ? asleep + 1 : 0;
        untold += state == '\0';
    }
    return true;
}

void expect_asleep(waiter_t *waiter, const char *what)
{
    ck_assert_msg(falls_asleep(waiter), "expected to wait: %s", what);
}
