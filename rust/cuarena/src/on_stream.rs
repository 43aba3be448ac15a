//! Blocks on streams: allocated, used, resized, pinned and freed in the order
//! of a stream instead of after it.
//!
//! What a free means for a block that was allocated on A, or given back to it,
//! and is used on C as well:
//!
//! - dropped: its bytes are A's to reuse at once, when C's work is done;
//! - [`free_on`](Block::free_on) B: they are B's, when A's and C's work is done;
//! - [`free_ordered_on`](Block::free_ordered_on) B: they are B's at once, for
//!   the program has ordered B after all of it;
//! - [`free_idle`](Block::free_idle): they are everybody's at once, for
//!   all of it is over.
//!
//! None of them waits, and none calls the driver, as a rule.

use crate::home::Home;
use crate::{ffi, Arena, Block, PinnedBlock, Request, Result, Stream};

impl Arena {
    /// A block of so many bytes for a stream: it may be of bytes that this
    /// stream freed just before, without a wait.
    ///
    /// Host views of it are refused, since the stream may be using it.
    ///
    /// # Errors
    ///
    /// As [`Arena::alloc`]; a bad argument for a stream whose work cannot use
    /// the arena's bytes, or of another arena; unsupported for a memory without
    /// streams, and for a stream that is being captured and was not known; a
    /// limit for too many streams (126).
    #[inline]
    pub fn alloc_on(&self, bytes: usize, stream: &Stream) -> Result<Block> {
        self.request_on(bytes, stream, std::ptr::null())
    }

    /// The same of which more is asked. Zeroing is queued on the stream.
    ///
    /// # Errors
    ///
    /// As [`Arena::alloc_on`] and [`Arena::alloc_with`].
    pub fn alloc_on_with(&self, bytes: usize, stream: &Stream, request: &Request) -> Result<Block> {
        self.request_on(bytes, stream, request.raw())
    }

    #[inline]
    fn request_on(
        &self,
        bytes: usize,
        stream: &Stream,
        request: *const ffi::cuarena_request_t,
    ) -> Result<Block> {
        self.same_arena(stream)?;
        let mut id = 0;
        // SAFETY: arena and stream live, the rest as long as the call.
        let status = unsafe {
            ffi::cuarena_block_alloc_on(self.raw(), bytes as u64, stream.handle(), request, &mut id)
        };
        self.own_at(status, id, bytes, || Home::of(stream))
    }
}

impl Block {
    /// The block is used on that stream too: when it is freed, its bytes go to
    /// nobody before everything that is queued there until then is done. Once
    /// for each stream is enough. Host views are refused from now on.
    ///
    /// A pin that is [released on](PinnedBlock::release_on) a stream has done
    /// that.
    ///
    /// # Errors
    ///
    /// Those of a stream ([`Arena::alloc_on`]); out of memory if the host has
    /// none for the note.
    pub fn record_use(&self, stream: &Stream) -> Result<()> {
        self.arena().same_arena(stream)?;
        self.name_streams();
        // SAFETY: arena and stream live.
        let status = unsafe {
            ffi::cuarena_block_record_use(self.arena().raw(), self.id().as_raw(), stream.handle())
        };
        if status == ffi::CUARENA_OK {
            self.home.reclaim(stream);
        }
        self.arena().life().finish(status)
    }

    /// As [`Block::resize`]; where the contents must move, the copy is queued
    /// on that stream, and the old bytes are freed on it. It comes after what
    /// is queued there, and after nothing else: work of other streams that
    /// writes to the block is the program's to order before.
    ///
    /// # Errors
    ///
    /// As [`Block::resize`], and those of a stream.
    pub fn resize_on(&mut self, bytes: usize, stream: &Stream) -> Result<()> {
        self.check_no_pins()?;
        self.use_home_and(stream)?;
        // SAFETY: arena and stream live; the block is borrowed mutably, so
        // nobody has its address.
        let status = unsafe {
            ffi::cuarena_block_resize_on(
                self.arena().raw(),
                self.id().as_raw(),
                bytes as u64,
                stream.handle(),
            )
        };
        if status == ffi::CUARENA_OK {
            self.note_size(bytes);
        }
        self.arena().life().finish(status)
    }

    /// As [`Block::pin`]; the stream then waits for the last move of the block,
    /// where a compaction queued that on another stream. A resize that moved
    /// the block is a use on its own stream, which this one must wait for.
    ///
    /// # Errors
    ///
    /// As [`Block::pin`], and those of a stream.
    ///
    /// # Safety
    ///
    /// As of [`Block::pin`].
    pub unsafe fn pin_on(&self, stream: &Stream) -> Result<PinnedBlock<'_>> {
        self.arena().same_arena(stream)?;
        PinnedBlock::new_on(self, stream)
    }

    /// Frees the block on another stream than its home: its bytes are that
    /// stream's when the work of all streams that the block names is done.
    ///
    /// # Errors
    ///
    /// Those of a stream; busy if a device pin of the block was leaked. The
    /// block is then dropped in the ordinary way.
    pub fn free_on(mut self, stream: &Stream) -> Result<()> {
        self.check_no_pins()?;
        self.arena().same_arena(stream)?;
        if let Some(home) = self.home.stream().filter(|home| home != stream) {
            self.record_use(&home)?;
        }
        self.end_on(stream.handle())
    }

    /// Frees the block on that stream, which the program has ordered after all
    /// work on the block's home: its bytes are the stream's at once, if no
    /// other stream uses the block.
    ///
    /// # Errors
    ///
    /// As [`Block::free_on`].
    ///
    /// # Safety
    ///
    /// The stream was made to wait for the work on the block's home.
    pub unsafe fn free_ordered_on(mut self, stream: &Stream) -> Result<()> {
        self.check_no_pins()?;
        self.arena().same_arena(stream)?;
        self.end_on(stream.handle())
    }

    /// Frees the block, whose bytes are everybody's at once.
    ///
    /// # Errors
    ///
    /// As [`Block::free_on`].
    ///
    /// # Safety
    ///
    /// All work that uses the block is done.
    pub unsafe fn free_idle(mut self) -> Result<()> {
        self.check_no_pins()?;
        self.end_on(ffi::CUARENA_NO_STREAM)
    }

    /// On an error the block is as it was, and is dropped.
    fn end_on(self, stream: ffi::cuarena_stream_t) -> Result<()> {
        let arena = self.arena().clone();
        // SAFETY: arena and stream live; the block is not used after it was
        // freed. Work that uses it is known by name, or the caller vouches.
        let status = unsafe { ffi::cuarena_block_free_on(arena.raw(), self.id().as_raw(), stream) };
        if status != ffi::CUARENA_OK {
            return arena.life().finish(status);
        }
        self.disown();
        arena.life().finish(status)
    }

    /// What is to come on `stream` does not know what the home is doing, and
    /// the other way round.
    fn use_home_and(&self, stream: &Stream) -> Result<()> {
        if let Some(home) = self.home.stream().filter(|home| home != stream) {
            self.record_use(&home)?;
        }
        self.record_use(stream)
    }
}
