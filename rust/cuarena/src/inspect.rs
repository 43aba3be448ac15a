//! What a walk over an arena's blocks and ranges finds.

use crate::figures::{region_number, told};
use crate::sized::sized;
use crate::{ffi, Arena, Region};

/// What a walk found, by [`Arena::inspect`]. Sizes are bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Inspection {
    /// In free ranges.
    pub free_bytes: usize,
    /// In the largest free range, exact.
    pub largest_bytes: usize,
    /// Free ranges.
    pub ranges: u64,
    /// Blocks that pins hold where they are.
    pub pinned_blocks: u64,
    /// Their bytes.
    pub pinned_bytes: usize,
    /// Blocks that compaction may move.
    pub movable_blocks: u64,
    /// Their bytes.
    pub movable_bytes: usize,
    /// 1 - largest / free; 0 if nothing is free.
    pub fragmentation: f64,
    /// Ranges of 2^i bytes or more, and fewer than 2^(i+1).
    pub range_counts: [u64; 64],
    /// Their bytes.
    pub range_bytes: [usize; 64],
    /// Blocks likewise, by bytes taken.
    pub block_counts: [u64; 64],
    /// Their bytes.
    pub block_bytes: [usize; 64],
}

impl Arena {
    /// Walks over the blocks and ranges of one region, or of the whole arena
    /// where `region` is `None`. Cost: all of them, under the lock.
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
    /// let blocks = [arena.alloc(512 << 10)?, arena.alloc(512 << 10)?];
    /// let [first, second] = blocks;
    /// drop(first);
    /// let found = arena.inspect(None);
    /// assert_eq!((found.ranges, found.movable_blocks), (1, 1));
    /// assert_eq!(found.fragmentation, 0.0);
    /// # drop(second);
    /// # Ok(())
    /// # }
    /// ```
    pub fn inspect(&self, region: Option<Region>) -> Inspection {
        // SAFETY: an init function of the library.
        let mut raw = unsafe { sized(ffi::cuarena_inspection_init) };
        // SAFETY: the arena lives; the struct was made by its init function.
        let status = unsafe { ffi::cuarena_inspect(self.raw(), region_number(region), &mut raw) };
        told(self.life().finish(status));
        Inspection {
            free_bytes: raw.free_bytes as usize,
            largest_bytes: raw.largest_bytes as usize,
            ranges: raw.ranges,
            pinned_blocks: raw.pinned_blocks,
            pinned_bytes: raw.pinned_bytes as usize,
            movable_blocks: raw.movable_blocks,
            movable_bytes: raw.movable_bytes as usize,
            fragmentation: raw.fragmentation,
            range_counts: raw.range_counts,
            range_bytes: raw.range_bytes.map(|bytes| bytes as usize),
            block_counts: raw.block_counts,
            block_bytes: raw.block_bytes.map(|bytes| bytes as usize),
        }
    }
}
