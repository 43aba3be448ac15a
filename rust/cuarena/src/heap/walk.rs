//! Looking at what is in a heap.

use super::{Freelist, HeapRef};
use crate::error::check;
use crate::{ffi, BlockId, Result};

/// What an [`Entry`] is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EntryKind {
    /// A live block.
    Live,
    /// A free range.
    Free,
    /// What lies between two segments, and belongs to nobody.
    Gap,
}

/// One stretch of a heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// What it is.
    pub kind: EntryKind,
    /// Its first byte.
    pub offset: u64,
    /// Bytes taken.
    pub size: u64,
    /// Of a range: its free list.
    pub freelist: Freelist,
    /// Of a block: its id.
    pub block: Option<BlockId>,
    /// Of a block: whose it is.
    pub owner: u8,
    /// Of a block: bytes asked for.
    pub requested: u64,
    /// Of a block.
    pub alignment: u64,
    /// Of a block.
    pub tag: u16,
    /// Of a block.
    pub pins: u16,
    /// Of a block: the program's own bits.
    pub flags: u8,
    /// Of a block: a plan under way moves it.
    pub moving: bool,
}

impl Entry {
    fn from_raw(raw: &ffi::cuarena_heap_entry_t) -> Self {
        let kind = match raw.kind {
            ffi::CUARENA_ENTRY_BLOCK => EntryKind::Live,
            ffi::CUARENA_ENTRY_RANGE => EntryKind::Free,
            _ => EntryKind::Gap,
        };
        let is_block = kind == EntryKind::Live;
        Self {
            kind,
            offset: raw.offset,
            size: raw.size,
            freelist: Freelist(if is_block { 0 } else { raw.freelist }),
            block: is_block.then(|| BlockId::from_raw(raw.block)),
            owner: if is_block { raw.freelist as u8 } else { 0 },
            requested: raw.requested,
            alignment: raw.alignment,
            tag: raw.tag,
            pins: raw.pins,
            flags: raw.flags as u8,
            moving: raw.moving != 0,
        }
    }
}

const AT_ONCE: usize = 32;

impl HeapRef {
    /// What is known of one block.
    ///
    /// # Errors
    ///
    /// Stale for an id that names nothing live.
    pub fn block_info(&self, block: BlockId) -> Result<Entry> {
        let mut raw = none();
        // SAFETY: the heap lives.
        check(unsafe { ffi::cuarena_heap_block_info(self.as_raw(), block.as_raw(), &mut raw) })?;
        Ok(Entry::from_raw(&raw))
    }

    /// Every stretch of the heap, in the order of offsets.
    ///
    /// # Errors
    ///
    /// An entry is an error where the walk could not go on.
    pub fn entries(&self) -> impl Iterator<Item = Result<Entry>> + '_ {
        let (mut cursor, mut ended) = (0, false);
        std::iter::from_fn(move || {
            if ended {
                return None;
            }
            let mut raw = [none(); AT_ONCE];
            let mut count = 0;
            // SAFETY: the heap lives, and does not change while it is borrowed;
            // there is room for as many as it is told.
            let status = unsafe {
                ffi::cuarena_heap_walk(
                    self.as_raw(),
                    &mut cursor,
                    raw.as_mut_ptr(),
                    AT_ONCE,
                    &mut count,
                )
            };
            ended = count < AT_ONCE;
            Some(match check(status) {
                Ok(()) => raw[..count].iter().map(Entry::from_raw).map(Ok).collect(),
                Err(error) => {
                    ended = true;
                    vec![Err(error)]
                }
            })
        })
        .flatten()
    }
}

fn none() -> ffi::cuarena_heap_entry_t {
    ffi::cuarena_heap_entry_t {
        kind: 0,
        freelist: 0,
        offset: 0,
        size: 0,
        block: 0,
        requested: 0,
        alignment: 0,
        tag: 0,
        pins: 0,
        flags: 0,
        moving: 0,
    }
}
