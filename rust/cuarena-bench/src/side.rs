//! A way of getting memory, and one thread's share of it.

use std::time::{Duration, Instant};

/// What a hand that gives slices does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// Allocates on its stream.
    Alloc,
    /// ... and sets the bytes to 0 there.
    Zeros,
    /// ... and then on another stream, which events put in order with both the
    /// former and the free.
    Foreign,
}

/// A way of getting memory.
pub trait Side: Sync {
    /// One thread's share.
    type Hand: Hand;

    /// What tables call it.
    fn name(&self) -> &str;
    /// For the calling thread.
    fn hand(&self) -> Self::Hand;
}

/// One thread's share of a side.
pub trait Hand {
    /// Bytes; dropping it gives them back.
    type Held;

    /// At least one byte.
    fn take(&self, bytes: usize) -> Self::Held;
    /// Waits for what was queued.
    fn wait(&self) {}
}

/// So many rounds of take and give. What was taken is looked at where it is: a
/// move of it would be measured too.
#[inline]
fn pairs<H: Hand>(hand: &H, rounds: u64, bytes: usize) {
    for _ in 0..rounds {
        let held = hand.take(bytes);
        std::hint::black_box(&held);
    }
}

/// The time that so many rounds take, and what they queued.
pub fn time_pairs<H: Hand>(hand: &H, rounds: u64, bytes: usize) -> Duration {
    let begin = Instant::now();
    pairs(hand, rounds, bytes);
    hand.wait();
    begin.elapsed()
}

/// The time of the calls alone: what they queued is waited for behind that.
pub fn time_calls<H: Hand>(hand: &H, rounds: u64, bytes: usize) -> Duration {
    let begin = Instant::now();
    pairs(hand, rounds, bytes);
    let taken = begin.elapsed();
    hand.wait();
    taken
}

/// The same on several threads at once, until the last of them is done.
pub fn time_threads<S: Side>(side: &S, threads: usize, rounds: u64, bytes: usize) -> Duration {
    let begin = std::sync::Barrier::new(threads + 1);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let hand = side.hand();
                drop(hand.take(bytes)); // what the first call makes is made
                hand.wait();
                begin.wait();
                time_pairs(&hand, rounds, bytes);
                begin.wait();
            });
        }
        begin.wait();
        let started = Instant::now();
        begin.wait();
        started.elapsed()
    })
}
