//! The calls of C, through cuarena-sys.

use std::ffi::CString;
use std::ptr;
use std::sync::Arc;

use cuarena::Arena;
use cuarena_sys as ffi;
use cudarc::driver::{CudaContext, CudaStream};

use crate::side::{Hand, Side};

/// An arena of its own, ended with all that is in it, or one of the crate's,
/// through the back door.
pub struct RawArena {
    raw: *mut ffi::cuarena_t,
    owner: Option<Arena>,
}

// SAFETY: any thread may call anything.
unsafe impl Send for RawArena {}
// SAFETY: as above.
unsafe impl Sync for RawArena {}

impl RawArena {
    /// By the text of its options.
    ///
    /// # Panics
    ///
    /// If there is no such arena.
    pub fn new(options: &str) -> Arc<Self> {
        let text = CString::new(options).expect("no zero in it");
        let mut arena = ptr::null_mut();
        // SAFETY: text and output live as long as the call.
        must(unsafe { ffi::cuarena_open(text.as_ptr(), &mut arena) });
        Arc::new(Self {
            raw: arena,
            owner: None,
        })
    }

    /// The same arena that others have through the crate.
    pub fn of(arena: &Arena) -> Arc<Self> {
        Arc::new(Self {
            raw: arena.as_raw(),
            owner: Some(arena.clone()),
        })
    }

    pub fn as_ptr(&self) -> *mut ffi::cuarena_t {
        self.raw
    }
}

impl Drop for RawArena {
    fn drop(&mut self) {
        if self.owner.is_none() {
            // SAFETY: hands keep the arena alive, and are gone.
            must(unsafe { ffi::cuarena_destroy_forced(&mut self.raw) });
        }
    }
}

/// What a call that is made right comes to.
///
/// # Panics
///
/// For any status but OK.
#[inline]
pub fn must(status: ffi::cuarena_status_t) {
    assert_eq!(status, ffi::CUARENA_OK, "a call failed");
}

/// A stream for a hand; none on memory without a device.
fn stream_of(context: &Option<Arc<CudaContext>>) -> Option<Arc<CudaStream>> {
    let new = |context: &Arc<CudaContext>| context.new_stream().expect("a stream");
    context.as_ref().map(new)
}

fn handle_of(stream: &Option<Arc<CudaStream>>) -> ffi::cuarena_stream_t {
    let of = |stream: &Arc<CudaStream>| stream.cu_stream().cast();
    stream.as_ref().map_or(ffi::CUARENA_NO_STREAM, of)
}

/// A thread's share of an arena, and of a stream where it has one.
pub struct RawHand<const BLOCKS: bool> {
    arena: Arc<RawArena>,
    stream: Option<Arc<CudaStream>>,
}

/// `cuarena_alloc` and `cuarena_free`, or, with BLOCKS, `cuarena_block_alloc`
/// and `cuarena_block_free`; on a stream where a context is given.
pub struct Raw<const BLOCKS: bool> {
    pub arena: Arc<RawArena>,
    pub context: Option<Arc<CudaContext>>,
    pub name: &'static str,
}

impl<const BLOCKS: bool> Side for Raw<BLOCKS> {
    type Hand = RawHand<BLOCKS>;

    fn name(&self) -> &str {
        self.name
    }

    fn hand(&self) -> RawHand<BLOCKS> {
        RawHand {
            arena: self.arena.clone(),
            stream: stream_of(&self.context),
        }
    }
}

/// The number is a pointer, or the id of a block.
pub struct RawHeld<const BLOCKS: bool> {
    arena: *mut ffi::cuarena_t,
    stream: ffi::cuarena_stream_t,
    what: u64,
}

impl<const BLOCKS: bool> Hand for RawHand<BLOCKS> {
    type Held = RawHeld<BLOCKS>;

    #[inline]
    fn take(&self, bytes: usize) -> RawHeld<BLOCKS> {
        let (arena, stream) = (self.arena.as_ptr(), handle_of(&self.stream));
        // SAFETY: arena, stream and outputs live.
        let what = unsafe { take::<BLOCKS>(arena, stream, bytes as u64) };
        RawHeld {
            arena,
            stream,
            what,
        }
    }

    fn wait(&self) {
        if let Some(stream) = &self.stream {
            stream.synchronize().expect("a wait");
        }
    }
}

impl<const BLOCKS: bool> Drop for RawHand<BLOCKS> {
    fn drop(&mut self) {
        if self.stream.is_some() {
            // SAFETY: arena and stream live.
            must(unsafe {
                ffi::cuarena_release_stream(self.arena.as_ptr(), handle_of(&self.stream))
            });
        }
    }
}

#[inline]
unsafe fn take<const BLOCKS: bool>(
    arena: *mut ffi::cuarena_t,
    stream: ffi::cuarena_stream_t,
    bytes: u64,
) -> u64 {
    let mut block = 0;
    let mut pointer = ptr::null_mut();
    let on = stream != ffi::CUARENA_NO_STREAM;
    // SAFETY: the caller says that arena and stream live.
    unsafe {
        must(match (BLOCKS, on) {
            (true, true) => {
                ffi::cuarena_block_alloc_on(arena, bytes, stream, ptr::null(), &mut block)
            }
            (true, false) => ffi::cuarena_block_alloc(arena, bytes, &mut block),
            (false, true) => ffi::cuarena_alloc_on(arena, bytes, stream, ptr::null(), &mut pointer),
            (false, false) => ffi::cuarena_alloc(arena, bytes, &mut pointer),
        });
    }
    if BLOCKS {
        block
    } else {
        pointer as u64
    }
}

impl<const BLOCKS: bool> Drop for RawHeld<BLOCKS> {
    #[inline]
    fn drop(&mut self) {
        let on = self.stream != ffi::CUARENA_NO_STREAM;
        let pointer = self.what as *mut std::ffi::c_void;
        // SAFETY: this is the end of what a hand took; the hand lives longer.
        unsafe {
            must(match (BLOCKS, on) {
                (true, true) => ffi::cuarena_block_free_on(self.arena, self.what, self.stream),
                (true, false) => ffi::cuarena_block_free(self.arena, self.what),
                (false, true) => ffi::cuarena_free_on(self.arena, pointer, self.stream),
                (false, false) => ffi::cuarena_free(self.arena, pointer),
            });
        }
    }
}
