//! Pins for devices: the only way to a block's address.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;

use crate::{Block, Error, Result, Stream};

/// The address of a pinned block, for as long as the guard is borrowed.
///
/// It is a number to hand to a device: nothing in this crate follows it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DevicePtr<'p> {
    address: u64,
    _pin: PhantomData<&'p ()>,
}

impl DevicePtr<'_> {
    /// The address, as `CUdeviceptr` has it; 0 for an empty block.
    #[must_use]
    pub fn as_raw(self) -> u64 {
        self.address
    }

    /// The address as a pointer.
    #[must_use]
    pub fn as_ptr<T>(self) -> *mut T {
        self.address as usize as *mut T
    }
}

impl fmt::Debug for DevicePtr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DevicePtr({:#x})", self.address)
    }
}

impl fmt::LowerHex for DevicePtr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)
    }
}

impl fmt::UpperHex for DevicePtr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)
    }
}

/// A block that stays where it is, by [`Block::pin`].
///
/// To drop it says that the device is done with the block.
#[must_use = "the block may move as soon as the guard is dropped"]
pub struct PinnedBlock<'b> {
    block: &'b Block,
    address: *mut c_void,
}

// SAFETY: the address is only handed on, and pins may end on any thread.
unsafe impl Send for PinnedBlock<'_> {}
// SAFETY: as above.
unsafe impl Sync for PinnedBlock<'_> {}

impl<'b> PinnedBlock<'b> {
    pub(crate) fn new(block: &'b Block) -> Result<Self> {
        block.add_device_pin();
        let address = block.take_pin().inspect_err(|_| block.drop_device_pin())?;
        Ok(Self { block, address })
    }

    /// The stream waits for compactions that moved the block.
    pub(crate) fn new_on(block: &'b Block, stream: &Stream) -> Result<Self> {
        block.add_device_pin();
        let taken = block.take_pin_on(stream);
        let address = taken.inspect_err(|_| block.drop_device_pin())?;
        Ok(Self { block, address })
    }

    /// Where the block is, until the guard ends.
    #[must_use]
    pub fn device_ptr(&self) -> DevicePtr<'_> {
        DevicePtr {
            address: self.address as usize as u64,
            _pin: PhantomData,
        }
    }

    /// The block's bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.block.len()
    }

    /// Whether the block has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.block.is_empty()
    }

    /// The block that is pinned.
    pub fn block(&self) -> &'b Block {
        self.block
    }

    /// Ends the pin: the device is done with the block.
    pub fn unpin(self) {}

    /// Ends the pin at this point of a stream: what has been queued on it may
    /// still use the block. A move or a free that comes later waits for that,
    /// on the device, and host views are refused from now on.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadArgument`](crate::ErrorKind::BadArgument) for a stream
    /// that cannot use the arena's bytes, `Unsupported` for a memory without
    /// streams, `Limit` for too many streams, `Driver`, `NoDevice`, `Lost`. The
    /// guard comes back in the error.
    ///
    /// ```
    /// use cuarena::{Arena, MemoryKind, RawStream};
    /// # fn main() -> Result<(), cuarena::Error> {
    /// // Addresses alone have streams too, whose handles are numbers.
    /// let arena = Arena::builder().memory(MemoryKind::None).pool(1 << 20).build()?;
    /// // SAFETY: nobody follows the handle.
    /// let stream = unsafe { arena.stream(RawStream::new(0x10 as *mut _))? };
    /// let block = arena.alloc(1000)?;
    /// // SAFETY: what uses the address is queued on the stream.
    /// let pinned = unsafe { block.pin()? };
    /// // ... launch on the stream with `pinned.device_ptr()` ...
    /// pinned.release_on(&stream)?;
    /// drop(block); // in the order of the stream
    /// # Ok(())
    /// # }
    /// ```
    pub fn release_on(self, stream: &Stream) -> std::result::Result<(), ReleaseError<'b>> {
        let pinned = ManuallyDrop::new(self);
        match pinned.block.end_pin_on(stream) {
            Ok(()) => {
                pinned.block.drop_device_pin();
                Ok(())
            }
            Err(error) => Err(ReleaseError { error, pinned }),
        }
    }
}

impl Drop for PinnedBlock<'_> {
    fn drop(&mut self) {
        self.block.end_pin();
        self.block.drop_device_pin();
    }
}

impl fmt::Debug for PinnedBlock<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PinnedBlock")
            .field("block", self.block)
            .field("address", &self.device_ptr())
            .finish()
    }
}

/// Why a pin could not be released on a stream, and the pin.
///
/// To drop the error leaks the pin, and so the block: nothing has said that the
/// device is done with it.
pub struct ReleaseError<'b> {
    error: Error,
    pinned: ManuallyDrop<PinnedBlock<'b>>,
}

impl<'b> ReleaseError<'b> {
    /// Why.
    #[must_use]
    pub fn error(&self) -> &Error {
        &self.error
    }

    /// Why, and the guard.
    pub fn into_parts(self) -> (Error, PinnedBlock<'b>) {
        (self.error, ManuallyDrop::into_inner(self.pinned))
    }
}

impl From<ReleaseError<'_>> for Error {
    fn from(error: ReleaseError<'_>) -> Self {
        error.error
    }
}

impl fmt::Debug for ReleaseError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl fmt::Display for ReleaseError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for ReleaseError<'_> {}
