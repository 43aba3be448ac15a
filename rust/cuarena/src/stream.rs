//! Streams of a device, by their handles.

use std::fmt;

use crate::ffi;

/// A stream of a device: `cudaStream_t` or `CUstream`, by its handle.
///
/// It is no more than the handle; nothing is destroyed with it. Two that
/// compare equal are the same stream.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Stream(ffi::cuarena_stream_t);

// SAFETY: it is a number; any thread may pass it to the driver.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    /// The legacy default stream of the arena's context.
    pub const LEGACY: Self = Self(ffi::CUARENA_STREAM_LEGACY);

    /// A stream of the program's own.
    ///
    /// # Safety
    ///
    /// The stream lives until every block that names it has been dropped (that
    /// was allocated, resized, released or freed on it), and every arena that
    /// has seen it has ended or been told of its end by
    /// `Arena::release_stream`. It is not `CUARENA_NO_STREAM`. Blocks that name
    /// the default stream of a thread, `CUARENA_STREAM_PER_THREAD`, are resized
    /// and dropped on that thread.
    pub const unsafe fn from_raw(handle: ffi::cuarena_stream_t) -> Self {
        Self(handle)
    }

    /// The handle.
    pub const fn as_raw(self) -> ffi::cuarena_stream_t {
        self.0
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({:p})", self.0)
    }
}
