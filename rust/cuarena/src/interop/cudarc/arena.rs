//! Arenas on cudarc's contexts.

use std::ptr;
use std::sync::Arc;

use ::cudarc::driver::{CudaContext, CudaStream};

use super::stream::ArenaStream;
use crate::{ffi, Arena, ArenaBuilder, Result};

/// Builds an arena on the device that cudarc uses.
pub trait BuilderExt: Sized {
    /// Device memory in cudarc's context, so that its streams are the arena's.
    /// Setters that come later may choose another memory of the device, such
    /// as pinned.
    ///
    /// The context lives as long as the arena does.
    #[must_use]
    fn cuda(self, context: &Arc<CudaContext>) -> Self;
}

/// Lets an arena serve cudarc's streams.
pub trait ArenaExt {
    /// The stream, to allocate on.
    ///
    /// Cost: an allocation of host memory. The arena asks the driver about the
    /// stream when the first bytes are wanted on it.
    ///
    /// # Errors
    ///
    /// [`BadArgument`](crate::ErrorKind::BadArgument): the stream is of another
    /// context than the arena's memory, or that is of no device;
    /// [`Unsupported`](crate::ErrorKind::Unsupported): it is the per-thread
    /// default stream.
    fn cuda_stream(&self, stream: &Arc<CudaStream>) -> Result<ArenaStream>;
}

impl BuilderExt for ArenaBuilder {
    fn cuda(mut self, context: &Arc<CudaContext>) -> Self {
        let config = self.config_mut();
        config.memory = ffi::CUARENA_MEMORY_DEVICE;
        config.device = i32::try_from(context.ordinal()).unwrap_or(i32::MAX);
        config.context = ptr::null_mut();
        // The arena holds a primary context by itself.
        if !context.is_primary() {
            config.context = context.cu_ctx().cast();
            self.keep_alive(context.clone());
        }
        self
    }
}

impl ArenaExt for Arena {
    fn cuda_stream(&self, stream: &Arc<CudaStream>) -> Result<ArenaStream> {
        ArenaStream::new(self, stream)
    }
}
