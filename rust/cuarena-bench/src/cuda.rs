//! cudarc's own ways.

use std::sync::Arc;

use cudarc::driver::{
    result, sys, CudaContext, CudaSlice, CudaStream, PinnedHostSlice, UnifiedSlice,
};

use crate::side::{Hand, Side};

/// What a hand of cudarc's calls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Call {
    Alloc,
    AllocZeros,
}

/// `CudaStream::alloc` and `alloc_zeros`.
pub struct Slices {
    pub context: Arc<CudaContext>,
    pub call: Call,
    pub name: &'static str,
}

pub struct SlicesHand {
    stream: Arc<CudaStream>,
    call: Call,
}

impl Side for Slices {
    type Hand = SlicesHand;

    fn name(&self) -> &str {
        self.name
    }

    fn hand(&self) -> SlicesHand {
        SlicesHand {
            stream: self.context.new_stream().expect("a stream"),
            call: self.call,
        }
    }
}

impl Hand for SlicesHand {
    type Held = CudaSlice<u8>;

    fn take(&self, bytes: usize) -> CudaSlice<u8> {
        match self.call {
            // SAFETY: nobody reads it.
            Call::Alloc => unsafe { self.stream.alloc(bytes) },
            Call::AllocZeros => self.stream.alloc_zeros(bytes),
        }
        .expect("bytes")
    }

    fn wait(&self) {
        self.stream.synchronize().expect("a wait");
    }
}

/// `CudaContext::alloc_pinned`.
pub struct Pinned(pub Arc<CudaContext>);

pub struct PinnedHand(Arc<CudaContext>);

impl Side for Pinned {
    type Hand = PinnedHand;

    fn name(&self) -> &str {
        "cudarc alloc_pinned"
    }

    fn hand(&self) -> PinnedHand {
        PinnedHand(self.0.clone())
    }
}

impl Hand for PinnedHand {
    type Held = PinnedHostSlice<u8>;

    fn take(&self, bytes: usize) -> PinnedHostSlice<u8> {
        // SAFETY: nobody reads it.
        unsafe { self.0.alloc_pinned(bytes) }.expect("bytes")
    }
}

/// `CudaContext::alloc_unified`.
pub struct Managed(pub Arc<CudaContext>);

pub struct ManagedHand(Arc<CudaContext>);

impl Side for Managed {
    type Hand = ManagedHand;

    fn name(&self) -> &str {
        "cudarc alloc_unified"
    }

    fn hand(&self) -> ManagedHand {
        ManagedHand(self.0.clone())
    }
}

impl Hand for ManagedHand {
    type Held = UnifiedSlice<u8>;

    fn take(&self, bytes: usize) -> UnifiedSlice<u8> {
        // SAFETY: nobody reads it.
        unsafe { self.0.alloc_unified(bytes, true) }.expect("bytes")
    }
}

/// `result::malloc_sync`.
pub struct MallocSync(pub Arc<CudaContext>);

pub struct MallocSyncHand;

pub struct SyncHeld(sys::CUdeviceptr);

impl Side for MallocSync {
    type Hand = MallocSyncHand;

    fn name(&self) -> &str {
        "cudarc malloc_sync"
    }

    fn hand(&self) -> MallocSyncHand {
        self.0.bind_to_thread().expect("a context");
        MallocSyncHand
    }
}

impl Hand for MallocSyncHand {
    type Held = SyncHeld;

    fn take(&self, bytes: usize) -> SyncHeld {
        // SAFETY: nobody reads it.
        SyncHeld(unsafe { result::malloc_sync(bytes) }.expect("bytes"))
    }
}

impl Drop for SyncHeld {
    fn drop(&mut self) {
        // SAFETY: it came from `malloc_sync`, and this is its end.
        unsafe { result::free_sync(self.0) }.expect("a free");
    }
}

/// `result::malloc_async` from the device's own pool.
pub struct MallocAsync {
    pub context: Arc<CudaContext>,
    /// What the pool keeps at a synchronisation.
    pub threshold: u64,
    pub name: &'static str,
}

pub struct MallocAsyncHand(Arc<CudaStream>);

pub struct AsyncHeld {
    bytes: sys::CUdeviceptr,
    stream: sys::CUstream,
}

impl MallocAsync {
    /// False where the device has no pools.
    pub fn is_there(&self) -> bool {
        self.context.has_async_alloc()
    }

    fn set_threshold(&self) {
        let mut pool = std::ptr::null_mut();
        let mut threshold = self.threshold;
        // SAFETY: the outputs live as long as the calls.
        unsafe {
            sys::cuDeviceGetDefaultMemPool(&mut pool, self.context.cu_device())
                .result()
                .expect("a pool");
            sys::cuMemPoolSetAttribute(
                pool,
                sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                std::ptr::from_mut(&mut threshold).cast(),
            )
            .result()
            .expect("a threshold");
        }
    }
}

impl Side for MallocAsync {
    type Hand = MallocAsyncHand;

    fn name(&self) -> &str {
        self.name
    }

    fn hand(&self) -> MallocAsyncHand {
        self.context.bind_to_thread().expect("a context");
        self.set_threshold();
        MallocAsyncHand(self.context.new_stream().expect("a stream"))
    }
}

impl Hand for MallocAsyncHand {
    type Held = AsyncHeld;

    fn take(&self, bytes: usize) -> AsyncHeld {
        let stream = self.0.cu_stream();
        // SAFETY: nobody reads it.
        let bytes = unsafe { result::malloc_async(stream, bytes) }.expect("bytes");
        AsyncHeld { bytes, stream }
    }

    fn wait(&self) {
        self.0.synchronize().expect("a wait");
    }
}

impl Drop for AsyncHeld {
    fn drop(&mut self) {
        // SAFETY: it came from `malloc_async`, and this is its end; the hand
        // that has the stream lives longer.
        unsafe { result::free_async(self.bytes, self.stream) }.expect("a free");
    }
}
