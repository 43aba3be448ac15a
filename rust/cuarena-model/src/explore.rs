//! Runs a scene in every order of its steps, whole or with one fault.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use loom::cell::UnsafeCell;
use loom::sync::atomic::AtomicBool;
use loom::thread::{self, Thread};

use crate::sites::Site;

/// A step of the protocol that a test leaves out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    LockSaysSlept,
    LockSaysWaited,
    LockHoldsAsWaited,
    LockLooksAgain,
    LockWakes,
    LockLeavesWhatItLetGo,
    CondReadsSequenceFirst,
    ClaimExchanges,
    ClaimLooksAtOffset,
    ClaimLooksAtGeneration,
    ClaimLooksAtPins,
    ClaimPutsBack,
    IdLoadsAtomically,
    CallLocksItsCache,
    CallLooksWhetherItRuns,
    StopLocksTheCache,
    SlowPathStops,
    FastPathLooksAtSlow,
    EnterStopsAgain,
    ServeLooksAgain,
    ServeLocksTheCache,
    AwaitSleeps,
    EndFlushes,
    EndTakesOutOfTheList,
    EndLocksTheArena,
    EndLocksTheList,
    StreamEndFlushes,
    StartFindsTheStream,
}

/// What is wrong with the protocol that a test explores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// The orders of a site are relaxed.
    Weak(Site),
    Without(Step),
}

thread_local! {
    // Threads of a scene run on the thread of its test.
    static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
}

pub fn is_weak(site: Site) -> bool {
    FAULT.get() == Some(Fault::Weak(site))
}

/// Whether the protocol that is explored takes a step.
pub fn takes(step: Step) -> bool {
    FAULT.get() != Some(Fault::Without(step))
}

/// How often a thread may lose the processor where it could go on; `None`: any number of times.
pub type Bound = Option<usize>;

fn is_long() -> bool {
    std::env::var("CUARENA_TEST_SCALE").is_ok_and(|scale| scale == "long")
}

fn run(bound: Bound, scene: impl Fn() + Send + Sync + 'static) -> usize {
    let orders = Arc::new(AtomicUsize::new(0));
    let counted = orders.clone();
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = bound;
    // No scene takes nearly so many steps: what does has no end.
    builder.max_branches = 1_000;
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        scene();
    });
    orders.load(Ordering::Relaxed)
}

/// Explores a scene as the library has it, and says in how many orders.
pub fn explore(name: &str, short: Bound, long: Bound, scene: fn()) {
    let bound = if is_long() { long } else { short };
    let began = Instant::now();
    let orders = run(bound, scene);
    let bound = bound.map_or("any".to_string(), |most| format!("at most {most}"));
    let took = began.elapsed().as_millis();
    println!("{name}: {orders} executions, preemptions: {bound}, {took} ms");
}

/// Explores a scene with a fault, which makes it panic.
pub fn explore_with(fault: Fault, bound: Bound, scene: fn()) {
    FAULT.set(Some(fault));
    run(bound, scene);
}

/// What the C code reads and writes without atomics: a race of two threads for it panics.
pub struct Plain<T>(UnsafeCell<T>);

// SAFETY: loom runs one thread at a time, and panics where two could meet.
unsafe impl<T: Send> Sync for Plain<T> {}

impl<T: Copy> Plain<T> {
    pub fn new(value: T) -> Self {
        Plain(UnsafeCell::new(value))
    }

    pub fn get(&self) -> T {
        // SAFETY: as above.
        self.0.with(|value| unsafe { *value })
    }

    pub fn set(&self, value: T) {
        // SAFETY: as above.
        self.0.with_mut(|place| unsafe { *place = value });
    }

    pub fn add(&self, more: T)
    where
        T: std::ops::Add<Output = T>,
    {
        self.set(self.get() + more);
    }
}

/// Threads that are blocked until another one wakes them. Were they to look again and again instead,
/// two of them could take turns without end while a third, which would end their wait, never has the
/// processor. That takes no preemption, so no bound of these would end it, and loom explores it.
pub struct Waiters(Mutex<Vec<Thread>>);

impl Waiters {
    pub fn new() -> Self {
        Waiters(Mutex::new(Vec::new()))
    }

    /// Blocks the thread. Loom lets no other thread run between the step before and this.
    pub fn wait(&self) {
        self.0.lock().unwrap().push(thread::current());
        thread::park();
    }

    /// Wakes those that have waited longest, in one step with the one before.
    pub fn wake(&self, most: usize) {
        let mut all = self.0.lock().unwrap();
        let most = most.min(all.len());
        all.drain(..most).for_each(|thread| thread.unpark());
    }
}

/// A lock where the lock itself is not what is explored; `lock.rs` explores that. Loom's own mutex
/// would order what it guards with what all others guard, and hardly ever refuse an attempt.
pub struct Lock {
    is_held: AtomicBool,
    waiters: Waiters,
}

/// Lets go of the lock when it ends.
pub struct Held<'a>(&'a Lock);

impl Lock {
    pub fn new() -> Self {
        Lock {
            is_held: AtomicBool::new(false),
            waiters: Waiters::new(),
        }
    }

    pub fn attempt(&self) -> Option<Held<'_>> {
        let site = Site::LockTake;
        self.is_held
            .compare_exchange(false, true, site.order(), site.failure())
            .is_ok()
            .then(|| Held(self))
    }

    pub fn enter(&self) -> Held<'_> {
        loop {
            if let Some(held) = self.attempt() {
                return held;
            }
            self.waiters.wait();
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.0.is_held.store(false, Site::LockLetGo.order());
            self.0.waiters.wake(usize::MAX);
        }
    }
}

/// Tests of a scene: one of the protocol as it is, and one for each fault, which says how it shows.
macro_rules! scene {
    ($scene:ident, short: $short:expr, long: $long:expr,
     $($fault:ident: $kind:ident($what:expr) => $shows:expr,)*) => {
        mod $scene {
            #[allow(unused_imports)]
            use crate::explore::Fault::*;
            #[allow(unused_imports)]
            use crate::explore::Step::*;
            #[allow(unused_imports)]
            use crate::sites::Site::*;

            #[test]
            fn holds() {
                crate::explore::explore(module_path!(), $short, $long, super::$scene);
            }
            $(
                #[test]
                #[should_panic(expected = $shows)]
                fn $fault() {
                    crate::explore::explore_with($kind($what), $short, super::$scene);
                }
            )*
        }
    };
}
pub(crate) use scene;
