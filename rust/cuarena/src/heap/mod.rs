//! The heap by itself: bookkeeping of segments, blocks and free ranges by
//! offset alone. It knows no pointer, no lock and no device, so it hands out
//! parts of anything that is addressed by number: a file, a descriptor table,
//! memory that this library does not know.
//!
//! Vocabulary
//!
//! - *segment*: one contiguous stretch of offsets given to the heap. Two never
//!   merge, even if they touch.
//! - *block*: one live allocation, named by an id that survives moves.
//! - *range*: one free stretch.
//! - *granule*: the number of which offsets and sizes are multiples.
//! - *free list*: a set of ranges with an index of its own. [`Freelist::IDLE`]
//!   has the idle ones; others are for bytes that somebody may still be using.
//!
//! An id is a number and owns nothing: [`HeapRef::free`] ends a block, and a
//! stale or foreign id is an error. Every call is a bounded number of steps
//! unless it says otherwise. A heap is used by one thread at a time.
//!
//! ```
//! # fn main() -> cuarena::Result<()> {
//! use cuarena::heap::{Heap, HeapConfig, HeapRequest, Freelist};
//! let mut heap = Heap::new(&HeapConfig { granule: 8, ..HeapConfig::default() })?;
//! heap.add_segment(0, 4096)?;
//! let (block, offset) = heap.alloc(&HeapRequest::of(100))?;
//! assert_eq!(offset % 8, 0);
//! heap.free(block, Freelist::IDLE)?;
//! assert_eq!(heap.stats().free_bytes, 4096);
//! # Ok(())
//! # }
//! ```

use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};
use core::ptr::{self, NonNull};

use crate::error::check;
use crate::figures::told;
use crate::sized::{figures, sized};

use crate::{ffi, BlockId, Error, ErrorKind, Placement, Result};

mod freelists;
mod plan;
mod walk;

pub use freelists::Freelist;
pub use plan::{HeapMove, Plan, PlanOptions, PlanUnderWay};
pub use walk::{Entry, EntryKind};

/// How a heap is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeapConfig {
    /// The number of which offsets and sizes are multiples: a power of two from
    /// 8.
    pub granule: u64,
    /// The most blocks that can live at once.
    pub max_blocks: u64,
    /// 0: a rest is always split off; N: if it has N bytes or is as large as
    /// the request; `u64::MAX`: never.
    pub split_threshold: u64,
    /// How a range is chosen.
    pub placement: Placement,
}

impl Default for HeapConfig {
    /// A granule of 256, as many blocks as can be, every rest split off.
    fn default() -> Self {
        // SAFETY: an init function of the library.
        let raw = unsafe { sized(ffi::cuarena_heap_config_init) };
        Self {
            granule: raw.granule,
            max_blocks: raw.max_blocks,
            split_threshold: raw.split_threshold,
            placement: Placement::Default,
        }
    }
}

/// What a request asks of a heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeapRequest {
    /// Bytes, rounded up to the granule; not 0.
    pub size: u64,
    /// 0: the granule; else a power of two.
    pub alignment: u64,
    /// The free list that the bytes come from.
    pub freelist: Freelist,
    /// Kept with the block.
    pub tag: u16,
    /// How many pins the block has from the start.
    pub pins: u16,
    /// Eight bits of the program's own, kept with the block.
    pub flags: u8,
    /// As low as a bounded search finds room.
    pub low: bool,
    /// Whose it is, kept with the block: at most 127.
    pub owner: u8,
}

impl HeapRequest {
    /// So many bytes of the idle free list, and nothing else.
    #[must_use]
    pub fn of(size: u64) -> Self {
        Self {
            size,
            ..Self::default()
        }
    }

    fn raw(&self) -> ffi::cuarena_heap_request_t {
        ffi::cuarena_heap_request_t {
            size: self.size,
            alignment: self.alignment,
            freelist: self.freelist.number(),
            tag: self.tag,
            pins: self.pins,
            flags: u16::from(self.flags),
            low: u16::from(self.low),
            owner: u16::from(self.owner),
            zero: 0,
        }
    }
}

figures! {
    /// The figures of a heap.
    HeapStats of cuarena_heap_stats_t {
        /// All segments.
        capacity_bytes: u64,
        /// Of live blocks, after rounding up.
        live_bytes: u64,
        /// Blocks, as asked for.
        requested_bytes: u64,
        /// Ranges of every free list.
        free_bytes: u64,
        /// So much at least is in one idle range; the largest is at most
        /// half as large again.
        largest_bytes: u64,
        /// Blocks that live.
        live_blocks: u64,
        /// Ranges.
        ranges: u64,
        /// Segments.
        segments: u64,
        /// The most `live_bytes` since the peaks were reset.
        peak_live_bytes: u64,
        /// The most `requested_bytes`.
        peak_requested_bytes: u64,
        /// The most `live_blocks`.
        peak_live_blocks: u64,
        /// Blocks ever allocated.
        allocs: u64,
        /// Blocks ever freed.
        frees: u64,
        /// Refusals that searched a class to its end.
        full_searches: u64,
        /// Ranges looked at for all requests so far.
        search_steps: u64,
        /// The longest probe of the look-up by offset.
        longest_probe: u64,
        /// Host memory for records, look-up and indexes.
        bookkeeping_bytes: u64,
    }
}

/// A heap, to be used: what [`Heap`] owns, and what a
/// [`PlanUnderWay`] lends while blocks are moved.
#[repr(transparent)]
pub struct HeapRef {
    /// Only its address is used. As it has no size, swapping two of them, which
    /// `&mut` would allow, does nothing.
    _opaque: [u8; 0],
    /// Used by one thread at a time.
    _not_shared: PhantomData<*mut ()>,
}

// SAFETY: the library keeps nothing of a heap by thread.
unsafe impl Send for HeapRef {}

/// A heap that is ended when it is dropped, whatever lives in it.
pub struct Heap(NonNull<ffi::cuarena_heap_t>);

// SAFETY: the library keeps nothing of a heap by thread.
unsafe impl Send for Heap {}

impl Heap {
    /// A heap without a segment.
    ///
    /// # Errors
    ///
    /// A bad argument; out of memory if the bookkeeping cannot be had.
    pub fn new(config: &HeapConfig) -> Result<Self> {
        // SAFETY: an init function of the library.
        let mut raw = unsafe { sized(ffi::cuarena_heap_config_init) };
        raw.granule = config.granule;
        raw.max_blocks = config.max_blocks;
        raw.split_threshold = config.split_threshold;
        raw.placement = config.placement.code();
        let mut heap = ptr::null_mut();
        // SAFETY: the config was made by its init function.
        check(unsafe { ffi::cuarena_heap_create(&raw, &mut heap) })?;
        let heap = NonNull::new(heap);
        heap.map(Self)
            .ok_or_else(|| Error::new(ErrorKind::Corrupt, "a heap at no address"))
    }

    /// The C heap, which nobody ends from here on.
    #[must_use]
    pub fn into_raw(self) -> *mut ffi::cuarena_heap_t {
        ManuallyDrop::new(self).0.as_ptr()
    }

    /// Owns a C heap.
    ///
    /// # Safety
    ///
    /// It lives, and nobody else uses or ends it.
    #[must_use]
    pub unsafe fn from_raw(heap: NonNull<ffi::cuarena_heap_t>) -> Self {
        Self(heap)
    }
}

impl Deref for Heap {
    type Target = HeapRef;

    fn deref(&self) -> &HeapRef {
        // SAFETY: a reference to nothing, at an address that is not NULL.
        unsafe { self.0.cast().as_ref() }
    }
}

impl DerefMut for Heap {
    fn deref_mut(&mut self) -> &mut HeapRef {
        // SAFETY: as above; the heap is borrowed mutably.
        unsafe { self.0.cast().as_mut() }
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        let mut raw = self.0.as_ptr();
        // SAFETY: nobody else has it.
        unsafe { ffi::cuarena_heap_destroy(&mut raw) };
    }
}

impl fmt::Debug for Heap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Heap").field(&self.stats()).finish()
    }
}

impl HeapRef {
    /// The C heap. It lives as long as this is borrowed.
    #[must_use]
    pub fn as_raw(&self) -> *mut ffi::cuarena_heap_t {
        ptr::from_ref(self).cast_mut().cast()
    }

    // ---- Segments: a number of steps that grows with their count -----------

    /// Gives `[offset, offset + size)` to the heap as one idle range. Both
    /// are multiples of the granule.
    ///
    /// # Errors
    ///
    /// A bad argument if it overlaps a segment.
    pub fn add_segment(&mut self, offset: u64, size: u64) -> Result<()> {
        // SAFETY: the heap lives and is used by nobody else.
        check(unsafe { ffi::cuarena_heap_segment_add(self.as_raw(), offset, size) })
    }

    /// Gives it to the heap as one live block that fills it. The block has the
    /// pins and tag of the request, whose size says how much was asked for.
    ///
    /// # Errors
    ///
    /// As [`HeapRef::add_segment`].
    pub fn add_segment_block(
        &mut self,
        offset: u64,
        size: u64,
        request: &HeapRequest,
    ) -> Result<BlockId> {
        let mut block = 0;
        // SAFETY: as above.
        check(unsafe {
            ffi::cuarena_heap_segment_add_block(
                self.as_raw(),
                offset,
                size,
                &request.raw(),
                &mut block,
            )
        })?;
        Ok(BlockId::from_raw(block))
    }

    /// Lengthens the segment that begins at `offset` by `bytes` at its end.
    ///
    /// # Errors
    ///
    /// As [`HeapRef::add_segment`].
    pub fn extend_segment(&mut self, offset: u64, bytes: u64) -> Result<()> {
        // SAFETY: as above.
        check(unsafe { ffi::cuarena_heap_segment_extend(self.as_raw(), offset, bytes) })
    }

    /// Takes `[offset, offset + bytes)` out of the segment around it: the
    /// whole, an end, or the middle, which leaves two segments.
    ///
    /// # Errors
    ///
    /// Busy unless all of it is one idle range.
    pub fn cut_segment(&mut self, offset: u64, bytes: u64) -> Result<()> {
        // SAFETY: as above.
        check(unsafe { ffi::cuarena_heap_segment_cut(self.as_raw(), offset, bytes) })
    }

    /// Makes one segment of two that touch at `offset`.
    ///
    /// # Errors
    ///
    /// A bad argument if none do.
    pub fn join_segments(&mut self, offset: u64) -> Result<()> {
        // SAFETY: as above.
        check(unsafe { ffi::cuarena_heap_segment_join(self.as_raw(), offset) })
    }

    // ---- Blocks ------------------------------------------------------------

    /// A block, and where it is.
    ///
    /// # Errors
    ///
    /// Out of memory: fewer bytes are free in the free list than asked for.
    /// Fragmented: enough are, but no range fits; only then is the request's
    /// own size class searched to its end. A limit: too many blocks live.
    pub fn alloc(&mut self, request: &HeapRequest) -> Result<(BlockId, u64)> {
        let (mut block, mut offset) = (0, 0);
        // SAFETY: as above.
        check(unsafe {
            ffi::cuarena_heap_alloc(self.as_raw(), &request.raw(), &mut block, &mut offset)
        })?;
        Ok((BlockId::from_raw(block), offset))
    }

    /// Ends a block; its bytes join `freelist`. Pins do not keep it alive.
    ///
    /// # Errors
    ///
    /// Stale for an id that names nothing live; busy while the block belongs
    /// to a plan under way.
    pub fn free(&mut self, block: BlockId, freelist: Freelist) -> Result<()> {
        // SAFETY: as above.
        check(unsafe { ffi::cuarena_heap_free(self.as_raw(), block.as_raw(), freelist.number()) })
    }

    /// Grows or shrinks a block where it stands, into or out of the range of
    /// `freelist` after it.
    ///
    /// # Errors
    ///
    /// Fragmented if it cannot; stale; busy.
    pub fn resize(&mut self, block: BlockId, size: u64, freelist: Freelist) -> Result<()> {
        // SAFETY: as above.
        check(unsafe {
            ffi::cuarena_heap_resize(self.as_raw(), block.as_raw(), size, freelist.number())
        })
    }

    /// Lets two blocks change places: ids, pins and tags stay, offsets and
    /// sizes swap.
    ///
    /// # Errors
    ///
    /// Stale; busy.
    pub fn exchange(&mut self, a: BlockId, b: BlockId) -> Result<()> {
        // SAFETY: as above.
        check(unsafe { ffi::cuarena_heap_exchange(self.as_raw(), a.as_raw(), b.as_raw()) })
    }

    /// The block that begins at `offset`. Expected constant.
    ///
    /// # Errors
    ///
    /// Stale if none does.
    pub fn find(&self, offset: u64) -> Result<BlockId> {
        let mut block = 0;
        // SAFETY: as above.
        check(unsafe { ffi::cuarena_heap_find(self.as_raw(), offset, &mut block) })?;
        Ok(BlockId::from_raw(block))
    }

    /// Takes a pin: only a block without pins moves.
    ///
    /// # Errors
    ///
    /// Busy if the count would overflow, or a plan under way has the block;
    /// stale.
    pub fn pin(&mut self, block: BlockId) -> Result<()> {
        // SAFETY: as above.
        check(unsafe { ffi::cuarena_heap_pin(self.as_raw(), block.as_raw()) })
    }

    /// Ends a pin.
    ///
    /// # Errors
    ///
    /// A bad argument if there is none; stale.
    pub fn unpin(&mut self, block: BlockId) -> Result<()> {
        // SAFETY: as above.
        check(unsafe { ffi::cuarena_heap_unpin(self.as_raw(), block.as_raw()) })
    }

    // ---- Knowing -----------------------------------------------------------

    /// The heap's figures.
    pub fn stats(&self) -> HeapStats {
        // SAFETY: an init function of the library.
        let mut raw = unsafe { sized(ffi::cuarena_heap_stats_init) };
        // SAFETY: as above.
        told(check(unsafe {
            ffi::cuarena_heap_stats(self.as_raw(), &mut raw)
        }));
        HeapStats::from_raw(&raw)
    }

    /// Sets the peaks to what is now.
    pub fn reset_peaks(&mut self) {
        // SAFETY: as above.
        unsafe { ffi::cuarena_heap_reset_peaks(self.as_raw()) };
    }

    /// The largest range of a free list, exact. O(ranges of its size class).
    ///
    /// # Errors
    ///
    /// A bad argument for a free list that does not exist.
    pub fn largest(&self, freelist: Freelist) -> Result<u64> {
        let mut bytes = 0;
        // SAFETY: as above.
        check(unsafe { ffi::cuarena_heap_largest(self.as_raw(), freelist.number(), &mut bytes) })?;
        Ok(bytes)
    }

    /// Recomputes every counter and link. O(everything
    /// there is).
    ///
    /// # Errors
    ///
    /// Corrupt, and what disagrees.
    pub fn validate(&self) -> Result<()> {
        let mut text = [0; 256];
        // SAFETY: as above; the text has as much room as it says.
        let status =
            unsafe { ffi::cuarena_heap_validate(self.as_raw(), text.as_mut_ptr(), text.len()) };
        if status == ffi::CUARENA_CORRUPT {
            return Err(Error::new(ErrorKind::Corrupt, crate::error::text_of(&text)));
        }
        check(status)
    }
}

impl fmt::Debug for HeapRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HeapRef").field(&self.stats()).finish()
    }
}
