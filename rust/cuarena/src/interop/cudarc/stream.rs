//! A stream of cudarc's that an arena serves.

use std::fmt;
use std::mem::{align_of, size_of};
use std::sync::Arc;

use ::cudarc::driver::{
    CudaStream, DevicePtr, DeviceRepr, DriverError, HostSlice, ValidAsZeroBits,
};

use super::home::Home;
use super::slice::{unless_stable, ArenaSlice};
use crate::{ffi, Arena, Block, Error, ErrorKind, FromBlockError, Request, Result, Stream};

/// A stream that slices of an arena are allocated on.
///
/// [`ArenaExt::cuda_stream`](super::ArenaExt::cuda_stream) makes one. It is
/// cheap to clone, and any thread may use it. The arena knows the stream, and
/// the stream stays alive, until the last clone and the last slice are gone.
#[derive(Clone)]
pub struct ArenaStream {
    home: Arc<Home>,
}

impl ArenaStream {
    pub(super) fn new(arena: &Arena, stream: &Arc<CudaStream>) -> Result<Self> {
        let home = Arc::new(Home::new(arena, stream)?);
        Ok(Self { home })
    }

    /// The stream, for all that cudarc does on it.
    #[must_use]
    pub fn cuda(&self) -> &Arc<CudaStream> {
        self.home.cuda()
    }

    /// The same for everything else of this crate: blocks on streams, and what
    /// the arena knows of it.
    #[must_use]
    pub fn stream(&self) -> &Stream {
        self.home.stream()
    }

    /// The arena that serves it.
    #[must_use]
    pub fn arena(&self) -> &Arena {
        self.home.arena()
    }

    /// `len` of `T`, in the order of the stream.
    ///
    /// Cost: that of the C call, without a driver call while the arena has
    /// room. Where it has none, it may let the stream wait for another one, or
    /// grow.
    ///
    /// # Safety
    ///
    /// The memory is unset: it is written before anybody reads it as `T`.
    ///
    /// # Errors
    ///
    /// [`OutOfMemory`](ErrorKind::OutOfMemory) and the like where the arena has
    /// no room; [`BadArgument`](ErrorKind::BadArgument) if the size is
    /// more than can be addressed; [`Limit`](ErrorKind::Limit) if the arena knows too many
    /// streams; [`Driver`](ErrorKind::Driver) and
    /// [`Unsupported`](ErrorKind::Unsupported) as
    /// [`Arena::alloc_on`](crate::Arena::alloc_on).
    #[inline]
    pub unsafe fn alloc<T: DeviceRepr>(&self, len: usize) -> Result<ArenaSlice<T>> {
        let address = self.home.alloc(bytes_of::<T>(len)?, align_of::<T>())?;
        // SAFETY: the home gave these bytes.
        unsafe { self.own(address, len) }
    }

    /// Owns what the home gave. It is freed if a closure's panic goes on here.
    ///
    /// # Safety
    ///
    /// The home gave `len` of `T` at the address.
    #[inline]
    unsafe fn own<T>(&self, address: u64, len: usize) -> Result<ArenaSlice<T>> {
        // SAFETY: as the caller says.
        let slice = unsafe { ArenaSlice::new(address, len, self.home.clone()) };
        self.home.finish()?;
        Ok(slice)
    }

    /// The same, with more asked for: a tag, a region, bytes of its own.
    ///
    /// # Safety
    ///
    /// As [`alloc`](Self::alloc).
    ///
    /// # Errors
    ///
    /// As [`alloc`](Self::alloc).
    pub unsafe fn alloc_with<T: DeviceRepr>(
        &self,
        len: usize,
        request: &Request,
    ) -> Result<ArenaSlice<T>> {
        let bytes = bytes_of::<T>(len)?;
        let address = self.home.alloc_with(bytes, align_of::<T>(), request)?;
        // SAFETY: the home gave these bytes.
        unsafe { self.own(address, len) }
    }

    /// A block as a slice again, pinned from now on; what is left at its end is
    /// out of reach. The stream waits for a move that another one makes.
    ///
    /// # Errors
    ///
    /// The block comes back with [`BadArgument`](ErrorKind::BadArgument) if it
    /// is of another arena or not aligned for `T`,
    /// [`Busy`](ErrorKind::Busy) if a device pin of it was leaked, and what
    /// [`Block::pin_on`] may return.
    ///
    /// # Safety
    ///
    /// What is read of it as `T` was written as `T`, or is valid whatever the
    /// bytes. The stream comes after all work that uses the block; that is so
    /// if the block was made of a slice of the same stream and only used
    /// there.
    ///
    /// ```no_run
    /// # use cuarena::interop::cudarc::ArenaStream;
    /// fn move_together(stream: &ArenaStream) -> Result<(), Box<dyn std::error::Error>> {
    ///     let slice = stream.clone_htod(&[1.0_f32, 2.0, 3.0])?;
    ///     let block = slice.into_block()?;
    ///     stream.arena().compact()?;
    ///     // SAFETY: it was a slice of `f32` of this stream.
    ///     let slice = unsafe { stream.slice_of::<f32>(block)? };
    ///     assert_eq!(stream.cuda().clone_dtoh(&slice)?, [1.0, 2.0, 3.0]);
    ///     Ok(())
    /// }
    /// ```
    pub unsafe fn slice_of<T: DeviceRepr>(
        &self,
        mut block: Block,
    ) -> std::result::Result<ArenaSlice<T>, FromBlockError> {
        if let Err(error) = block.check_no_pins() {
            return Err(FromBlockError { error, block });
        }
        let (address, bytes) = self.take_over(block, align_of::<T>())?;
        let len = bytes / size_of::<T>().max(1);
        // SAFETY: the block is pinned, and nobody owns it but the slice, whose
        // home gets the bytes.
        Ok(unsafe { ArenaSlice::new(address, len, self.home.clone()) })
    }

    fn check_arena(&self, block: &Block) -> Result<()> {
        if block.arena() == self.arena() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::BadArgument,
            "the block is of another arena than the stream",
        ))
    }

    /// Takes a block over and pins it, the way that a pointer is born pinned.
    fn take_over(&self, block: Block, alignment: usize) -> Taken {
        match self.pin(&block, alignment) {
            Ok(address) => {
                let bytes = block.len();
                if bytes != 0 {
                    drop(block.into_raw());
                }
                Ok((address, bytes))
            }
            Err(error) => Err(FromBlockError { error, block }),
        }
    }

    fn pin(&self, block: &Block, alignment: usize) -> Result<u64> {
        self.check_arena(block)?;
        let pointer = block.take_pin_on(self.stream())?;
        let address = pointer as u64;
        let status = if pointer.is_null() {
            ffi::CUARENA_OK
        } else if address % alignment as u64 == 0 {
            // SAFETY: the arena lives, and a live block is there.
            unless_stable(unsafe { ffi::cuarena_pin(self.arena().raw(), pointer) })
        } else {
            block.end_pin();
            return Err(Error::new(
                ErrorKind::BadArgument,
                format!("the block is at {address:#x}, which is not aligned to {alignment} bytes"),
            ));
        };
        block.end_pin();
        self.arena().life().finish(status)?;
        Ok(address)
    }

    /// `len` of `T`, all bits 0, in the order of the stream.
    ///
    /// Cost: as [`alloc`](Self::alloc), and a fill is queued.
    ///
    /// # Errors
    ///
    /// As [`alloc`](Self::alloc).
    pub fn alloc_zeros<T: DeviceRepr + ValidAsZeroBits>(
        &self,
        len: usize,
    ) -> Result<ArenaSlice<T>> {
        // SAFETY: filled here; on an error nobody gets it.
        let mut slice = unsafe { self.alloc(len)? };
        if slice.num_bytes() != 0 {
            self.cuda().memset_zeros(&mut slice).map_err(refused)?;
        }
        Ok(slice)
    }

    /// A copy of what the host has, in the order of the stream.
    ///
    /// Cost: as [`alloc`](Self::alloc), and a copy is queued.
    ///
    /// # Errors
    ///
    /// As [`alloc`](Self::alloc).
    pub fn clone_htod<T: DeviceRepr, S: HostSlice<T> + ?Sized>(
        &self,
        source: &S,
    ) -> Result<ArenaSlice<T>> {
        // SAFETY: written here; on an error nobody gets it.
        let mut slice = unsafe { self.alloc(source.len())? };
        if slice.num_bytes() != 0 {
            self.cuda()
                .memcpy_htod(source, &mut slice)
                .map_err(refused)?;
        }
        Ok(slice)
    }

    /// A copy of what the device has, in the order of the stream. The source
    /// may be a slice of any stream, an arena's or cudarc's own, or a view.
    ///
    /// Cost: as [`alloc`](Self::alloc), and a copy is queued.
    ///
    /// # Errors
    ///
    /// As [`alloc`](Self::alloc).
    pub fn clone_dtod<T: DeviceRepr, S: DevicePtr<T>>(&self, source: &S) -> Result<ArenaSlice<T>> {
        // SAFETY: written here; on an error nobody gets it.
        let mut slice = unsafe { self.alloc(source.len())? };
        if slice.num_bytes() != 0 {
            self.cuda()
                .memcpy_dtod(source, &mut slice)
                .map_err(refused)?;
        }
        Ok(slice)
    }
}

impl fmt::Debug for ArenaStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArenaStream")
            .field("stream", self.cuda())
            .finish_non_exhaustive()
    }
}

/// Where a block is, and its bytes; or the block, and why it was refused.
type Taken = std::result::Result<(u64, usize), FromBlockError>;

/// The size of so many.
#[inline]
fn bytes_of<T>(len: usize) -> Result<usize> {
    match len.checked_mul(size_of::<T>()) {
        Some(bytes) => Ok(bytes),
        None => Err(too_long(len, size_of::<T>())),
    }
}

#[cold]
fn too_long(len: usize, size: usize) -> Error {
    Error::new(
        ErrorKind::BadArgument,
        format!("{len} elements of {size} bytes are more than can be addressed"),
    )
}

/// What a refusal that cudarc reports is here.
#[cold]
pub(super) fn refused(error: DriverError) -> Error {
    Error::new(ErrorKind::Driver, format!("{error:?}"))
}
