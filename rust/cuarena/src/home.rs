//! A block's home: the stream whose free list its bytes join when it is dropped.
//!
//! *Invariants.* A home holds a share of its stream, so the handle is alive
//! when the block is freed on it. It is set once at most, by whoever comes
//! first: whoever comes later has named its stream to the arena, which waits
//! for it.
//!
//! *Cost.* One load where there is none.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::Arc;

use crate::ffi;
use crate::stream::{Shared, Stream};

/// A share of a stream, or nothing yet.
pub(crate) struct Home(AtomicPtr<Shared>);

impl Home {
    pub(crate) const fn none() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    #[inline]
    pub(crate) fn of(stream: &Stream) -> Self {
        Self(AtomicPtr::new(share(stream)))
    }

    /// The stream becomes the home, unless there is one.
    pub(crate) fn reclaim(&self, stream: &Stream) {
        let share = share(stream);
        let (none, order) = (ptr::null_mut(), Ordering::AcqRel);
        if self
            .0
            .compare_exchange(none, share, order, Ordering::Relaxed)
            .is_err()
        {
            // SAFETY: made just now, and given to nobody.
            drop(unsafe { Arc::from_raw(share) });
        }
    }

    #[inline]
    fn shared(&self) -> Option<&Shared> {
        // SAFETY: a share of it is held, until this is dropped.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    pub(crate) fn stream(&self) -> Option<Stream> {
        self.shared().map(|shared| {
            // SAFETY: it is in an Arc, of which a share is held; the one that is
            // made here is counted.
            unsafe {
                Arc::increment_strong_count(shared);
                Stream::of(Arc::from_raw(shared))
            }
        })
    }

    #[inline]
    pub(crate) fn is_none(&self) -> bool {
        self.shared().is_none()
    }

    /// The handle as the C library wants it, `CUARENA_NO_STREAM` for none.
    #[inline]
    pub(crate) fn handle(&self) -> ffi::cuarena_stream_t {
        self.shared().map_or(ffi::CUARENA_NO_STREAM, Shared::handle)
    }
}

fn share(stream: &Stream) -> *mut Shared {
    Arc::into_raw(stream.shared().clone()).cast_mut()
}

impl Drop for Home {
    #[inline]
    fn drop(&mut self) {
        let share = *self.0.get_mut();
        if !share.is_null() {
            // SAFETY: a share of it was held.
            drop(unsafe { Arc::from_raw(share) });
        }
    }
}
