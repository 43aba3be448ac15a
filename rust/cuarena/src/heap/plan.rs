//! Compaction of a heap: a plan, what is under way, its end.
//!
//! A [`Plan`] is worked out and changes nothing. [`Plan::begin`] holds its
//! blocks and ranges; then the program moves the bytes, in the order of
//! [`PlanUnderWay::moves`], and commits. Whatever is dropped before is aborted.

use core::ops::{Deref, DerefMut};
use core::ptr::{self, NonNull};

use super::{Freelist, HeapRef};
use crate::error::check;
use crate::sized::sized;
use crate::{ffi, BlockId, Error, ErrorKind, Result};

/// How far a plan goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanOptions {
    /// 0: all the way; N: until N bytes fit.
    pub goal_bytes: u64,
    /// Of those N bytes; 0: the granule.
    pub goal_alignment: u64,
    /// Most bytes to move.
    pub max_bytes: u64,
    /// Most blocks to move.
    pub max_moves: u64,
    /// Its ranges count as free, like the idle ones: commit to it.
    pub freelist: Freelist,
}

impl Default for PlanOptions {
    /// All the way, whatever it takes.
    fn default() -> Self {
        Self {
            goal_bytes: 0,
            goal_alignment: 0,
            max_bytes: u64::MAX,
            max_moves: u64::MAX,
            freelist: Freelist::IDLE,
        }
    }
}

/// One move of one block; it may overlap itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeapMove {
    /// Whose bytes.
    pub block: BlockId,
    /// The old offset.
    pub from: u64,
    /// The new one.
    pub to: u64,
    /// Bytes taken.
    pub bytes: u64,
}

/// A plan of a heap that does not change meanwhile.
#[derive(Debug)]
pub struct Plan<'h> {
    heap: &'h mut HeapRef,
    raw: NonNull<ffi::cuarena_heap_plan_t>,
}

/// A plan under way: its blocks can be neither freed, pinned nor resized, and
/// nobody gets its ranges. The rest of the heap, which it dereferences to,
/// works on.
#[derive(Debug)]
pub struct PlanUnderWay<'h>(Plan<'h>);

impl HeapRef {
    /// Works out which blocks without pins would slide down, and where to. With
    /// a goal it finds the cheapest window in one pass. A plan may be empty.
    /// O(blocks + ranges).
    ///
    /// # Errors
    ///
    /// Fragmented if no window within the limits makes room.
    pub fn plan(&mut self, options: &PlanOptions) -> Result<Plan<'_>> {
        // SAFETY: an init function of the library.
        let mut raw = unsafe { sized(ffi::cuarena_heap_plan_options_init) };
        raw.goal_bytes = options.goal_bytes;
        raw.goal_alignment = options.goal_alignment;
        raw.max_bytes = options.max_bytes;
        raw.max_moves = options.max_moves;
        raw.freelist = options.freelist.number();
        let mut plan = ptr::null_mut();
        // SAFETY: the heap lives; the options were made by their init.
        check(unsafe { ffi::cuarena_heap_plan_create(self.as_raw(), &raw, &mut plan) })?;
        let plan = NonNull::new(plan)
            .ok_or_else(|| Error::new(ErrorKind::Corrupt, "a plan at no address"))?;
        Ok(Plan {
            heap: self,
            raw: plan,
        })
    }
}

impl<'h> Plan<'h> {
    /// The moves, in the order in which they must be done.
    #[must_use]
    pub fn moves(&self) -> impl ExactSizeIterator<Item = HeapMove> + '_ {
        let mut count = 0;
        // SAFETY: the plan lives.
        let list = unsafe { ffi::cuarena_heap_plan_moves(self.raw.as_ptr(), &mut count) };
        let list = if list.is_null() || count == 0 {
            &[][..]
        } else {
            // SAFETY: so many are there, as long as the plan.
            unsafe { core::slice::from_raw_parts(list, count) }
        };
        list.iter().map(|raw| HeapMove {
            block: BlockId::from_raw(raw.block),
            from: raw.from,
            to: raw.to,
            bytes: raw.bytes,
        })
    }

    /// Holds what the plan needs.
    ///
    /// # Errors
    ///
    /// Out of memory for the bookkeeping. The plan is over then.
    pub fn begin(self) -> Result<PlanUnderWay<'h>> {
        // SAFETY: heap and plan live, and belong together.
        check(unsafe { ffi::cuarena_heap_plan_begin(self.heap.as_raw(), self.raw.as_ptr()) })?;
        Ok(PlanUnderWay(self))
    }
}

impl Drop for Plan<'_> {
    fn drop(&mut self) {
        let mut raw = self.raw.as_ptr();
        // SAFETY: heap and plan live, and belong together. Aborts what is under
        // way.
        unsafe { ffi::cuarena_heap_plan_destroy(self.heap.as_raw(), &mut raw) };
    }
}

impl PlanUnderWay<'_> {
    /// The moves, in the order in which they must be done.
    #[must_use]
    pub fn moves(&self) -> impl ExactSizeIterator<Item = HeapMove> + '_ {
        self.0.moves()
    }

    /// The bytes were moved: blocks get their new offsets, and what they left
    /// joins `freelist`.
    ///
    /// # Errors
    ///
    /// A bad argument for a free list that does not exist; nothing was done
    /// then, and the plan is aborted.
    pub fn commit(self, freelist: Freelist) -> Result<()> {
        let (heap, plan) = (self.0.heap.as_raw(), self.0.raw.as_ptr());
        // SAFETY: heap and plan live, and belong together.
        check(unsafe { ffi::cuarena_heap_plan_commit(heap, plan, freelist.number()) })
    }

    /// Nothing was moved: blocks are as they were.
    ///
    /// # Errors
    ///
    /// None.
    pub fn abort(self) -> Result<()> {
        let (heap, plan) = (self.0.heap.as_raw(), self.0.raw.as_ptr());
        // SAFETY: heap and plan live, and belong together.
        check(unsafe { ffi::cuarena_heap_plan_abort(heap, plan) })
    }
}

impl Deref for PlanUnderWay<'_> {
    type Target = HeapRef;

    fn deref(&self) -> &HeapRef {
        self.0.heap
    }
}

impl DerefMut for PlanUnderWay<'_> {
    fn deref_mut(&mut self) -> &mut HeapRef {
        self.0.heap
    }
}
