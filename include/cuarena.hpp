/*
 * libcuarena for C++17: arenas, blocks and typed allocations that free what they own, errors as
 * exceptions or as statuses, and a std::pmr::memory_resource.
 *
 *   cuarena::arena pool("pool=64MiB");
 *   cuarena::block block = pool.make_block(4096);
 *   {
 *       cuarena::pinned<float> values = block.pin<float>();
 *       values[0] = 1; // at an address that is good while it is pinned
 *   }
 *   auto table = pool.make_unique<int[]>(1000);
 *   cuarena::memory_resource resource(pool);
 *   std::pmr::vector<int> list(&resource);
 *
 * It consists of inline functions over those of cuarena.h, which stay the reference: each member is
 * the C function of the same name, with its threads, cost and errors. Functions without a member
 * here are called with arena::get() and block::id(), as in
 * cuarena::check(cuarena_resize_pool(pool.get(), bytes)).
 *
 * Errors. A call that can fail has two forms, but for constructors and arena::stats, which throw.
 * try_name() throws nothing of its own and returns a status, or a result: a status and, if that is
 * ok, a value. name() returns the value and throws otherwise: cuarena::bad_alloc, which is a
 * std::bad_alloc, where bytes or a limit were short, else cuarena::error, which is a
 * std::runtime_error. Both are a cuarena::failure. Where a program is compiled without exceptions,
 * name() writes what it would throw to stderr and calls std::abort.
 *
 * Ownership. Owners can be moved, not copied, and are empty when they were moved from. An arena
 * ends when its object and all its blocks have ended, in whatever order; see ~arena. Destructors do
 * not throw: if the free in one fails, the block lives on and the log says why; try_free() returns
 * the status.
 *
 * Code that is compiled otherwise, without exceptions, without types at run time or with another
 * meaning of the stream NULL, has types of its own, also in the same program: a handler of one does
 * not catch what the other throws, but as std::bad_alloc or std::runtime_error, and their statuses
 * are of different categories.
 *
 * Streams. What was allocated on a stream is freed on it, unless set_stream names another one; on a
 * thread's default stream, wherever the owner ends, as cuarena_free_own does. A pin ends on the
 * stream that it began on, so on the thread if that is a thread's default stream. What was
 * allocated without a stream is idle when it is freed. As everywhere in the library, release a
 * stream before it is destroyed; no object here may name it after that.
 *
 * Threads. As in C, any thread may use an arena at any time. One object of another type here is for
 * one thread at a time, as usual in C++.
 */
#ifndef CUARENA_HPP
#define CUARENA_HPP

#include "cuarena/arena.hpp"
#include "cuarena/block.hpp"
#include "cuarena/config.hpp"
#include "cuarena/error.hpp"
#include "cuarena/moves.hpp"
#include "cuarena/resource.hpp"
#include "cuarena/typed.hpp"

#endif
