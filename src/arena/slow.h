/*
 * Why a call may not take the fast path: bits of an arena's `slow`. Rare conditions make an arena
 * slow, so that fast paths look at this one word only.
 */
#ifndef CUAI_ARENA_SLOW_H
#define CUAI_ARENA_SLOW_H

#include "cuarena/arena.h"

#define CUAI_SLOW_LOST 0x01u
#define CUAI_SLOW_LISTENER 0x02u
/* Bytes are set to 0 at allocation or at free. */
#define CUAI_SLOW_ZERO 0x04u
/* The bytes of live blocks are limited. */
#define CUAI_SLOW_LIMIT 0x08u
/* There are several heaps, or scopes of peaks, so the whole is counted apart. The fast path can do
 * that. */
#define CUAI_SLOW_WHOLE 0x10u
/* Copies of a compaction may be under way. */
#define CUAI_SLOW_MOVED 0x20u
/* There are several streams, or the CPU touches bytes: a request on a stream may need more than its
 * open free list. Other calls do not care. */
#define CUAI_SLOW_FREELISTS 0x40u
/* What is freed is not kept as free bytes, or sizes are rounded by special rules: only the fast
 * paths of the cache know them. */
#define CUAI_SLOW_CACHE 0x80u
/* The arena was retired: whoever ends the last block tells the owner. */
#define CUAI_SLOW_RETIRED 0x200u
/* This is a forked child's copy: see arenas.h. */
#define CUAI_SLOW_LEFT 0x400u
/* Threads have caches: only their paths know what these keep. */
#define CUAI_SLOW_THREADS 0x800u
/* The log tells of every block. */
#define CUAI_SLOW_LOG 0x1000u
/* The log tells of resizes; other calls do not care. */
#define CUAI_SLOW_RESIZES 0x2000u
/* Blocks are watched, for debugging. */
#define CUAI_SLOW_WATCH 0x4000u
/* Calls are recorded. The fast paths can do that, but for resizes: see traced.h. */
#define CUAI_SLOW_TRACE 0x8000u
/* A tool is told of every block, by NVTX. */
#define CUAI_SLOW_NVTX 0x10000u

#endif
