//! Blocks of values of one type.

use std::fmt;
use std::marker::PhantomData;
use std::mem::{align_of, size_of};

use crate::{Arena, Block, Error, ErrorKind, HostView, HostViewMut, Request, Result};

/// A [`Block`] with room for values of one type, aligned for them.
///
/// The values are `Copy`: nothing is dropped with the block, and they are what
/// their bytes are, also when compaction has moved these. Fresh ones have any
/// bytes.
///
/// ```
/// # fn main() -> Result<(), cuarena::Error> {
/// let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
/// let mut block = arena.alloc_typed::<f32>(1000)?;
/// block.host_mut()?.fill(0.5);
/// let view = block.host()?;
/// // SAFETY: all were written.
/// assert_eq!(unsafe { view.assume_init() }.iter().sum::<f32>(), 500.0);
/// # Ok(())
/// # }
/// ```
#[must_use = "a block is freed when it is dropped"]
pub struct TypedBlock<T: Copy> {
    block: Block,
    len: usize,
    _values: PhantomData<T>,
}

impl<T: Copy> TypedBlock<T> {
    /// The block has room for so many, and is aligned for them.
    #[inline]
    fn of(block: Block, len: usize) -> Self {
        let _values = PhantomData;
        Self {
            block,
            len,
            _values,
        }
    }

    /// How many values there is room for.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is room for none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The block, to pin it, release it, or ask about it.
    #[inline]
    pub fn as_block(&self) -> &Block {
        &self.block
    }

    /// The block without the type. [`TypedBlock::try_from`] gives it one again.
    pub fn into_block(self) -> Block {
        self.block
    }

    /// Makes room for `len` values. Contents stay, as far as there is room.
    ///
    /// # Errors
    ///
    /// As [`Block::resize`]; [`ErrorKind::BadArgument`] if they are more bytes
    /// than there are addresses.
    pub fn resize(&mut self, len: usize) -> Result<()> {
        self.block.resize(bytes_of::<T>(len)?)?;
        self.len = len;
        Ok(())
    }

    /// The values, to read. See [`Block::host`].
    ///
    /// # Errors
    ///
    /// As [`Block::host`].
    pub fn host(&self) -> Result<HostView<'_, T>> {
        HostView::new(&self.block, self.len)
    }

    /// The values, to read and write. See [`Block::host_mut`].
    ///
    /// # Errors
    ///
    /// As [`Block::host`].
    pub fn host_mut(&mut self) -> Result<HostViewMut<'_, T>> {
        HostViewMut::new(&mut self.block, self.len)
    }
}

/// A block as one of values; what is left at its end is out of reach.
///
/// The block comes back with [`ErrorKind::BadArgument`] if it is not aligned for
/// them.
///
/// ```
/// # fn main() -> Result<(), cuarena::Error> {
/// # let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
/// use cuarena::TypedBlock;
/// let words = TypedBlock::<u32>::try_from(arena.alloc(1001)?)?;
/// assert_eq!(words.len(), 250);
/// assert_eq!(words.into_block().len(), 1001);
/// # Ok(())
/// # }
/// ```
impl<T: Copy> TryFrom<Block> for TypedBlock<T> {
    type Error = FromBlockError;

    fn try_from(block: Block) -> std::result::Result<Self, FromBlockError> {
        let alignment = match block.info() {
            Ok(info) => info.alignment.max(block.arena().granule()),
            Err(error) => return Err(FromBlockError { error, block }),
        };
        if alignment < align_of::<T>() {
            let error = misaligned::<T>(alignment);
            return Err(FromBlockError { error, block });
        }
        let len = block.len() / size_of::<T>().max(1);
        Ok(Self::of(block, len))
    }
}

impl<T: Copy> From<TypedBlock<T>> for Block {
    fn from(values: TypedBlock<T>) -> Self {
        values.into_block()
    }
}

/// Why a block could not become something else, and the block.
#[derive(Debug)]
pub struct FromBlockError {
    pub(crate) error: Error,
    pub(crate) block: Block,
}

impl FromBlockError {
    /// Why.
    pub fn error(&self) -> &Error {
        &self.error
    }

    /// Why, and the block.
    pub fn into_parts(self) -> (Error, Block) {
        (self.error, self.block)
    }
}

impl From<FromBlockError> for Error {
    fn from(error: FromBlockError) -> Self {
        error.error
    }
}

impl fmt::Display for FromBlockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for FromBlockError {}

impl<T: Copy> fmt::Debug for TypedBlock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedBlock")
            .field("block", &self.block)
            .field("len", &self.len)
            .finish()
    }
}

impl Arena {
    /// Room for `len` values of a type.
    ///
    /// # Errors
    ///
    /// As [`alloc`](Self::alloc); [`ErrorKind::BadArgument`] if they are more
    /// bytes than there are addresses.
    #[inline]
    pub fn alloc_typed<T: Copy>(&self, len: usize) -> Result<TypedBlock<T>> {
        let bytes = bytes_of::<T>(len)?;
        let block = if align_of::<T>() <= self.granule() {
            self.alloc(bytes)?
        } else {
            let request = Request::new().alignment(align_of::<T>());
            self.alloc_with(bytes, &request)?
        };
        Ok(TypedBlock::of(block, len))
    }

    /// The same with more that is asked of the block. Its alignment is that of
    /// the type at least.
    ///
    /// # Errors
    ///
    /// As [`alloc_typed`](Self::alloc_typed).
    pub fn alloc_typed_with<T: Copy>(
        &self,
        len: usize,
        request: &Request,
    ) -> Result<TypedBlock<T>> {
        let least = align_of::<T>().max(self.granule());
        let block = self.alloc_with(bytes_of::<T>(len)?, &request.aligned_to(least))?;
        Ok(TypedBlock::of(block, len))
    }
}

/// The bytes of so many values, which a slice may have.
#[inline]
fn bytes_of<T>(len: usize) -> Result<usize> {
    match len.checked_mul(size_of::<T>()) {
        Some(bytes) if bytes <= isize::MAX as usize => Ok(bytes),
        _ => Err(too_many::<T>(len)),
    }
}

#[cold]
fn too_many<T>(len: usize) -> Error {
    let size = size_of::<T>();
    let message = format!(
        "{len} values of {size} bytes; accepted: {} bytes",
        isize::MAX
    );
    Error::new(ErrorKind::BadArgument, message)
}

#[cold]
fn misaligned<T>(alignment: usize) -> Error {
    let message = format!(
        "a block aligned to {alignment} bytes; accepted: {} or more",
        align_of::<T>()
    );
    Error::new(ErrorKind::BadArgument, message)
}
