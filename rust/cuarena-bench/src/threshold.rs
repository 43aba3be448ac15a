//! What the driver's pool keeps when somebody waits.
//!
//! cudarc allocates from the device's current pool. With a release threshold of
//! 0, the driver's default, each wait gives back what is free there, and the next
//! allocation takes it anew; with the maximum the pool keeps all. Which of them a
//! program has is its choice, so rows come with both.

use std::sync::Arc;

use cudarc::driver::{sys, CudaContext};

/// What a threshold is set to, and what rows say of it.
pub const BOTH: [(u64, &str); 2] = [(0, "threshold 0"), (u64::MAX, "threshold max")];

/// A threshold of the device's current pool while this lives; then what it was.
pub struct Threshold {
    pool: sys::CUmemoryPool,
    before: u64,
}

// SAFETY: any thread may use a pool.
unsafe impl Send for Threshold {}
// SAFETY: as above.
unsafe impl Sync for Threshold {}

const ATTRIBUTE: sys::CUmemPool_attribute =
    sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;

impl Threshold {
    /// None where the device has no pools.
    ///
    /// # Panics
    ///
    /// If the driver refuses.
    pub fn set(context: &Arc<CudaContext>, bytes: u64) -> Option<Self> {
        if !context.has_async_alloc() {
            return None;
        }
        let (mut pool, mut before) = (std::ptr::null_mut(), 0_u64);
        // SAFETY: the outputs live as long as the calls, and are what they want.
        unsafe {
            sys::cuDeviceGetMemPool(&mut pool, context.cu_device())
                .result()
                .expect("a pool");
            let before = std::ptr::from_mut(&mut before).cast();
            sys::cuMemPoolGetAttribute(pool, ATTRIBUTE, before)
                .result()
                .expect("a threshold");
        }
        write(pool, bytes);
        Some(Self { pool, before })
    }
}

fn write(pool: sys::CUmemoryPool, mut bytes: u64) {
    // SAFETY: the pool is the device's, and the value lives as long as the call.
    unsafe {
        sys::cuMemPoolSetAttribute(pool, ATTRIBUTE, std::ptr::from_mut(&mut bytes).cast())
            .result()
            .expect("a threshold");
    }
}

impl Drop for Threshold {
    fn drop(&mut self) {
        write(self.pool, self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::Gpu;

    #[test]
    fn thresholds_are_what_they_were_after_nested_ones() {
        let Some(gpu) = Gpu::find() else { return };
        let set = |bytes| Threshold::set(&gpu.tracking, bytes).expect("a pool");
        let outer = set(77);
        let inner = set(u64::MAX);
        assert_eq!(inner.before, 77);
        drop(inner);
        assert_eq!(set(0).before, 77);
        let before = outer.before;
        drop(outer);
        assert_eq!(set(0).before, before);
    }
}
