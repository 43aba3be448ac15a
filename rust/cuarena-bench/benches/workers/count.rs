//! What workers did, and how long it took.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Mutex;
use std::time::Instant;

use crate::sources::Source;

/// Of so many blocks one is timed, as in the C benchmark of threads.
const SAMPLED: u64 = 16;

thread_local! {
    static WORKER: Cell<usize> = const { Cell::new(0) };
}

/// Only its worker writes to it.
#[derive(Default)]
#[repr(align(128))]
struct Tally {
    calls: AtomicU64,
    blocks: AtomicU64,
    samples: Mutex<Vec<u64>>,
}

/// Adds one; returns what it was.
fn next(counter: &AtomicU64) -> u64 {
    let count = counter.load(Relaxed);
    counter.store(count + 1, Relaxed);
    count
}

fn nanoseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// A source, and what each worker did with it.
pub struct Counted<S: Source> {
    pub source: S,
    tallies: Vec<Tally>,
}

/// A block that a worker took; `give` ends it.
pub struct Taken<H> {
    held: H,
    sampled_ns: Option<u64>,
}

impl<S: Source> Counted<S> {
    pub fn new(source: S, workers: usize) -> Self {
        let tallies = (0..workers).map(|_| Tally::default()).collect();
        Self { source, tallies }
    }

    /// This thread is the worker of that number from now on.
    pub fn begin(&self, worker: usize) {
        WORKER.set(worker);
        self.source.begin();
    }

    pub fn take(&self, bytes: usize) -> Taken<S::Held> {
        let worker = WORKER.get();
        let tally = &self.tallies[worker];
        next(&tally.calls);
        if !next(&tally.blocks).is_multiple_of(SAMPLED) {
            let held = self.source.take(worker, bytes);
            return Taken {
                held,
                sampled_ns: None,
            };
        }
        let begin = Instant::now();
        let held = self.source.take(worker, bytes);
        let sampled_ns = Some(nanoseconds(begin));
        Taken { held, sampled_ns }
    }

    pub fn give(&self, taken: Taken<S::Held>) {
        let tally = &self.tallies[WORKER.get()];
        next(&tally.calls);
        let Some(alloc_ns) = taken.sampled_ns else {
            return drop(taken.held);
        };
        let begin = Instant::now();
        drop(taken.held);
        let pair_ns = alloc_ns + nanoseconds(begin);
        let mut samples = tally.samples.lock().expect("samples");
        samples.push(pair_ns);
    }

    /// Calls so far.
    pub fn calls(&self) -> u64 {
        self.tallies.iter().map(|t| t.calls.load(Relaxed)).sum()
    }

    /// The samples of all workers since the last call, sorted.
    pub fn samples(&self) -> Vec<u64> {
        let mut all = Vec::new();
        for tally in &self.tallies {
            all.append(&mut tally.samples.lock().expect("samples"));
        }
        all.sort_unstable();
        all
    }
}
