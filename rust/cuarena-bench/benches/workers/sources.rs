//! Where workers get bytes.

use std::sync::Arc;

use cuarena::interop::cudarc::{ArenaExt, ArenaStream, BuilderExt};
use cuarena::{Arena, Block, MemoryKind, Preset};
use cuarena_bench::threshold::{self, Threshold};
use cudarc::driver::{result, sys, CudaContext, CudaStream};

/// An allocator that workers share.
pub trait Source: Send + Sync + 'static {
    /// Bytes; dropping it, on whichever worker, gives them back.
    type Held: Send + 'static;
    /// What the records call it.
    const NAME: &'static str;

    /// Called by each worker before its first call.
    fn begin(&self) {}
    /// By a worker, whose number is from 0 on.
    fn take(&self, worker: usize, bytes: usize) -> Self::Held;
    /// The most bytes that were taken from the memory.
    fn held_bytes(&self) -> u64;
}

/// An arena that grows, on the memory of a context or of addresses alone.
pub fn growing(context: Option<&Arc<CudaContext>>) -> Arena {
    let builder = Arena::builder().preset(Preset::Grow);
    let builder = match context {
        Some(context) => builder.cuda(context),
        None => builder.memory(MemoryKind::None),
    };
    builder.build().expect("an arena")
}

/// `Arena::alloc`.
pub struct Arenas<const DEVICE: bool>(pub Arena);

impl<const DEVICE: bool> Source for Arenas<DEVICE> {
    type Held = Block;
    const NAME: &'static str = if DEVICE { "device" } else { "none" };

    fn take(&self, _worker: usize, bytes: usize) -> Block {
        self.0.alloc(bytes).expect("bytes")
    }

    fn held_bytes(&self) -> u64 {
        self.0.stats().peak_reserved_bytes as u64
    }
}

/// `Arena::alloc_on`, on the worker's stream. A block is freed there too.
pub struct Streams {
    streams: Vec<ArenaStream>,
    arena: Arena,
}

impl Streams {
    pub fn new(context: &Arc<CudaContext>, workers: usize) -> Self {
        let arena = growing(Some(context));
        let stream = |_| {
            let stream = context.new_stream().expect("a stream");
            arena.cuda_stream(&stream).expect("a stream")
        };
        let streams = (0..workers).map(stream).collect();
        Self { streams, arena }
    }
}

impl Source for Streams {
    type Held = Block;
    const NAME: &'static str = "device streams";

    fn take(&self, worker: usize, bytes: usize) -> Block {
        let stream = self.streams[worker].stream();
        self.arena.alloc_on(bytes, stream).expect("bytes")
    }

    fn held_bytes(&self) -> u64 {
        self.arena.stats().peak_reserved_bytes as u64
    }
}

/// `cuMemAllocAsync` from the device's current pool, which keeps all.
pub struct Driver {
    context: Arc<CudaContext>,
    streams: Vec<Arc<CudaStream>>,
    pool: Threshold,
}

pub struct DriverHeld {
    bytes: sys::CUdeviceptr,
    stream: usize,
}

impl Driver {
    pub fn new(context: &Arc<CudaContext>, workers: usize) -> Self {
        let stream = |_| context.new_stream().expect("a stream");
        let pool = Threshold::set(context, threshold::MOST).expect("a pool");
        pool.forget();
        Self {
            context: context.clone(),
            streams: (0..workers).map(stream).collect(),
            pool,
        }
    }
}

impl Source for Driver {
    type Held = DriverHeld;
    const NAME: &'static str = "driver streams";

    fn begin(&self) {
        self.context.bind_to_thread().expect("a context");
    }

    fn take(&self, worker: usize, bytes: usize) -> DriverHeld {
        let stream = self.streams[worker].cu_stream();
        // SAFETY: nobody reads it.
        let bytes = unsafe { result::malloc_async(stream, bytes) }.expect("bytes");
        DriverHeld {
            bytes,
            stream: stream as usize,
        }
    }

    fn held_bytes(&self) -> u64 {
        self.pool.held_bytes()
    }
}

impl Drop for DriverHeld {
    fn drop(&mut self) {
        // SAFETY: it came from `malloc_async`, and this is its end; the source,
        // which has the stream, lives longer.
        unsafe { result::free_async(self.bytes, self.stream as sys::CUstream) }.expect("a free");
    }
}
