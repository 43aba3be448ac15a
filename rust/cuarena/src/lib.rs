#![doc = include_str!("../README.md")]
//!
//! # Sizes
//!
//! Sizes, in bytes, are `usize`; counts and the numbers of things are `u64`.
//! Where addresses need not be the program's own, in [`heap`] and [`memory`],
//! sizes are `u64` as they are.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(missing_docs, unsafe_op_in_unsafe_fn)]

pub use cuarena_sys as ffi;

#[cfg(feature = "allocator-api2")]
mod allocator;
mod amount;
mod arena;
mod block;
mod blocks;
mod builder;
mod cache;
mod capture;
mod choices;
mod compact;
mod debug;
mod device;
mod driver;
mod driver_pool;
mod error;
mod export;
mod figures;
pub mod heap;
mod home;
mod hooks;
mod host;
mod inspect;
pub mod interop;
pub mod layer;
mod life;
mod listen;
pub mod log;
pub mod memory;
pub mod monitor;
mod on_stream;
mod options;
mod panics;
mod peaks;
mod pinned;
#[cfg(feature = "bytemuck")]
mod pod;
mod request;
mod shared;
mod sized;
mod snapshot;
mod stats;
mod stream;
mod trace;
mod trampoline;
mod typed;

#[cfg(feature = "allocator-api2")]
#[cfg_attr(docsrs, doc(cfg(feature = "allocator-api2")))]
pub use allocator::HostAllocator;
pub use amount::Amount;
pub use arena::{Arena, CloseError, WeakArena};
pub use block::{Block, BlockId};
pub use blocks::{BlockInfo, Blocks};
pub use builder::ArenaBuilder;
pub use cache::CacheStats;
pub use capture::CaptureSession;
pub use choices::{
    Backing, BytesKind, CacheBound, DriverPool, Events, Fill, Grow, Keep, LimitKind, MemoryKind,
    Nvtx, Placement, Preset, Property, Region, ReleaseThreshold, Segments, SoftLimit, Split, Steal,
    UnknownKeys, Zero,
};
pub use compact::{Address, CompactOptions, CompactReport, Relocation};
pub use device::{Properties, Source};
pub use driver::{device_info, devices, driver_info, DeviceId, DeviceInfo, DriverInfo};
pub use driver_pool::{DriverPoolStats, PoolChoice};
pub use error::{Error, ErrorKind, Result};
pub use export::{Export, ExportPiece, Sharing};
pub use figures::{OrtStats, StatsForm, StepStats};
pub use host::{HostView, HostViewMut};
pub use inspect::Inspection;
pub use listen::{Event, EventKind, OutOfMemory, Retry};
pub use options::{options, OptionInfo, Scope};
pub use peaks::{PeakScope, Peaks};
pub use pinned::{DevicePtr, PinnedBlock, ReleaseError};
#[cfg(feature = "bytemuck")]
#[cfg_attr(docsrs, doc(cfg(feature = "bytemuck")))]
pub use pod::{PodBlock, PodView, PodViewMut};
pub use request::{Request, Tag};
pub use shared::{shrink_shared, SharedReport};
pub use snapshot::SnapshotFormat;
pub use stats::Stats;
pub use stream::{Mark, RawStream, Stream, StreamOwner};
pub use typed::{FromBlockError, TypedBlock};

/// The version of the C library that runs, such as "0.1.0", which may be newer
/// than the one that this crate was written for.
///
/// ```
/// assert!(cuarena::version().starts_with("0."));
/// ```
#[must_use]
pub fn version() -> &'static str {
    // SAFETY: static text.
    let text = unsafe { std::ffi::CStr::from_ptr(ffi::cuarena_version_string()) };
    text.to_str().unwrap_or("")
}
