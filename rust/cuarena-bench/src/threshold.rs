//! What the driver's pool keeps when somebody waits.
//!
//! cudarc allocates from the device's current pool. With a release threshold of
//! 0, the driver's default, each wait gives back what is free there, and the next
//! allocation takes it anew; with the maximum the pool keeps all. Which of them a
//! program has is its choice, so rows come with both.

use std::sync::Arc;

use cudarc::driver::{sys, CudaContext};

/// With which the pool keeps all.
pub const MOST: u64 = u64::MAX;

/// What a threshold is set to, and what rows say of it.
pub const BOTH: [(u64, &str); 2] = [(0, "threshold 0"), (MOST, "threshold max")];

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
const HELD: sys::CUmemPool_attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH;

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
        let mut pool = std::ptr::null_mut();
        // SAFETY: the output lives as long as the call.
        unsafe {
            sys::cuDeviceGetMemPool(&mut pool, context.cu_device())
                .result()
                .expect("a pool");
        }
        let before = read(pool, ATTRIBUTE);
        write(pool, ATTRIBUTE, bytes);
        Some(Self { pool, before })
    }

    /// The most that the pool held, since it was made or told to forget.
    ///
    /// # Panics
    ///
    /// If the driver refuses.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        read(self.pool, HELD)
    }

    /// Gives back what is free, and forgets the most that was held.
    ///
    /// # Panics
    ///
    /// If the driver refuses.
    pub fn forget(&self) {
        // SAFETY: waits for what was freed; the pool is the device's.
        unsafe {
            sys::cuCtxSynchronize().result().expect("a wait");
            sys::cuMemPoolTrimTo(self.pool, 0).result().expect("a trim");
        }
        write(self.pool, HELD, 0);
    }
}

fn read(pool: sys::CUmemoryPool, attribute: sys::CUmemPool_attribute) -> u64 {
    let mut bytes = 0_u64;
    // SAFETY: the pool is the device's, and the value lives as long as the call.
    unsafe {
        sys::cuMemPoolGetAttribute(pool, attribute, std::ptr::from_mut(&mut bytes).cast())
            .result()
            .expect("a number of a pool");
    }
    bytes
}

fn write(pool: sys::CUmemoryPool, attribute: sys::CUmemPool_attribute, mut bytes: u64) {
    // SAFETY: as above.
    unsafe {
        sys::cuMemPoolSetAttribute(pool, attribute, std::ptr::from_mut(&mut bytes).cast())
            .result()
            .expect("a pool that can be set");
    }
}

impl Drop for Threshold {
    fn drop(&mut self) {
        write(self.pool, ATTRIBUTE, self.before);
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
