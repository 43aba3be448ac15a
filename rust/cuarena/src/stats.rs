//! Figures of an arena.

use crate::error::Result;
use crate::ffi;
use crate::figures::stats_by;
use crate::sized::figures;

figures! {
    /// What an arena, or a part of it, has and has done. Sizes are bytes.
    ///
    /// Counts of the whole arena are 0 in the statistics of a part.
    Stats of cuarena_stats_t {
        /// Taken from the memory; of the whole arena.
        reserved_bytes: usize,
        /// Of live and cached blocks and free ranges together.
        capacity_bytes: usize,
        /// Of live blocks, as allocated: rounded up.
        live_bytes: usize,
        /// Of live blocks, as asked for.
        requested_bytes: usize,
        /// Of all free lists.
        free_bytes: usize,
        /// The largest idle free range; where many are of about its size,
        /// two thirds of it at least.
        largest_bytes: usize,
        /// Blocks that live.
        live_blocks: u64,
        /// The most `reserved_bytes` since creation or `reset_peaks`.
        peak_reserved_bytes: usize,
        /// The most `live_bytes`.
        peak_live_bytes: usize,
        /// The most `requested_bytes`.
        peak_requested_bytes: usize,
        /// The most `live_blocks`.
        peak_live_blocks: u64,
        /// Blocks ever made.
        allocs: u64,
        /// Blocks ever freed.
        frees: u64,
        /// Requests refused; this and what follows of the whole arena.
        failed: u64,
        /// Times that more was taken from the memory.
        grows: u64,
        /// Times that something was given back.
        trims: u64,
        /// Compactions.
        compactions: u64,
        /// Blocks moved.
        moves: u64,
        /// Bytes moved.
        bytes_moved: usize,
        /// Times that the out-of-memory handler was asked.
        oom_handler_calls: u64,
        /// Segments.
        segments: u64,
        /// Dedicated and adopted blocks, part of `live_bytes`.
        dedicated_bytes: usize,
        /// Host memory of the arena's own records.
        bookkeeping_bytes: usize,
        /// Requests that got bytes of another stream.
        steals: u64,
        /// Waits of one stream for another that were queued.
        stream_waits: u64,
        /// Waits of a calling thread for a stream.
        host_waits: u64,
        /// Capture sessions.
        captures: u64,
        /// Bytes private to capture sessions, live or free.
        captured_bytes: usize,
        /// Calls of the memory's functions that reach the driver, where there
        /// is one.
        memory_calls: u64,
        /// Calls of the driver that were made for the arena.
        driver_calls: u64,
        /// Free ranges of all free lists, also of a part: two that touch are
        /// one if they are in the same free list.
        free_ranges: u64,
    }
}

/// The statistics of a C arena that lives: of a region, or of all.
pub(crate) fn read(raw: *mut ffi::cuarena_t, region: i32) -> Result<Stats> {
    // SAFETY: the caller vouches for the arena; the struct was made by its init.
    unsafe { stats_by(|stats| ffi::cuarena_stats(raw, region, stats)) }
}
