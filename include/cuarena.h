/*
 * libcuarena: owns GPU and CPU memory and hands out blocks of it from the
 * host, without a driver call.
 *
 * Include this file; it brings the parts in:
 *   cuarena/base.h    version, status, last error, log
 *   cuarena/heap.h    the offsets-only heap, usable on its own
 *   cuarena/memory.h  the contract for bytes: where segments come from
 *   cuarena/options.h what an arena is to be like
 *   cuarena/arena.h   arenas: pointers and blocks of real memory
 *   cuarena/cache.h   the cache of freed blocks that an arena may have
 *   cuarena/device.h  arenas on devices: what they got, exports
 *   cuarena/driver.h  the driver that was found, and its devices
 *   cuarena/shared.h  arenas that a process shares by device and memory
 *   cuarena/stats.h   more statistics: as text, in scopes, of running out
 *   cuarena/streams.h memory that streams of a device may still be using
 *   cuarena/capture.h blocks whose addresses a graph keeps
 *
 * The header is the reference manual. It needs C11 or C++17 and nothing else.
 */
#ifndef CUARENA_H
#define CUARENA_H

#include "cuarena/arena.h"
#include "cuarena/base.h"
#include "cuarena/cache.h"
#include "cuarena/capture.h"
#include "cuarena/device.h"
#include "cuarena/driver.h"
#include "cuarena/heap.h"
#include "cuarena/memory.h"
#include "cuarena/options.h"
#include "cuarena/shared.h"
#include "cuarena/stats.h"
#include "cuarena/streams.h"

#endif
