//! Capture sessions: blocks whose addresses a graph keeps.
//!
//! A graph holds the addresses of the blocks that its kernels were captured
//! with and uses them at each launch, whatever was dropped meanwhile. So what
//! is allocated on a stream while it is being captured comes from *private*
//! ranges, which nobody else gets until the session is released.
//!
//! ```text
//!   let session = unsafe { arena.capture(&stream)? };
//!   the driver begins to capture the stream, before or after
//!       arena.alloc_on(bytes, &stream), launches, drops
//!   the driver ends the capture, always before
//!   session.end()
//!       the graph is launched; the arena is used as ever
//!   drop(session)
//! ```
//!
//! Begin before the capture: the session can then get bytes that the stream
//! freed.

use core::fmt;
use core::ptr::NonNull;

use crate::error::check;
use crate::figures::{stats_by, told};
use crate::stream::{RawStream, Stream};
use crate::{ffi, Arena, Error, ErrorKind, Result, Stats};

/// What keeps the bytes of one capture private. Dropping it releases them on
/// the stream that it began with.
///
/// It holds its streams, which stay alive that long. Where the drop finds a
/// stream still being captured, or in another open session, nothing can be
/// released: then the session is leaked, its bytes stay private, and the arena
/// is never ended.
#[must_use = "a session that is dropped at once keeps nothing private"]
pub struct CaptureSession {
    arena: Arena,
    raw: *mut ffi::cuarena_capture_t,
    streams: Vec<Stream>,
}

// SAFETY: any thread may pass a session.
unsafe impl Send for CaptureSession {}
// SAFETY: as above; the library locks.
unsafe impl Sync for CaptureSession {}

impl Arena {
    /// What is allocated on the stream is private from now on, whoever
    /// allocates, until [`CaptureSession::end`].
    ///
    /// # Errors
    ///
    /// A bad argument for the legacy default stream, which cannot be captured;
    /// busy where the stream is in an open session, or its capture has failed;
    /// unsupported where the memory knows no streams, or the arena sets bytes
    /// to 0 by itself, which would be work on the stream; out of memory, limit.
    ///
    /// # Safety
    ///
    /// When the session is dropped or released, no graph that keeps addresses
    /// of private blocks is launched again, and all of its launches were queued
    /// on the stream that it is released on (for the drop: on this one), or
    /// come before what is queued there. Meanwhile addresses of private blocks
    /// are used by such graphs, or as the pins that gave them allow.
    ///
    /// Blocks that were there before and that the graph uses stay pinned for as
    /// long. A private block that lives on is later freed in the order of the
    /// stream that it was allocated on, so that stream too comes after the
    /// launches by then.
    pub unsafe fn capture(&self, stream: &Stream) -> Result<CaptureSession> {
        self.same_arena(stream)?;
        let mut raw = core::ptr::null_mut();
        // SAFETY: arena and stream live.
        check(unsafe { ffi::cuarena_capture_begin(self.raw(), stream.handle(), &mut raw) })?;
        if NonNull::new(raw).is_none() {
            return Err(Error::new(ErrorKind::Corrupt, "a session at no address"));
        }
        Ok(CaptureSession {
            arena: self.clone(),
            raw,
            streams: vec![stream.clone()],
        })
    }
}

impl CaptureSession {
    /// The same for one more stream, which joined or will join the
    /// capture by waiting for an event of it.
    ///
    /// # Errors
    ///
    /// As [`Arena::capture`]; a bad argument for a session that has ended.
    pub fn join(&mut self, stream: &Stream) -> Result<()> {
        self.arena.same_arena(stream)?;
        // SAFETY: arena, session and stream live.
        check(unsafe { ffi::cuarena_capture_join(self.arena.raw(), self.raw, stream.handle()) })?;
        if !self.streams.contains(stream) {
            self.streams.push(stream.clone());
        }
        Ok(())
    }

    /// The streams are ordinary again: what is allocated on them is not
    /// private. Comes after the driver's end of the capture, also where that
    /// failed.
    ///
    /// # Errors
    ///
    /// Busy while one of the streams is being captured.
    pub fn end(&self) -> Result<()> {
        // SAFETY: arena, session and streams live.
        check(unsafe { ffi::cuarena_capture_end(self.arena.raw(), self.raw) })
    }

    /// Releases the session on another stream than the one that it began with:
    /// private bytes that are free join that stream's free list, and the blocks
    /// that live become ordinary ones, which were allocated on it. The stream
    /// waits for the session's.
    ///
    /// # Errors
    ///
    /// Busy where one of the streams is being captured, or in another open
    /// session. The session comes back with the error; it may have ended.
    pub fn release_on(self, stream: &Stream) -> core::result::Result<(), (Self, Error)> {
        if let Err(error) = self.arena.same_arena(stream) {
            return Err((self, error));
        }
        self.released(stream.handle())
    }

    /// Releases the session without a stream: private bytes that are free are
    /// idle at once, and the blocks that live become blocks of no stream.
    ///
    /// # Errors
    ///
    /// As [`CaptureSession::release_on`].
    ///
    /// # Safety
    ///
    /// All work with private blocks is done.
    pub unsafe fn release_idle(self) -> core::result::Result<(), (Self, Error)> {
        self.released(RawStream::NONE.handle())
    }

    fn released(
        mut self,
        stream: ffi::cuarena_stream_t,
    ) -> core::result::Result<(), (Self, Error)> {
        match self.release(stream) {
            Ok(()) => Ok(()),
            Err(error) => Err((self, error)),
        }
    }

    fn release(&mut self, stream: ffi::cuarena_stream_t) -> Result<()> {
        // SAFETY: arena, session and streams live; that the graph is not
        // launched again is the word of who began the session.
        check(unsafe { ffi::cuarena_capture_release(self.arena.raw(), &mut self.raw, stream) })
    }

    /// Live and requested bytes, counts and peaks of private blocks;
    /// `capacity_bytes`: what is private; `free_bytes`: of that;
    /// `largest_bytes`: what is free and was never handed out. The rest is 0.
    /// O(private stretches).
    #[must_use]
    pub fn stats(&self) -> Stats {
        // SAFETY: arena and session live; the struct was made by its init.
        told(unsafe {
            stats_by(|stats| ffi::cuarena_capture_stats(self.arena.raw(), self.raw, stats))
        })
    }
}

impl Drop for CaptureSession {
    fn drop(&mut self) {
        if self.raw.is_null() {
            return;
        }
        let first = self.streams[0].handle();
        if self.release(first).is_err() {
            // The arena may touch the streams yet, and a graph its bytes.
            core::mem::forget((self.arena.clone(), core::mem::take(&mut self.streams)));
        }
    }
}

impl fmt::Debug for CaptureSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaptureSession")
            .field("streams", &self.streams)
            .finish_non_exhaustive()
    }
}
