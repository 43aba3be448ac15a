//! The cache of freed blocks, as MLX's allocators have it: [`Keep::Cache`],
//! which [`Preset::MlxCpu`] and [`Preset::MlxCuda`] set.
//!
//! A block that is dropped then stays whole in the cache, for a later
//! request that is little smaller. No handle names it: its id is stale,
//! and its bytes are neither live nor free. [`LimitKind::Cached`] bounds them.
//!
//! [`Keep::Cache`]: crate::Keep::Cache
//! [`Preset::MlxCpu`]: crate::Preset::MlxCpu
//! [`Preset::MlxCuda`]: crate::Preset::MlxCuda
//! [`LimitKind::Cached`]: crate::LimitKind::Cached

use crate::error::check;
use crate::figures::told;
use crate::sized::{figures, sized};
use crate::{ffi, Arena, Result};

figures! {
    /// What the cache of an arena has and has done. Without a cache the figures
    /// of cached blocks are 0.
    CacheStats of cuarena_cache_stats_t {
        /// Bytes of live blocks, as allocated.
        active_bytes: usize,
        /// Bytes of cached blocks.
        cached_bytes: usize,
        /// Cached blocks.
        cached_blocks: u64,
        /// The most `active_bytes` since creation or `reset_peaks`.
        peak_active_bytes: usize,
        /// The most `cached_bytes` since then.
        peak_cached_bytes: usize,
        /// Requests served from the cache, ever.
        hits: u64,
        /// Requests that it had no block for, ever.
        misses: u64,
        /// Cached blocks that ended, ever.
        evicted_blocks: u64,
    }
}

impl Arena {
    /// Ends cached blocks, those that were cached first, until at least `bytes`
    /// of them are gone; all of them if `bytes` is nine tenths of the cache or
    /// more. Their whole pages go back to the memory. How many blocks ended.
    ///
    /// # Errors
    ///
    /// Re-entered in a relocation closure; lost. Cost: these blocks, and the
    /// memory's; with streams, also the ranges.
    ///
    /// ```
    /// # fn main() -> cuarena::Result<()> {
    /// use cuarena::{Arena, Preset};
    /// let arena = Arena::builder().preset(Preset::MlxCpu).build()?;
    /// drop(arena.alloc(100_000)?);
    /// assert_eq!(arena.cache_stats().cached_blocks, 1);
    /// let again = arena.alloc(100_000)?;
    /// assert_eq!(arena.cache_stats().hits, 1);
    /// drop(again);
    /// assert_eq!(arena.cache_release(1)?, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn cache_release(&self, bytes: usize) -> Result<u64> {
        let mut blocks = 0;
        // SAFETY: the arena lives, the output as long as the call.
        let status = unsafe { ffi::cuarena_cache_release(self.raw(), bytes as u64, &mut blocks) };
        self.life().finish(status)?;
        Ok(blocks)
    }

    /// Ends all cached blocks, and gives their pages back; how many they were.
    /// If any was freed on a stream this waits until what streams freed so far
    /// is idle.
    ///
    /// # Errors
    ///
    /// What the driver refuses, and busy, if that cannot be waited for: the
    /// cache is as it was. Otherwise as [`Arena::cache_release`].
    pub fn cache_clear(&self) -> Result<u64> {
        let mut blocks = 0;
        // SAFETY: the arena lives, the output as long as the call.
        let status = unsafe { ffi::cuarena_cache_clear(self.raw(), &mut blocks) };
        self.life().finish(status)?;
        Ok(blocks)
    }

    /// The figures of the cache, of one moment. O(1).
    pub fn cache_stats(&self) -> CacheStats {
        // SAFETY: an init function of the library.
        let mut raw = unsafe { sized(ffi::cuarena_cache_stats_init) };
        // SAFETY: the arena lives; the struct was made by its init function.
        told(check(unsafe {
            ffi::cuarena_cache_stats(self.raw(), &mut raw)
        }));
        CacheStats::from_raw(&raw)
    }
}
