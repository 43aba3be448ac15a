//! The lock and the condition of `src/base/lock.c` and `lock.h`, where they sleep by futex.

use std::sync::Arc;

use loom::sync::atomic::Ordering::{Relaxed, SeqCst};
use loom::sync::atomic::{fence, AtomicBool, AtomicU32};
use loom::thread;

use crate::explore::{self, scene, takes, Plain, Step, Waiters};
use crate::sites::Site;

const FREE: u32 = 0;
const WAITED: u32 = 1;
const STEP: u32 = 2;
/// 100 in the library.
const SPINS: u32 = 1;

/// What `cuai_lock_self` of a thread is.
fn number(thread: usize) -> u32 {
    (thread as u32 + 2) * STEP
}

/// A word that threads sleep for. The kernel looks at it and puts a thread to sleep in one step,
/// which no wake divides. A thread that nobody wakes fails a scene by a deadlock.
struct Futex {
    word: AtomicU32,
    kernel: explore::Lock,
    sleepers: Waiters,
}

impl Futex {
    fn new() -> Self {
        Futex {
            word: AtomicU32::new(FREE),
            kernel: explore::Lock::new(),
            sleepers: Waiters::new(),
        }
    }

    /// `futex_wait`
    fn wait(&self, expected: u32) {
        let kernel = self.kernel.enter();
        if self.word.load(Relaxed) != expected {
            return;
        }
        drop(kernel);
        self.sleepers.wait();
    }

    /// `futex_wake`
    fn wake(&self, most: usize) {
        let _kernel = self.kernel.enter();
        self.sleepers.wake(most);
    }
}

/// `cuai_lock_t`
struct Lock {
    futex: Futex,
    /// Its bucket of `cuai_lock_slept`, which stays when the lock ends.
    slept: AtomicBool,
    /// Whether its memory is there.
    there: Plain<bool>,
}

impl Lock {
    fn new() -> Self {
        Lock {
            futex: Futex::new(),
            slept: AtomicBool::new(false),
            there: Plain::new(true),
        }
    }

    fn word(&self) -> &AtomicU32 {
        assert!(self.there.get(), "the lock has ended");
        &self.futex.word
    }

    /// `cuai_lock_take`, beside other threads
    fn take(&self, held: u32) -> bool {
        let site = Site::LockTake;
        self.word()
            .compare_exchange(FREE, held, site.order(), site.failure())
            .is_ok()
    }

    /// `cuai_lock_try_seen_free`
    fn try_seen_free(&self, own: u32) -> bool {
        self.word().load(Site::LockSeenFree.order()) == FREE && self.take(own)
    }

    /// `wait_for_word`
    fn wait_for_word(&self, word: u32) {
        let waited = word | WAITED;
        let site = Site::LockWait;
        if takes(Step::LockSaysSlept) {
            let order = Site::LockSlept.order();
            self.slept.store(true, order);
            if order == SeqCst {
                fence(SeqCst); // loom has it for fences only
            }
        }
        if word == waited
            || !takes(Step::LockSaysWaited)
            || self
                .word()
                .compare_exchange(word, waited, site.order(), site.failure())
                .is_ok()
        {
            let says = if takes(Step::LockSaysWaited) {
                waited
            } else {
                word
            };
            self.futex.wait(says);
        }
    }

    /// `cuai_lock_contended`
    fn contended(&self, own: u32) -> bool {
        let mut held = own;
        let mut spins = SPINS;
        loop {
            let word = self.word().load(Site::LockContended.order());
            if word == FREE {
                if self.take(held) {
                    return true;
                }
            } else if word & !WAITED == own {
                return false;
            } else if spins > 0 && word & WAITED == 0 {
                spins -= 1;
                thread::yield_now();
            } else {
                if takes(Step::LockHoldsAsWaited) {
                    held |= WAITED;
                }
                self.wait_for_word(word);
            }
        }
    }

    /// `cuai_lock_enter`
    fn enter(&self, own: u32) -> bool {
        self.take(own) || self.contended(own)
    }

    /// `cuai_lock_is_held`
    fn is_held(&self, own: u32) -> bool {
        self.word().load(Site::LockIsHeld.order()) & !WAITED == own
    }

    /// `cuai_lock_may_be_waited`
    fn may_be_waited(&self) -> bool {
        self.slept.load(Site::LockMayBeWaited.order())
    }

    /// `cuai_lock_let_go`. C has no fence between the store and the look: where
    /// the processor swaps these, the sleep ends by its time. The store is an exchange here, since
    /// loom puts no store between the exchanges of others.
    fn unlock(&self) {
        let waited = if !self.may_be_waited() {
            self.word().swap(FREE, Site::LockStoresFree.order());
            fence(SeqCst);
            takes(Step::LockLooksAgain) && self.may_be_waited()
        } else {
            self.word().swap(FREE, Site::LockLetGo.order()) & WAITED != 0
        };
        if !takes(Step::LockLeavesWhatItLetGo) {
            self.word();
        }
        if waited && takes(Step::LockWakes) {
            self.futex.wake(1);
        }
    }
}

/// `cuai_cond_t`
struct Cond {
    futex: Futex,
    sleepers: Plain<u32>,
}

impl Cond {
    fn new() -> Self {
        Cond {
            futex: Futex::new(),
            sleepers: Plain::new(0),
        }
    }

    /// `cuai_cond_wait`
    fn wait(&self, lock: &Lock, own: u32) {
        let sequence = || self.futex.word.load(Site::CondSequence.order());
        let mut seen = sequence();
        self.sleepers.add(1);
        lock.unlock();
        if !takes(Step::CondReadsSequenceFirst) {
            seen = sequence();
        }
        self.futex.wait(seen);
        assert!(lock.enter(own));
        self.sleepers.set(self.sleepers.get() - 1);
    }

    /// `cuai_cond_wake`
    fn wake(&self) {
        self.futex.word.fetch_add(1, Site::CondWakes.order());
        if self.sleepers.get() != 0 {
            self.futex.wake(usize::MAX);
        }
    }
}

/// Threads that meet at a lock, which guards a number.
struct Meeting {
    lock: Lock,
    cond: Cond,
    number: Plain<u32>,
}

impl Meeting {
    fn new() -> Arc<Self> {
        Arc::new(Meeting {
            lock: Lock::new(),
            cond: Cond::new(),
            number: Plain::new(0),
        })
    }

    /// Takes the lock as a thread does that waits to be served, then lets go of it.
    fn count(&self, thread: usize) {
        let own = number(thread);
        assert!(self.lock.try_seen_free(own) || self.lock.enter(own));
        self.number.add(1);
        self.lock.unlock();
    }
}

fn meet(threads: usize, times: usize) {
    let meeting = Meeting::new();
    let others: Vec<_> = (1..threads)
        .map(|thread| {
            let meeting = meeting.clone();
            thread::spawn(move || (0..times).for_each(|_| meeting.count(thread)))
        })
        .collect();
    (0..times).for_each(|_| meeting.count(0));
    others.into_iter().for_each(|other| other.join().unwrap());
    assert_eq!(meeting.number.get() as usize, threads * times);
}

/// One thread at a time is inside, sees what the one before it did, and nobody sleeps for ever.
fn two_threads_meet() {
    meet(2, 2);
}

scene!(two_threads_meet, short: Some(5), long: None,
    takes_without_acquire: Weak(LockTake) => "Causality violation",
    lets_go_without_release: Weak(LockLetGo) => "Causality violation",
    stores_without_release: Weak(LockStoresFree) => "Causality violation",
    sleeps_unannounced: Without(LockSaysSlept) => "deadlock",
    sleeps_unordered: Weak(LockSlept) => "deadlock",
    looks_once: Without(LockLooksAgain) => "deadlock",
    sleeps_unsaid: Without(LockSaysWaited) => "deadlock",
    lets_sleep: Without(LockWakes) => "deadlock",
);

/// Of two that sleep, the one that is woken wakes the other.
fn three_threads_meet() {
    meet(3, 1);
}

scene!(three_threads_meet, short: Some(2), long: Some(4),
    holds_as_nobody_slept: Without(LockHoldsAsWaited) => "deadlock",
);

/// A thread finds the lock its own exactly while it holds it, whatever others do, and is refused
/// rather than wait for itself.
fn a_lock_knows_its_thread() {
    let meeting = Meeting::new();
    let other = {
        let meeting = meeting.clone();
        thread::spawn(move || meeting.count(1))
    };
    let own = number(0);
    assert!(!meeting.lock.is_held(own));
    assert!(meeting.lock.enter(own));
    assert!(meeting.lock.is_held(own) && !meeting.lock.enter(own));
    meeting.lock.unlock();
    assert!(!meeting.lock.is_held(own));
    other.join().unwrap();
}

scene!(a_lock_knows_its_thread, short: Some(4), long: None,);

/// Whoever takes the lock next may end it, while the one before is still in its unlock.
fn the_next_one_ends_the_lock() {
    let meeting = Meeting::new();
    let other = {
        let meeting = meeting.clone();
        thread::spawn(move || meeting.count(1))
    };
    assert!(meeting.lock.enter(number(0)));
    if meeting.number.get() == 0 {
        meeting.lock.unlock();
    } else {
        meeting.lock.there.set(false);
    }
    other.join().unwrap();
}

scene!(the_next_one_ends_the_lock, short: None, long: None,
    looks_at_what_it_let_go: Without(LockLeavesWhatItLetGo) => "Causality violation",
);

/// A wake between the look and the sleep ends the sleep.
fn a_condition_wakes() {
    let meeting = Meeting::new();
    let waker = {
        let meeting = meeting.clone();
        thread::spawn(move || {
            assert!(meeting.lock.enter(number(1)));
            meeting.number.set(1);
            meeting.cond.wake();
            meeting.lock.unlock();
        })
    };
    assert!(meeting.lock.enter(number(0)));
    while meeting.number.get() == 0 {
        meeting.cond.wait(&meeting.lock, number(0));
    }
    meeting.lock.unlock();
    waker.join().unwrap();
    assert_eq!(meeting.cond.sleepers.get(), 0);
}

scene!(a_condition_wakes, short: Some(4), long: None,
    reads_the_sequence_late: Without(CondReadsSequenceFirst) => "deadlock",
);
