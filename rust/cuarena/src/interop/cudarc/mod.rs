//! Arena memory for programs that use [cudarc].
//!
//! *Vocabulary.* The **home** of a slice is the stream it was allocated on. A
//! **foreign** use of it is one on any other stream. **Tracking** is what
//! cudarc calls event tracking: it is on unless the program took the order of
//! its streams upon itself.
//!
//! ```no_run
//! use cuarena::interop::cudarc::{ArenaExt, BuilderExt};
//! use cuarena::Arena;
//! use cudarc::driver::CudaContext;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let context = CudaContext::new(0)?;
//!     let arena = Arena::builder().cuda(&context).pool(64 << 20).build()?;
//!     let stream = arena.cuda_stream(&context.new_stream()?)?;
//!
//!     let zeros = stream.alloc_zeros::<f32>(1024)?; // calls the driver once
//!     let copy = stream.clone_dtod(&zeros)?; // likewise
//!     assert_eq!(stream.cuda().clone_dtoh(&copy)?, [0.0; 1024]);
//!     drop(zeros); // no driver call
//!     Ok(())
//! }
//! ```
//!
//! # Who waits for whom
//!
//! On its home a slice is in order by itself, so to allocate, use and free it
//! there makes no event and no driver call beyond the work itself. The first
//! foreign use through cudarc's own functions ([`DevicePtr`] and
//! [`DevicePtrMut`]: copies, fills, and what other crates build on these) makes
//! an event for that stream. From then on streams wait for each other as they
//! must: readers for writers, writers for all, and the home for all before the
//! bytes are free. With tracking off none of this happens, as with cudarc's
//! own slices.
//!
//! What no crate but cudarc can see is the stream that a kernel is launched
//! on. So where a slice is the argument of a launch that is **not on its
//! home**, the program brackets the launch with [`ArenaSlice::sync_for`], or
//! passes a view ([`ArenaSlice::as_view`]), which carries cudarc's own events.
//!
//! # Graphs
//!
//! What is allocated on a stream within [`Arena::capture`](crate::Arena::capture)
//! keeps its bytes, also where it is dropped, until the session is: a graph
//! that was captured meanwhile finds them at each launch. Slices make no events
//! on their home, so a capture takes no event from before it, and tracking may
//! stay on. The example `cudarc_graph` shows it.
//!
//! # Moving
//!
//! A slice is pinned as long as it lives: its address is known to others.
//! [`ArenaSlice::into_block`] gives it up, and compaction may move the bytes.
//!
//! # Versions
//!
//! The application chooses the link mode and the version of CUDA by the
//! features of cudarc; this crate asks for neither. Everything here is made for
//! cudarc 0.19.
//!
//! [`DevicePtr`]: ::cudarc::driver::DevicePtr
//! [`DevicePtrMut`]: ::cudarc::driver::DevicePtrMut

mod arena;
mod home;
mod slice;
mod stream;
mod traits;
mod uses;
mod view;

pub use self::arena::{ArenaExt, BuilderExt};
pub use self::slice::ArenaSlice;
pub use self::stream::ArenaStream;
pub use self::uses::ForeignUse;
