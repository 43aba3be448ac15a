//! Compaction: blocks slide together, so that what is free is in one piece.
//!
//! *Vocabulary.* A **relocation** is one move. A **batch** is what moves at
//! once; the closure gets each batch once, after it was moved.
//!
//! *Invariants.* Pinned blocks stay where they are, and blocks keep their ids,
//! so nothing in this crate needs to hear of a move. The closure is for a
//! program that keeps addresses of its own, in tables on a device.

use std::fmt;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::ptr;

use crate::trampoline;
use crate::{ffi, panics, Arena, BlockId, Result, Stream};

/// Where bytes were or are, to compare and to print.
///
/// It is not a pointer: nothing says that the block is still there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(u64);

impl Address {
    pub(crate) fn of(address: *mut std::ffi::c_void) -> Self {
        Self(address as usize as u64)
    }

    /// The address as a number, as a device has it.
    ///
    /// # Safety
    ///
    /// Who follows it, on whatever processor, makes sure that the block is
    /// there: that it is pinned since before the address was given, or that
    /// nothing else moves or frees it.
    #[must_use]
    pub unsafe fn as_raw(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({:#x})", self.0)
    }
}

impl fmt::LowerHex for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One move: a block, its old and its new address, and its bytes as allocated.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Relocation(ffi::cuarena_relocation_t);

// SAFETY: it is four numbers.
unsafe impl Send for Relocation {}
// SAFETY: as above.
unsafe impl Sync for Relocation {}

impl Relocation {
    /// Which block.
    #[must_use]
    pub fn block(&self) -> BlockId {
        BlockId(self.0.block)
    }

    /// Where it was.
    #[must_use]
    pub fn from(&self) -> Address {
        Address::of(self.0.from)
    }

    /// Where it went. The same, for a block that is reported as unmoved.
    #[must_use]
    pub fn to(&self) -> Address {
        Address::of(self.0.to)
    }

    /// Its bytes, as allocated.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.bytes as usize
    }
}

impl fmt::Debug for Relocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relocation")
            .field("block", &self.block())
            .field("from", &self.from())
            .field("to", &self.to())
            .field("bytes", &self.bytes())
            .finish()
    }
}

/// How far a compaction goes. It moves all blocks together, unless something
/// here says less.
///
/// ```
/// use cuarena::{Arena, CompactOptions};
/// # fn main() -> Result<(), cuarena::Error> {
/// let arena = Arena::builder().pool(1 << 20).build()?;
/// let blocks: Vec<_> = (0..1024).map(|_| arena.alloc(1024)).collect::<Result<_, _>>()?;
/// let kept: Vec<_> = blocks.into_iter().step_by(2).collect();
/// assert!(arena.alloc(4096).unwrap_err().is_fragmented());
/// arena.compact_to(&CompactOptions::new().goal(4096))?;
/// let block = arena.alloc(4096)?;
/// # drop((kept, block));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct CompactOptions {
    raw: ffi::cuarena_compact_options_t,
    on: Option<Stream>,
    others: Vec<Stream>,
}

// SAFETY: its pointers are set for a call only; the streams are Send and Sync.
unsafe impl Send for CompactOptions {}
// SAFETY: as above.
unsafe impl Sync for CompactOptions {}

impl Default for CompactOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl CompactOptions {
    /// All blocks, done on return.
    #[must_use]
    pub fn new() -> Self {
        let mut raw = MaybeUninit::<ffi::cuarena_compact_options_t>::zeroed();
        // SAFETY: all bits 0 are a value of the struct, which its function
        // then fills.
        let raw = unsafe {
            ffi::cuarena_compact_options_init(raw.as_mut_ptr());
            raw.assume_init()
        };
        Self {
            raw,
            on: None,
            others: Vec::new(),
        }
    }

    /// No farther than until so many bytes fit.
    #[must_use]
    pub fn goal(mut self, bytes: usize) -> Self {
        self.raw.goal_bytes = bytes as u64;
        self
    }

    /// The alignment of the goal, in bytes; as the arena's.
    #[must_use]
    pub fn goal_alignment(mut self, bytes: usize) -> Self {
        self.raw.goal_alignment = bytes as u64;
        self
    }

    /// The most bytes to move.
    #[must_use]
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.raw.max_bytes = bytes as u64;
        self
    }

    /// The most blocks to move.
    #[must_use]
    pub fn max_moves(mut self, blocks: u64) -> Self {
        self.raw.max_moves = blocks;
        self
    }

    /// The most blocks of a batch, where there is no goal.
    #[must_use]
    pub fn batch_moves(mut self, blocks: u64) -> Self {
        self.raw.batch_moves = blocks;
        self
    }

    /// Reports every block without pins that stayed too, in a last batch.
    #[must_use]
    pub fn report_unmoved(mut self) -> Self {
        self.raw.report_unmoved = 1;
        self
    }

    /// Queues the copies on a stream instead of waiting for them. Memory that
    /// the CPU touches is waited for all the same.
    #[must_use]
    pub fn stream(mut self, stream: &Stream) -> Self {
        self.on = Some(stream.clone());
        self
    }

    /// Streams that use blocks which were allocated without one, and that the
    /// arena was not told of.
    #[must_use]
    pub fn streams(mut self, streams: &[Stream]) -> Self {
        self.others = streams.to_vec();
        self
    }
}

/// What a compaction did. Sizes are bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct CompactReport {
    /// Blocks moved.
    pub moves: u64,
    /// Copies made of them: neighbours that move by as much are one.
    pub runs: u64,
    /// Bytes of all blocks moved.
    pub bytes_moved: usize,
    /// Batches.
    pub batches: u64,
    /// The largest free range before, exact.
    pub largest_before: usize,
    /// The largest free range after, exact.
    pub largest_after: usize,
    /// Whether the closure stopped it.
    pub stopped: bool,
}

impl CompactReport {
    fn from_raw(raw: &ffi::cuarena_compact_report_t) -> Self {
        Self {
            moves: raw.moves,
            runs: raw.runs,
            bytes_moved: raw.bytes_moved as usize,
            batches: raw.batches,
            largest_before: raw.largest_before as usize,
            largest_after: raw.largest_after as usize,
            stopped: raw.stopped != 0,
        }
    }
}

impl Arena {
    /// Slides all blocks that can move together.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] if the memory cannot move bytes,
    /// [`ErrorKind::Reentered`] in a relocation closure of this arena,
    /// [`ErrorKind::Driver`], [`ErrorKind::Lost`].
    ///
    /// Cost: the blocks and free ranges, and the bytes moved. One compaction
    /// runs at a time; another thread's waits.
    ///
    /// [`ErrorKind::Unsupported`]: crate::ErrorKind::Unsupported
    /// [`ErrorKind::Reentered`]: crate::ErrorKind::Reentered
    /// [`ErrorKind::Driver`]: crate::ErrorKind::Driver
    /// [`ErrorKind::Lost`]: crate::ErrorKind::Lost
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// # let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
    /// let blocks: Vec<_> = (0..256).map(|_| arena.alloc(4096)).collect::<Result<_, _>>()?;
    /// let kept: Vec<_> = blocks.into_iter().step_by(2).collect();
    /// let report = arena.compact()?;
    /// assert_eq!(report.largest_after, arena.stats().free_bytes);
    /// # drop(kept);
    /// # Ok(())
    /// # }
    /// ```
    pub fn compact(&self) -> Result<CompactReport> {
        self.compact_to(&CompactOptions::new())
    }

    /// Slides blocks together as far as the options say.
    ///
    /// # Errors
    ///
    /// As [`compact`](Self::compact), and
    /// [`ErrorKind::Fragmented`](crate::ErrorKind::Fragmented) for a goal that
    /// cannot be reached within the limits: nothing has moved then.
    pub fn compact_to(&self, options: &CompactOptions) -> Result<CompactReport> {
        self.compact_raw(options, None, ptr::null_mut())
    }

    /// The same; a closure gets the relocations of each batch, once, after its
    /// copies were made or queued. They are ordered so that no new range
    /// overlaps the old one of a later relocation.
    ///
    /// In the closure blocks may be made, dropped, pinned and asked about;
    /// compaction, trim and resizing of the arena's pool are refused as
    /// re-entered. [`ControlFlow::Break`] says that no further batch is to be
    /// moved; the one reported is done.
    ///
    /// # Errors
    ///
    /// As [`compact_to`](Self::compact_to).
    ///
    /// # Panics
    ///
    /// If the closure does: no further batch is moved then.
    ///
    /// ```
    /// use cuarena::{Arena, CompactOptions};
    /// use std::ops::ControlFlow;
    /// # fn main() -> Result<(), cuarena::Error> {
    /// let arena = Arena::builder().pool(1 << 20).placement(cuarena::Placement::Low).build()?;
    /// let first = arena.alloc(1000)?;
    /// let second = arena.alloc(1000)?;
    /// drop(first);
    /// let mut moved = Vec::new();
    /// arena.compact_with(&CompactOptions::new(), |relocations| {
    ///     moved.extend(relocations.iter().map(|r| r.block()));
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(moved, [second.id()]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn compact_with<F>(&self, options: &CompactOptions, mut closure: F) -> Result<CompactReport>
    where
        F: FnMut(&[Relocation]) -> ControlFlow<()>,
    {
        let user = ptr::addr_of_mut!(closure).cast();
        self.compact_raw(options, Some(trampoline::batch::<F>), user)
    }

    fn compact_raw(
        &self,
        options: &CompactOptions,
        callback: ffi::cuarena_relocation_fn,
        user: *mut std::ffi::c_void,
    ) -> Result<CompactReport> {
        for stream in options.on.iter().chain(&options.others) {
            self.same_arena(stream)?;
        }
        let others: Vec<_> = options.others.iter().map(Stream::handle).collect();
        let mut raw = options.raw;
        raw.stream = options.on.as_ref().map_or(raw.stream, Stream::handle);
        raw.streams = others.as_ptr();
        raw.stream_count = others.len();
        let mut report = MaybeUninit::<ffi::cuarena_compact_report_t>::zeroed();
        // SAFETY: all bits 0 are a value of the struct, which its function
        // makes ready; the options hold the streams; the callback is of the type of `user`, which lives
        // and is used by nobody else until the call returns.
        let (status, report) = unsafe {
            ffi::cuarena_compact_report_init(report.as_mut_ptr());
            let report_out = report.as_mut_ptr();
            let status = ffi::cuarena_compact(self.raw(), &raw, callback, user, report_out);
            (status, report.assume_init())
        };
        let result = self.life().finish(status);
        panics::resume();
        result.map(|()| CompactReport::from_raw(&report))
    }
}
