//! A memory of the tests' own, on the process's heap: it grows in place, has
//! holes, moves, zeroes, and knows streams, whose work it pretends to be late:
//! an event is complete when it was asked about so often, or waited for.

use std::alloc::{alloc_zeroed, dealloc, Layout};
use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use cuarena::memory::{
    Memory, MemoryDescription, MemoryError, MemoryResult, Run, Segment, StreamEvent, StreamInfo,
    Undone,
};
use cuarena::RawStream;

pub const GRANULARITY: u64 = 4096;
const LATE: u32 = 3;

/// What a test sees of it from outside.
#[derive(Default)]
pub struct Ledger {
    /// Bytes that it has given, less those given back.
    pub held: AtomicU64,
    /// Bytes that `get` refuses to go beyond; 0: no limit.
    pub most: AtomicU64,
    /// Times that `relocate` was called.
    pub relocations: AtomicU64,
    /// The name of a function that panics, if one does.
    pub panics: Mutex<&'static str>,
}

#[derive(Default)]
pub struct HeapMemory {
    pub ledger: Arc<Ledger>,
    events: Mutex<(usize, HashMap<usize, u32>)>,
    /// By a segment's address: its bytes, without holes.
    live: Mutex<HashMap<u64, u64>>,
}

impl HeapMemory {
    pub fn of(ledger: &Arc<Ledger>) -> Self {
        Self {
            ledger: ledger.clone(),
            events: Mutex::default(),
            live: Mutex::default(),
        }
    }

    fn maybe_panic(&self, function: &str) {
        let panics = *self.ledger.panics.lock().unwrap();
        assert!(panics != function, "{function} panics, as it was told");
    }

    fn take(&self, bytes: u64) -> MemoryResult<()> {
        let most = self.ledger.most.load(Ordering::Relaxed);
        let held = self.ledger.held.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if most != 0 && held > most {
            self.give(bytes);
            return Err(MemoryError::Exhausted);
        }
        Ok(())
    }

    fn give(&self, bytes: u64) {
        self.ledger.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn change(&self, segment: &Segment, more: u64, less: u64) {
        let mut live = self.live.lock().unwrap();
        let bytes = live.entry(segment.address).or_default();
        *bytes = *bytes + more - less;
    }
}

fn layout(segment: &Segment) -> Layout {
    Layout::from_size_align(segment.address_bytes as usize, GRANULARITY as usize).expect("a layout")
}

fn at(address: u64) -> *mut u8 {
    address as usize as *mut u8
}

// SAFETY: segments are allocations of their own, as long as they live; bytes
// come zeroed of the allocator, and from `fill` after a hole; copies are done
// when they are told; no stream ever has any work here.
unsafe impl Memory for HeapMemory {
    fn describe(&self) -> MemoryDescription {
        MemoryDescription::new("heap of the tests")
            .alignment(512)
            .granularity(GRANULARITY)
            .host_readable()
            .tells_available()
            .tells_total()
            .grows()
            .has_holes()
            .relocates()
            .zeroes()
            .has_streams()
    }

    fn available(&self) -> MemoryResult<u64> {
        self.maybe_panic("available");
        Ok(1 << 30)
    }

    fn total(&self) -> MemoryResult<u64> {
        self.maybe_panic("total");
        Ok(1 << 31)
    }

    fn get(&self, bytes: u64, address_bytes: u64) -> MemoryResult<Segment> {
        self.maybe_panic("get");
        self.take(bytes)?;
        let mut segment = Segment {
            address: 0,
            bytes,
            // Addresses cost bytes here.
            address_bytes: address_bytes.min(bytes.max(8 << 20)),
            cookie: 7,
        };
        // SAFETY: a layout of some bytes.
        segment.address = unsafe { alloc_zeroed(layout(&segment)) } as u64;
        if segment.address == 0 {
            self.give(bytes);
            return Err(MemoryError::Exhausted);
        }
        self.change(&segment, bytes, 0);
        Ok(segment)
    }

    fn give_back(&self, segment: Segment) {
        assert_eq!(segment.cookie, 7, "a segment of this memory");
        let live = self.live.lock().unwrap().remove(&segment.address);
        self.give(live.expect("a live segment"));
        // SAFETY: it was allocated like this.
        unsafe { dealloc(at(segment.address), layout(&segment)) };
        self.maybe_panic("give_back");
    }

    fn grow(&self, segment: &mut Segment, new_bytes: u64) -> MemoryResult<()> {
        self.maybe_panic("grow");
        let more = new_bytes - segment.bytes;
        self.take(more)?;
        self.change(segment, more, 0);
        Ok(())
    }

    fn shrink(&self, segment: &mut Segment, new_bytes: u64) {
        let range = new_bytes..segment.bytes;
        self.punch(segment, range);
        self.maybe_panic("shrink");
    }

    fn punch(&self, segment: &mut Segment, range: Range<u64>) {
        let bytes = range.end - range.start;
        // SAFETY: bytes of the segment that nobody uses. Who comes later is to
        // see that they were away.
        unsafe { at(segment.address + range.start).write_bytes(0xEE, bytes as usize) };
        self.give(bytes);
        self.change(segment, 0, bytes);
    }

    fn fill(&self, segment: &mut Segment, range: Range<u64>) -> MemoryResult<()> {
        self.maybe_panic("fill");
        let more = range.end - range.start;
        self.take(more)?;
        self.change(segment, more, 0);
        Ok(())
    }

    unsafe fn relocate(&self, list: &[Run], _stream: Option<RawStream>) -> Result<(), Undone> {
        self.maybe_panic("relocate");
        self.ledger.relocations.fetch_add(1, Ordering::Relaxed);
        for run in list {
            let (from, to) = (run.from.cast::<u8>(), run.to.cast::<u8>());
            // SAFETY: as the contract says.
            unsafe { std::ptr::copy(from, to, run.bytes as usize) };
        }
        Ok(())
    }

    unsafe fn zero(
        &self,
        address: NonNull<MaybeUninit<u8>>,
        bytes: u64,
        _stream: Option<RawStream>,
    ) -> MemoryResult<()> {
        self.maybe_panic("zero");
        // SAFETY: as the contract says.
        unsafe { address.as_ptr().write_bytes(0, bytes as usize) };
        Ok(())
    }

    fn identify(&self, stream: RawStream) -> MemoryResult<StreamInfo> {
        self.maybe_panic("identify");
        let id = stream.as_ptr() as u64;
        if id % 16 != 0 {
            return Err(MemoryError::ForeignStream);
        }
        Ok(StreamInfo {
            id,
            ..StreamInfo::default()
        })
    }

    fn record_event(
        &self,
        _stream: Option<RawStream>,
        event: Option<StreamEvent>,
    ) -> MemoryResult<StreamEvent> {
        self.maybe_panic("record_event");
        let mut events = self.events.lock().unwrap();
        let number = event.map_or_else(
            || {
                events.0 += 1;
                events.0
            },
            |m| m.0.get(),
        );
        events.1.insert(number, LATE);
        Ok(StreamEvent(NonZeroUsize::new(number).expect("from 1 on")))
    }

    fn query_event(&self, event: StreamEvent) -> MemoryResult<bool> {
        self.maybe_panic("query_event");
        let mut events = self.events.lock().unwrap();
        let left = events.1.get_mut(&event.0.get()).expect("a live event");
        *left = left.saturating_sub(1);
        Ok(*left == 0)
    }

    fn wait_event(&self, event: StreamEvent, stream: Option<RawStream>) -> MemoryResult<()> {
        self.maybe_panic("wait_event");
        if stream.is_none() {
            let mut events = self.events.lock().unwrap();
            *events.1.get_mut(&event.0.get()).expect("a live event") = 0;
        }
        Ok(())
    }

    fn end_event(&self, event: StreamEvent) {
        let mut events = self.events.lock().unwrap();
        events.1.remove(&event.0.get()).expect("a live event");
    }
}

impl Drop for HeapMemory {
    fn drop(&mut self) {
        let events = self.events.get_mut().unwrap();
        assert!(events.1.is_empty(), "events were left behind");
    }
}
