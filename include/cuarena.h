/*
 * libcuarena: owns GPU and CPU memory and hands out blocks of it from the
 * host, without a driver call.
 *
 * cuarena_open in cuarena/arena.h makes an arena, and cuarena_last_error in
 * cuarena/base.h says why a call failed. Include this file; it brings the parts in:
 *   cuarena/options.h  what an arena is to be like
 *   cuarena/arena.h    arenas: create, destroy, reset, trim, limits
 *   cuarena/pointer.h  allocate and free by pointer
 *   cuarena/block.h    allocate and free by an id that survives moves
 *   cuarena/request.h  regions, tags, and what else a request may ask for
 *   cuarena/streams.h  memory that streams of a GPU may still be using
 *   cuarena/capture.h  memory for graphs that are captured from streams
 *   cuarena/compact.h  move blocks together
 *   cuarena/oom.h      what is tried before a request is refused
 *   cuarena/layer.h    serves programs that call the driver, unchanged
 *   cuarena/listener.h a function that is told of every allocation
 *   cuarena/stats.h    statistics, peaks, the validator
 *   cuarena/snapshot.h what an arena has at one moment, block by block, in a file
 *   cuarena/monitor.h  lets other processes ask about arenas
 *   cuarena/debug.h    guards, patterns, a quarantine, leaks
 *   cuarena/trace.h    record what is asked of an arena, for cuarena(1)
 *   cuarena/cache.h    the cache of freed blocks that an arena may have
 *   cuarena/shared.h   arenas that a process shares by device and memory
 *   cuarena/device.h   arenas on devices: properties, driver pools, exports
 *   cuarena/driver.h   the driver that was found, and its devices
 *   cuarena/memory.h   the table of functions to bring memory of your own
 *   cuarena/heap.h     the offsets-only heap, usable on its own
 *   cuarena/base.h     version, status, last error, log
 *
 * The header is the reference manual. It needs C11 or C++17 and nothing else.
 */
#ifndef CUARENA_H
#define CUARENA_H

#include "cuarena/arena.h"
#include "cuarena/base.h"
#include "cuarena/block.h"
#include "cuarena/cache.h"
#include "cuarena/capture.h"
#include "cuarena/compact.h"
#include "cuarena/debug.h"
#include "cuarena/device.h"
#include "cuarena/driver.h"
#include "cuarena/heap.h"
#include "cuarena/layer.h"
#include "cuarena/listener.h"
#include "cuarena/memory.h"
#include "cuarena/monitor.h"
#include "cuarena/oom.h"
#include "cuarena/options.h"
#include "cuarena/pointer.h"
#include "cuarena/request.h"
#include "cuarena/shared.h"
#include "cuarena/snapshot.h"
#include "cuarena/stats.h"
#include "cuarena/streams.h"
#include "cuarena/trace.h"

#endif
