/*
 * Why a call may not take the fast path: bits of an arena's `slow`. What is looked at now and then
 * makes an arena slow, so that fast paths need look at this one word only.
 */
#ifndef CUAI_ARENA_SLOW_H
#define CUAI_ARENA_SLOW_H

#include "cuarena/arena.h"

#define CUAI_SLOW_LOST 0x01u
#define CUAI_SLOW_LISTENER 0x02u
#define CUAI_SLOW_ZERO 0x04u  /* zero at allocation or at free */
#define CUAI_SLOW_LIMIT 0x08u /* bytes of live blocks are limited */
#define CUAI_SLOW_MOVED 0x20u /* copies of a compaction may be under way */
#define CUAI_SLOW_WHOLE                                                                            \
    0x10u /* several heaps: peaks of the whole are kept; the                                       \
           * only one that the fast path can do */
#define CUAI_SLOW_ONLY_STREAM                                                                      \
    0x100u /* there is a sole stream: requests that are not                                        \
            * on it end that */
#define CUAI_SLOW_FREELISTS                                                                        \
    0x40u /* several streams, or the CPU touches bytes:                                            \
           * requests on a stream are not from its open free list as                               \
           * a matter of course; nothing to other calls */
#define CUAI_SLOW_CACHE                                                                            \
    0x80u /* what is freed is not kept as free bytes, or sizes                                     \
           * are rounded by rules of their own: other fast paths do                                \
           * neither */
#define CUAI_SLOW_RETIRED                                                                          \
    0x200u                        /* who ends the last block tells: frees have                     \
                                   * an end of their own */
#define CUAI_SLOW_LEFT 0x400u     /* a forked child's copy: see all.h */
#define CUAI_SLOW_LOG 0x1000u     /* the log tells of every block */
#define CUAI_SLOW_RESIZES 0x2000u /* it tells of resizes: nothing to others */

#endif
