/*
 * A memory fence that one thread makes all others pass.
 *
 * Where one side of a protocol is entered millions of times a second and the other hardly ever, the
 * first does without a fence and the second makes it pass one, where it stands: what it wrote
 * before is seen from then on, and what it reads after is new. On Linux that is membarrier; a
 * kernel before 4.14, or a filter of system calls, may refuse it.
 *
 * A fence costs an interrupt on each processor that runs a thread of the process: up to 20 us, 0.2
 * us where no other thread runs.
 */
#ifndef CUAI_BASE_FENCE_H
#define CUAI_BASE_FENCE_H

#include <stdbool.h>

/* Whether cuai_fence_all can be had. The first call asks the kernel, which may take it 10 ms in a
 * process with threads. */
bool cuai_fence_ready(void);
/* Every thread of the process has passed a full fence since the call began,
 * and so has this one. False: it was refused, though it may have been ready. */
bool cuai_fence_all(void);

#endif
