//! One stream of cudarc's, known to one arena.
//!
//! *Invariants.* The arena may record on a stream, or let it wait, until it is
//! released, so who uses the stream has a share of its home: the last one
//! releases it, and only then is the handle given up. The contexts of stream
//! and arena are one, so it outlives both: the arena holds it if it is the
//! device's primary one, else it was kept, or vouched for, when the arena was
//! built.
//!
//! *Cost.* An allocation and a free add to the C call one atomic operation
//! each. What the call is given lies in the home itself, so that it waits for
//! no load behind another.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use ::cudarc::driver::{CudaEvent, CudaStream};

use crate::life::Life;
use crate::{ffi, Arena, Error, ErrorKind, RawStream, Request, Result, Stream};

/// The handle that means another stream on each thread.
const PER_THREAD: usize = 2;

/// What no granule is below.
const LEAST_GRANULE: usize = 8;

/// A stream and the arena that knows it.
pub(super) struct Home {
    /// This and the next two are the stream's, and live as long as it does.
    raw: NonNull<ffi::cuarena_t>,
    handle: RawStream,
    life: NonNull<Life>,
    stream: Stream,
    cuda: Arc<CudaStream>,
}

impl Home {
    pub(super) fn new(arena: &Arena, cuda: &Arc<CudaStream>) -> Result<Self> {
        check_context(arena, cuda)?;
        if is_per_thread(cuda) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "the per-thread default stream is another stream on each thread, \
                 and slices go from thread to thread: make one with new_stream",
            ));
        }
        let handle = RawStream::new(cuda.cu_stream().cast());
        let stream = arena.new_stream(handle, Some(Box::new(cuda.clone())))?;
        Ok(Self {
            raw: NonNull::new(arena.raw()).expect("an arena that lives"),
            handle,
            life: NonNull::from(stream.arena().life()),
            stream,
            cuda: cuda.clone(),
        })
    }

    /// Of the arena.
    #[inline]
    fn life(&self) -> &Life {
        // SAFETY: the stream has a share of it.
        unsafe { self.life.as_ref() }
    }

    pub(super) fn arena(&self) -> &Arena {
        self.stream.arena()
    }

    /// As the crate knows it.
    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// As cudarc knows it.
    #[inline]
    pub(super) fn cuda(&self) -> &Arc<CudaStream> {
        &self.cuda
    }

    /// Whether work on `stream` is in order with work on the home.
    #[inline]
    pub(super) fn is(&self, stream: &CudaStream) -> bool {
        stream.cu_stream() == self.cuda.cu_stream()
            && stream.context().cu_ctx() == self.cuda.context().cu_ctx()
    }

    /// Whether cudarc minds the order of streams here.
    pub(super) fn is_tracking(&self) -> bool {
        self.cuda.context().is_event_tracking()
    }

    /// Bytes for what comes next on the stream; their address, 0 for none.
    /// When somebody owns them, `finish` is called.
    #[inline]
    pub(super) fn alloc(&self, bytes: usize, alignment: usize) -> Result<u64> {
        if alignment <= LEAST_GRANULE {
            return self.alloc_raw(bytes, ptr::null());
        }
        self.alloc_with(bytes, alignment, &Request::new())
    }

    /// The same, with more asked for.
    pub(super) fn alloc_with(
        &self,
        bytes: usize,
        alignment: usize,
        request: &Request,
    ) -> Result<u64> {
        let request = request.aligned_to(alignment);
        self.alloc_raw(bytes, request.raw())
    }

    #[inline]
    fn alloc_raw(&self, bytes: usize, request: *const ffi::cuarena_request_t) -> Result<u64> {
        let (arena, stream) = (self.raw.as_ptr(), self.handle.handle());
        let mut pointer = ptr::null_mut::<c_void>();
        // SAFETY: the arena and the stream live as long as this home; request
        // and output as long as the call.
        let status =
            unsafe { ffi::cuarena_alloc_on(arena, bytes as u64, stream, request, &mut pointer) };
        if status != ffi::CUARENA_OK {
            self.life().finish(status)?;
        }
        Ok(pointer as u64)
    }

    /// Goes on with the panic of a closure that ran in an allocation.
    #[inline]
    pub(super) fn finish(&self) -> Result<()> {
        self.life().finish(ffi::CUARENA_OK)
    }

    /// Ends what `alloc` gave; what comes next on the stream may have it. Where
    /// the driver refuses what that takes, the bytes stay taken: who drops a
    /// slice cannot be told.
    ///
    /// # Safety
    ///
    /// Nothing uses the bytes but work that the stream comes after.
    #[inline]
    pub(super) unsafe fn free(&self, address: u64) {
        let (arena, stream) = (self.raw.as_ptr(), self.handle.handle());
        // SAFETY: the arena and the stream live as long as this home; the
        // caller says the rest.
        let _ = unsafe { ffi::cuarena_free_on(arena, address as *mut c_void, stream) };
        self.life().finish_quietly();
    }
}

// SAFETY: the pointers are to what the stream shares, and any thread may use
// that; all else in it is Send and Sync itself.
unsafe impl Send for Home {}
// SAFETY: as above.
unsafe impl Sync for Home {}

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
    let context = arena.properties().context;
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
