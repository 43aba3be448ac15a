#define _GNU_SOURCE
#include "base/host_copy.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "base/bits.h"
#include "base/host.h"
#include "base/lock.h"

typedef struct cuai_copy_share {
    void *to;
    const void *from;
    size_t bytes;
    pthread_t thread;
    bool begun; /* by the thread */
} cuai_copy_share_t;

static void *copy_share(void *share)
{
    const cuai_copy_share_t *s = share;
    (void)memcpy(s->to, s->from, s->bytes);
    return NULL;
}

/* ---- Threads ------------------------------------------------------------- */

/* How many processors this thread may run on; 1 where the system does not say. */
static size_t count_processors(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (size_t)CPU_COUNT(&set) : 1;
}

static size_t count_threads(size_t bytes)
{
    size_t most = cuai_min(bytes / CUAI_HOST_COPY_SHARE, CUAI_HOST_COPY_THREADS);
    if (most < 2 || CUAI_SINGLE_THREADED)
        return 1;
    return cuai_max(cuai_min(most, count_processors()), 1);
}

/* Begins a thread for each share but the first. A thread takes host memory for its stack, so tests
 * can refuse it. */
static void begin_shares(cuai_copy_share_t *shares, size_t count)
{
    CUAI_ASSERT(count > 1 && count <= CUAI_HOST_COPY_THREADS);
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    for (size_t i = 1; i < count; i++)
        shares[i].begun = cuai_host_allow() &&
                          pthread_create(&shares[i].thread, NULL, copy_share, &shares[i]) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Copies what no thread could be had for. */
static void end_shares(cuai_copy_share_t *shares, size_t count)
{
    CUAI_ASSERT(!shares[0].begun);
    for (size_t i = 0; i < count; i++) {
        if (!shares[i].begun)
            (void)copy_share(&shares[i]);
    }
    for (size_t i = 0; i < count; i++) {
        if (shares[i].begun)
            (void)pthread_join(shares[i].thread, NULL);
    }
}

/* ---- Copies -------------------------------------------------------------- */

static void copy_shared(unsigned char *to, const unsigned char *from, size_t bytes, size_t count)
{
    cuai_copy_share_t shares[CUAI_HOST_COPY_THREADS];
    size_t share = cuai_align_down(bytes / count, 64);
    CUAI_ASSERT(count <= CUAI_HOST_COPY_THREADS && share != 0);
    for (size_t i = 0; i < count; i++) {
        size_t begin = i * share;
        size_t end = i + 1 == count ? bytes : begin + share;
        shares[i] = (cuai_copy_share_t){.to = to + begin, .from = from + begin, end - begin};
    }
    begin_shares(shares, count);
    end_shares(shares, count);
}

void *cuai_host_copy(void *to, const void *from, size_t bytes)
{
    CUAI_ASSERT(bytes == 0 || (to != NULL && from != NULL));
    size_t count = count_threads(bytes);
    if (count == 1)
        return memcpy(to, from, bytes);
    copy_shared(to, from, bytes, count);
    return to;
}
