//! Memories of the program's own: where an arena's segments come from.
//!
//! Vocabulary
//!
//! - *segment*: one stretch of addresses that a memory gave; the arena keeps it
//!   and hands it to every further call about it.
//! - *granularity*: what a memory gives and takes back in multiples of.
//! - *hole*: a part of a segment whose bytes went back and whose addresses
//!   stayed.
//!
//! [`Memory`] is a table of functions. An arena that was built with one,
//! [`ArenaBuilder::custom`](crate::ArenaBuilder::custom), calls them from any
//! thread, with no lock of its own held, and never two at once about the same
//! segment. They must not call the arena that they serve: it answers
//! [`ErrorKind::Reentered`](crate::ErrorKind::Reentered).
//!
//! A panic in one of them stays in it. What can fail has then failed, as with
//! [`MemoryError::Refused`]; what cannot is over. It is not resumed, since the
//! call that led there may have been a drop, and may have been served otherwise.

use core::mem::MaybeUninit;
use core::num::NonZeroUsize;
use core::ops::Range;
use core::ptr::NonNull;

use crate::export::ExportPiece;
use crate::ffi;
use crate::stream::RawStream;

mod table;
pub(crate) use table::{Guest, Hosted};

/// Why a function of a [`Memory`] did not do what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MemoryError {
    /// There is no more to be had.
    Exhausted,
    /// Any other refusal. The next call may well be granted.
    Refused,
    /// Nothing will work any more: the arena is lost.
    Lost,
    /// The stream is being captured into a graph, and got nothing to do.
    Capturing,
    /// [`Memory::identify`]: no work of that stream could use these bytes.
    ForeignStream,
    /// [`Memory::record_event`]: one event cannot stand for all streams.
    NoCommonEvent,
}

impl MemoryError {
    fn status(self) -> ffi::cuarena_status_t {
        match self {
            Self::Exhausted => ffi::CUARENA_OUT_OF_MEMORY,
            Self::Refused => ffi::CUARENA_DRIVER,
            Self::Lost => ffi::CUARENA_LOST,
            Self::Capturing => ffi::CUARENA_BUSY,
            Self::ForeignStream => ffi::CUARENA_BAD_ARGUMENT,
            Self::NoCommonEvent => ffi::CUARENA_UNSUPPORTED,
        }
    }
}

/// What a function of a [`Memory`] answers.
pub type MemoryResult<T> = core::result::Result<T, MemoryError>;

/// What a [`Memory`] is and which of its functions may be called.
///
/// ```
/// use cuarena::memory::MemoryDescription;
/// let description = MemoryDescription::new("shelf")
///     .granularity(64 << 10)
///     .host_readable()
///     .relocates();
/// assert_eq!(description.name(), "shelf");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct MemoryDescription {
    name: String,
    properties: u32,
    granularity: u64,
    alignment: u64,
    least_bytes: u64,
    offers: u32,
}

const OFFERS_AVAILABLE: u32 = 1;
const OFFERS_GROWTH: u32 = 2;
const OFFERS_HOLES: u32 = 4;
const OFFERS_RELOCATION: u32 = 8;
const OFFERS_ZEROS: u32 = 16;
const OFFERS_STREAMS: u32 = 32;
const OFFERS_EXPORT: u32 = 64;
const OFFERS_ORDER: u32 = 128;
const OFFERS_TOTAL: u32 = 256;

impl MemoryDescription {
    /// Addresses that nothing touches, in pages of 4096 bytes that are
    /// multiples of 256, and none of the functions that need not be there.
    /// `name` is for messages.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            properties: 0,
            granularity: 4096,
            alignment: 256,
            least_bytes: 0,
            offers: 0,
        }
    }

    /// The name, for messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What segments are multiples of: a power of two from the arena's granule
    /// on.
    pub fn granularity(self, granularity: u64) -> Self {
        Self {
            granularity,
            ..self
        }
    }

    /// What every address that [`Memory::get`] gives is a multiple of: a power
    /// of two from the arena's granule on.
    pub fn alignment(self, alignment: u64) -> Self {
        Self { alignment, ..self }
    }

    /// What a segment that keeps its length, as that of a dedicated block does,
    /// may be a multiple of: a power of two from the granule to the granularity.
    pub fn least_bytes(self, least_bytes: u64) -> Self {
        Self {
            least_bytes,
            ..self
        }
    }

    /// Bytes exist behind the addresses: zeroing and relocating do something.
    pub fn touched(self) -> Self {
        self.with_property(ffi::CUARENA_MEMORY_TOUCHES)
    }

    /// Bytes exist, and the CPU can read and write them.
    pub fn host_readable(self) -> Self {
        self.touched()
            .with_property(ffi::CUARENA_MEMORY_HOST_READABLE)
    }

    /// Fresh bytes read as 0.
    pub fn comes_zeroed(self) -> Self {
        self.with_property(ffi::CUARENA_MEMORY_COMES_ZEROED)
    }

    /// [`Memory::available`] may be called. Without it sizes that say `auto` are
    /// refused.
    pub fn tells_available(self) -> Self {
        self.offering(OFFERS_AVAILABLE)
    }

    /// [`Memory::total`] may be called. Without it sizes in percent are refused.
    pub fn tells_total(self) -> Self {
        self.offering(OFFERS_TOTAL)
    }

    /// [`Memory::grow`] and [`Memory::shrink`] may be called. Without them
    /// segments keep their length.
    pub fn grows(self) -> Self {
        self.offering(OFFERS_GROWTH)
    }

    /// [`Memory::punch`] and [`Memory::fill`] may be called. Without them there
    /// are no holes.
    pub fn has_holes(self) -> Self {
        self.offering(OFFERS_HOLES)
    }

    /// [`Memory::relocate`] may be called. Without it nothing moves.
    pub fn relocates(self) -> Self {
        self.offering(OFFERS_RELOCATION)
    }

    /// [`Memory::zero`] may be called. Without it zeroing is unsupported.
    pub fn zeroes(self) -> Self {
        self.offering(OFFERS_ZEROS)
    }

    /// [`Memory::identify`], [`Memory::record_event`], [`Memory::query_event`],
    /// [`Memory::wait_event`] and [`Memory::end_event`] may be called. Without
    /// them no stream uses the memory, and all that it does is done on return.
    pub fn has_streams(self) -> Self {
        self.offering(OFFERS_STREAMS)
    }

    /// [`Memory::export`] may be called. Without it no block can be exported.
    pub fn exports(self) -> Self {
        self.offering(OFFERS_EXPORT)
    }

    /// [`Memory::get_on`] and [`Memory::give_on`] may be called. Without them
    /// bytes have no order, and a dedicated block that is freed on a stream
    /// waits for an event.
    pub fn orders(self) -> Self {
        self.offering(OFFERS_ORDER)
    }

    fn with_property(mut self, property: u32) -> Self {
        self.properties |= property;
        self
    }

    fn offering(mut self, offer: u32) -> Self {
        self.offers |= offer;
        self
    }

    fn offers(&self, offer: u32) -> bool {
        self.offers & offer != 0
    }
}

/// One stretch of addresses that a memory gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Segment {
    /// Of the first byte; never 0.
    pub address: u64,
    /// Usable from there; holes count.
    pub bytes: u64,
    /// Addresses set aside, at least `bytes`: how far [`Memory::grow`] may go.
    pub address_bytes: u64,
    /// The memory's own.
    pub cookie: usize,
}

/// One entry of a list of relocations. Source and destination may overlap.
pub type Run = ffi::cuarena_relocation_t;

/// Why a list of relocations was not executed to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Undone {
    /// How many entries were queued or done; 0: nothing was touched, and the
    /// arena is as it was. Otherwise it is lost.
    pub done: usize,
    /// Why.
    pub error: MemoryError,
}

/// What a memory knows of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct StreamInfo {
    /// No other stream ever has it, unlike the handle.
    pub id: u64,
    /// The driver's context; 0 where there is none.
    pub context: usize,
    /// The device's ordinal, where there is one.
    pub device: Option<i32>,
    /// The handle is another stream on each thread.
    pub per_thread: bool,
    /// The stream is being captured into a graph now.
    pub capturing: bool,
}

/// A moment of a stream, as a memory names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StreamEvent(pub NonZeroUsize);

/// Where an arena's bytes come from.
///
/// Only what [`Memory::describe`] offers is called; the functions that need not
/// be there refuse by default. A function that fails has changed nothing.
///
/// # Safety
///
/// Arenas, and safe code that uses their blocks, believe what is answered:
///
/// - the addresses of a segment are nobody else's until it is given back,
///   shrunk or punched, and two segments never overlap;
/// - of a memory that says [`MemoryDescription::host_readable`] or
///   [`MemoryDescription::touched`] the bytes of a segment, without its holes,
///   are there and can be read and written, by the CPU in the first case, while
///   the segment lives, also from other threads than the one that got it;
/// - bytes that are said to come zeroed do, and [`Memory::zero`] and
///   [`Memory::relocate`] do what they are named for, in the order of the list;
/// - what [`Memory::get_on`] gave is so for what its stream is given from there
///   on, and what [`Memory::give_on`] was given stays so for what that stream
///   was given before;
/// - of streams, [`Memory::query_event`] says `true`, and [`Memory::wait_event`]
///   with the host returns, only when the work before the event is done.
pub unsafe trait Memory: Send + Sync + 'static {
    /// What this memory is. Asked once for each arena, before anything else.
    fn describe(&self) -> MemoryDescription;

    /// How many bytes could be had now at most, as far as known.
    ///
    /// # Errors
    ///
    /// Whatever stands in the way of knowing.
    fn available(&self) -> MemoryResult<u64> {
        Err(MemoryError::Refused)
    }

    /// How many bytes there are in all, whoever has them now: what a percentage
    /// is of.
    ///
    /// # Errors
    ///
    /// Whatever stands in the way of knowing.
    fn total(&self) -> MemoryResult<u64> {
        Err(MemoryError::Refused)
    }

    /// A new segment of `bytes`, with addresses for `address_bytes`, which are
    /// not fewer, if addresses can be set aside; else with
    /// [`Segment::address_bytes`] equal to `bytes`.
    ///
    /// # Errors
    ///
    /// [`MemoryError::Exhausted`] where no more is to be had.
    fn get(&self, bytes: u64, address_bytes: u64) -> MemoryResult<Segment>;

    /// Ends a segment, in which nothing is in use.
    fn give_back(&self, segment: Segment);

    /// Lengthens the usable part in place, within the reserved addresses.
    ///
    /// # Errors
    ///
    /// [`MemoryError::Exhausted`] where no more is to be had.
    fn grow(&self, segment: &mut Segment, new_bytes: u64) -> MemoryResult<()> {
        let _ = (segment, new_bytes);
        Err(MemoryError::Refused)
    }

    /// Shortens it.
    fn shrink(&self, segment: &mut Segment, new_bytes: u64) {
        let _ = (segment, new_bytes);
    }

    /// Takes the bytes of a range of offsets away and leaves a hole.
    fn punch(&self, segment: &mut Segment, range: Range<u64>) {
        let _ = (segment, range);
    }

    /// Puts bytes into a hole, or a part of one, again.
    ///
    /// # Errors
    ///
    /// [`MemoryError::Exhausted`] where no more is to be had.
    fn fill(&self, segment: &mut Segment, range: Range<u64>) -> MemoryResult<()> {
        let _ = (segment, range);
        Err(MemoryError::Refused)
    }

    /// Executes the list in order: on `stream`, or to its end before the return
    /// where there is none. Where the CPU does it, it waits for the work of the
    /// stream first and is done on return.
    ///
    /// # Errors
    ///
    /// How far it came, and why not to the end.
    ///
    /// # Safety
    ///
    /// Every range of the list is in segments of this memory, and nobody else
    /// touches them until the copies are done. The stream is one that
    /// [`Memory::identify`] has accepted, and is alive.
    unsafe fn relocate(
        &self,
        list: &[Run],
        stream: Option<RawStream>,
    ) -> core::result::Result<(), Undone> {
        let _ = (list, stream);
        Err(Undone {
            done: 0,
            error: MemoryError::Refused,
        })
    }

    /// Sets bytes to 0, on `stream` or before the return, likewise.
    ///
    /// # Errors
    ///
    /// Any refusal; nothing was touched then.
    ///
    /// # Safety
    ///
    /// As of [`Memory::relocate`].
    unsafe fn zero(
        &self,
        address: NonNull<MaybeUninit<u8>>,
        bytes: u64,
        stream: Option<RawStream>,
    ) -> MemoryResult<()> {
        let _ = (address, bytes, stream);
        Err(MemoryError::Refused)
    }

    /// What the handle that the program has just passed stands for.
    ///
    /// # Errors
    ///
    /// [`MemoryError::ForeignStream`] for one that cannot use these bytes.
    fn identify(&self, stream: RawStream) -> MemoryResult<StreamInfo> {
        let _ = stream;
        Err(MemoryError::ForeignStream)
    }

    /// Records the work of `stream` so far: in a new event, or in `event`,
    /// which then means this moment. Without a stream the work of all streams
    /// that could use these bytes.
    ///
    /// # Errors
    ///
    /// [`MemoryError::NoCommonEvent`] where it cannot do the latter;
    /// [`MemoryError::Capturing`] of a stream that is being captured.
    fn record_event(
        &self,
        stream: Option<RawStream>,
        event: Option<StreamEvent>,
    ) -> MemoryResult<StreamEvent> {
        let _ = (stream, event);
        Err(MemoryError::Refused)
    }

    /// Whether the work before the event is done.
    ///
    /// # Errors
    ///
    /// Any refusal.
    fn query_event(&self, event: StreamEvent) -> MemoryResult<bool> {
        let _ = event;
        Err(MemoryError::Refused)
    }

    /// Makes `stream`, or without one the caller, wait for the work before the
    /// event.
    ///
    /// # Errors
    ///
    /// [`MemoryError::Capturing`] of a stream that is being captured.
    fn wait_event(&self, event: StreamEvent, stream: Option<RawStream>) -> MemoryResult<()> {
        let _ = (event, stream);
        Err(MemoryError::Refused)
    }

    /// Ends an event, done or not.
    fn end_event(&self, event: StreamEvent) {
        let _ = event;
    }

    /// As [`Memory::get`] with nothing set aside, at a point of `stream`: the
    /// bytes are good for what the stream is given from here on. A segment of
    /// either kind of get may go back either way.
    ///
    /// # Errors
    ///
    /// [`MemoryError::Exhausted`] where no more is to be had;
    /// [`MemoryError::Capturing`] of a stream that is being captured: the arena
    /// calls [`Memory::get`] then.
    fn get_on(&self, bytes: u64, stream: RawStream) -> MemoryResult<Segment> {
        let _ = (bytes, stream);
        Err(MemoryError::Refused)
    }

    /// As [`Memory::give_back`], at a point of `stream`: the bytes go behind
    /// what it was given so far, and the caller does not wait. Of a stream that
    /// is being captured, [`Memory::give_back`].
    fn give_on(&self, segment: Segment, stream: RawStream) {
        let _ = stream;
        self.give_back(segment);
    }

    /// The handles behind a range of offsets, in order, each with a descriptor
    /// of its own. It is also called by who only wants to know how many there
    /// are. May be called beside other functions for the segment.
    ///
    /// # Errors
    ///
    /// Any refusal.
    fn export(&self, segment: &Segment, range: Range<u64>) -> MemoryResult<Vec<ExportPiece>> {
        let _ = (segment, range);
        Err(MemoryError::Refused)
    }
}
