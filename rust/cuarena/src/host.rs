//! Host views: a block's bytes as a slice, where the CPU can reach them.
//!
//! *Invariants.* A view pins its block and borrows it, so the bytes neither
//! move nor end while it exists, and `&mut` views have them alone. It is only
//! had of memory that the CPU can read, of a block that no stream may be
//! using. A view that is leaked leaves its pin behind, and the block where it
//! is.
//!
//! *Cost.* A pin and its end: two calls of the C library.

use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::{Block, Error, ErrorKind, Result};

/// Pins a block for the CPU; where its bytes are, as values of `T`.
fn view<T>(block: &Block) -> Result<NonNull<MaybeUninit<T>>> {
    if !block.arena().is_host_readable() {
        let message = "the CPU cannot reach the arena's memory";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    let address = block.take_pin()?.cast::<MaybeUninit<T>>();
    if block.is_in_use() {
        block.end_pin();
        let message = "streams or a device pin may be using the block";
        return Err(Error::new(ErrorKind::Busy, message));
    }
    Ok(NonNull::new(address).unwrap_or(NonNull::dangling()))
}

/// A block's bytes, or values, to read; by [`Block::host`].
pub struct HostView<'b, T = u8> {
    block: &'b Block,
    start: NonNull<MaybeUninit<T>>,
    len: usize,
}

/// A block's bytes, or values, to read and write; by [`Block::host_mut`].
pub struct HostViewMut<'b, T = u8> {
    block: &'b mut Block,
    start: NonNull<MaybeUninit<T>>,
    len: usize,
    /// What it is to the compiler: as of any `&mut`, what is written is exactly
    /// a `T`, or who reads the block later would believe that of another type.
    places: PhantomData<&'b mut [MaybeUninit<T>]>,
}

// SAFETY: it is a shared slice and a shared block.
unsafe impl<T: Sync> Send for HostView<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for HostView<'_, T> {}
// SAFETY: it is a slice that it has alone, and a block likewise.
unsafe impl<T: Send> Send for HostViewMut<'_, T> {}
// SAFETY: shared, it gives shared slices.
unsafe impl<T: Sync> Sync for HostViewMut<'_, T> {}

impl<'b, T> HostView<'b, T> {
    /// Views `len` values; the block has as many, and they are aligned.
    pub(crate) fn new(block: &'b Block, len: usize) -> Result<Self> {
        let start = view(block)?;
        Ok(Self { block, start, len })
    }

    /// The values, as such.
    ///
    /// # Safety
    ///
    /// Each of them is a valid value of `T`. It is if it was written as a `T`,
    /// and if its bytes were written and any are good for a `T`, as for a
    /// number; those of a `bool` that were filled with 7 are no value.
    ///
    /// Where devices reach the memory, which is then not
    /// [pageable](crate::Arena::is_pageable), a copy that is queued from or to
    /// the slice, also by code that is safe, has ended when the view does.
    #[must_use]
    pub unsafe fn assume_init(&self) -> &[T] {
        // SAFETY: the view's own rule, and the caller vouches for the values.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), self.len) }
    }
}

impl<'b, T> HostViewMut<'b, T> {
    /// Views `len` values; the block has as many, and they are aligned.
    pub(crate) fn new(block: &'b mut Block, len: usize) -> Result<Self> {
        let start = view(block)?;
        Ok(Self {
            block,
            start,
            len,
            places: PhantomData,
        })
    }

    /// The values, as such.
    ///
    /// # Safety
    ///
    /// As [`HostView::assume_init`].
    pub unsafe fn assume_init(&mut self) -> &mut [T] {
        // SAFETY: the view's own rule, and the caller vouches for the values.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().cast(), self.len) }
    }

    /// Copies values into it, the first one to place `at`.
    ///
    /// # Panics
    ///
    /// If they do not fit.
    pub fn write(&mut self, at: usize, values: &[T])
    where
        T: Copy,
    {
        let places = &mut self[at..][..values.len()];
        for (place, value) in places.iter_mut().zip(values) {
            place.write(*value);
        }
    }

    /// Writes one value to every place.
    pub fn fill(&mut self, value: T)
    where
        T: Copy,
    {
        for place in self.iter_mut() {
            place.write(value);
        }
    }
}

impl<T> Deref for HostView<'_, T> {
    type Target = [MaybeUninit<T>];

    fn deref(&self) -> &Self::Target {
        // SAFETY: the bytes stay where they are while the view exists; nobody
        // writes to them, since the block is borrowed and no device uses it.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T> Deref for HostViewMut<'_, T> {
    type Target = [MaybeUninit<T>];

    fn deref(&self) -> &Self::Target {
        // SAFETY: as for a shared view.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for HostViewMut<'_, T> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        // SAFETY: as for a shared view, and the block is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T> Drop for HostView<'_, T> {
    fn drop(&mut self) {
        self.block.end_pin();
    }
}

impl<T> Drop for HostViewMut<'_, T> {
    fn drop(&mut self) {
        self.block.end_pin();
    }
}

impl<T> fmt::Debug for HostView<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostView")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for HostViewMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostViewMut")
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

impl Block {
    /// The bytes, to read. Several such views may exist at once.
    ///
    /// Waits for a move that is under way.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] if the CPU cannot reach the arena's memory,
    /// [`ErrorKind::Busy`] if streams may be using the block, or a device pin
    /// of it exists ([`assume_idle`](Self::assume_idle) ends the former), or it
    /// has 65,535 pins; [`ErrorKind::Lost`].
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// # let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
    /// let block = arena.alloc_with(100, &cuarena::Request::new().zeroed())?;
    /// let (view, second) = (block.host()?, block.host()?);
    /// // SAFETY: all bytes were set to 0.
    /// assert!(unsafe { view.assume_init() }.iter().all(|&byte| byte == 0));
    /// assert_eq!(view.as_ptr(), second.as_ptr());
    /// # Ok(())
    /// # }
    /// ```
    pub fn host(&self) -> Result<HostView<'_>> {
        HostView::new(self, self.len())
    }

    /// The bytes, to read and write.
    ///
    /// # Errors
    ///
    /// As [`host`](Self::host).
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// # let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
    /// let mut block = arena.alloc(100)?;
    /// let mut view = block.host_mut()?;
    /// view.fill(0);
    /// view.write(10, b"ten");
    /// view[20].write(b'x');
    /// // SAFETY: all bytes were written.
    /// assert_eq!(unsafe { &view.assume_init()[9..13] }, b"\0ten");
    /// # Ok(())
    /// # }
    /// ```
    pub fn host_mut(&mut self) -> Result<HostViewMut<'_>> {
        let len = self.len();
        HostViewMut::new(self, len)
    }
}
