//! Constants whose macros hold a cast or a name of another header, which
//! bindgen passes over. `systest` compares them with the header.

use crate::cuarena_stream_t;

/// The legacy default stream: another name of a null pointer, and the value of
/// `cudaStreamLegacy`.
pub const CUARENA_STREAM_LEGACY: cuarena_stream_t = 1 as cuarena_stream_t;

/// The default stream of the calling thread, as `cudaStreamPerThread`.
pub const CUARENA_STREAM_PER_THREAD: cuarena_stream_t = 2 as cuarena_stream_t;

/// No stream: bytes are idle when they are freed, and what a call does to
/// bytes is done when it returns.
pub const CUARENA_NO_STREAM: cuarena_stream_t = usize::MAX as cuarena_stream_t;

/// Numbers of bytes: as the preset says.
pub const CUARENA_BYTES_PRESET: u64 = u64::MAX - 1;
/// Of what a pool of the driver's has: it stays as it is.
pub const CUARENA_BYTES_UNCHANGED: u64 = u64::MAX - 2;
