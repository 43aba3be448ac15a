//! The functions that the C library calls for a [`Memory`], and the table of
//! them.
//!
//! `user` of each is a [`Guest`]. No panic passes: `answer` and `quietly` catch
//! it, and what the memory could not say is a refusal.

use core::ffi::{c_void, CStr};
use core::num::NonZeroUsize;
use core::ptr::{self, NonNull};
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use super::{
    Memory, MemoryDescription, MemoryError, MemoryResult, Segment, StreamEvent, StreamInfo,
    OFFERS_AVAILABLE, OFFERS_EXPORT, OFFERS_GROWTH, OFFERS_HOLES, OFFERS_ORDER, OFFERS_RELOCATION,
    OFFERS_STREAMS, OFFERS_TOTAL, OFFERS_ZEROS,
};
use crate::ffi;
use crate::panics::caught;
use crate::sized::sized;
use crate::stream::RawStream;

/// A memory in an arena's service. The arena's `end` drops it.
pub(crate) struct Guest {
    memory: Arc<dyn Memory>,
    name: CString,
    ended: Arc<AtomicBool>,
}

/// What the arena is created with. Where that fails, whether the memory was
/// ended is known by `ended` alone.
pub(crate) struct Hosted {
    pub(crate) ops: ffi::cuarena_memory_ops_t,
    guest: *mut Guest,
    ended: Arc<AtomicBool>,
}

impl Guest {
    /// The table of a memory, and who must be asked after the creation.
    pub(crate) fn host(memory: Arc<dyn Memory>) -> Hosted {
        let description = memory.describe();
        let text: Vec<u8> = description.name.bytes().filter(|b| *b != 0).collect();
        let name = CString::new(text).unwrap_or_default();
        let ended = Arc::new(AtomicBool::new(false));
        let guest = Box::new(Self {
            memory,
            name,
            ended: ended.clone(),
        });
        let ops = table(&description, &guest.name);
        Hosted {
            ops,
            guest: Box::into_raw(guest),
            ended,
        }
    }
}

impl Hosted {
    pub(crate) fn user(&self) -> *mut c_void {
        self.guest.cast()
    }

    /// To be called when the arena was created, or was not.
    pub(crate) fn reclaim(self, created: bool) {
        if !created && !self.ended.load(Ordering::Acquire) {
            // SAFETY: nobody has it: no arena was made of it, and `end`, which
            // drops it too, was not called.
            drop(unsafe { Box::from_raw(self.guest) });
        }
    }
}

fn table(description: &MemoryDescription, name: &CStr) -> ffi::cuarena_memory_ops_t {
    // SAFETY: an init function of the library.
    let mut ops = unsafe { sized(ffi::cuarena_memory_ops_init) };
    ops.name = name.as_ptr();
    ops.properties = description.properties;
    ops.granularity = description.granularity;
    ops.alignment = description.alignment;
    ops.least_bytes = description.least_bytes;
    ops.get = Some(get);
    ops.give_back = Some(give_back);
    ops.end = Some(end);
    if description.offers(OFFERS_AVAILABLE) {
        ops.available = Some(available);
    }
    if description.offers(OFFERS_TOTAL) {
        ops.total = Some(total);
    }
    if description.offers(OFFERS_GROWTH) {
        ops.grow = Some(grow);
        ops.shrink = Some(shrink);
    }
    if description.offers(OFFERS_HOLES) {
        ops.punch = Some(punch);
        ops.fill = Some(fill);
    }
    if description.offers(OFFERS_RELOCATION) {
        ops.relocate = Some(relocate);
    }
    if description.offers(OFFERS_ZEROS) {
        ops.zero_bytes = Some(zero_bytes);
    }
    if description.offers(OFFERS_STREAMS) {
        ops.identify = Some(identify);
        ops.record_event = Some(record_event);
        ops.query_event = Some(query_event);
        ops.wait_event = Some(wait_event);
        ops.end_event = Some(end_event);
    }
    if description.offers(OFFERS_ORDER) {
        ops.get_on = Some(get_on);
        ops.give_on = Some(give_on);
    }
    if description.offers(OFFERS_EXPORT) {
        ops.export_range = Some(export_range);
    }
    ops
}

// ---- The way in and out ----------------------------------------------------

/// What the memory answers; a panic is a refusal.
///
/// # Safety
///
/// `user` is a guest whose `end` was not called.
unsafe fn answer<T>(
    user: *mut c_void,
    ask: impl FnOnce(&dyn Memory) -> MemoryResult<T>,
) -> MemoryResult<T> {
    // SAFETY: as the caller says.
    let guest = unsafe { &*user.cast::<Guest>() };
    caught(|| ask(&*guest.memory)).unwrap_or(Err(MemoryError::Refused))
}

/// The same of what cannot fail.
///
/// # Safety
///
/// As of `answer`.
unsafe fn quietly(user: *mut c_void, tell: impl FnOnce(&dyn Memory)) {
    // SAFETY: as the caller says.
    let guest = unsafe { &*user.cast::<Guest>() };
    caught(|| tell(&*guest.memory));
}

fn status_of(answer: MemoryResult<()>) -> ffi::cuarena_status_t {
    match answer {
        Ok(()) => ffi::CUARENA_OK,
        Err(error) => error.status(),
    }
}

/// # Safety
///
/// `out` is good for a write of a T.
unsafe fn give<T>(answer: MemoryResult<T>, out: *mut T) -> ffi::cuarena_status_t {
    status_of(answer.map(|value| {
        // SAFETY: as the caller says.
        unsafe { out.write(value) };
    }))
}

fn segment_in(raw: &ffi::cuarena_memory_segment_t) -> Segment {
    Segment {
        address: raw.address,
        bytes: raw.bytes,
        address_bytes: raw.address_bytes,
        cookie: raw.cookie as usize,
    }
}

fn segment_out(segment: Segment) -> ffi::cuarena_memory_segment_t {
    ffi::cuarena_memory_segment_t {
        address: segment.address,
        bytes: segment.bytes,
        address_bytes: segment.address_bytes,
        cookie: segment.cookie as *mut c_void,
    }
}

fn stream_in(stream: ffi::cuarena_stream_t) -> Option<RawStream> {
    let stream = RawStream::new(stream.cast());
    (stream != RawStream::NONE).then_some(stream)
}

// ---- The functions ---------------------------------------------------------
//
// SAFETY of all: the library calls them as the contract of the table says, with
// `user` as it was created, pointers that are good during the call, and none of
// them after `end`.

unsafe extern "C" fn available(user: *mut c_void, out: *mut u64) -> ffi::cuarena_status_t {
    // SAFETY: see above.
    unsafe { give(answer(user, Memory::available), out) }
}

unsafe extern "C" fn total(user: *mut c_void, out: *mut u64) -> ffi::cuarena_status_t {
    // SAFETY: see above.
    unsafe { give(answer(user, Memory::total), out) }
}

unsafe extern "C" fn get(
    user: *mut c_void,
    bytes: u64,
    address_bytes: u64,
    out: *mut ffi::cuarena_memory_segment_t,
) -> ffi::cuarena_status_t {
    // SAFETY: see above.
    unsafe {
        let got = answer(user, |memory| memory.get(bytes, address_bytes));
        give(got.map(segment_out), out)
    }
}

unsafe extern "C" fn give_back(user: *mut c_void, segment: *mut ffi::cuarena_memory_segment_t) {
    // SAFETY: see above.
    unsafe {
        let segment = segment_in(&*segment);
        quietly(user, |memory| memory.give_back(segment));
    }
}

/// # Safety
///
/// As of all, of what the library calls.
unsafe fn change(
    user: *mut c_void,
    raw: *mut ffi::cuarena_memory_segment_t,
    ask: impl FnOnce(&dyn Memory, &mut Segment) -> MemoryResult<()>,
) -> ffi::cuarena_status_t {
    // SAFETY: as the caller says.
    unsafe {
        let mut segment = segment_in(&*raw);
        let done = answer(user, |memory| ask(memory, &mut segment));
        if done.is_ok() {
            (*raw).cookie = segment.cookie as *mut c_void;
        }
        status_of(done)
    }
}

unsafe extern "C" fn grow(
    user: *mut c_void,
    segment: *mut ffi::cuarena_memory_segment_t,
    new_bytes: u64,
) -> ffi::cuarena_status_t {
    // SAFETY: see above.
    unsafe { change(user, segment, |memory, s| memory.grow(s, new_bytes)) }
}

unsafe extern "C" fn shrink(
    user: *mut c_void,
    segment: *mut ffi::cuarena_memory_segment_t,
    new_bytes: u64,
) {
    // SAFETY: see above.
    unsafe {
        change(user, segment, |memory, s| {
            memory.shrink(s, new_bytes);
            Ok(())
        });
    }
}

unsafe extern "C" fn punch(
    user: *mut c_void,
    segment: *mut ffi::cuarena_memory_segment_t,
    offset: u64,
    bytes: u64,
) {
    // SAFETY: see above.
    unsafe {
        change(user, segment, |memory, s| {
            memory.punch(s, offset..offset + bytes);
            Ok(())
        });
    }
}

unsafe extern "C" fn fill(
    user: *mut c_void,
    segment: *mut ffi::cuarena_memory_segment_t,
    offset: u64,
    bytes: u64,
) -> ffi::cuarena_status_t {
    // SAFETY: see above.
    unsafe {
        change(user, segment, |memory, s| {
            memory.fill(s, offset..offset + bytes)
        })
    }
}

/// After a panic all of the list is the worst that can be told.
unsafe extern "C" fn relocate(
    user: *mut c_void,
    list: *const ffi::cuarena_relocation_t,
    count: usize,
    stream: ffi::cuarena_stream_t,
    done_out: *mut usize,
) -> ffi::cuarena_status_t {
    // SAFETY: see above.
    unsafe {
        let list = core::slice::from_raw_parts(list, count);
        let guest = &*user.cast::<Guest>();
        let moved = caught(|| guest.memory.relocate(list, stream_in(stream)));
        let (done, error) = match moved {
            Some(Ok(())) => (count, None),
            Some(Err(undone)) => (undone.done, Some(undone.error)),
            None => (count, Some(MemoryError::Refused)),
        };
        done_out.write(done);
        status_of(error.map_or(Ok(()), Err))
    }
}

unsafe extern "C" fn zero_bytes(
    user: *mut c_void,
    address: *mut c_void,
    bytes: u64,
    stream: ffi::cuarena_stream_t,
) -> ffi::cuarena_status_t {
    let Some(address) = NonNull::new(address.cast()) else {
        return MemoryError::Refused.status();
    };
    // SAFETY: see above.
    unsafe {
        status_of(answer(user, |memory| {
            memory.zero(address, bytes, stream_in(stream))
        }))
    }
}

fn info_out(info: StreamInfo) -> ffi::cuarena_stream_info_t {
    ffi::cuarena_stream_info_t {
        id: info.id,
        context: info.context as *mut c_void,
        device: info.device.unwrap_or(-1),
        per_thread: i32::from(info.per_thread),
        capturing: i32::from(info.capturing),
        zero: 0,
    }
}

unsafe extern "C" fn identify(
    user: *mut c_void,
    stream: ffi::cuarena_stream_t,
    out: *mut ffi::cuarena_stream_info_t,
) -> ffi::cuarena_status_t {
    // SAFETY: see above.
    unsafe {
        let stream = RawStream::new(stream.cast());
        let known = answer(user, |memory| memory.identify(stream));
        give(known.map(info_out), out)
    }
}

fn event_in(event: *mut c_void) -> Option<StreamEvent> {
    NonZeroUsize::new(event as usize).map(StreamEvent)
}

unsafe extern "C" fn record_event(
    user: *mut c_void,
    stream: ffi::cuarena_stream_t,
    event: *mut *mut c_void,
) -> ffi::cuarena_status_t {
    // SAFETY: see above.
    unsafe {
        let old = event_in(*event);
        let made = answer(user, |memory| memory.record_event(stream_in(stream), old));
        give(made.map(|m| m.0.get() as *mut c_void), event)
    }
}

unsafe extern "C" fn query_event(user: *mut c_void, event: *mut c_void) -> ffi::cuarena_status_t {
    let Some(event) = event_in(event) else {
        return MemoryError::Refused.status();
    };
    // SAFETY: see above.
    match unsafe { answer(user, |memory| memory.query_event(event)) } {
        Ok(true) => ffi::CUARENA_OK,
        Ok(false) => ffi::CUARENA_BUSY,
        Err(error) => error.status(),
    }
}

unsafe extern "C" fn wait_event(
    user: *mut c_void,
    event: *mut c_void,
    stream: ffi::cuarena_stream_t,
    host: i32,
) -> ffi::cuarena_status_t {
    let Some(event) = event_in(event) else {
        return MemoryError::Refused.status();
    };
    let stream = if host != 0 { None } else { stream_in(stream) };
    // SAFETY: see above.
    unsafe { status_of(answer(user, |memory| memory.wait_event(event, stream))) }
}

unsafe extern "C" fn end_event(user: *mut c_void, event: *mut c_void) {
    if let Some(event) = event_in(event) {
        // SAFETY: see above.
        unsafe { quietly(user, |memory| memory.end_event(event)) };
    }
}

unsafe extern "C" fn get_on(
    user: *mut c_void,
    bytes: u64,
    stream: ffi::cuarena_stream_t,
    out: *mut ffi::cuarena_memory_segment_t,
) -> ffi::cuarena_status_t {
    // SAFETY: see above.
    unsafe {
        let stream = RawStream::new(stream.cast());
        let got = answer(user, |memory| memory.get_on(bytes, stream));
        give(got.map(segment_out), out)
    }
}

unsafe extern "C" fn give_on(
    user: *mut c_void,
    segment: *mut ffi::cuarena_memory_segment_t,
    stream: ffi::cuarena_stream_t,
) {
    // SAFETY: see above.
    unsafe {
        let segment = segment_in(&*segment);
        let stream = RawStream::new(stream.cast());
        quietly(user, |memory| memory.give_on(segment, stream));
    }
}

/// Descriptors that there is no room for are closed again.
unsafe extern "C" fn export_range(
    user: *mut c_void,
    segment: *const ffi::cuarena_memory_segment_t,
    offset: u64,
    bytes: u64,
    pieces: *mut ffi::cuarena_export_piece_t,
    capacity: usize,
    count_out: *mut usize,
) -> ffi::cuarena_status_t {
    // SAFETY: see above; `pieces` is NULL or has room for `capacity`.
    unsafe {
        let segment = segment_in(&*segment);
        let told = answer(user, |memory| {
            memory.export(&segment, offset..offset + bytes)
        });
        let told = match told {
            Ok(told) => told,
            Err(error) => return error.status(),
        };
        let count = told.len();
        if !pieces.is_null() {
            if count > capacity {
                return MemoryError::ForeignStream.status();
            }
            for (i, piece) in told.into_iter().enumerate() {
                ptr::write(pieces.add(i), piece.into_raw());
            }
        }
        count_out.write(count);
    }
    ffi::CUARENA_OK
}

/// Called once, after the last segment was given back.
unsafe extern "C" fn end(user: *mut c_void) {
    // SAFETY: see above; nobody has it from here on.
    let guest = unsafe { Box::from_raw(user.cast::<Guest>()) };
    guest.ended.store(true, Ordering::Release);
    caught(move || drop(guest));
}
