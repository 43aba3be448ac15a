//! Runs a scene in every order of its steps, whole or with one fault.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Instant;

use loom::cell::UnsafeCell;
use loom::sync::atomic::AtomicBool;

use crate::sites::Site;

/// A step of the protocol that a test leaves out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    LockSaysWaited,
    LockHoldsAsWaited,
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

/// A lock where the lock itself is not what is explored; `lock.rs` explores that. Loom's own mutex
/// would order what it guards with what all others guard, and hardly ever refuse an attempt.
pub struct Lock(AtomicBool);

/// Lets go of the lock when it ends.
pub struct Held<'a>(&'a Lock);

impl Lock {
    pub fn new() -> Self {
        Lock(AtomicBool::new(false))
    }

    pub fn attempt(&self) -> Option<Held<'_>> {
        let site = Site::LockTake;
        self.0
            .compare_exchange(false, true, site.order(), site.failure())
            .is_ok()
            .then(|| Held(self))
    }

    /// Waits by loads: if threads wrote in turn while they wait, loom would go on with these turns.
    pub fn enter(&self) -> Held<'_> {
        loop {
            if let Some(held) = self.attempt() {
                return held;
            }
            while self.0.load(Ordering::Relaxed) {
                loom::thread::yield_now();
            }
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.0 .0.store(false, Site::LockLetGo.order());
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
