//! What may be asked of a block besides its size.

use std::mem::MaybeUninit;

use crate::choices::Region;
use crate::ffi;

/// A name for the purpose of blocks, registered with [`Arena::tag`]; statistics
/// are kept by tag.
///
/// [`Arena::tag`]: crate::Arena::tag
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tag(pub(crate) ffi::cuarena_tag_t);

impl Tag {
    /// No tag: what blocks have that ask for none.
    pub const NONE: Self = Self(0);

    /// The number that the arena knows it by; 0 for [`Tag::NONE`].
    #[must_use]
    pub fn number(self) -> u16 {
        self.0
    }
}

/// What is asked of a block besides its size.
///
/// ```
/// use cuarena::{Arena, Request};
/// # fn main() -> Result<(), cuarena::Error> {
/// let arena = Arena::builder().pool(1 << 20).build()?;
/// let weights = arena.tag("weights")?;
/// let request = Request::new().alignment(4096).zeroed().tag(weights);
/// let block = arena.alloc_with(1000, &request)?;
/// assert_eq!(block.info()?.alignment, 4096);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Request(ffi::cuarena_request_t);

impl Request {
    /// A block of the dynamic region, with the arena's alignment.
    #[must_use]
    pub fn new() -> Self {
        let mut request = MaybeUninit::<ffi::cuarena_request_t>::zeroed();
        // SAFETY: all bits 0 are a value of the struct, which its function
        // then fills.
        Self(unsafe {
            ffi::cuarena_request_init(request.as_mut_ptr());
            request.assume_init()
        })
    }

    /// Where the block is to be. One of the stable region never moves.
    #[must_use]
    pub fn region(mut self, region: Region) -> Self {
        self.0.region = region.code();
        self
    }

    /// The block's bytes read as 0.
    #[must_use]
    pub fn zeroed(mut self) -> Self {
        self.0.zeroed = 1;
        self
    }

    /// A segment of its own, outside growth, given back to the memory when the
    /// block is freed.
    #[must_use]
    pub fn dedicated(mut self) -> Self {
        self.0.dedicated = 1;
        self
    }

    /// What the block's address is a multiple of: a power of two of bytes; 0:
    /// as the arena's.
    #[must_use]
    pub fn alignment(mut self, bytes: usize) -> Self {
        self.0.alignment = bytes as u64;
        self
    }

    /// What the block is for.
    #[must_use]
    pub fn tag(mut self, tag: Tag) -> Self {
        self.0.tag = tag.0;
        self
    }

    /// At least so many bytes of alignment.
    pub(crate) fn aligned_to(self, bytes: usize) -> Self {
        self.alignment((self.0.alignment as usize).max(bytes))
    }

    pub(crate) fn raw(&self) -> &ffi::cuarena_request_t {
        &self.0
    }
}

impl Default for Request {
    fn default() -> Self {
        Self::new()
    }
}
