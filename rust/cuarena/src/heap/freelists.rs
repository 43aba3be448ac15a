//! Free lists of a heap: ranges whose bytes are not idle yet.

use super::{Heap, HeapRef};
use crate::error::check;
use crate::{ffi, Result};

/// A free list, by its number. It owns nothing: [`Heap::destroy_freelist`] ends
/// one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Freelist(pub(super) u32);

impl Freelist {
    /// The free list of idle ranges, which every heap has.
    pub const IDLE: Self = Self(0);

    /// The free list's number.
    #[must_use]
    pub fn number(self) -> u32 {
        self.0
    }
}

impl HeapRef {
    /// A new free list, without ranges.
    ///
    /// # Errors
    ///
    /// Out of memory; a limit with 4096 of them in use.
    pub fn create_freelist(&mut self) -> Result<Freelist> {
        let mut freelist = 0;
        // SAFETY: the heap lives and is used by nobody else.
        check(unsafe { ffi::cuarena_heap_freelist_create(self.as_raw(), &mut freelist) })?;
        Ok(Freelist(freelist))
    }

    /// Moves every range of the free list to the idle one. O(its ranges).
    ///
    /// # Errors
    ///
    /// A bad argument for a free list that does not exist.
    pub fn reclaim_freelist(&mut self, freelist: Freelist) -> Result<()> {
        // SAFETY: as above.
        check(unsafe { ffi::cuarena_heap_freelist_reclaim(self.as_raw(), freelist.0) })
    }

    /// Moves every range of `from` to `to`, neither of which is the idle one.
    /// O(ranges of `from`).
    ///
    /// # Errors
    ///
    /// A bad argument for a free list that does not exist, or is the idle one.
    pub fn merge_freelists(&mut self, from: Freelist, to: Freelist) -> Result<()> {
        // SAFETY: as above.
        check(unsafe { ffi::cuarena_heap_freelist_merge(self.as_raw(), from.0, to.0) })
    }

    /// Moves idle ranges that touch ranges of `freelist` to that free list,
    /// until one of its ranges has `bytes`; with `u64::MAX` all of them.
    /// O(ranges of `freelist`).
    ///
    /// # Errors
    ///
    /// Fragmented if none gets so many; nothing changed then.
    pub fn absorb(&mut self, freelist: Freelist, bytes: u64) -> Result<()> {
        // SAFETY: as above.
        check(unsafe { ffi::cuarena_heap_freelist_absorb(self.as_raw(), freelist.0, bytes) })
    }
}

impl Heap {
    /// Reclaims the free list and ends it. The idle one stays. Not to be had
    /// while a plan is under way, which may count on it.
    ///
    /// # Errors
    ///
    /// A bad argument for a free list that does not exist.
    pub fn destroy_freelist(&mut self, freelist: Freelist) -> Result<()> {
        // SAFETY: as above.
        check(unsafe { ffi::cuarena_heap_freelist_destroy(self.as_raw(), freelist.0) })
    }
}
