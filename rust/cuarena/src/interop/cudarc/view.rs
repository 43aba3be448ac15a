//! cudarc's own slice over the bytes of an arena slice.
//!
//! *Invariants.* cudarc's slice believes that it owns the bytes, so it is never
//! dropped and never lent to who could move it out: it ends by being leaked,
//! which waits for its events on the home and frees nothing.
//!
//! *Why handles are kept.* Work on the home is not recorded in the slice's
//! events, and cudarc has no call that records one. The handles come out of
//! what its own functions return, and live as long as the slice.

use std::mem::ManuallyDrop;
use std::sync::Arc;

use ::cudarc::driver::{result, sys, DriverError};
use ::cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut, SyncOnDrop};

use super::uses::Intent;

/// An event of the slice's.
#[derive(Clone, Copy)]
struct Handle(sys::CUevent);

// SAFETY: the driver lets any thread use any event.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

/// cudarc's slice, and the handles of its events; none with tracking off.
pub(super) struct View<T> {
    slice: ManuallyDrop<CudaSlice<T>>,
    read: Option<Handle>,
    written: Option<Handle>,
}

impl<T> View<T> {
    /// # Safety
    ///
    /// The bytes are there and `len` of `T` until the view ends.
    pub(super) unsafe fn new(stream: &Arc<CudaStream>, address: u64, len: usize) -> Self {
        // SAFETY: the caller says that the bytes are there. Nothing is read as
        // `T` but by who wrote it.
        let mut slice = ManuallyDrop::new(unsafe { stream.upgrade_device_ptr(address, len) });
        let read = handle_of(slice.device_ptr(stream).1);
        let written = handle_of(slice.device_ptr_mut(stream).1);
        Self {
            slice,
            read,
            written,
        }
    }

    pub(super) fn slice(&self) -> &CudaSlice<T> {
        &self.slice
    }

    /// Not to be lent as a whole.
    pub(super) fn slice_mut(&mut self) -> &mut CudaSlice<T> {
        &mut self.slice
    }

    /// What is done through the slice from now on comes after the home's work.
    /// The event takes a new meaning by that, so the home waits for what it
    /// meant before.
    pub(super) fn follow_home(&self, home: &CudaStream, intent: Intent) {
        self.wait(home, intent);
        if let Some(written) = self.event(self.written) {
            let recorded = bound(home, |stream| {
                // SAFETY: both live; the context is current.
                unsafe { result::event::record(written, stream) }
            });
            if recorded.is_err() {
                home.context().record_err(recorded);
                home.context().record_err(home.synchronize());
            }
        }
    }

    /// Lets a stream wait for what was done through the slice.
    pub(super) fn wait(&self, stream: &CudaStream, intent: Intent) {
        if let Some(written) = self.event(self.written) {
            wait(stream, written);
        }
        if let Some(read) = self.event(self.read).filter(|_| intent != Intent::Read) {
            wait(stream, read);
        }
    }

    /// Ends it; the home comes after what was done through the slice.
    pub(super) fn end(self) {
        ManuallyDrop::into_inner(self.slice).leak();
    }

    /// The handle, if cudarc records such events now.
    fn event(&self, handle: Option<Handle>) -> Option<sys::CUevent> {
        let context = self.slice.context();
        handle
            .filter(|_| context.is_managing_stream_synchronization())
            .map(|handle| handle.0)
    }
}

/// The event that would be recorded; it is not.
fn handle_of(sync: SyncOnDrop<'_>) -> Option<Handle> {
    let handle = match &sync {
        SyncOnDrop::Record(Some((event, _))) => Some(Handle(event.cu_event())),
        _ => None,
    };
    std::mem::forget(sync);
    handle
}

fn wait(stream: &CudaStream, event: sys::CUevent) {
    let waits = bound(stream, |stream| {
        // SAFETY: both live; the context is current.
        unsafe {
            result::stream::wait_event(
                stream,
                event,
                sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT,
            )
        }
    });
    if waits.is_err() {
        stream.context().record_err(waits);
        // SAFETY: the event lives.
        stream
            .context()
            .record_err(unsafe { result::event::synchronize(event) });
    }
}

/// Calls the driver with the stream's context current.
fn bound(
    stream: &CudaStream,
    call: impl FnOnce(sys::CUstream) -> Result<(), DriverError>,
) -> Result<(), DriverError> {
    stream.context().bind_to_thread()?;
    call(stream.cu_stream())
}
