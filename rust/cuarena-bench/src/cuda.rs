//! cudarc's own ways.

use std::sync::Arc;

use cudarc::driver::{
    result, sys, CudaContext, CudaSlice, CudaStream, PinnedHostSlice, UnifiedSlice,
};

use crate::gpu::Gpu;
use crate::side::{Call, Hand, Side};
use crate::threshold::{Threshold, BOTH};

/// `CudaStream::alloc` and `alloc_zeros`, from a pool with a threshold.
pub struct Slices {
    context: Arc<CudaContext>,
    call: Call,
    name: String,
    _threshold: Threshold,
}

impl Slices {
    /// Each way that a call comes in: events tracked or, where nothing has to be
    /// put in order, not; by threshold. The threshold is that of the last one that
    /// was made, so they are made one after the other.
    pub fn each(gpu: &Gpu, call: Call) -> impl Iterator<Item = Self> + '_ {
        let contexts = [(&gpu.tracking, ""), (&gpu.untracked, ", tracking off")];
        let count = if call == Call::Foreign { 1 } else { 2 };
        let contexts = contexts.into_iter().take(count);
        let ways = contexts.flat_map(|of| BOTH.map(|to| (of, to)));
        ways.filter_map(move |((context, tracking), (bytes, threshold))| {
            let what = match call {
                Call::Alloc => "alloc",
                Call::Zeros | Call::Foreign => "alloc_zeros",
            };
            Some(Self {
                context: context.clone(),
                call,
                name: format!("cudarc {what}{tracking}, {threshold}"),
                _threshold: Threshold::set(context, bytes)?,
            })
        })
    }
}

pub struct SlicesHand {
    stream: Arc<CudaStream>,
    other: Arc<CudaStream>,
    call: Call,
}

impl Side for Slices {
    type Hand = SlicesHand;

    fn name(&self) -> &str {
        &self.name
    }

    fn hand(&self) -> SlicesHand {
        SlicesHand {
            stream: self.context.new_stream().expect("a stream"),
            other: self.context.new_stream().expect("a stream"),
            call: self.call,
        }
    }
}

impl Hand for SlicesHand {
    type Held = CudaSlice<u8>;

    fn take(&self, bytes: usize) -> CudaSlice<u8> {
        if self.call == Call::Alloc {
            // SAFETY: nobody reads it.
            return unsafe { self.stream.alloc(bytes) }.expect("bytes");
        }
        let mut slice = self.stream.alloc_zeros(bytes).expect("bytes");
        if self.call == Call::Foreign {
            self.other.memset_zeros(&mut slice).expect("a fill");
        }
        slice
    }

    fn wait(&self) {
        self.stream.synchronize().expect("a wait");
        if self.call == Call::Foreign {
            self.other.synchronize().expect("a wait");
        }
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

/// `result::malloc_async` from the device's current pool.
pub struct MallocAsync {
    context: Arc<CudaContext>,
    name: String,
    _threshold: Threshold,
}

pub struct MallocAsyncHand(Arc<CudaStream>);

pub struct AsyncHeld {
    bytes: sys::CUdeviceptr,
    stream: sys::CUstream,
}

impl MallocAsync {
    /// By threshold, as [`Slices::each`]; none where the device has no pools.
    pub fn each(gpu: &Gpu) -> impl Iterator<Item = Self> + '_ {
        BOTH.into_iter().filter_map(|(bytes, threshold)| {
            Some(Self {
                context: gpu.untracked.clone(),
                name: format!("cudarc malloc_async, {threshold}"),
                _threshold: Threshold::set(&gpu.untracked, bytes)?,
            })
        })
    }
}

impl Side for MallocAsync {
    type Hand = MallocAsyncHand;

    fn name(&self) -> &str {
        &self.name
    }

    fn hand(&self) -> MallocAsyncHand {
        self.context.bind_to_thread().expect("a context");
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
