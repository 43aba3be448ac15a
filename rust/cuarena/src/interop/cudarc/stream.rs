//! A stream of cudarc's that an arena serves.

use std::fmt;
use std::mem;
use std::sync::Arc;

use ::cudarc::driver::{
    CudaStream, DevicePtr, DeviceRepr, DriverError, HostSlice, ValidAsZeroBits,
};

use super::home::Home;
use super::slice::ArenaSlice;
use crate::{Arena, Error, ErrorKind, Result};

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
    pub fn cuda(&self) -> &Arc<CudaStream> {
        self.home.stream()
    }

    pub(super) fn home(&self) -> &Arc<Home> {
        &self.home
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
    /// no room; [`BadArgument`](ErrorKind::BadArgument) if the size does not
    /// fit 64 bits; [`Limit`](ErrorKind::Limit) if the arena knows too many
    /// streams; [`Driver`](ErrorKind::Driver) and
    /// [`Unsupported`](ErrorKind::Unsupported) as
    /// [`Arena::alloc_on`](crate::Arena::alloc_on).
    #[inline]
    pub unsafe fn alloc<T: DeviceRepr>(&self, len: usize) -> Result<ArenaSlice<T>> {
        let bytes = len.checked_mul(mem::size_of::<T>());
        let bytes = bytes.ok_or_else(|| too_long(len, mem::size_of::<T>()))?;
        let address = self.home.alloc(bytes as u64, mem::align_of::<T>())?;
        // SAFETY: the home gave these bytes.
        Ok(unsafe { ArenaSlice::new(address, len, self.home.clone()) })
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
