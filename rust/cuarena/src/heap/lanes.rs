//! Lanes of a heap: ranges whose bytes are not everybody's yet.

use super::{Heap, HeapRef};
use crate::error::check;
use crate::{ffi, Result};

/// A lane, by its number. It owns nothing: [`Heap::destroy_lane`] ends one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Lane(pub(super) u32);

impl Lane {
    /// The lane of settled ranges, which every heap has.
    pub const SETTLED: Self = Self(0);

    /// The lane's number.
    #[must_use]
    pub fn number(self) -> u32 {
        self.0
    }
}

impl HeapRef {
    /// A new lane, without ranges.
    ///
    /// # Errors
    ///
    /// Out of memory; a limit with 4096 of them in use.
    pub fn create_lane(&mut self) -> Result<Lane> {
        let mut lane = 0;
        // SAFETY: the heap lives and is used by nobody else.
        check(unsafe { ffi::cuarena_heap_lane_create(self.as_raw(), &mut lane) })?;
        Ok(Lane(lane))
    }

    /// Gives every range of the lane to the settled one. Steps: its ranges.
    ///
    /// # Errors
    ///
    /// A bad argument for a lane that does not exist.
    pub fn settle_lane(&mut self, lane: Lane) -> Result<()> {
        // SAFETY: as above.
        check(unsafe { ffi::cuarena_heap_lane_settle(self.as_raw(), lane.0) })
    }

    /// Gives every range of `from` to `to`, of which neither is the settled
    /// one. Steps: the ranges of `from`.
    ///
    /// # Errors
    ///
    /// A bad argument for a lane that does not exist, or is the settled one.
    pub fn merge_lanes(&mut self, from: Lane, to: Lane) -> Result<()> {
        // SAFETY: as above.
        check(unsafe { ffi::cuarena_heap_lane_merge(self.as_raw(), from.0, to.0) })
    }

    /// Gives settled ranges that touch ranges of `lane` to that lane, until one
    /// of its ranges has `bytes`; with `u64::MAX` all of them. Steps: the
    /// ranges of `lane`.
    ///
    /// # Errors
    ///
    /// Fragmented if none gets so many; nothing changed then.
    pub fn absorb(&mut self, lane: Lane, bytes: u64) -> Result<()> {
        // SAFETY: as above.
        check(unsafe { ffi::cuarena_heap_lane_absorb(self.as_raw(), lane.0, bytes) })
    }
}

impl Heap {
    /// Settles the lane and ends it. The settled one stays. Not to be had
    /// while a plan is under way, which may count on it.
    ///
    /// # Errors
    ///
    /// A bad argument for a lane that does not exist.
    pub fn destroy_lane(&mut self, lane: Lane) -> Result<()> {
        // SAFETY: as above.
        check(unsafe { ffi::cuarena_heap_lane_destroy(self.as_raw(), lane.0) })
    }
}
