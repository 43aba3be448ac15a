//! The programs.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rayon::prelude::*;

use crate::count::Counted;
use crate::sources::Source;

/// A round ends with so many calls of each worker, or after this time.
const CALLS: u64 = 400_000;
const LONGEST: Duration = Duration::from_millis(500);
const ROUNDS: usize = 5;

/// Of a pass of rayon.
const CHUNKS: u64 = 1024;
/// Of tokio, at the same time; and steps of each request.
const TASKS: u64 = 64;
const STEPS: u64 = 8;

/// Of the round with the median throughput; and what was held in all.
pub struct Found {
    pub calls_per_second: f64,
    pub median_ns: f64,
    pub rare_ns: f64,
    pub held_bytes: u64,
}

/// From 256 B to 4 MiB, each power of two as often as another; by a number that
/// says which of a program's blocks it is.
fn size_of(number: u64) -> usize {
    let mut bits = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let share = (bits >> 11) as f64 / (1_u64 << 53) as f64;
    (256.0 * f64::powf(16384.0, share)) as usize
}

/// Several rounds of a program, each told when it is to end.
fn rounds<S: Source>(counted: &Counted<S>, mut round: impl FnMut(Instant)) -> Found {
    let mut all: Vec<Found> = (0..ROUNDS)
        .map(|_| {
            let before = counted.calls();
            let begin = Instant::now();
            round(begin + LONGEST);
            let seconds = begin.elapsed().as_secs_f64();
            let samples = counted.samples();
            Found {
                calls_per_second: (counted.calls() - before) as f64 / seconds,
                median_ns: samples[samples.len() / 2] as f64,
                rare_ns: samples[samples.len() - 1 - samples.len() / 1000] as f64,
                held_bytes: 0,
            }
        })
        .collect();
    all.sort_by(|a, b| a.calls_per_second.total_cmp(&b.calls_per_second));
    let mut median = all.swap_remove(ROUNDS / 2);
    median.held_bytes = counted.source.held_bytes();
    median
}

/* ---- rayon --------------------------------------------------------------- */

/// A task: an input, something in between, and a result that outlives it.
fn pass<S: Source>(counted: &Counted<S>, first: u64) {
    let left: Vec<_> = (0..CHUNKS)
        .into_par_iter()
        .map(|chunk| {
            let number = (first + chunk) * 3;
            let input = counted.take(size_of(number));
            let between = counted.take(size_of(number + 1));
            let result = counted.take(size_of(number + 2));
            counted.give(between);
            counted.give(input);
            result
        })
        .collect();
    left.into_par_iter().for_each(|result| counted.give(result));
}

pub fn rayon<S: Source>(source: S, workers: usize) -> Found {
    let counted = Arc::new(Counted::new(source, workers));
    let begin = counted.clone();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(workers)
        .start_handler(move |worker| begin.begin(worker))
        .build()
        .expect("workers");
    let passes = (CALLS * workers as u64).div_ceil(CHUNKS * 6);
    rounds(&counted, |end| {
        pool.install(|| {
            (0..passes)
                .take_while(|_| Instant::now() < end)
                .for_each(|i| pass(&counted, i * CHUNKS));
        });
    })
}

/* ---- tokio --------------------------------------------------------------- */

/// A request: a state that each step replaces by a new one, with something in
/// between, which lives while others run.
async fn request<S: Source>(counted: &Counted<S>, first: u64) {
    let mut state = counted.take(size_of(first));
    for step in 1..=STEPS {
        let between = counted.take(size_of(first + step));
        tokio::task::yield_now().await;
        let next = counted.take(size_of(first + STEPS + step));
        counted.give(std::mem::replace(&mut state, next));
        counted.give(between);
    }
    counted.give(state);
}

async fn requests<S: Source>(counted: Arc<Counted<S>>, task: u64, count: u64, end: Instant) {
    for i in (0..count).take_while(|_| Instant::now() < end) {
        request(&counted, (task * count + i) * (2 * STEPS + 1)).await;
    }
}

pub fn tokio<S: Source>(source: S, workers: usize) -> Found {
    let counted = Arc::new(Counted::new(source, workers));
    let begin = counted.clone();
    let started = AtomicUsize::new(0);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .on_thread_start(move || begin.begin(started.fetch_add(1, Relaxed)))
        .build()
        .expect("workers");
    let count = (CALLS * workers as u64).div_ceil(TASKS * (4 * STEPS + 2));
    rounds(&counted, |end| {
        let spawn = |task| runtime.spawn(requests(counted.clone(), task, count, end));
        let tasks: Vec<_> = (0..TASKS).map(spawn).collect();
        runtime.block_on(async {
            for task in tasks {
                task.await.expect("a task");
            }
        });
    })
}
