//! Blocks of plain data that has values, which safe code reads.
//!
//! *Invariants.* Every byte of the block was written. Only `T` is written
//! through it, which leaves no byte without a value, and any bytes are a value
//! of `T`, so also those that a device wrote. Slices are had of pageable memory
//! only: what takes a slice may queue a copy of it, which in other memory may
//! go on when the block is gone.

use std::fmt;
use std::ops::{Deref, DerefMut};

use bytemuck::Pod;

use crate::{Arena, Block, Error, ErrorKind, HostView, HostViewMut, Request, Result, TypedBlock};

/// A [`TypedBlock`] of plain data, of which each value was written: zeroed,
/// filled or copied.
///
/// ```
/// # fn main() -> Result<(), cuarena::Error> {
/// let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
/// let mut numbers = arena.alloc_zeroed::<f32>(1000)?;
/// numbers.host_mut()?[1..3].fill(0.5);
/// arena.compact()?;
/// assert_eq!(numbers.host()?[..4], [0.0, 0.5, 0.5, 0.0]);
/// # Ok(())
/// # }
/// ```
#[must_use = "a block is freed when it is dropped"]
pub struct PodBlock<T: Pod>(TypedBlock<T>);

impl Arena {
    /// Room for `len` values whose bytes are 0; of any memory that can be
    /// zeroed.
    ///
    /// # Errors
    ///
    /// As [`alloc_typed`](Self::alloc_typed); [`ErrorKind::Unsupported`] where
    /// the memory cannot be zeroed.
    pub fn alloc_zeroed<T: Pod>(&self, len: usize) -> Result<PodBlock<T>> {
        let block = self.alloc_typed_with(len, &Request::new().zeroed())?;
        Ok(PodBlock(block))
    }

    /// Room for `len` values, all of which are `value`.
    ///
    /// # Errors
    ///
    /// As [`alloc_typed`](Self::alloc_typed); [`ErrorKind::Unsupported`] where
    /// the CPU does not reach the memory.
    pub fn alloc_filled<T: Pod>(&self, len: usize, value: T) -> Result<PodBlock<T>> {
        let mut block = self.alloc_typed(len)?;
        block.host_mut()?.fill(value);
        Ok(PodBlock(block))
    }

    /// A copy of values.
    ///
    /// # Errors
    ///
    /// As [`alloc_filled`](Self::alloc_filled).
    pub fn alloc_copied<T: Pod>(&self, values: &[T]) -> Result<PodBlock<T>> {
        let mut block = self.alloc_typed(values.len())?;
        block.host_mut()?.write(0, values);
        Ok(PodBlock(block))
    }
}

impl<T: Pod> TypedBlock<T> {
    /// The block as one whose bytes were written, by whomever.
    ///
    /// # Safety
    ///
    /// They were.
    pub unsafe fn assume_init(self) -> PodBlock<T> {
        PodBlock(self)
    }
}

impl<T: Pod> PodBlock<T> {
    /// How many values it has.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The block, to pin it, release it, or ask about it.
    pub fn as_block(&self) -> &Block {
        self.0.as_block()
    }

    /// The block without what is known of its values.
    pub fn into_typed(self) -> TypedBlock<T> {
        self.0
    }

    /// The values, to read.
    ///
    /// # Errors
    ///
    /// As [`Block::host`]; [`ErrorKind::Unsupported`] of memory that is not
    /// [pageable](Arena::is_pageable), which [`read`](Self::read) copies from.
    pub fn host(&self) -> Result<PodView<'_, T>> {
        self.check_pageable()?;
        self.0.host().map(PodView)
    }

    /// The values, to read and write.
    ///
    /// # Errors
    ///
    /// As [`host`](Self::host); [`write`](Self::write) copies to any memory.
    pub fn host_mut(&mut self) -> Result<PodViewMut<'_, T>> {
        self.check_pageable()?;
        self.0.host_mut().map(PodViewMut)
    }

    /// Copies values from place `at` on, of any memory that the CPU reaches.
    ///
    /// # Errors
    ///
    /// As [`Block::host`].
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn read(&self, at: usize, into: &mut [T]) -> Result<()> {
        let view = self.0.host()?;
        // SAFETY: the invariant, and the slice ends here.
        let values = unsafe { view.assume_init() };
        into.copy_from_slice(&values[at..][..into.len()]);
        Ok(())
    }

    /// Copies values to place `at` and on, of any memory that the CPU reaches.
    ///
    /// # Errors
    ///
    /// As [`Block::host`].
    ///
    /// # Panics
    ///
    /// If there are not so many places.
    pub fn write(&mut self, at: usize, values: &[T]) -> Result<()> {
        self.0.host_mut()?.write(at, values);
        Ok(())
    }

    fn check_pageable(&self) -> Result<()> {
        let arena = self.as_block().arena();
        if arena.is_pageable() || !arena.is_host_readable() {
            return Ok(()); // and the view tells of the latter
        }
        let message = "devices reach the arena's memory, so a copy may be under way when a slice \
                       ends; accepted: pageable memory, read and write, or the views of \
                       TypedBlock, whose assume_init is unsafe";
        Err(Error::new(ErrorKind::Unsupported, message))
    }
}

impl<T: Pod> From<PodBlock<T>> for TypedBlock<T> {
    fn from(values: PodBlock<T>) -> Self {
        values.into_typed()
    }
}

impl<T: Pod> fmt::Debug for PodBlock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PodBlock").field(&self.0).finish()
    }
}

/// The values of a [`PodBlock`], to read.
pub struct PodView<'b, T: Pod>(HostView<'b, T>);

/// The values of a [`PodBlock`], to read and write.
pub struct PodViewMut<'b, T: Pod>(HostViewMut<'b, T>);

impl<T: Pod> Deref for PodView<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the invariant; the memory is pageable.
        unsafe { self.0.assume_init() }
    }
}

impl<T: Pod> Deref for PodViewMut<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        let places: &[_] = &self.0;
        // SAFETY: the invariant; the memory is pageable.
        unsafe { &*(std::ptr::from_ref(places) as *const [T]) }
    }
}

impl<T: Pod> DerefMut for PodViewMut<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { self.0.assume_init() }
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for PodView<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for PodViewMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
