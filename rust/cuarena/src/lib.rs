#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(missing_docs, unsafe_op_in_unsafe_fn)]

pub use cuarena_sys as ffi;

mod amount;
mod arena;
mod block;
mod blocks;
mod builder;
mod choices;
mod compact;
mod error;
mod hooks;
mod host;
mod life;
mod listen;
mod panics;
mod pinned;
mod request;
mod stats;
mod stream;
mod trampoline;
mod typed;

pub use amount::Amount;
pub use arena::{Arena, CloseError, WeakArena};
pub use block::{Block, BlockId};
pub use blocks::{BlockInfo, Blocks};
pub use builder::ArenaBuilder;
pub use choices::{
    Backing, BytesKind, Grow, LimitKind, Marker, MemoryKind, Placement, Preset, Property, Region,
    Split, Steal, Switch, UnknownKeys, Zero,
};
pub use compact::{Address, CompactOptions, CompactReport, Relocation};
pub use error::{Error, ErrorKind, Result};
pub use host::{HostView, HostViewMut};
pub use listen::{Event, EventKind, OutOfMemory, Retry};
pub use pinned::{DevicePtr, PinnedBlock, ReleaseError};
pub use request::{Request, Tag};
pub use stats::Stats;
pub use stream::Stream;
pub use typed::TypedBlock;
