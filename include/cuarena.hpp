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
 * All of it is in this file, over the functions of cuarena.h, which stay the reference: each member
 * is the C function of the same name, and what that
 * says of threads, cost and errors holds. What has no member here is called with arena::get() and
 * block::id(), as in cuarena::check(cuarena_resize_pool(pool.get(), bytes)).
 *
 * Errors. A call that can fail has two forms. try_name() throws nothing of its own and returns a
 * status, or a result: a status and, if that is ok, a value. name() returns the value and throws
 * otherwise: cuarena::bad_alloc, which is a std::bad_alloc, where bytes or a limit were short, else
 * cuarena::error, which is a std::runtime_error. Both are a cuarena::failure. Where a program is
 * compiled without exceptions, name() writes what it would throw to stderr and calls std::abort.
 *
 * Ownership. What owns something can be moved, not copied, and is empty when it was moved from. An
 * arena ends with the last of its object and its blocks, so these can end in any order; see ~arena.
 * Destructors do not throw: a free that fails (the log tells why) leaves the block alive.
 * try_free() tells.
 *
 * Streams. What was allocated on a stream is freed on it, unless set_stream names another; without
 * a stream it is free at once. As everywhere in the library, the caller has to release a stream
 * before it is destroyed, and after that nothing here may name it any more.
 *
 * Threads. As in C, any thread may use an arena at any time. One object of another type here is for
 * one thread at a time, as usual in C++.
 */
#ifndef CUARENA_HPP
#define CUARENA_HPP

#include "cuarena.h"
#include "cuarena/arena.hpp"
#include "cuarena/block.hpp"
#include "cuarena/config.hpp"
#include "cuarena/error.hpp"
#include "cuarena/moves.hpp"
#include "cuarena/resource.hpp"
#include "cuarena/typed.hpp"

#endif
