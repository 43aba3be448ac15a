//! What a walk over an arena's blocks and ranges finds.

use crate::figures::region_number;
use crate::sized::sized;
use crate::{ffi, Arena, Region, Result};

/// What a walk found, by [`Arena::inspect`]. Sizes are bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Inspection {
    /// In free ranges.
    pub free_bytes: u64,
    /// In the largest free range, exact.
    pub largest_bytes: u64,
    /// Free ranges.
    pub ranges: u64,
    /// Blocks that pins hold where they are.
    pub pinned_blocks: u64,
    /// Their bytes.
    pub pinned_bytes: u64,
    /// Blocks that compaction may move.
    pub movable_blocks: u64,
    /// Their bytes.
    pub movable_bytes: u64,
    /// 1 - largest / free; 0 if nothing is free.
    pub fragmentation: f64,
    /// Ranges of 2^i bytes or more, and fewer than 2^(i+1).
    pub range_counts: [u64; 64],
    /// Their bytes.
    pub range_bytes: [u64; 64],
    /// Blocks likewise, by bytes taken.
    pub block_counts: [u64; 64],
    /// Their bytes.
    pub block_bytes: [u64; 64],
}

impl Arena {
    /// Walks over the blocks and ranges of one region, or of the whole arena
    /// where `region` is `None`. Cost: all of them, under the lock.
    ///
    /// # Errors
    ///
    /// None is known.
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
    /// let blocks = [arena.alloc(512 << 10)?, arena.alloc(512 << 10)?];
    /// let [first, second] = blocks;
    /// drop(first);
    /// let found = arena.inspect(None)?;
    /// assert_eq!((found.ranges, found.movable_blocks), (1, 1));
    /// assert_eq!(found.fragmentation, 0.0);
    /// # drop(second);
    /// # Ok(())
    /// # }
    /// ```
    pub fn inspect(&self, region: Option<Region>) -> Result<Inspection> {
        // SAFETY: an init function of the library.
        let mut raw = unsafe { sized(ffi::cuarena_inspection_init) };
        // SAFETY: the arena lives; the struct was made by its init function.
        let status = unsafe { ffi::cuarena_inspect(self.raw(), region_number(region), &mut raw) };
        self.life().finish(status)?;
        Ok(Inspection {
            free_bytes: raw.free_bytes,
            largest_bytes: raw.largest_bytes,
            ranges: raw.ranges,
            pinned_blocks: raw.pinned_blocks,
            pinned_bytes: raw.pinned_bytes,
            movable_blocks: raw.movable_blocks,
            movable_bytes: raw.movable_bytes,
            fragmentation: raw.fragmentation,
            range_counts: raw.range_counts,
            range_bytes: raw.range_bytes,
            block_counts: raw.block_counts,
            block_bytes: raw.block_bytes,
        })
    }
}
