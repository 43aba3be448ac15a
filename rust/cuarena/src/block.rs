//! Blocks: live allocations that free themselves.
//!
//! *Vocabulary.* A block **names** a stream when it was allocated, resized or
//! released on it: work of that stream may be using its bytes. The first of
//! them is its **home**. A **device pin** is a [`PinnedBlock`].
//!
//! *Invariants.* A block is a handle: its bytes may move whenever nothing pins
//! them, so no address is kept here, and none comes out but through a pin.
//! While a block names a stream, or a device pin of it has not ended, the safe
//! views of [`host`](Block::host) are refused. A block with a home is freed
//! there, so its bytes go to nobody before that work is done. A block with a
//! device pin that was leaked is leaked too, for nobody has said that the
//! device is done with it.
//!
//! *Order.* Whoever takes a pin notes it here, and whoever names a stream notes
//! that, before it takes the lock of the C arena; a view looks at both after
//! it had that lock. So a view that comes later sees them, without a fence of
//! its own.
//!
//! *Life.* A block's handle is lent (`life.rs`): where the block was freed,
//! neither it nor the arena is touched again, unless a handle is there for the
//! call. One is where a closure may run in it.
//!
//! *Cost.* To allocate and drop: the C call. No host memory is allocated.

use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::arena::Lent;
use crate::home::Home;
use crate::{ffi, panics, Arena, BlockInfo, Error, ErrorKind, PinnedBlock, Result, Stream};

/// Names a block of an arena for as long as it lives, wherever it moves.
///
/// Numbers of blocks that have ended are not used again soon, and of two arenas
/// they differ as a rule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub(crate) ffi::cuarena_block_t);

impl BlockId {
    /// The number, which the C library calls `cuarena_block_t`; 0 names none.
    #[must_use]
    pub const fn as_raw(self) -> u64 {
        self.0
    }

    /// The id with that number.
    #[must_use]
    pub const fn from_raw(raw: u64) -> Self {
        Self(raw)
    }
}

impl fmt::Debug for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlockId({:#x})", self.0)
    }
}

/// One live allocation, freed when it is dropped.
///
/// It may be sent to and dropped on any thread, and outlives every other handle
/// of its arena. It has no address: [`Arena::compact`] may move it whenever
/// nothing pins it. [`host`](Self::host) and [`host_mut`](Self::host_mut) give
/// the bytes to the CPU, where it can reach them; [`pin`](Self::pin) gives
/// their address to a device.
///
/// ```
/// # fn main() -> Result<(), cuarena::Error> {
/// let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
/// let mut block = arena.alloc(3)?;
/// block.host_mut()?.write(0, b"abc");
/// arena.compact()?;
/// let view = block.host()?;
/// // SAFETY: all three bytes were written.
/// assert_eq!(unsafe { view.assume_init() }, b"abc");
/// # Ok(())
/// # }
/// ```
#[must_use = "a block is freed when it is dropped"]
pub struct Block {
    arena: Lent,
    id: ffi::cuarena_block_t,
    bytes: usize,
    pub(crate) home: Home,
    device_pins: AtomicU32,
    named: AtomicBool,
}

impl Block {
    /// Owns a block from now on.
    pub(crate) fn new(arena: &Arena, id: ffi::cuarena_block_t, bytes: usize, home: Home) -> Self {
        Self::of(arena.lend(), id, bytes, home)
    }

    #[inline]
    pub(crate) fn of(arena: Lent, id: ffi::cuarena_block_t, bytes: usize, home: Home) -> Self {
        Self {
            arena,
            id,
            bytes,
            named: AtomicBool::new(!home.is_none()),
            home,
            device_pins: AtomicU32::new(0),
        }
    }

    /// The bytes that were asked for.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether it has no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Its name, which a [`Relocation`](crate::Relocation) has.
    #[inline]
    pub fn id(&self) -> BlockId {
        BlockId(self.id)
    }

    /// Whose block it is.
    #[inline]
    pub fn arena(&self) -> &Arena {
        &self.arena
    }

    /// What its address is a multiple of, in bytes.
    ///
    /// # Errors
    ///
    /// As [`info`](Self::info).
    pub fn alignment(&self) -> Result<usize> {
        Ok(self.info()?.alignment)
    }

    /// What the arena knows of it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] if it was ended through the C library.
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// # let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
    /// let info = arena.alloc(1000)?.info()?;
    /// assert_eq!((info.requested, info.allocated, info.pins), (1000, 1024, 0));
    /// # Ok(())
    /// # }
    /// ```
    pub fn info(&self) -> Result<BlockInfo> {
        let mut info = std::mem::MaybeUninit::zeroed();
        // SAFETY: the arena lives as long as the block, and the output as long
        // as the call.
        let status =
            unsafe { ffi::cuarena_block_info(self.arena.raw(), self.id, info.as_mut_ptr()) };
        self.arena.life().finish(status)?;
        // SAFETY: all bits 0 are a value too.
        Ok(BlockInfo::from_raw(unsafe { info.assume_init_ref() }))
    }

    /// Makes the block `bytes` large. Contents stay, as far as there is room;
    /// bytes that are new have any value. In place if it can be, else the
    /// contents are copied: on the block's home, if it names a stream.
    ///
    /// On an error the block is as it was. 0 bytes make it empty.
    ///
    /// # Errors
    ///
    /// What [`Arena::alloc`] may return; [`ErrorKind::Busy`] if a device pin of
    /// it was leaked; [`ErrorKind::Unsupported`] for dedicated and adopted
    /// blocks, which keep their size.
    ///
    /// # Panics
    ///
    /// Resumes the panic of a closure that the arena called meanwhile. The same
    /// holds for every other call that can fail.
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
    /// let mut block = arena.alloc(1000)?;
    /// block.resize(100_000)?;
    /// assert_eq!(block.len(), 100_000);
    /// assert!(block.resize(2 << 20).unwrap_err().is_out_of_memory());
    /// assert_eq!(block.len(), 100_000);
    /// # Ok(())
    /// # }
    /// ```
    pub fn resize(&mut self, bytes: usize) -> Result<()> {
        self.check_no_pins()?;
        let home = self.home.handle();
        // The copy, if there is one, is work of that stream.
        *self.named.get_mut() |= home != ffi::CUARENA_NO_STREAM;
        // SAFETY: the arena lives as long as the block, which is borrowed
        // mutably, so nobody has its address.
        let status = unsafe {
            if home == ffi::CUARENA_NO_STREAM {
                ffi::cuarena_block_resize(self.arena.raw(), self.id, bytes as u64)
            } else {
                ffi::cuarena_block_resize_on(self.arena.raw(), self.id, bytes as u64, home)
            }
        };
        if status == ffi::CUARENA_OK {
            self.bytes = bytes;
        }
        self.arena.life().finish(status)
    }

    /// Pins the block for use by a device: it stays where it is until the guard
    /// ends, and the guard has its address.
    ///
    /// To drop the guard says that the device is done with the block;
    /// [`PinnedBlock::release_on`] says that work on it has been queued on a
    /// stream. Waits for a move that is under way.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`] with 65,535 pins, [`ErrorKind::Lost`].
    ///
    /// # Safety
    ///
    /// Work of a device that uses the address has ended when the guard is
    /// dropped, or is on the stream that the guard is released on, before that.
    /// Work that writes to the block does not run while a host view of it that
    /// was taken before is used, and work that reads from it not while one is
    /// written through. A guard may be leaked: then so is the block.
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
    /// let block = arena.alloc(1000)?;
    /// // SAFETY: no device uses the address.
    /// let pinned = unsafe { block.pin()? };
    /// assert_eq!(pinned.device_ptr().as_raw() % 256, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub unsafe fn pin(&self) -> Result<PinnedBlock<'_>> {
        PinnedBlock::new(self)
    }

    /// The caller says that streams are done with the block, so that it can be
    /// viewed again.
    ///
    /// # Safety
    ///
    /// All work that uses the block has ended, and no device pin of it exists.
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// # let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
    /// let block = arena.alloc(1000)?;
    /// // ... work on a stream, and a wait of the program's for it ...
    /// // SAFETY: nothing is at work.
    /// unsafe { block.assume_idle() };
    /// assert!(block.host().is_ok());
    /// # Ok(())
    /// # }
    /// ```
    pub unsafe fn assume_idle(&self) {
        self.named.store(false, Ordering::Relaxed);
    }

    /// Whether streams may be using the block, or a device pin of it has not
    /// ended, so that it cannot be viewed.
    pub fn is_in_use(&self) -> bool {
        self.named.load(Ordering::Relaxed) || self.device_pins.load(Ordering::Relaxed) != 0
    }

    /// The stream that it will be freed on.
    pub fn home(&self) -> Option<Stream> {
        self.home.stream()
    }

    /// Frees the block, as a drop does, and tells how that went.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`] if a device pin of it was leaked, and what the
    /// driver says where it is freed on a stream. The block is then leaked.
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// # let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
    /// let block = arena.alloc(1000)?;
    /// block.try_free()?;
    /// assert_eq!(arena.stats().frees, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn try_free(self) -> Result<()> {
        let arena = self.arena().clone();
        let mut block = ManuallyDrop::new(self);
        let status = block.end();
        drop(Self::home_of(&mut block));
        let Some(status) = status else {
            return Err(leaked_pin());
        };
        block.arena.give_back();
        arena.life().finish(status)
    }

    /// Takes the block apart: the arena, and an id that nobody frees. It is
    /// made whole by [`from_raw`](Self::from_raw), but has no home then.
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// # let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
    /// let (arena, id) = arena.alloc(1000)?.into_raw();
    /// // SAFETY: the id is live, and nobody else owns it.
    /// let block = unsafe { cuarena::Block::from_raw(arena, id)? };
    /// assert_eq!(block.len(), 1000);
    /// # Ok(())
    /// # }
    /// ```
    pub fn into_raw(self) -> (Arena, BlockId) {
        let (arena, id) = (self.arena().clone(), self.id());
        self.disown();
        (arena, id)
    }

    /// Whoever has a handle forgets the block: it was freed, or has no owner
    /// now.
    pub(crate) fn disown(self) {
        let mut block = ManuallyDrop::new(self);
        block.arena.give_back();
        drop(Self::home_of(&mut block));
    }

    /// What it owns besides the bytes.
    fn home_of(block: &mut ManuallyDrop<Self>) -> Home {
        std::mem::replace(&mut block.home, Home::none())
    }

    /// Owns a block that was taken apart, or made through the C library.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`] if the arena has no such block.
    ///
    /// # Safety
    ///
    /// Nobody else will free it or has its address. Work of devices that uses
    /// it has ended.
    pub unsafe fn from_raw(arena: Arena, id: BlockId) -> Result<Self> {
        let block = ManuallyDrop::new(Self::new(&arena, id.0, 0, Home::none()));
        let info = block.info();
        let mut block = ManuallyDrop::into_inner(block);
        match info {
            Ok(info) => {
                block.bytes = info.requested;
                Ok(block)
            }
            Err(error) => {
                block.disown();
                Err(error)
            }
        }
    }

    // ---- For the guards -------------------------------------------------

    /// Takes a pin of the C library. NULL for an empty block.
    pub(crate) fn take_pin(&self) -> Result<*mut std::ffi::c_void> {
        let mut address = std::ptr::null_mut();
        // SAFETY: the arena lives as long as the block.
        let status = unsafe { ffi::cuarena_block_pin(self.arena.raw(), self.id, &mut address) };
        self.arena.life().finish(status)?;
        Ok(address)
    }

    /// The same for a stream, which waits for compactions that moved the block.
    pub(crate) fn take_pin_on(&self, stream: &Stream) -> Result<*mut std::ffi::c_void> {
        let mut address = std::ptr::null_mut();
        // SAFETY: arena and stream live.
        let status = unsafe {
            ffi::cuarena_block_pin_on(self.arena.raw(), self.id, stream.handle(), &mut address)
        };
        self.arena.life().finish(status)?;
        Ok(address)
    }

    /// Ends a pin that `take_pin` took.
    pub(crate) fn end_pin(&self) {
        // SAFETY: the arena lives as long as the block. It refuses only if the
        // block was ended behind the back of this crate.
        let _ = unsafe { ffi::cuarena_block_unpin(self.arena.raw(), self.id) };
    }

    pub(crate) fn add_device_pin(&self) {
        self.device_pins.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn drop_device_pin(&self) {
        self.device_pins.fetch_sub(1, Ordering::Relaxed);
    }

    /// Ends a pin at this point of a stream, which the block names from now
    /// on.
    pub(crate) fn end_pin_on(&self, stream: &Stream) -> Result<()> {
        self.arena.same_arena(stream)?;
        self.named.store(true, Ordering::Relaxed);
        // SAFETY: the arena lives as long as the block, and the stream too, as
        // its maker vouched.
        let status =
            unsafe { ffi::cuarena_block_unpin_on(self.arena.raw(), self.id, stream.handle()) };
        if status == ffi::CUARENA_OK {
            self.home.reclaim(stream);
        }
        self.arena.life().finish(status)
    }

    /// The streams may be using the block from now on. Before the C library is
    /// told.
    pub(crate) fn name_streams(&self) {
        self.named.store(true, Ordering::Relaxed);
    }

    /// An error if a device pin was leaked.
    pub(crate) fn check_no_pins(&mut self) -> Result<()> {
        if *self.device_pins.get_mut() == 0 {
            return Ok(());
        }
        Err(leaked_pin())
    }

    /// The block is that large now.
    pub(crate) fn note_size(&mut self, bytes: usize) {
        self.bytes = bytes;
    }

    // ---- The end ----------------------------------------------------------

    /// Frees it; None if a device pin of it was leaked.
    #[inline]
    fn end(&mut self) -> Option<ffi::cuarena_status_t> {
        let home = self.home.handle();
        if *self.device_pins.get_mut() != 0 {
            return None;
        }
        // SAFETY: the arena lives as long as the block, which is not used after
        // this. Work that uses it is on its home, or is waited for before its
        // bytes are reused, as the C library knows it by name.
        Some(unsafe {
            if home == ffi::CUARENA_NO_STREAM {
                ffi::cuarena_block_free(self.arena.raw(), self.id)
            } else {
                ffi::cuarena_block_free_on(self.arena.raw(), self.id, home)
            }
        })
    }
}

#[cold]
fn leaked_pin() -> Error {
    Error::new(ErrorKind::Busy, "a device pin of the block was leaked")
}

impl Block {
    /// The end where closures may run, or others hold the arena.
    #[cold]
    fn end_watched(&mut self) {
        let arena = self.arena().clone();
        // What is leaked keeps what it has of the arena.
        if self.end().is_some() {
            self.arena.give_back();
        }
        arena.life().finish_quietly();
    }
}

impl Drop for Block {
    #[inline]
    fn drop(&mut self) {
        if self.arena.life().is_watched() {
            self.end_watched();
            return;
        }
        // What is leaked keeps the arena, for C says that it lives.
        self.end();
        // Of a closure that came meanwhile: whether its arena lives is not
        // known here.
        panics::forget();
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block")
            .field("id", &self.id())
            .field("bytes", &self.bytes)
            .field("home", &self.home())
            .finish_non_exhaustive()
    }
}
