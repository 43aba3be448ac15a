//! Every place where the protocol's C code uses an atomic, with its memory order, which is the one
//! that the model uses.

use loom::sync::atomic::Ordering::{self, Acquire, Relaxed, Release, SeqCst};

use crate::explore::is_weak;

/// A use of an atomic: the file below `src/`, the function, what it does, and in which orders.
pub type Use = (
    &'static str,
    &'static str,
    &'static str,
    &'static [Ordering],
);

macro_rules! sites {
    ($($site:ident: $file:literal $function:literal $what:literal $orders:expr;)*) => {
        /// A use that the model has too.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Site {
            $($site,)*
        }

        /// By `Site`.
        pub const USES: &[Use] = &[$(($file, $function, $what, &$orders),)*];
    };
}

sites! {
    LockTake: "base/lock.h" "cuai_lock_take" "compare_exchange" [Acquire, Relaxed];
    LockIsHeld: "base/lock.h" "cuai_lock_is_held" "load" [Relaxed];
    LockSeenFree: "base/lock.h" "cuai_lock_try_seen_free" "load" [Relaxed];
    LockLetGo: "base/lock.h" "cuai_lock_let_go" "exchange" [Release];
    LockStoresFree: "base/lock.h" "cuai_lock_let_go" "store" [Release];
    LockMayBeWaited: "base/lock.h" "cuai_lock_may_be_waited" "load" [Relaxed];
    LockSlept: "base/lock.c" "wait_for_word" "store" [SeqCst];
    LockWait: "base/lock.c" "wait_for_word" "compare_exchange" [Relaxed, Relaxed];
    LockContended: "base/lock.c" "cuai_lock_contended" "load" [Relaxed];
    CondSequence: "base/lock.c" "cuai_cond_wait" "load" [Relaxed];
    CondWakes: "base/lock.c" "cuai_cond_wake" "fetch_add" [Relaxed];

    SetAttributes: "heap/record.h" "cuai_set_attributes" "store" [Relaxed];
    SetKind: "heap/record.h" "cuai_set_kind" "store" [Relaxed];
    IdGeneration: "heap/heap.h" "cuai_id" "load" [Relaxed];
    SlotFreeGeneration: "heap/slots.h" "cuai_slot_free" "store" [Relaxed];
    CutOffset: "heap/fast_path.h" "cuai_heap_fast_cut" "store" [Relaxed];
    RemoveLink: "heap/fast_path.h" "cuai_heap_fast_free_to" "store" [Relaxed];
    GlimpseHead: "heap/table.h" "cuai_table_glimpse" "load" [Relaxed];
    GlimpseOffset: "heap/table.h" "cuai_table_glimpse" "load" [Relaxed];
    GlimpseChain: "heap/table.h" "cuai_table_glimpse" "load" [Relaxed];
    InsertChain: "heap/table.h" "cuai_table_insert_at" "store" [Relaxed];
    InsertHead: "heap/table.h" "cuai_table_insert_at" "store" [Relaxed];

    IsTcached: "arena/arena.h" "cuai_arena_is_tcached" "load" [Relaxed];
    TcachesBegin: "arena/thread_cache.c" "cuai_tcaches_begin" "store" [Relaxed];
    TcachesEnd: "arena/thread_cache.c" "cuai_tcaches_end" "store" [Relaxed];
    EndThreadArena: "arena/thread_cache.c" "end_thread" "load" [Relaxed];
    IsFor: "arena/thread_cache.c" "is_for" "load" [Relaxed];
    GetUnused: "arena/thread_cache.c" "is_unused" "load" [Acquire];
    JoinArena: "arena/thread_cache.c" "join_arena" "store" [Relaxed];
    TcachesLeave: "arena/thread_cache.c" "cuai_tcaches_leave" "store" [Release];

    HandOut: "api/fast_threads.c" "hand_out" "store" [Release];
    Claim: "api/fast_threads.c" "claim" "compare_exchange" [Acquire, Relaxed];
    ClaimBack: "api/fast_threads.c" "claim" "store" [Release];
    EndNames: "api/fast_threads.c" "end_names" "store" [Relaxed];
    FreeBack: "api/fast_threads.c" "free_kept" "store" [Release];
    IsWanting: "api/fast_threads.c" "is_wanting" "load" [Acquire];
    ServeOne: "api/fast_threads.c" "run_pending_of" "store" [Release];
    AwaitDone: "api/fast_threads.c" "await" "load" [Relaxed];
    AwaitReset: "api/fast_threads.c" "await" "store" [Relaxed];
    EnterState: "api/fast_threads.c" "enter" "load" [Relaxed];
    AllocWants: "api/fast_threads.c" "cuai_tcache_alloc" "store" [Relaxed];
    FreeWants: "api/fast_threads.c" "cuai_tcache_free" "store" [Relaxed];
}

impl Site {
    fn at(self, index: usize) -> Ordering {
        if is_weak(self) {
            Relaxed
        } else {
            USES[self as usize].3[index]
        }
    }

    pub fn order(self) -> Ordering {
        self.at(0)
    }

    /// The order of a compare-exchange that fails.
    pub fn failure(self) -> Ordering {
        self.at(1)
    }
}

/// Uses that the model does without, by why.
pub const OUTSIDE: &[(&str, &[Use])] = &[
    (
        "the process has one thread",
        &[
            ("base/lock.h", "cuai_lock_take", "load", &[Relaxed]),
            ("base/lock.h", "cuai_lock_take", "store", &[Relaxed]),
            ("base/lock.h", "cuai_unlock_as", "store", &[Release]),
        ],
    ),
    (
        "for signal handlers of the same thread",
        &[
            ("base/lock.h", "cuai_lock_take", "fence", &[SeqCst]),
            ("base/lock.h", "cuai_lock_let_go", "fence", &[SeqCst]),
            ("arena/arena.h", "cuai_thread_enter", "fence", &[SeqCst]),
            ("arena/arena.h", "cuai_thread_enter", "fence", &[SeqCst]),
            ("api/fast_threads.c", "await", "fence", &[SeqCst]),
        ],
    ),
    (
        "a number that nothing else depends on",
        &[("base/lock.c", "number_thread", "fetch_add", &[Relaxed])],
    ),
    (
        "nobody else has the lock yet, or any more",
        &[
            ("base/lock.c", "cuai_lock_init", "init", &[]),
            ("base/lock.c", "cuai_lock_cleanup", "load", &[Relaxed]),
            ("base/lock.c", "cuai_cond_init", "init", &[]),
        ],
    ),
    (
        "what the uses below are made of",
        &[
            ("heap/record.h", "CUAI_LOAD", "load", &[Relaxed]),
            ("heap/record.h", "CUAI_STORE", "store", &[Relaxed]),
        ],
    ),
    (
        "a look at neighbours with the arena's lock, whose kind is of no block before or after",
        &[("heap/record.h", "cuai_kind_byte", "load", &[Relaxed])],
    ),
    (
        "of a block that the thread has, or that is KEPT: no claim of it succeeds",
        &[("arena/counts.c", "counters_of", "load", &[Relaxed])],
    ),
    (
        "other ways to do what RemoveLink, SetKind, CutOffset and SlotFreeGeneration do",
        &[
            ("heap/table.h", "cuai_table_remove", "store", &[Relaxed]),
            ("heap/slots.h", "cuai_record_put", "store", &[Relaxed]),
            ("heap/blocks.c", "become_separator", "store", &[Relaxed]),
            ("heap/blocks.c", "become_separator", "store", &[Relaxed]),
            ("heap/ranges.c", "to_block_after", "store", &[Relaxed]),
        ],
    ),
];
