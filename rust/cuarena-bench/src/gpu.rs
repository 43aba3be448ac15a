//! The device that is measured, if there is one.

use std::sync::Arc;

use cudarc::driver::{sys, CudaContext};

/// cudarc's contexts of the first device: one that tracks events, one that does
/// not. Both are the device's primary context.
pub struct Gpu {
    pub tracking: Arc<CudaContext>,
    pub untracked: Arc<CudaContext>,
}

impl Gpu {
    /// None, with the reason printed, where there is no device.
    pub fn find() -> Option<Self> {
        // SAFETY: opens the library and closes it.
        if !unsafe { sys::is_culib_present() } {
            println!("no driver: only host memory is measured");
            return None;
        }
        let open = || CudaContext::new(0).map_err(|error| println!("no device: {error:?}"));
        let (tracking, untracked) = (open().ok()?, open().ok()?);
        // SAFETY: what is measured keeps each slice on its own stream.
        unsafe { untracked.disable_event_tracking() };
        Some(Self {
            tracking,
            untracked,
        })
    }
}
