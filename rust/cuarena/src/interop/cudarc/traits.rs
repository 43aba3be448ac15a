//! What makes cudarc take an arena slice for one of its own.
//!
//! *Invariants.* The contract of [`DevicePtr`]: before it gives the address, the
//! stream waits for those who wrote; of [`DevicePtrMut`]: for all others. What
//! either returns is dropped when the work is queued.

use std::sync::Arc;

use ::cudarc::driver::{
    sys, CudaStream, DevicePtr, DevicePtrMut, DeviceSlice, LaunchArgs, PushKernelArg, SyncOnDrop,
};

use super::slice::ArenaSlice;
use super::uses::Intent;

impl<T> DeviceSlice<T> for ArenaSlice<T> {
    fn len(&self) -> usize {
        ArenaSlice::len(self)
    }

    fn stream(&self) -> &Arc<CudaStream> {
        ArenaSlice::stream(self)
    }
}

impl<T> DevicePtr<T> for ArenaSlice<T> {
    #[inline]
    fn device_ptr<'a>(&'a self, stream: &'a CudaStream) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        let after = self.order(stream, Intent::Read);
        (self.address, after)
    }
}

impl<T> DevicePtrMut<T> for ArenaSlice<T> {
    #[inline]
    fn device_ptr_mut<'a>(
        &'a mut self,
        stream: &'a CudaStream,
    ) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
        let after = self.order(stream, Intent::Write);
        (self.address, after)
    }
}

// SAFETY: what is pushed is a reference to the address, which the borrow keeps
// until the launch. That other streams than the home are in order is the
// launcher's to see to: the documentation of `ArenaSlice` says how.
unsafe impl<'a, 'b: 'a, T> PushKernelArg<&'b ArenaSlice<T>> for LaunchArgs<'a> {
    #[inline(always)]
    fn arg(&mut self, slice: &'b ArenaSlice<T>) -> &mut Self {
        slice.order_home(Intent::Launch);
        self.arg(&slice.address)
    }
}

// SAFETY: as above.
unsafe impl<'a, 'b: 'a, T> PushKernelArg<&'b mut ArenaSlice<T>> for LaunchArgs<'a> {
    #[inline(always)]
    fn arg(&mut self, slice: &'b mut ArenaSlice<T>) -> &mut Self {
        slice.order_home(Intent::Launch);
        self.arg(&slice.address)
    }
}
