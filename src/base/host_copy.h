/* Copies of host memory so large that one thread takes milliseconds for them. */
#ifndef CUAI_BASE_HOST_COPY_H
#define CUAI_BASE_HOST_COPY_H

#include <stddef.h>

/* The least that is worth a thread. With internal assertions small copies take the same ways. */
#if defined(CUARENA_DEBUG)
#define CUAI_HOST_COPY_SHARE ((size_t)1 << 12)
#else
#define CUAI_HOST_COPY_SHARE ((size_t)4 << 20)
#endif

/* The most threads that copy at once, the caller among them. */
#define CUAI_HOST_COPY_THREADS 4

/*
 * As memcpy. Several shares of bytes are copied by threads that live as long as the call, get no
 * signals and call nothing, as many as the process may run on processors. A process of one thread
 * stays one: nobody waits for it. Cost: some tens of microseconds for a thread.
 */
void *cuai_host_copy(void *to, const void *from, size_t bytes);

#endif
