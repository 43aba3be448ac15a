//! cudarc on arena memory: what waits for what, and what it costs in calls.
//!
//! On the stand-in driver every two accesses that nothing orders are reported,
//! however they happened to run, and calls are counted. On a real device the
//! same programs run, and contents are checked. Without a driver all of it is
//! skipped, unless `CUARENA_REQUIRE_GPU` is 1.

#![cfg(feature = "cudarc")]

mod blocks;
mod calls;
mod driver;
mod foreign;
mod kernel;
mod launches;
mod life;
mod refusals;
mod views;
