//! Streams: memory that a device may still be using when it is freed.
//!
//! Vocabulary
//!
//! - *free list*: the free bytes that one stream may get at once; bytes of the
//!   idle free list are idle, and everybody's.
//! - *event*: an event that the arena records on a stream; when it is complete,
//!   everything that was freed on that stream before is idle.
//! - *home*: the stream whose free list a block's bytes join when it is
//!   dropped.
//!
//! Each call names its stream: a program that names none has no free lists of
//! streams and no events, and pays for none.
//!
//! Who keeps what alive
//!
//! The arena may record on a stream, or let it wait, from its first use until
//! it is released. A handle that is dead then is undefined behaviour of the
//! driver, so handles come in two ways:
//!
//! - [`Arena::stream_of`] takes what *owns* the stream, a [`StreamOwner`], and
//!   is safe. The owner is dropped when the stream was released.
//! - [`Arena::stream`] takes the bare handle and is `unsafe`.
//!
//! Both give a [`Stream`], of which each block that was allocated on it, or
//! given back to it, holds a share. The last share releases the stream, which
//! does not wait. Where the arena cannot release it, which it says of a stream
//! that is being captured, the owner is leaked rather than dropped.
//!
//! What is promised where
//!
//! To hand an address to a device is `unsafe` where the address is had: the
//! device is done with it when the pin ends, or the pin ends in the order of a
//! stream ([`PinnedBlock::release_on`](crate::PinnedBlock::release_on)). From
//! then on the arena knows what the bytes wait for, and freeing, resizing and
//! compacting are safe, on whatever stream. What the program itself must ensure
//! beyond that, [`Stream::waited_for`] and the like, is `unsafe`.

use core::ffi::c_void;
use core::fmt;
use core::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::error::check;
use crate::life::Kept;
use crate::{ffi, panics, Arena, Error, ErrorKind, Result};

/// A stream's handle, as the driver has it: a `CUstream` or a `cudaStream_t`.
/// It owns nothing and may be dead; only what takes one is `unsafe`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RawStream(*mut c_void);

// SAFETY: a number, until somebody hands it to the driver.
unsafe impl Send for RawStream {}
// SAFETY: as above.
unsafe impl Sync for RawStream {}

impl RawStream {
    /// The legacy default stream of the arena's context. A NULL handle is
    /// another name of it.
    pub const LEGACY: Self = Self(1 as *mut c_void);
    /// The default stream of the calling thread: another one on each.
    pub const PER_THREAD: Self = Self(2 as *mut c_void);
    /// No stream. No call takes it: what has no stream is a call of its own.
    pub(crate) const NONE: Self = Self(usize::MAX as *mut c_void);

    /// The handle that the driver gave.
    pub const fn new(handle: *mut c_void) -> Self {
        Self(handle)
    }

    /// The same as a pointer.
    #[must_use]
    pub const fn as_ptr(self) -> *mut c_void {
        self.0
    }

    pub(crate) fn handle(self) -> ffi::cuarena_stream_t {
        self.0.cast()
    }
}

impl fmt::Debug for RawStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::LEGACY => f.write_str("RawStream(legacy)"),
            Self::PER_THREAD => f.write_str("RawStream(per thread)"),
            Self(handle) => write!(f, "RawStream({handle:p})"),
        }
    }
}

/// What owns a stream, so that an arena can keep it alive.
///
/// # Safety
///
/// Until the value is dropped, the handle is always the same and the stream is
/// alive; dropping the value is sound on any thread. The driver's context of
/// the stream outlives what [`StreamOwner::context_owner`] returns or, where
/// that is `None`, the process.
pub unsafe trait StreamOwner: Send + Sync + 'static {
    /// The stream's handle.
    fn raw_stream(&self) -> RawStream;

    /// What keeps the stream's context alive. The arena has events in it, so
    /// this is dropped after the arena.
    fn context_owner(&self) -> Option<Box<dyn core::any::Any + Send + Sync>> {
        None
    }
}

/// A stream that one arena knows, with what keeps it alive. Cloning shares it.
///
/// ```
/// # fn main() -> cuarena::Result<()> {
/// use cuarena::{Arena, MemoryKind, RawStream};
/// // Addresses alone have streams too, so that programs can be tried out
/// // without a device: their handles are numbers.
/// let arena = Arena::builder().memory(MemoryKind::None).pool(1 << 20).build()?;
/// // SAFETY: nobody follows the handle.
/// let stream = unsafe { arena.stream(RawStream::new(0x10 as *mut _))? };
/// let block = arena.alloc_on(4096, &stream)?;
/// drop(block); // in the order of the stream
/// assert_eq!(stream.stats()?.live_blocks, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Stream(Arc<Shared>);

/// A stream of one arena, released by the last share.
pub(crate) struct Shared {
    arena: Arena,
    raw: RawStream,
    owner: Option<Kept>,
}

impl Shared {
    #[inline]
    pub(crate) fn handle(&self) -> ffi::cuarena_stream_t {
        self.raw.handle()
    }

    fn release(&self) -> Result<()> {
        // SAFETY: arena and stream live.
        check(unsafe { ffi::cuarena_release_stream(self.arena.raw(), self.handle()) })
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let owner = self.owner.take();
        if self.release().is_ok() {
            panics::discard(owner);
        } else {
            // The arena may use the handle yet.
            core::mem::forget(owner);
        }
    }
}

/// A moment of a stream, from [`Stream::mark`]. It is a number, and never
/// freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mark(ffi::cuarena_mark_t);

impl Stream {
    pub(crate) fn of(shared: Arc<Shared>) -> Self {
        Self(shared)
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0
    }

    /// The handle.
    #[must_use]
    pub fn raw(&self) -> RawStream {
        self.0.raw
    }

    /// Whose it is.
    #[must_use]
    pub fn arena(&self) -> &Arena {
        &self.0.arena
    }

    pub(crate) fn handle(&self) -> ffi::cuarena_stream_t {
        self.0.handle()
    }

    /// This moment of the stream, to be named later by who waited for it.
    /// Records an event if something was freed on the stream since the last
    /// one; does not wait.
    ///
    /// # Errors
    ///
    /// What the driver refuses; busy while the stream is being captured.
    pub fn mark(&self) -> Result<Mark> {
        let mut mark = 0;
        let arena = self.0.arena.raw();
        // SAFETY: arena and stream live.
        check(unsafe { ffi::cuarena_stream_mark(arena, self.handle(), &mut mark) })?;
        Ok(Mark(mark))
    }

    /// Tells the arena that this stream was made to wait for the work of
    /// `producer` up to `mark` at least: this stream may then get what was
    /// freed there before, without another wait. No driver call.
    ///
    /// # Errors
    ///
    /// A bad argument for what is no mark of that stream, or for a stream of
    /// another arena.
    ///
    /// # Safety
    ///
    /// The wait was queued on this stream before anything else that this
    /// stream is given from now on.
    pub unsafe fn waited_for(&self, producer: &Stream, mark: Mark) -> Result<()> {
        self.0.arena.same_arena(producer)?;
        // SAFETY: arena and streams live; the rest is the caller's word.
        check(unsafe {
            ffi::cuarena_stream_waited(self.0.arena.raw(), self.handle(), producer.handle(), mark.0)
        })
    }

    /// Lets the arena forget the stream now: it records an event behind all
    /// its work and does not touch the handle again, unless the stream is
    /// passed again. Does not wait. The last share does the same, but has
    /// nobody to tell of an error.
    ///
    /// # Errors
    ///
    /// Busy while the stream is in an open capture session; what the driver
    /// refuses.
    pub fn release(&self) -> Result<()> {
        self.0.release()
    }
}

impl PartialEq for Stream {
    /// The same handle in the same arena.
    fn eq(&self, other: &Self) -> bool {
        self.raw() == other.raw() && self.arena() == other.arena()
    }
}

impl Eq for Stream {}

impl Hash for Stream {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.raw(), self.arena()).hash(state);
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stream").field(&self.raw()).finish()
    }
}

impl Arena {
    /// An error for a stream of another arena.
    #[inline]
    pub(crate) fn same_arena(&self, stream: &Stream) -> Result<()> {
        if stream.arena() == self {
            return Ok(());
        }
        Err(foreign(stream))
    }
}

#[cold]
fn of_a_thread() -> Error {
    Error::new(
        ErrorKind::BadArgument,
        "stream: the default one of each thread; one that is the same on all is accepted",
    )
}

#[cold]
fn foreign(stream: &Stream) -> Error {
    Error::new(
        ErrorKind::BadArgument,
        format!("{stream:?} belongs to another arena; a stream that this arena gave is accepted"),
    )
}

impl Arena {
    /// A stream that something owns, for calls of this arena. The owner is kept
    /// until the last share of the stream has ended and it was released.
    ///
    /// Several for the same handle do no harm, but each is released by itself:
    /// the arena may have to learn the stream anew.
    ///
    /// # Errors
    ///
    /// A bad argument for a handle that stands for no stream, and for
    /// [`RawStream::PER_THREAD`], which stands for another one on each thread:
    /// what names it could be dropped on any.
    pub fn stream_of<S: StreamOwner>(&self, owner: S) -> Result<Stream> {
        if owner.raw_stream() == RawStream::PER_THREAD {
            return Err(of_a_thread());
        }
        if let Some(context) = owner.context_owner() {
            self.life().hooks().keep(context);
        }
        self.new_stream(owner.raw_stream(), Some(Box::new(owner)))
    }

    /// A stream by its bare handle, for calls of this arena.
    ///
    /// # Errors
    ///
    /// A bad argument for a handle that stands for no stream.
    ///
    /// # Safety
    ///
    /// The stream is alive until it was released: until the last share of what
    /// this returns has ended, those that blocks hold too, and the last one's
    /// [`Stream::release`] did not fail. Its context outlives the arena, unless
    /// it is the primary one of the device that the arena is on. Of
    /// [`RawStream::PER_THREAD`] all shares, and all blocks that name it, stay
    /// on this thread.
    pub unsafe fn stream(&self, raw: RawStream) -> Result<Stream> {
        self.new_stream(raw, None)
    }

    /// The owner keeps the stream alive, whose context outlives the arena.
    pub(crate) fn new_stream(&self, raw: RawStream, owner: Option<Kept>) -> Result<Stream> {
        if raw == RawStream::NONE {
            return Err(Error::new(
                ErrorKind::BadArgument,
                "stream: the handle of no stream; a call without a stream is meant",
            ));
        }
        let arena = self.clone();
        Ok(Stream(Arc::new(Shared { arena, raw, owner })))
    }

    /// Reclaims what can be: records events on streams that have freed bytes
    /// without one, and takes what is complete. Returns the bytes that came to
    /// the idle free list. Does not wait.
    ///
    /// # Errors
    ///
    /// What the driver refuses.
    pub fn reclaim(&self) -> Result<usize> {
        self.reclaim_by(false)
    }

    /// The same, and waits until everything that was freed so far is idle.
    ///
    /// # Errors
    ///
    /// What the driver refuses; busy for bytes that a capture withholds.
    pub fn reclaim_and_wait(&self) -> Result<usize> {
        self.reclaim_by(true)
    }

    fn reclaim_by(&self, wait: bool) -> Result<usize> {
        let mut idle = 0;
        // SAFETY: the arena lives, and so do the streams that it knows.
        let status = unsafe { ffi::cuarena_reclaim(self.raw(), i32::from(wait), &mut idle) };
        self.life().finish(status)?;
        Ok(idle as usize)
    }

    /// Gives bytes that were freed on the stream back to the memory until no
    /// more than `keep` are reserved or no more of them are free; returns how
    /// many that were. It gives back nothing of other streams, and no idle
    /// bytes. It waits for the stream if that freed something, and for other
    /// streams that use the freed blocks. What stays is idle or, with
    /// [`Steal::Never`](crate::Steal::Never), the stream's as before.
    ///
    /// Where blocks are pieces of a driver's pool, it is the pool that keeps
    /// `keep` bytes.
    ///
    /// # Errors
    ///
    /// Busy for a stream of an open capture session; what the driver refuses;
    /// re-entered in a relocation closure; a bad argument for a stream of
    /// another arena. O(free ranges), and the memory's.
    pub fn trim_on(&self, stream: &Stream, keep: usize) -> Result<usize> {
        self.same_arena(stream)?;
        self.trim_by(stream.handle(), keep)
    }

    /// The same for all streams, and for idle bytes: waits for every stream
    /// that freed something.
    ///
    /// # Errors
    ///
    /// As [`Arena::trim_on`].
    pub fn trim_and_wait(&self, keep: usize) -> Result<usize> {
        self.trim_by(RawStream::NONE.handle(), keep)
    }

    fn trim_by(&self, stream: ffi::cuarena_stream_t, keep: usize) -> Result<usize> {
        let mut given = 0;
        // SAFETY: the arena lives, and so do the streams that it knows.
        let status = unsafe { ffi::cuarena_trim_on(self.raw(), stream, keep as u64, &mut given) };
        self.life().finish(status)?;
        Ok(given as usize)
    }

    /// Tells the arena that the program has waited for the work of `producer`
    /// up to `mark` at least: what was freed there before is idle.
    ///
    /// # Errors
    ///
    /// As [`Stream::waited_for`].
    ///
    /// # Safety
    ///
    /// The work was waited for.
    pub unsafe fn waited_for(&self, producer: &Stream, mark: Mark) -> Result<()> {
        self.same_arena(producer)?;
        // SAFETY: arena and stream live; the rest is the caller's word.
        check(unsafe {
            ffi::cuarena_stream_waited(
                self.raw(),
                RawStream::NONE.handle(),
                producer.handle(),
                mark.0,
            )
        })
    }
}
