//! The protocol between threads, explored under [loom](https://docs.rs/loom): every order of the
//! steps of a few threads, or every one with few preemptions where these are too many, and every
//! value that the C11 memory model lets each of them read.
//!
//! The model is the C code, function by function; each names the one that it is. `lock.rs` is
//! `src/base/lock.c` with its futex, `heap.rs` what of the heap a thread reads beside changes,
//! `cache.rs` the caches of threads, `calls.rs` the calls of a program around them, and
//! `scenes.rs` has the scenes that are explored. `sites.rs` lists every use of an atomic with its
//! memory order, which is the one that the model uses; `drift.rs` fails where C has another one, or
//! takes locks elsewhere. What C reads and writes without atomics is `Plain` here, and a race for
//! it fails a scene. What depends on a long wait or a full bin comes soon here: a thread spins once,
//! a bin has one block, two threads that meet once get caches.
//!
//! Each scene is explored again with faults, one at a time: each memory order that is stronger than
//! relaxed made relaxed, and each look and each lock that the protocol depends on left out. The
//! scene fails then, so none of them is there for nothing, and no scene is vacuous.
//!
//! | part | scenes | what holds |
//! |---|---|---|
//! | claim of a block | `one_of_two_frees_succeeds`, `a_full_bin_puts_back` | one of two frees succeeds, the other finds no live block |
//! | stale ids | `a_late_free_leaves_the_next_block`, `two_late_frees_leave_the_next_block` | the slot's next block stays as it is, and its own free succeeds |
//! | pins | `a_pin_keeps_a_block` | a block is pinned or freed |
//! | look-up by address | `a_look_up_beside_changes` | a live block is found, with the lock if not without; a freed one is not |
//! | wants | `two_threads_want`, `three_threads_want`, `a_want_beside_a_slow_path` | each is served or refused once, and nobody waits for ever |
//! | stopping | `a_slow_path_beside_hits`, `caches_end_beside_a_call` | nothing changes while a slow path has the arena; counts are exact |
//! | beginning | `threads_get_caches`, `caches_begin_beside_a_fast_path`, `caches_begin_beside_a_slow_path` | who does not know of caches yet leaves the heap alone, or stops them |
//! | ends | `a_thread_ends`, `a_thread_ends_beside_its_arena`, `an_arena_ends` | no block is lost, no cache is used that has ended, and one whose arena ended is used again |
//! | streams | `a_stream_ends` | a cache has no blocks of a stream that has ended |
//! | lock | `two_threads_meet`, `three_threads_meet`, `a_lock_knows_its_thread`, `the_next_one_ends_the_lock` | one thread at a time; nobody sleeps for ever; the lock may end once the next one has it |
//! | condition | `a_condition_wakes` | no wake is lost |
//!
//! The scenes have two threads; those with `three` in their names, and
//! `two_late_frees_leave_the_next_block`, have three. Loom explored so many executions of them, with
//! so many preemptions; the stage prints what they are now. With `--long`, which takes two minutes on
//! two processors, only those with `three` in their names have a bound; with one preemption more each
//! would take about ten times as long:
//!
//! | scene | executions | preemptions | with `--long` |
//! |---|---|---|---|
//! | `one_of_two_frees_succeeds` | 12 | any | any |
//! | `a_full_bin_puts_back` | 148 | any | any |
//! | `a_late_free_leaves_the_next_block` | 1900 | any | any |
//! | `two_late_frees_leave_the_next_block` | 367 | any | any |
//! | `a_pin_keeps_a_block` | 19 | any | any |
//! | `a_look_up_beside_changes` | 7143 | any | any |
//! | `two_threads_want` | 3462 | any | any |
//! | `three_threads_want` | 4560 | at most 2 | at most 4 |
//! | `a_want_beside_a_slow_path` | 93 | any | any |
//! | `a_slow_path_beside_hits` | 91 | any | any |
//! | `caches_end_beside_a_call` | 91 | any | any |
//! | `threads_get_caches` | 17 | any | any |
//! | `caches_begin_beside_a_fast_path` | 806 | at most 3 | any |
//! | `caches_begin_beside_a_slow_path` | 7082 | any | any |
//! | `a_thread_ends` | 23 | any | any |
//! | `a_thread_ends_beside_its_arena` | 9 | any | any |
//! | `an_arena_ends` | 65 | any | any |
//! | `a_stream_ends` | 65 | any | any |
//! | `two_threads_meet` | 6563 | at most 5 | any |
//! | `three_threads_meet` | 10032 | at most 2 | at most 4 |
//! | `a_lock_knows_its_thread` | 533 | at most 4 | any |
//! | `the_next_one_ends_the_lock` | 40 | any | any |
//! | `a_condition_wakes` | 644 | at most 4 | any |
//!
//! What the model leaves out:
//!
//! - Signal handlers and forks: loom has neither. `tests/api/check_reentry.c` and the tests of forks
//!   have them.
//! - Words of several sizes at one place. `upper`, the byte of its kind and the attributes are one
//!   word here, since loom, like C11, knows no mixed accesses. The compilers' atomics of these sizes
//!   are single accesses of the processor, aligned.
//! - What only guards of locks decide: the depot, the sizes of bins, and how much a cache may keep.
//! - Reads of what will be written only later, which loom does not explore; no processor's effect of
//!   these is known to reach what is asked of this protocol, since each write to a record depends on
//!   a lock or on a compare-exchange before it.
//! - The lock in a process of one thread, and the pthread mutex that replaces it where there is no
//!   futex.
//! - More threads, more calls, longer chains, and longer waits than the scenes have.
//!
//! Of loom itself: it remembers the last seven writes of a word; a compare-exchange that fails sees
//! the newest value, which C11 does not promise; and it explores unfair orders, in which threads that
//! look again and again take turns without end. So whoever waits without end in C is blocked here
//! until it is woken, and a wait that nothing ends fails as a deadlock: the kernel's part of a futex
//! is a list of sleepers under a lock, and a lock that is not itself explored has a list of those
//! that wait. In loom what the waker did is seen by the woken one at once, which C promises of no
//! futex; each that is woken takes the lock before it relies on what others did.
#![cfg(test)]

mod cache;
mod calls;
mod drift;
mod explore;
mod heap;
mod lock;
mod scenes;
mod sites;
