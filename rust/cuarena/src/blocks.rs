//! What an arena knows of its blocks.

use std::fmt;
use std::mem::MaybeUninit;

use crate::choices::{Choice, Region};
use crate::compact::Address;
use crate::{ffi, Arena, BlockId, Tag};

/// What an arena knows of one block.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct BlockInfo {
    /// Its name.
    pub block: BlockId,
    /// Where it is now, if anywhere.
    pub address: Option<Address>,
    /// The bytes asked for.
    pub requested: usize,
    /// The bytes taken.
    pub allocated: usize,
    /// What its address is a multiple of, in bytes.
    pub alignment: usize,
    /// Where it is.
    pub region: Region,
    /// What it is for.
    pub tag: Tag,
    /// How many pins hold it.
    pub pins: u32,
    /// Whether it was made by the C library's calls for pointers.
    pub is_pointer: bool,
    /// Whether it has a segment of its own.
    pub is_dedicated: bool,
    /// Whether its bytes are foreign.
    pub is_adopted: bool,
    /// Whether it is being moved.
    pub is_moving: bool,
}

impl BlockInfo {
    pub(crate) fn from_raw(raw: &ffi::cuarena_block_info_t) -> Self {
        Self {
            block: BlockId(raw.block),
            address: (!raw.address.is_null()).then(|| Address::of(raw.address)),
            requested: raw.requested as usize,
            allocated: raw.allocated as usize,
            alignment: raw.alignment as usize,
            region: Region::of_code(raw.region).unwrap_or(Region::Dynamic),
            tag: Tag(raw.tag),
            pins: raw.pins.into(),
            is_pointer: raw.pointer != 0,
            is_dedicated: raw.dedicated != 0,
            is_adopted: raw.adopted != 0,
            is_moving: raw.moving != 0,
        }
    }
}

/// How many blocks are asked about at once.
const BATCH: usize = 32;

/// The blocks of an arena, in no order; by [`Arena::blocks`].
///
/// Those made or freed meanwhile may or may not be seen; no other is missed or
/// seen twice.
pub struct Blocks<'a> {
    arena: &'a Arena,
    cursor: u64,
    batch: Vec<BlockInfo>,
    ended: bool,
}

impl Arena {
    /// The live blocks, as they are found. Cost: a lock for each 32 of them.
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
    /// let block = arena.alloc(1000)?;
    /// let ids: Vec<_> = arena.blocks().map(|info| info.block).collect();
    /// assert_eq!(ids, [block.id()]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn blocks(&self) -> Blocks<'_> {
        Blocks {
            arena: self,
            cursor: 0,
            batch: Vec::new(),
            ended: false,
        }
    }
}

impl Blocks<'_> {
    fn refill(&mut self) {
        let mut infos = [MaybeUninit::<ffi::cuarena_block_info_t>::uninit(); BATCH];
        let mut count = 0;
        // SAFETY: the arena lives, and the array has as many places as is said.
        let status = unsafe {
            let (cursor, infos) = (&mut self.cursor, infos.as_mut_ptr().cast());
            ffi::cuarena_blocks(self.arena.raw(), cursor, infos, BATCH, &mut count)
        };
        self.ended = status != ffi::CUARENA_OK || count < BATCH;
        let filled = infos[..count].iter().rev();
        // SAFETY: the call filled so many places.
        let infos = filled.map(|info| BlockInfo::from_raw(unsafe { info.assume_init_ref() }));
        self.batch.extend(infos);
    }
}

impl Iterator for Blocks<'_> {
    type Item = BlockInfo;

    fn next(&mut self) -> Option<BlockInfo> {
        if self.batch.is_empty() && !self.ended {
            self.refill();
        }
        self.batch.pop()
    }
}

impl std::iter::FusedIterator for Blocks<'_> {}

impl fmt::Debug for Blocks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocks")
            .field("arena", self.arena)
            .finish_non_exhaustive()
    }
}
