//! What a scene found.

use std::time::{Duration, Instant};

use candle_core::{Device, Result};
use serde_json::{json, Value};

use crate::driver;

/// Steps that do not count: kernels are loaded in them.
pub const WARM_UP: usize = 5;

pub struct Figures {
    times: Vec<Duration>,
    taken_before: u64,
    taken_most: u64,
    /// What a program is told that is free, before it takes one large cache; and that cache.
    pub told_and_cache: Option<(u64, u64)>,
    /// Whatever tells whether two runs computed the same.
    pub result: String,
}

impl Figures {
    /// Before the scene has taken anything.
    pub fn new() -> Result<Self> {
        let taken = driver::taken_bytes()?;
        Ok(Self {
            times: Vec::new(),
            taken_before: taken,
            taken_most: taken,
            told_and_cache: None,
            result: String::new(),
        })
    }

    /// A step, until the device is done with it.
    pub fn step<T>(&mut self, device: &Device, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let begin = Instant::now();
        let done = work()?;
        device.synchronize()?;
        self.times.push(begin.elapsed());
        self.taken_most = self.taken_most.max(driver::taken_bytes()?);
        Ok(done)
    }

    /// Microseconds that such a share of the steps did not exceed.
    fn percentile(&self, share: f64) -> f64 {
        let mut times: Vec<_> = self.times.iter().skip(WARM_UP).collect();
        times.sort();
        let at = (times.len() as f64 * share).ceil() as usize;
        times
            .get(at.max(1) - 1)
            .map_or(0.0, |time| time.as_secs_f64() * 1e6)
    }

    pub fn report(&self, scene: &str) -> Result<Value> {
        let (reserved, used) = driver::peaks()?;
        let mut report = json!({
            "scene": scene,
            "steps": self.times.len(),
            "p50_us": self.percentile(0.5),
            "p99_us": self.percentile(0.99),
            "used_bytes": used,
            "reserved_bytes": reserved,
            "between_bytes": self.taken_most - self.taken_before,
            "allocs": allocations(),
            "driver_calls": driver_calls(),
            "result": self.result,
        });
        if let Some((told, cache)) = self.told_and_cache {
            report["told_free_bytes"] = told.into();
            report["cache_bytes"] = cache.into();
        }
        Ok(report)
    }
}

/// Of the device, and of calls that were made without one.
fn counted(count: impl Fn(cuarena::layer::LayerStats) -> u64) -> u64 {
    [Some(0), None]
        .into_iter()
        .filter_map(|device| cuarena::layer::stats(device).ok())
        .map(count)
        .sum()
}

fn allocations() -> u64 {
    counted(|stats| stats.allocs + stats.driver_allocs)
}

/// Calls of the driver that allocate or free, and all that the arena's memory made.
fn driver_calls() -> u64 {
    counted(|stats| {
        let arena = stats.arena.map_or(0, |arena| arena.driver_calls);
        stats.driver_allocs + stats.driver_frees + arena
    })
}
