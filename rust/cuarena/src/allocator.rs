//! Collections in an arena's memory, through the trait of `allocator-api2`.
//!
//! *Invariants.* What is handed out never moves while it lives: a pointer of
//! the C library is born with a pin, which nothing here ends. The memory lives
//! as long as any clone of the allocator, for each has a share of the arena.
//! Every clone is as good as the one that allocated.
//!
//! *Costs.* Those of the C calls; the layout of nothing costs no call. Growing
//! is in place wherever the bytes behind are free, and only else a copy. Where
//! blocks keep their size, each change of it is a copy.

use std::alloc::Layout;
use std::ffi::c_void;
use std::fmt;
use std::ptr::{self, NonNull};

use allocator_api2::alloc::{AllocError, Allocator};

use crate::ffi;
use crate::{Arena, Error, ErrorKind, Request, Result};

/// What no granule is below, so that it need not be asked for.
const LEAST_GRANULE: usize = 8;

/// Lets collections allocate in an arena whose bytes the CPU reaches: pageable,
/// pinned or managed ones, or the program's own.
///
/// [`Arena::host_allocator`] makes one, and only for such an arena. It is cheap
/// to clone; clones are equal.
///
/// ```
/// use allocator_api2::vec::Vec;
///
/// # fn main() -> Result<(), cuarena::Error> {
/// let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
/// let mut squares = Vec::new_in(arena.host_allocator()?);
/// squares.extend((0..1000_u64).map(|n| n * n));
/// assert_eq!(squares[999], 998_001);
/// assert!(arena.stats().live_bytes >= 8000);
/// drop(squares);
/// assert_eq!(arena.stats().live_bytes, 0);
/// # Ok(())
/// # }
/// ```
///
/// # Memory that devices reach
///
/// Copies between a device and pinned or managed memory run while the program
/// goes on, so a collection there could be dropped under one:
/// [`Arena::host_allocator_unchecked`] makes the allocator for it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct HostAllocator {
    arena: Arena,
}

impl Arena {
    /// An allocator for collections in this arena's bytes, which are
    /// [pageable](Self::is_pageable).
    ///
    /// Cost: a share of the arena.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](ErrorKind::Unsupported) if they are not: safe code, such
    /// as cudarc's copies, may then be at work on a collection that is dropped.
    ///
    /// ```
    /// use cuarena::{Arena, ErrorKind, MemoryKind};
    /// # fn main() -> Result<(), cuarena::Error> {
    /// let addresses = Arena::builder().memory(MemoryKind::None).pool(1 << 20).build()?;
    /// let error = addresses.host_allocator().unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Unsupported);
    /// # Ok(())
    /// # }
    /// ```
    pub fn host_allocator(&self) -> Result<HostAllocator> {
        if self.is_host_readable() && !self.is_pageable() {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "devices reach the arena's memory, so a copy may be under way when a \
                 collection is dropped; accepted: pageable memory, or \
                 host_allocator_unchecked, whose caller sees to that",
            ));
        }
        // SAFETY: no device works on the bytes by itself.
        unsafe { self.host_allocator_unchecked() }
    }

    /// The same for all bytes that the CPU reaches: pinned and managed ones too,
    /// and those of functions of the program's own.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](ErrorKind::Unsupported): the CPU does not reach them.
    ///
    /// # Safety
    ///
    /// Copies between a device and such bytes run while the program goes on, and
    /// functions that queue one take any slice: cudarc's do, and do not wait
    /// where it is pinned. Of each such copy from or to a collection of this
    /// allocator, or of a clone, the end is waited for before the collection
    /// grows, shrinks, or is dropped; of one that writes to it, before it is
    /// read; and of one that reads from it, before it is written.
    pub unsafe fn host_allocator_unchecked(&self) -> Result<HostAllocator> {
        if !self.is_host_readable() {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "the CPU does not reach the arena's memory; accepted: pageable, pinned or \
                 managed memory, and bytes of the program",
            ));
        }
        let arena = self.clone();
        Ok(HostAllocator { arena })
    }
}

impl HostAllocator {
    /// The arena it allocates in.
    #[must_use]
    pub fn arena(&self) -> &Arena {
        &self.arena
    }

    fn take(&self, layout: Layout, zeroed: bool) -> std::result::Result<NonNull<[u8]>, AllocError> {
        if layout.size() == 0 {
            return Ok(nothing(layout));
        }
        let mut pointer = ptr::null_mut::<c_void>();
        let request = request_for(layout.align(), zeroed);
        let request = request
            .as_ref()
            .map_or(ptr::null(), |r| ptr::from_ref(r.raw()));
        // SAFETY: the arena lives; request and output live as long as the call.
        let status = unsafe {
            ffi::cuarena_alloc_with(
                self.arena.raw(),
                layout.size() as u64,
                request,
                &mut pointer,
            )
        };
        self.answer(status, pointer, layout)
    }

    /// What a call came to that gives `layout.size()` bytes.
    fn answer(
        &self,
        status: ffi::cuarena_status_t,
        pointer: *mut c_void,
        layout: Layout,
    ) -> std::result::Result<NonNull<[u8]>, AllocError> {
        self.arena.life().finish_quietly();
        if status != ffi::CUARENA_OK {
            return Err(AllocError);
        }
        let start = NonNull::new(pointer.cast::<u8>()).ok_or(AllocError)?;
        Ok(NonNull::slice_from_raw_parts(start, layout.size()))
    }

    /// Where the memory refuses to set bytes to 0, they stay taken: who drops a
    /// collection cannot be told.
    ///
    /// # Safety
    ///
    /// The pointer came from this arena, and nobody uses it any more.
    unsafe fn give(&self, pointer: NonNull<u8>) {
        // SAFETY: the arena lives; the caller says the rest.
        let _ = unsafe { ffi::cuarena_free(self.arena.raw(), pointer.as_ptr().cast()) };
        self.arena.life().finish_quietly();
    }

    /// Makes a block larger or smaller: in place where it can be. One that
    /// keeps its size is replaced.
    ///
    /// # Safety
    ///
    /// As for `Allocator::grow` and `Allocator::shrink`.
    unsafe fn resize(
        &self,
        pointer: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> std::result::Result<NonNull<[u8]>, AllocError> {
        if old.size() == 0 {
            return self.take(new, false);
        }
        if new.size() == 0 {
            // SAFETY: the caller hands the block over.
            unsafe { self.give(pointer) };
            return Ok(nothing(new));
        }
        if new.align() > old.align() && new.align() > LEAST_GRANULE {
            // SAFETY: as the caller says.
            return unsafe { self.replace(pointer, old, new) };
        }
        let mut moved = ptr::null_mut::<c_void>();
        // SAFETY: the arena lives, the block is live and nobody else uses it.
        let status = unsafe {
            ffi::cuarena_resize(
                self.arena.raw(),
                pointer.as_ptr().cast(),
                new.size() as u64,
                &mut moved,
            )
        };
        if status == ffi::CUARENA_UNSUPPORTED {
            self.arena.life().finish_quietly();
            // SAFETY: as the caller says; the block is as it was.
            return unsafe { self.replace(pointer, old, new) };
        }
        self.answer(status, moved, new)
    }

    /// Takes another block instead, with the contents.
    ///
    /// # Safety
    ///
    /// As for `Allocator::grow` and `Allocator::shrink`.
    unsafe fn replace(
        &self,
        pointer: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> std::result::Result<NonNull<[u8]>, AllocError> {
        let other = self.take(new, false)?;
        let bytes = old.size().min(new.size());
        // SAFETY: both are live and apart, and at least so large.
        unsafe {
            ptr::copy_nonoverlapping(pointer.as_ptr(), other.cast().as_ptr(), bytes);
            self.give(pointer);
        }
        Ok(other)
    }
}

/// What is asked for besides the size; None: nothing.
fn request_for(alignment: usize, zeroed: bool) -> Option<Request> {
    if alignment <= LEAST_GRANULE && !zeroed {
        return None;
    }
    let mut request = Request::new();
    if alignment > LEAST_GRANULE {
        request = request.alignment(alignment);
    }
    Some(if zeroed { request.zeroed() } else { request })
}

/// What the layout of nothing gets.
fn nothing(layout: Layout) -> NonNull<[u8]> {
    let start = NonNull::new(layout.align() as *mut u8).expect("no alignment is 0");
    NonNull::slice_from_raw_parts(start, 0)
}

// SAFETY: a block lives until it is given back or the last share of the arena
// ends, and has a pin, so it is not moved. Clones share the arena, which takes
// back what any of them gave.
unsafe impl Allocator for HostAllocator {
    #[inline]
    fn allocate(&self, layout: Layout) -> std::result::Result<NonNull<[u8]>, AllocError> {
        self.take(layout, false)
    }

    fn allocate_zeroed(&self, layout: Layout) -> std::result::Result<NonNull<[u8]>, AllocError> {
        self.take(layout, true)
    }

    #[inline]
    unsafe fn deallocate(&self, pointer: NonNull<u8>, layout: Layout) {
        if layout.size() != 0 {
            // SAFETY: the caller says so.
            unsafe { self.give(pointer) };
        }
    }

    unsafe fn grow(
        &self,
        pointer: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> std::result::Result<NonNull<[u8]>, AllocError> {
        // SAFETY: the caller says so.
        unsafe { self.resize(pointer, old, new) }
    }

    unsafe fn shrink(
        &self,
        pointer: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> std::result::Result<NonNull<[u8]>, AllocError> {
        // SAFETY: the caller says so.
        let smaller = unsafe { self.resize(pointer, old, new) };
        if smaller.is_err() && pointer.as_ptr() as usize % new.align() == 0 {
            // No room for another one: it stays as large as it was.
            return Ok(NonNull::slice_from_raw_parts(pointer, old.size()));
        }
        smaller
    }
}

impl fmt::Debug for HostAllocator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostAllocator")
            .field("arena", &self.arena)
            .finish()
    }
}
