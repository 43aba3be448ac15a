//! Peaks in scopes: how many bytes were reserved and live at most while
//! something ran.
//!
//! A scope takes 1 KiB of the host's memory at most, for the first one of a
//! thing. While the whole arena or its dynamic region has one, allocations
//! take some instructions more; nothing else costs them anything.

use core::fmt;

use crate::error::check;
use crate::figures::{region_number, told};
use crate::sized::{figures, sized};

use crate::stream::Stream;
use crate::{ffi, Arena, Region, Result, Tag};

figures! {
    /// The highest figures of one scope; see [`PeakScope`].
    Peaks of cuarena_peaks_t {
        /// Bytes taken from the memory; 0 but for the whole arena.
        reserved_bytes: usize,
        /// Bytes of live blocks, as allocated.
        live_bytes: usize,
        /// Bytes of live blocks, as asked for.
        requested_bytes: usize,
        /// Live blocks.
        live_blocks: u64,
    }
}

impl Arena {
    /// Sets every peak, of regions, tags and streams and in every scope, to
    /// what is now. Cost: the tags and streams.
    pub fn reset_peaks(&self) {
        // SAFETY: the arena lives.
        told(check(unsafe { ffi::cuarena_reset_peaks(self.raw()) }));
    }

    /// Begins a scope of the peaks of one region, or of the whole arena where
    /// `region` is `None`.
    ///
    /// # Errors
    ///
    /// A limit when 16 scopes of the same thing are open; out of memory when
    /// the host has none for the first one.
    ///
    /// ```
    /// # fn main() -> cuarena::Result<()> {
    /// let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
    /// let scope = arena.peaks(None)?;
    /// drop(arena.alloc(64 << 10)?);
    /// let peaks = scope.end()?;
    /// assert_eq!((peaks.live_bytes, peaks.live_blocks), (64 << 10, 1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn peaks(&self, region: Option<Region>) -> Result<PeakScope> {
        PeakScope::begin(self, Watched::Region(region_number(region)))
    }

    /// The same of the blocks with a tag.
    ///
    /// # Errors
    ///
    /// As [`Arena::peaks`]; a bad argument for a tag of another arena.
    pub fn tag_peaks(&self, tag: Tag) -> Result<PeakScope> {
        PeakScope::begin(self, Watched::Tag(tag.number()))
    }
}

impl Stream {
    /// Begins a scope of the peaks of the blocks that are allocated on this
    /// stream.
    ///
    /// # Errors
    ///
    /// As [`Arena::peaks`]; stale before the arena has seen the stream.
    pub fn peaks(&self) -> Result<PeakScope> {
        PeakScope::begin(self.arena(), Watched::Stream(self.clone()))
    }
}

/// What a scope watches. A stream is kept alive by it.
#[derive(Clone)]
enum Watched {
    Region(i32),
    Tag(u16),
    Stream(Stream),
}

/// A scope in which peaks count from what was live when it began.
///
/// [`PeakScope::end`] tells the peaks since; dropping it ends it untold. The
/// peaks of the scope around it are then what they would be without it.
/// Meanwhile [`Arena::stats`] and the others tell the peaks of the innermost
/// scope.
///
/// The whole arena, each region, each tag and each stream have scopes of their
/// own, which do not affect each other. They belong to no thread: scopes of
/// the same thing that several threads open nest as if one had, so that each
/// may get another's peaks.
#[must_use = "a scope that is dropped at once tells nothing"]
pub struct PeakScope {
    arena: Arena,
    watched: Watched,
    open: bool,
}

impl PeakScope {
    fn begin(arena: &Arena, watched: Watched) -> Result<Self> {
        let raw = arena.raw();
        // SAFETY: the arena lives, and so does a stream that is watched.
        check(unsafe {
            match &watched {
                Watched::Region(region) => ffi::cuarena_peaks_push(raw, *region),
                Watched::Tag(tag) => ffi::cuarena_tag_peaks_push(raw, *tag),
                Watched::Stream(stream) => ffi::cuarena_stream_peaks_push(raw, stream.handle()),
            }
        })?;
        Ok(Self {
            arena: arena.clone(),
            watched,
            open: true,
        })
    }

    /// Ends the scope and tells its peaks.
    ///
    /// # Errors
    ///
    /// Stale if the stream that it watches was released meanwhile.
    pub fn end(mut self) -> Result<Peaks> {
        self.pop()
    }

    fn pop(&mut self) -> Result<Peaks> {
        self.open = false;
        let raw = self.arena.raw();
        // SAFETY: an init function of the library.
        let mut peaks = unsafe { sized(ffi::cuarena_peaks_init) };
        // SAFETY: the arena lives, and so does a stream that is watched.
        check(unsafe {
            match &self.watched {
                Watched::Region(region) => ffi::cuarena_peaks_pop(raw, *region, &mut peaks),
                Watched::Tag(tag) => ffi::cuarena_tag_peaks_pop(raw, *tag, &mut peaks),
                Watched::Stream(stream) => {
                    ffi::cuarena_stream_peaks_pop(raw, stream.handle(), &mut peaks)
                }
            }
        })?;
        Ok(Peaks::from_raw(&peaks))
    }
}

impl Drop for PeakScope {
    fn drop(&mut self) {
        if self.open {
            // Nobody is there to be told of an error.
            let _ = self.pop();
        }
    }
}

impl fmt::Debug for PeakScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut form = f.debug_struct("PeakScope");
        match &self.watched {
            Watched::Region(region) => form.field("region", region),
            Watched::Tag(tag) => form.field("tag", tag),
            Watched::Stream(stream) => form.field("stream", &stream.raw()),
        };
        form.finish_non_exhaustive()
    }
}
