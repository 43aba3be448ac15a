//! One stream of cudarc's, known to one arena.
//!
//! *Invariants.* The arena may record on a stream, or let it wait, from the
//! first use until the release, so the handle must live that long: who uses
//! the stream has a share of its home, which keeps the stream alive and
//! releases it at its end. Two homes of one stream do no harm: a stream that
//! was released and is used again is known again, and each home releases it
//! after its own last use. If the arena cannot release it the stream is
//! leaked.
//!
//! *Cost.* An allocation and a free add to the C call one atomic operation
//! each.

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::Arc;

use ::cudarc::driver::{CudaEvent, CudaStream};

use crate::{ffi, Arena, Error, ErrorKind, Request, Result};

/// The handle that means another stream on each thread.
const PER_THREAD: usize = 2;

/// What no granule is below.
const LEAST_GRANULE: usize = 8;

/// A stream and the arena that knows it.
pub(super) struct Home {
    arena: Arena,
    stream: ManuallyDrop<Arc<CudaStream>>,
}

impl Home {
    pub(super) fn new(arena: &Arena, stream: &Arc<CudaStream>) -> Result<Self> {
        check_context(arena, stream)?;
        if is_per_thread(stream) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "the per-thread default stream is another stream on each thread, \
                 and slices go from thread to thread: make one with new_stream",
            ));
        }
        Ok(Self {
            arena: arena.clone(),
            stream: ManuallyDrop::new(stream.clone()),
        })
    }

    pub(super) fn arena(&self) -> &Arena {
        &self.arena
    }

    pub(super) fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// The handle, for the arena.
    #[inline]
    pub(super) fn raw(&self) -> ffi::cuarena_stream_t {
        self.stream.cu_stream().cast()
    }

    /// Whether work on `stream` is in order with work on the home.
    #[inline]
    pub(super) fn is(&self, stream: &CudaStream) -> bool {
        stream.cu_stream() == self.stream.cu_stream()
            && stream.context().cu_ctx() == self.stream.context().cu_ctx()
    }

    /// Whether cudarc minds the order of streams here.
    pub(super) fn is_tracking(&self) -> bool {
        self.stream.context().is_event_tracking()
    }

    /// Bytes for what comes next on the stream; their address, 0 for none.
    #[inline]
    pub(super) fn alloc(&self, bytes: u64, alignment: usize) -> Result<u64> {
        if alignment <= LEAST_GRANULE {
            return self.alloc_raw(bytes, ptr::null());
        }
        let request = Request::new().alignment(alignment as u64);
        self.alloc_raw(bytes, request.raw())
    }

    /// The same, with more asked for.
    pub(super) fn alloc_with(
        &self,
        bytes: u64,
        alignment: usize,
        request: &Request,
    ) -> Result<u64> {
        self.alloc_raw(bytes, request.aligned_to(alignment as u64).raw())
    }

    #[inline]
    fn alloc_raw(&self, bytes: u64, request: *const ffi::cuarena_request_t) -> Result<u64> {
        let mut pointer = ptr::null_mut::<c_void>();
        // SAFETY: the arena and the stream live as long as this home; request
        // and output as long as the call.
        let status = unsafe {
            ffi::cuarena_alloc_on(self.arena.raw(), bytes, self.raw(), request, &mut pointer)
        };
        self.arena.life().finish(status)?;
        Ok(pointer as u64)
    }

    /// Ends what `alloc` gave; what comes next on the stream may have it.
    ///
    /// # Safety
    ///
    /// Nothing uses the bytes but work that the stream comes after.
    #[inline]
    pub(super) unsafe fn free(&self, address: u64) {
        // SAFETY: the arena and the stream live as long as this home; the
        // caller says the rest.
        let status =
            unsafe { ffi::cuarena_free_on(self.arena.raw(), address as *mut c_void, self.raw()) };
        debug_assert_eq!(status, ffi::CUARENA_OK);
        self.arena.life().finish_quietly();
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // SAFETY: the stream is alive; the arena does not touch it after this.
        let status = unsafe { ffi::cuarena_release_stream(self.arena.raw(), self.raw()) };
        if status == ffi::CUARENA_OK {
            // SAFETY: this is the end of it.
            unsafe { ManuallyDrop::drop(&mut self.stream) };
        }
    }
}

/// Lets the stream wait for the event; if that cannot be, waits for it here.
pub(super) fn wait(stream: &CudaStream, event: &CudaEvent) {
    if let Err(error) = stream.wait(event) {
        stream.context().record_err::<()>(Err(error));
        stream.context().record_err(event.synchronize());
    }
}

pub(super) fn is_per_thread(stream: &CudaStream) -> bool {
    stream.cu_stream() as usize == PER_THREAD
}

/// Streams and bytes of one context: default streams have no other meaning.
fn check_context(arena: &Arena, stream: &CudaStream) -> Result<()> {
    let context = context_of(arena)?;
    if context == stream.context().cu_ctx().cast() {
        return Ok(());
    }
    let why = if context.is_null() {
        "the arena's memory is of no device: build the arena with cuda(&context)"
    } else {
        "the stream is of another context than the arena's memory"
    };
    Err(Error::new(ErrorKind::BadArgument, why))
}

/// The context of the arena's memory; null for memory of no device.
fn context_of(arena: &Arena) -> Result<*mut c_void> {
    let mut properties = std::mem::MaybeUninit::<ffi::cuarena_properties_t>::zeroed();
    // SAFETY: the first call fills the struct, of which all bits 0 are a valid
    // value, and sets the size that the second one reads; the arena lives.
    let (status, properties) = unsafe {
        ffi::cuarena_properties_init(properties.as_mut_ptr());
        let status = ffi::cuarena_properties(arena.raw(), properties.as_mut_ptr());
        (status, properties.assume_init())
    };
    arena.life().finish(status)?;
    Ok(properties.context)
}
