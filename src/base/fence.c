#define _GNU_SOURCE
#include "base/fence.h"

#if defined(__linux__)

#include <errno.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of the kernel's interface. */
#define PRIVATE_EXPEDITED 8
#define REGISTER_PRIVATE_EXPEDITED 16

static bool ask(int command)
{
#if defined(SYS_membarrier)
    return syscall(SYS_membarrier, command, 0, 0) == 0;
#else
    (void)command;
    errno = ENOSYS;
    return false;
#endif
}

/* Errors here are nobody's but ours. */
static bool ask_quietly(int command)
{
    int kept = errno;
    bool done = ask(command);
    /* A process that was restored from an image may have lost it. */
    if (!done && errno == EPERM && command == PRIVATE_EXPEDITED)
        done = ask(REGISTER_PRIVATE_EXPEDITED) && ask(command);
    errno = kept;
    return done;
}

/* Registering twice is no harm, so threads that come here at once may. A
 * forked process inherits it. */
bool cuai_fence_ready(void)
{
    enum {
        UNKNOWN,
        READY,
        REFUSED
    };
    static _Atomic int known = UNKNOWN;
    int now = atomic_load_explicit(&known, memory_order_relaxed);
    if (now == UNKNOWN) {
        now = ask_quietly(REGISTER_PRIVATE_EXPEDITED) ? READY : REFUSED;
        atomic_store_explicit(&known, now, memory_order_relaxed);
    }
    return now == READY;
}

bool cuai_fence_all(void)
{
    return ask_quietly(PRIVATE_EXPEDITED);
}

#else

bool cuai_fence_ready(void)
{
    return false;
}

bool cuai_fence_all(void)
{
    return false;
}

#endif
