//! Uses of a slice on other streams than its home.
//!
//! *Vocabulary.* A **mark** is one foreign stream's event: it stands behind
//! that stream's last use of the slice. A mark is **open** while somebody may
//! still have to wait for it.
//!
//! *Invariants.*
//! - Marks are only added while the slice lives, so an event can be lent for
//!   as long as the slice is borrowed.
//! - Who records a mark has waited for what it meant before, so nothing is lost
//!   where a new stream has the handle of one that was destroyed.
//! - Marks are closed only by who has the slice to itself and has waited for
//!   all of them. Others wait again: an event that is complete costs a call.
//!
//! *Cost.* Nothing until the first foreign use. That makes two events; each one
//! records the home's, waits for it and for open marks, and records its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use ::cudarc::driver::{CudaEvent, CudaStream, DriverError, SyncOnDrop};

use super::home::{is_per_thread, wait, Home};

/// What somebody is about to do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Intent {
    /// Read, beside others who read.
    Read,
    /// Write; nobody else can reach the slice meanwhile.
    Write,
    /// Anything, beside others: the caller answers for the order.
    Launch,
}

/// The last use on one foreign stream.
pub(super) struct Mark {
    handle: usize,
    context: usize,
    event: CudaEvent,
    read: AtomicBool,
    written: AtomicBool,
    next: OnceLock<Box<Mark>>,
}

impl Mark {
    fn new(stream: &CudaStream) -> Result<Self, DriverError> {
        Ok(Self {
            handle: stream.cu_stream() as usize,
            context: stream.context().cu_ctx() as usize,
            event: stream.context().new_event(None)?,
            read: AtomicBool::new(false),
            written: AtomicBool::new(false),
            next: OnceLock::new(),
        })
    }

    fn is_of(&self, stream: &CudaStream) -> bool {
        self.handle == stream.cu_stream() as usize
            && self.context == stream.context().cu_ctx() as usize
    }

    fn is_open_for(&self, intent: Intent) -> bool {
        self.written.load(Ordering::Acquire)
            || intent != Intent::Read && self.read.load(Ordering::Acquire)
    }

    fn open(&self, intent: Intent) {
        let flag = match intent {
            Intent::Read => &self.read,
            Intent::Write | Intent::Launch => &self.written,
        };
        flag.store(true, Ordering::Release);
    }

    fn close(&self) {
        self.read.store(false, Ordering::Relaxed);
        self.written.store(false, Ordering::Relaxed);
    }
}

/// All foreign uses of one slice.
#[derive(Default)]
pub(super) struct Uses {
    /// Stands behind the home's last use.
    home: OnceLock<CudaEvent>,
    first: OnceLock<Box<Mark>>,
}

impl Uses {
    fn marks(&self) -> impl Iterator<Item = &Mark> {
        std::iter::successors(self.first.get(), |mark| mark.next.get()).map(|mark| &**mark)
    }

    /// Lets the stream wait for what other streams do to the slice.
    pub(super) fn wait(&self, stream: &CudaStream, intent: Intent) {
        for mark in self.marks().filter(|mark| mark.is_open_for(intent)) {
            wait(stream, &mark.event);
        }
        if intent == Intent::Write {
            self.marks().for_each(Mark::close);
        }
    }

    /// Lets a foreign stream wait for the home; its mark.
    pub(super) fn follow(&self, home: &Home, stream: &CudaStream) -> Result<&Mark, DriverError> {
        let mark = self.mark_of(stream)?;
        let behind = match self.home.get() {
            Some(event) => event,
            None => {
                let event = home.cuda().context().new_event(None)?;
                self.home.get_or_init(|| event)
            }
        };
        behind.record(home.cuda())?;
        stream.wait(behind)?;
        stream.wait(&mark.event)?;
        Ok(mark)
    }

    fn mark_of(&self, stream: &CudaStream) -> Result<&Mark, DriverError> {
        if let Some(mark) = self.marks().find(|mark| mark.is_of(stream)) {
            return Ok(mark);
        }
        let mut new = Some(Box::new(Mark::new(stream)?));
        let mut place = &self.first;
        loop {
            let mark = place.get_or_init(|| new.take().expect("not added yet"));
            if new.is_none() || mark.is_of(stream) {
                return Ok(mark);
            }
            place = &mark.next;
        }
    }
}

/// Orders a foreign use behind all others; ends by recording the mark, or by
/// waiting for the stream where that cannot be.
pub(super) fn begin<'a>(
    uses: &'a Uses,
    home: &Home,
    stream: &'a CudaStream,
    intent: Intent,
) -> SyncOnDrop<'a> {
    uses.wait(stream, intent);
    match uses.follow(home, stream) {
        Ok(mark) if will_record(stream) => {
            mark.open(intent);
            SyncOnDrop::Record(Some((&mark.event, stream)))
        }
        Ok(_) => SyncOnDrop::Sync(Some(stream)),
        Err(error) => {
            stream.context().record_err::<()>(Err(error));
            stream.context().record_err(home.cuda().synchronize());
            SyncOnDrop::Sync(Some(stream))
        }
    }
}

/// Whether cudarc will record what it is told to. It does not where the
/// context has made no stream, and its handle of the per-thread stream means
/// another one to each thread that waits.
fn will_record(stream: &CudaStream) -> bool {
    stream.context().is_managing_stream_synchronization() && !is_per_thread(stream)
}

/// A bracket around work on a stream that is not a slice's home.
///
/// [`ArenaSlice::sync_for`](super::ArenaSlice::sync_for) begins it; what is
/// queued on the stream until it is dropped is in order with all other uses of
/// the slice. It ends by recording an event, without waiting; where that fails
/// it waits for the stream.
#[must_use = "the bracket ends where this is dropped"]
pub struct ForeignUse<'a> {
    mark: Option<&'a Mark>,
    stream: &'a Arc<CudaStream>,
}

impl<'a> ForeignUse<'a> {
    /// The bracket on the home itself: nothing is left to do at its end.
    pub(super) fn none(stream: &'a Arc<CudaStream>) -> Self {
        Self { mark: None, stream }
    }

    pub(super) fn begin(
        uses: &'a Uses,
        home: &Home,
        stream: &'a Arc<CudaStream>,
    ) -> crate::Result<Self> {
        uses.wait(stream, Intent::Launch);
        let mark = uses.follow(home, stream).map_err(super::stream::refused)?;
        Ok(Self {
            mark: Some(mark),
            stream,
        })
    }

    /// The stream that the bracket is on.
    #[must_use]
    pub fn stream(&self) -> &'a Arc<CudaStream> {
        self.stream
    }
}

impl Drop for ForeignUse<'_> {
    fn drop(&mut self) {
        let Some(mark) = self.mark else { return };
        let recorded = mark.event.record(self.stream);
        if recorded.is_err() || is_per_thread(self.stream) {
            let context = self.stream.context();
            context.record_err(recorded);
            context.record_err(self.stream.synchronize());
        }
        mark.open(Intent::Launch);
    }
}

impl std::fmt::Debug for ForeignUse<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ForeignUse")
            .field("stream", self.stream)
            .finish_non_exhaustive()
    }
}
