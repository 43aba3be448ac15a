//! Arenas: memory that is taken once and handed out in blocks.
//!
//! *Threads.* Any thread may call anything at any time. Handles are shares of
//! one arena; it ends when the last handle and the last block are gone
//! (`life.rs`).
//!
//! *Cost.* Allocation, and every statistic, takes a bounded number of steps and
//! calls no driver while the arena has room. What costs more says so.

use std::ffi::{c_void, CStr};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr;
use std::str::FromStr;
use std::sync::Weak;

use crate::amount::c_text;
use crate::choices::{LimitKind, Region};
use crate::figures::told;
use crate::home::Home;
use crate::life::{Handle, Life};
use crate::{ffi, stats};
use crate::{Address, Amount, ArenaBuilder, Block, Error, ErrorKind, Request, Result, Stats, Tag};

/// One memory, one policy, one lock, and its statistics.
///
/// A clone is another handle of the same arena, and equal to it. When the last
/// handle and the last block are gone, the arena gives its memory back, without
/// waiting for anything: if a stream is still at work on what was freed there,
/// that happens when a later arena is made or ends. [`close`](Self::close)
/// waits for it.
///
/// ```
/// # fn main() -> Result<(), cuarena::Error> {
/// let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
/// let block = arena.alloc(1000)?;
/// assert_eq!(arena.stats().live_bytes, 1024);
/// drop(block);
/// assert_eq!(arena.stats().live_bytes, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Arena(Handle);

/// The handle of a block, while C says that the block lives. As a rule it is
/// not counted.
pub(crate) struct Lent(ManuallyDrop<Arena>);

impl Lent {
    /// The block is about to be forgotten, or was freed while another handle
    /// lives. It must not be used again.
    pub(crate) fn give_back(&mut self) {
        if self.life().counts_blocks() {
            // SAFETY: it was counted.
            unsafe { ManuallyDrop::drop(&mut self.0) };
        }
    }
}

impl Deref for Lent {
    type Target = Arena;

    #[inline]
    fn deref(&self) -> &Arena {
        &self.0
    }
}

/// A handle that does not keep the arena alive, by [`Arena::downgrade`].
/// Of the same arena they are equal, whether it has ended or not.
#[derive(Clone)]
pub struct WeakArena(Weak<Life>);

impl WeakArena {
    /// The arena, unless it has ended.
    pub fn upgrade(&self) -> Option<Arena> {
        Handle::upgrade(&self.0).map(Arena)
    }
}

impl PartialEq for WeakArena {
    fn eq(&self, other: &Self) -> bool {
        self.0.ptr_eq(&other.0)
    }
}

impl Eq for WeakArena {}

impl fmt::Debug for WeakArena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WeakArena")
    }
}

impl Arena {
    /// Makes an arena of options as [`ArenaBuilder::parse`] takes them; `""` are
    /// the defaults. `str::parse` does the same. The environment is not read.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadArgument`] names key, value and what would be accepted;
    /// otherwise as [`ArenaBuilder::build`].
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// let arena = match cuarena::Arena::open("memory=device, pool=80%") {
    ///     Err(error) if error.is_no_device() => "pool=16MiB".parse()?,
    ///     arena => arena?,
    /// };
    /// let block = arena.alloc(1_000_000)?;
    /// # drop(block);
    /// # Ok(())
    /// # }
    /// ```
    pub fn open(options: &str) -> Result<Self> {
        Self::builder().parse(options)?.build()
    }

    /// The options of an arena that is to be made. Pageable host memory and a
    /// pool of all that is available but 512 MiB, unless they say otherwise.
    pub fn builder() -> ArenaBuilder {
        ArenaBuilder::new()
    }

    pub(crate) fn of(handle: Handle) -> Self {
        Self(handle)
    }

    pub(crate) fn into_handle(self) -> Handle {
        self.0
    }

    /// For a block of this arena.
    pub(crate) fn lend(&self) -> Lent {
        if self.life().counts_blocks() {
            return Lent(ManuallyDrop::new(self.clone()));
        }
        self.lend_plainly()
    }

    /// The same where nothing is watched, and so nobody else holds the arena.
    #[inline]
    fn lend_plainly(&self) -> Lent {
        Lent(ManuallyDrop::new(Self(self.0.uncounted())))
    }

    #[inline]
    pub(crate) fn life(&self) -> &Life {
        self.0.life()
    }

    #[inline]
    pub(crate) fn raw(&self) -> *mut ffi::cuarena_t {
        self.life().raw()
    }

    /// The number of bytes of which addresses and sizes of blocks are
    /// multiples: the option `alignment`.
    #[inline]
    #[must_use]
    pub fn granule(&self) -> usize {
        self.life().granule()
    }

    /// Whether the CPU can reach the bytes at any time, so that blocks can be
    /// viewed. Of managed memory it can where
    /// [`DeviceInfo::concurrent`](crate::DeviceInfo::concurrent) is so.
    #[inline]
    #[must_use]
    pub fn is_host_readable(&self) -> bool {
        self.life().is_host_readable()
    }

    /// Whether the bytes are pageable ones of the host, which devices do not
    /// reach by themselves: a copy from or to them has ended when the driver's
    /// call returns, while one of pinned or managed memory may go on.
    #[inline]
    #[must_use]
    pub fn is_pageable(&self) -> bool {
        self.life().is_pageable()
    }

    /// A handle that does not keep the arena alive.
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// # let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
    /// let weak = arena.downgrade();
    /// assert!(weak.upgrade().is_some());
    /// drop(arena);
    /// assert!(weak.upgrade().is_none());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn downgrade(&self) -> WeakArena {
        WeakArena(self.0.downgrade())
    }

    // ---- Requests ---------------------------------------------------------

    /// A block of so many bytes, of the dynamic region, of any contents. One of
    /// 0 bytes lives and is empty.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OutOfMemory`] if fewer bytes are free and no more can be
    /// had, [`ErrorKind::Fragmented`] if compaction to that goal would make room,
    /// [`ErrorKind::Limit`], [`ErrorKind::Driver`], [`ErrorKind::Lost`]. The
    /// error has the bytes asked for, the limit, and the bytes free.
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// # let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
    /// let block = arena.alloc(1000)?;
    /// std::thread::spawn(move || drop(block)).join().unwrap();
    /// assert_eq!(arena.stats().live_blocks, 0);
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    pub fn alloc(&self, bytes: usize) -> Result<Block> {
        let mut id = 0;
        // SAFETY: the arena lives, and the output as long as the call.
        let status = unsafe { ffi::cuarena_block_alloc(self.raw(), bytes as u64, &mut id) };
        self.own(status, id, bytes)
    }

    /// A block of which more is asked.
    ///
    /// # Errors
    ///
    /// As [`alloc`](Self::alloc); [`ErrorKind::Unsupported`] to zero a memory
    /// that cannot, and for a dedicated block with a larger alignment than the
    /// memory gives its segments.
    pub fn alloc_with(&self, bytes: usize, request: &Request) -> Result<Block> {
        let mut id = 0;
        // SAFETY: the arena lives, and the output as long as the call.
        let status = unsafe {
            ffi::cuarena_block_alloc_with(self.raw(), bytes as u64, request.raw(), &mut id)
        };
        self.own(status, id, bytes)
    }

    /// Owns what a request without a stream came to.
    #[inline]
    fn own(&self, status: ffi::cuarena_status_t, id: u64, bytes: usize) -> Result<Block> {
        self.own_at(status, id, bytes, Home::none)
    }

    /// The same of one that has a home.
    #[inline]
    pub(crate) fn own_at(
        &self,
        status: ffi::cuarena_status_t,
        id: u64,
        bytes: usize,
        home: impl FnOnce() -> Home,
    ) -> Result<Block> {
        if status != ffi::CUARENA_OK {
            return Err(self.refusal(status));
        }
        if self.life().is_watched() {
            return self.own_watched(id, bytes, home());
        }
        Ok(Block::of(self.lend_plainly(), id, bytes, home()))
    }

    /// The block is freed if a closure's panic goes on here.
    #[cold]
    fn own_watched(&self, id: u64, bytes: usize, home: Home) -> Result<Block> {
        let block = Block::new(self, id, bytes, home);
        self.life().finish(ffi::CUARENA_OK)?;
        Ok(block)
    }

    #[cold]
    fn refusal(&self, status: ffi::cuarena_status_t) -> Error {
        match self.life().finish(status) {
            Err(error) => error,
            Ok(()) => Error::new(ErrorKind::Corrupt, "a refusal without a status"),
        }
    }

    /// Counts foreign bytes as a block of this arena. They are pinned, and
    /// forgotten, not given back, when the block is dropped.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadArgument`] if they overlap the arena's, or are not
    /// aligned to its [`granule`](Self::granule); [`ErrorKind::Limit`].
    ///
    /// # Safety
    ///
    /// They are of the same memory as the arena's, and valid to read and write,
    /// for nobody else, until the block was dropped.
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// # let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
    /// use cuarena::Tag;
    ///
    /// #[repr(align(256))]
    /// struct Foreign([u8; 4096]);
    /// let mut foreign = Box::new(Foreign([7; 4096]));
    /// let start = foreign.0.as_mut_ptr().cast();
    /// // SAFETY: the bytes are the host's, as the arena's, and outlive the block.
    /// let block = unsafe { arena.adopt(start, 4096, Tag::NONE)? };
    /// assert_eq!(arena.stats().dedicated_bytes, 4096);
    /// drop(block);
    /// assert_eq!(foreign.0[0], 7);
    /// # Ok(())
    /// # }
    /// ```
    pub unsafe fn adopt(&self, start: *mut c_void, bytes: usize, tag: Tag) -> Result<Block> {
        let mut id = 0;
        // SAFETY: the arena lives; the caller vouches for the bytes.
        let status = unsafe { ffi::cuarena_adopt(self.raw(), start, bytes as u64, tag.0, &mut id) };
        self.own(status, id, bytes)
    }

    // ---- Tags -------------------------------------------------------------

    /// The tag of that name, registered at first use.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadArgument`] for an empty name, [`ErrorKind::Limit`] past
    /// 4095 of them. O(tags).
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// # let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
    /// let tag = arena.tag("activations")?;
    /// assert_eq!(arena.tag("activations")?, tag);
    /// assert_eq!(arena.tag_name(tag)?, "activations");
    /// # Ok(())
    /// # }
    /// ```
    pub fn tag(&self, name: &str) -> Result<Tag> {
        let name = c_text(name)?;
        let mut tag = 0;
        // SAFETY: the arena lives, the rest as long as the call.
        let status = unsafe { ffi::cuarena_tag(self.raw(), name.as_ptr(), &mut tag) };
        self.life().finish(status)?;
        Ok(Tag(tag))
    }

    /// The name of a tag.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadArgument`] or [`ErrorKind::Stale`] for a tag that is
    /// none of this arena's.
    pub fn tag_name(&self, tag: Tag) -> Result<&str> {
        let mut name = ptr::null();
        // SAFETY: the arena lives, the output as long as the call.
        let status = unsafe { ffi::cuarena_tag_name(self.raw(), tag.0, &mut name) };
        self.life().finish(status)?;
        // SAFETY: names live as long as the arena, and end with a zero.
        let name = unsafe { CStr::from_ptr(name) };
        name.to_str().map_err(|_| {
            let message = "the tag's name, which C registered, is not UTF-8";
            Error::new(ErrorKind::Unsupported, message)
        })
    }

    // ---- Size -------------------------------------------------------------

    /// Makes the pool so many bytes large, its stable region as it is. Contents
    /// stay; blocks without pins may move, which the
    /// [relocation listener](Self::on_relocation) hears.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`] if pinned blocks are in the way,
    /// [`ErrorKind::BadArgument`] below the stable region's size,
    /// [`ErrorKind::Unsupported`] for bytes of the program's own, for an arena
    /// that grows, and where blocks would have to move on a memory that cannot
    /// move bytes, [`ErrorKind::Reentered`] in a relocation closure, and what
    /// [`alloc`](Self::alloc) may return. Cost: the bytes moved; waits for work
    /// on them.
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// # let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
    /// assert!(arena.alloc(2 << 20).is_err());
    /// arena.resize_pool(4 << 20)?;
    /// assert!(arena.alloc(2 << 20).is_ok());
    /// # Ok(())
    /// # }
    /// ```
    pub fn resize_pool(&self, bytes: usize) -> Result<()> {
        // SAFETY: the arena lives.
        let status = unsafe { ffi::cuarena_resize_pool(self.raw(), bytes as u64) };
        self.life().finish(status)
    }

    /// Gives unused bytes back to the memory until no more than `keep` are
    /// reserved or nothing more is free; returns how many that were.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Reentered`] in a relocation closure, [`ErrorKind::Lost`].
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
    /// assert_eq!(arena.trim(0)?, 1 << 20);
    /// assert_eq!(arena.stats().reserved_bytes, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub fn trim(&self, keep: usize) -> Result<usize> {
        let mut given = 0;
        // SAFETY: the arena lives, the output as long as the call.
        let status = unsafe { ffi::cuarena_trim(self.raw(), keep as u64, &mut given) };
        self.life().finish(status)?;
        Ok(given as usize)
    }

    /// Sets a limit, which bounds what comes; returns the limit before, in
    /// bytes, if there was one. A limit below what is reserved or live now is
    /// legal.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadArgument`] for a part of what is available, where the
    /// memory cannot tell that, and for more than 100 %;
    /// [`ErrorKind::Reentered`] in a relocation closure, of
    /// [`LimitKind::Cached`]; [`ErrorKind::Unsupported`] of
    /// [`LimitKind::Threshold`] without a driver's pool, and what the driver
    /// refuses.
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// # let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
    /// use cuarena::LimitKind;
    /// assert_eq!(arena.set_limit(LimitKind::Live, 1000)?, None);
    /// assert!(arena.alloc(2000).unwrap_err().is_limit());
    /// assert_eq!(arena.clear_limit(LimitKind::Live)?, Some(1000));
    /// # Ok(())
    /// # }
    /// ```
    pub fn set_limit(&self, kind: LimitKind, limit: impl Into<Amount>) -> Result<Option<usize>> {
        let mut old = 0;
        let limit = limit.into().raw();
        // SAFETY: the arena lives, the output as long as the call.
        let status = unsafe { ffi::cuarena_set_limit(self.raw(), kind.code(), limit, &mut old) };
        self.life().finish(status)?;
        Ok(bounded(old))
    }

    /// Takes a limit away; returns the one before, in bytes, if there was one.
    ///
    /// # Errors
    ///
    /// As [`set_limit`](Self::set_limit).
    pub fn clear_limit(&self, kind: LimitKind) -> Result<Option<usize>> {
        self.set_limit(kind, Amount::bytes(usize::MAX))
    }

    /// A limit, in bytes, if there is one.
    ///
    /// # Errors
    ///
    /// None is known but for [`LimitKind::Threshold`], as
    /// [`set_limit`](Self::set_limit).
    pub fn limit(&self, kind: LimitKind) -> Result<Option<usize>> {
        let mut bytes = 0;
        // SAFETY: the arena lives, the output as long as the call.
        let status = unsafe { ffi::cuarena_get_limit(self.raw(), kind.code(), &mut bytes) };
        self.life().finish(status)?;
        Ok(bounded(bytes))
    }

    // ---- Knowing ----------------------------------------------------------

    /// The statistics of the whole arena. O(1).
    #[must_use]
    pub fn stats(&self) -> Stats {
        told(stats::read(self.raw(), ffi::CUARENA_REGION_ALL))
    }

    /// The statistics of one region. O(1).
    #[must_use]
    pub fn region_stats(&self, region: Region) -> Stats {
        told(stats::read(self.raw(), region.code()))
    }

    /// Recomputes every counter and link of the bookkeeping.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Corrupt`] with what is wrong. O(blocks + ranges), under the
    /// lock.
    pub fn check(&self) -> Result<()> {
        // SAFETY: the arena lives; no text is asked for.
        let status = unsafe { ffi::cuarena_validate(self.raw(), ptr::null_mut(), 0) };
        self.life().finish(status)
    }

    /// Where the first segment is, and its bytes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] if the arena has none.
    pub fn base(&self) -> Result<(Address, usize)> {
        let (mut base, mut bytes) = (ptr::null_mut(), 0);
        // SAFETY: the arena lives, the outputs as long as the call.
        let status = unsafe { ffi::cuarena_base(self.raw(), &mut base, &mut bytes) };
        self.life().finish(status)?;
        if base.is_null() {
            return Err(Error::new(ErrorKind::Stale, "the arena holds no segment"));
        }
        Ok((Address::of(base), bytes as usize))
    }

    // ---- The end ----------------------------------------------------------

    /// The C arena, for calls that this crate has not. It lives as long as this
    /// handle. To end its blocks, or it, behind the back of this crate is the
    /// caller's risk, as every call through a raw pointer is.
    #[must_use]
    pub fn as_raw(&self) -> *mut ffi::cuarena_t {
        self.raw()
    }

    /// Ends the arena now, and waits for the work of streams on what was freed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`] while blocks or other handles live; the handle comes
    /// back in the error.
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
    /// let block = arena.alloc(1000)?;
    /// let error = arena.close().unwrap_err();
    /// assert!(error.error().is_busy());
    /// drop(block);
    /// error.into_parts().1.close()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn close(self) -> std::result::Result<(), CloseError> {
        self.reclaim_if_last()?
            .0
            .close()
            .map_err(|(handle, error)| CloseError {
                error,
                arena: Self(handle),
            })
    }

    /// Waits for what was freed on streams, unless others will free more.
    fn reclaim_if_last(self) -> std::result::Result<Self, CloseError> {
        if !self.0.is_last() {
            return Ok(self); // and `Handle::close` tells
        }
        // SAFETY: the arena lives; the count is not asked for.
        let status = unsafe { ffi::cuarena_reclaim(self.raw(), 1, ptr::null_mut()) };
        match self.life().finish(status) {
            Err(error) if !error.is_lost() => Err(CloseError { error, arena: self }),
            _ => Ok(self),
        }
    }
}

/// A number of bytes of which the largest says that there is no bound.
pub(crate) fn bounded(bytes: u64) -> Option<usize> {
    (bytes != u64::MAX).then_some(bytes as usize)
}

/// As [`Arena::open`].
impl FromStr for Arena {
    type Err = Error;

    fn from_str(options: &str) -> Result<Self> {
        Self::open(options)
    }
}

/// Handles of the same arena are equal.
impl PartialEq for Arena {
    fn eq(&self, other: &Self) -> bool {
        self.raw() == other.raw()
    }
}

impl Eq for Arena {}

impl Hash for Arena {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.raw().hash(state);
    }
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stats = stats::read(self.raw(), ffi::CUARENA_REGION_ALL).unwrap_or_default();
        f.debug_struct("Arena")
            .field("address", &self.raw())
            .field("reserved_bytes", &stats.reserved_bytes)
            .field("live_blocks", &stats.live_blocks)
            .field("live_bytes", &stats.live_bytes)
            .finish_non_exhaustive()
    }
}

/// Why an arena could not be closed, and the arena.
#[derive(Debug)]
pub struct CloseError {
    error: Error,
    arena: Arena,
}

impl CloseError {
    /// Why.
    #[must_use]
    pub fn error(&self) -> &Error {
        &self.error
    }

    /// Why, and the arena.
    #[must_use]
    pub fn into_parts(self) -> (Error, Arena) {
        (self.error, self.arena)
    }
}

impl From<CloseError> for Error {
    fn from(error: CloseError) -> Self {
        error.error
    }
}

impl fmt::Display for CloseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for CloseError {}
