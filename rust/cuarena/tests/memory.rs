//! Memories of the program's own: what reaches them, what they refuse, and
//! what becomes of their panics.

#[path = "suite/guest.rs"]
#[allow(dead_code)]
mod guest;

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use cuarena::memory::{Memory, MemoryDescription, MemoryError, MemoryResult, Segment};
use cuarena::memory::{StreamEvent, StreamInfo};
use cuarena::{
    Amount, Arena, Block, ErrorKind, LimitKind, Preset, RawStream, Request, Segments, Zero,
};
use guest::{HeapMemory, Ledger};

/// Panics of memories are expected here: they are not to be printed.
fn quietly() {
    panic::set_hook(Box::new(|info| {
        if !info.to_string().contains("as it was told") {
            eprintln!("{info}");
        }
    }));
}

fn told(ledger: &Ledger, function: &'static str) {
    *ledger.panics.lock().unwrap() = function;
}

fn growing(ledger: &Arc<Ledger>) -> Arena {
    Arena::builder()
        .preset(Preset::Grow)
        .limit(1 << 20)
        .custom(HeapMemory::of(ledger))
        .build()
        .unwrap()
}

#[test]
fn a_panic_that_can_be_refused_is_a_refusal() {
    quietly();
    let ledger = Arc::new(Ledger::default());
    let arena = growing(&ledger);
    told(&ledger, "get");
    let error = arena.alloc(1000).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Driver, "{error:?}");
    assert!(error.message().contains("get"), "{error}");
    told(&ledger, "");
    let block = arena.alloc(1000).unwrap();
    told(&ledger, "grow");
    assert_eq!(arena.alloc(100_000).unwrap_err().kind(), ErrorKind::Driver);
    told(&ledger, "zero");
    let request = Request::new().zeroed();
    assert_eq!(
        arena.alloc_with(10, &request).unwrap_err().kind(),
        ErrorKind::Driver
    );
    told(&ledger, "");
    arena.check().unwrap();
    drop(block);
    arena.close().unwrap();
    assert_eq!(ledger.held.load(Ordering::Relaxed), 0);
}

#[test]
fn a_percentage_is_of_the_total_and_auto_of_what_is_available() {
    quietly();
    let ledger = Arc::new(Ledger::default());
    let limited = |text: &str| {
        let builder = Arena::builder().preset(Preset::Grow);
        let limited = builder.option("limit", text).unwrap();
        limited.custom(HeapMemory::of(&ledger)).build()
    };
    for (text, expected) in [("25%", 512 << 20), ("auto", 1 << 30)] {
        let limit = limited(text).unwrap().limit(LimitKind::Reserved).unwrap();
        assert_eq!(limit, Some(expected), "limit={text}");
    }
    told(&ledger, "total");
    let error = limited("25%").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Driver, "{error:?}");
    told(&ledger, "");
    assert!(limited("25%").is_ok());
}

#[test]
fn a_percentage_of_an_untold_total_is_refused() {
    let odd = Odd {
        address: 4096,
        description: MemoryDescription::new("odd"),
        gone: Arc::default(),
    };
    let odd = Arena::builder().custom(odd);
    let error = odd.pool(Amount::percent(10)).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadArgument, "{error:?}");
}

#[test]
fn a_panic_that_cannot_be_refused_is_over() {
    quietly();
    let ledger = Arc::new(Ledger::default());
    let arena = growing(&ledger);
    drop(arena.alloc(100_000).unwrap());
    told(&ledger, "shrink");
    arena.trim(4096).unwrap();
    told(&ledger, "give_back");
    arena.trim(0).unwrap();
    assert_eq!(ledger.held.load(Ordering::Relaxed), 0);
    drop(arena.alloc(1000).unwrap());
    drop(arena);
    assert_eq!(ledger.held.load(Ordering::Relaxed), 0);
}

/// Every second of eight blocks.
fn holes(arena: &Arena) -> Vec<Block> {
    let all: Vec<_> = (0..8).map(|_| arena.alloc(64 << 10).unwrap()).collect();
    all.into_iter().step_by(2).collect()
}

#[test]
fn a_panic_in_the_middle_of_copies_loses_the_arena() {
    quietly();
    let ledger = Arc::new(Ledger::default());
    let arena = Arena::builder()
        .pool(512 << 10)
        .custom(HeapMemory::of(&ledger))
        .build()
        .unwrap();
    let kept = holes(&arena);
    told(&ledger, "relocate");
    assert!(arena.compact().is_err());
    let error = arena.alloc(100).unwrap_err();
    assert!(error.is_lost(), "{error:?}");
    drop(kept);
    drop(arena);
    assert_eq!(ledger.held.load(Ordering::Relaxed), 0);
}

#[test]
fn panics_about_streams_are_refusals() {
    quietly();
    let ledger = Arc::new(Ledger::default());
    let arena = growing(&ledger);
    // SAFETY: nobody follows the handles of this memory.
    let (stream, foreign) = unsafe {
        let stream = arena.stream(RawStream::new(0x10 as *mut _)).unwrap();
        (
            stream,
            arena.stream(RawStream::new(0x11 as *mut _)).unwrap(),
        )
    };
    let error = arena.alloc_on(100, &foreign).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadArgument, "{error:?}");
    told(&ledger, "identify");
    assert_eq!(
        arena.alloc_on(100, &stream).unwrap_err().kind(),
        ErrorKind::Driver
    );
    told(&ledger, "");
    drop(arena.alloc_on(100, &stream).unwrap());
    let refused = |function, reclaim: &dyn Fn() -> cuarena::Result<usize>| {
        told(&ledger, function);
        let error = reclaim().expect_err(function);
        assert_eq!(error.kind(), ErrorKind::Driver, "{function}: {error}");
    };
    refused("record_event", &|| arena.reclaim());
    told(&ledger, "query_event");
    assert_eq!(
        arena.reclaim().unwrap(),
        0,
        "what cannot be asked is not done"
    );
    refused("wait_event", &|| arena.reclaim_and_wait());
    told(&ledger, "");
    arena.reclaim_and_wait().unwrap();
    drop((stream, foreign));
    arena.close().unwrap();
}

#[test]
fn a_memory_without_more_is_out_of_memory() {
    let ledger = Arc::new(Ledger::default());
    ledger.most.store(8192, Ordering::Relaxed);
    let arena = growing(&ledger);
    let block = arena.alloc(8192).unwrap();
    let error = arena.alloc(1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error:?}");
    assert_eq!((error.asked(), error.reserved()), (1, 8192));
    drop(block);
}

#[test]
fn blocks_of_it_are_viewed_and_zeroed() {
    let ledger = Arc::new(Ledger::default());
    let arena = Arena::builder()
        .pool(64 << 10)
        .zero(Zero::Free)
        .custom(HeapMemory::of(&ledger))
        .build()
        .unwrap();
    let mut block = arena.alloc(100).unwrap();
    block.host_mut().unwrap().fill(7);
    drop(block);
    let block = arena.alloc(64 << 10).unwrap();
    // SAFETY: the arena has zeroed the bytes.
    assert!(unsafe { block.host().unwrap().assume_init() }
        .iter()
        .all(|byte| *byte == 0));
}

/// One that gives what the contract does not allow, and tells when it is gone.
struct Odd {
    address: u64,
    description: MemoryDescription,
    gone: Arc<AtomicBool>,
}

// SAFETY: nothing is touched.
unsafe impl Memory for Odd {
    fn describe(&self) -> MemoryDescription {
        self.description.clone()
    }

    fn get(&self, bytes: u64, _reserve: u64) -> MemoryResult<Segment> {
        if self.address == 0 {
            return Err(MemoryError::Lost);
        }
        Ok(Segment {
            address: self.address,
            bytes,
            address_bytes: bytes,
            cookie: 0,
        })
    }

    fn give_back(&self, _segment: Segment) {}
}

impl Drop for Odd {
    fn drop(&mut self) {
        self.gone.store(true, Ordering::Relaxed);
    }
}

/// Whatever stops the creation, the memory is dropped once.
#[test]
fn a_memory_that_is_refused_is_dropped() {
    let plain = || MemoryDescription::new("odd");
    for (address, description, kind) in [
        (4097, plain(), ErrorKind::Driver),
        (0, plain(), ErrorKind::Lost),
        (4096, plain().granularity(100), ErrorKind::BadArgument),
        (4096, plain().alignment(3), ErrorKind::BadArgument),
    ] {
        let gone = Arc::new(AtomicBool::new(false));
        let odd = Odd {
            address,
            description,
            gone: gone.clone(),
        };
        let error = Arena::builder().custom(odd).pool(4096).build().unwrap_err();
        assert_eq!(error.kind(), kind, "{error:?}");
        assert!(gone.load(Ordering::Relaxed), "{error:?}");
    }
}

#[test]
fn a_memory_ends_with_its_arena() {
    let gone = Arc::new(AtomicBool::new(false));
    let odd = Odd {
        address: 1 << 20,
        description: MemoryDescription::new("odd"),
        gone: gone.clone(),
    };
    let arena = Arena::builder().custom(odd).pool(4096).build().unwrap();
    let block = arena.alloc(100).unwrap();
    assert!(block.host().is_err(), "the CPU cannot read it");
    drop(arena);
    assert!(!gone.load(Ordering::Relaxed));
    drop(block);
    assert!(gone.load(Ordering::Relaxed));
}

/// A memory must not call the arena that it serves, and is told so.
#[test]
fn a_memory_that_calls_its_arena_is_refused() {
    struct Calls(Arc<std::sync::Mutex<Option<Arena>>>, HeapMemory);
    // SAFETY: all of it is HeapMemory's.
    unsafe impl Memory for Calls {
        fn describe(&self) -> MemoryDescription {
            MemoryDescription::new("calls")
        }
        fn get(&self, bytes: u64, reserve: u64) -> MemoryResult<Segment> {
            if let Some(arena) = &*self.0.lock().unwrap() {
                assert_eq!(arena.alloc(1).unwrap_err().kind(), ErrorKind::Reentered);
            }
            self.1.get(bytes, reserve)
        }
        fn give_back(&self, segment: Segment) {
            self.1.give_back(segment);
        }
    }
    let slot = Arc::new(std::sync::Mutex::new(None));
    let memory = Calls(slot.clone(), HeapMemory::default());
    let arena = Arena::builder()
        .preset(Preset::Grow)
        .limit(1 << 20)
        .custom(memory)
        .build()
        .unwrap();
    *slot.lock().unwrap() = Some(arena.clone());
    let block = panic::catch_unwind(AssertUnwindSafe(|| arena.alloc(100).unwrap()));
    assert!(block.is_ok());
    slot.lock().unwrap().take();
}

/// The collection is gone; its bytes stay taken, and nothing reads them.
#[cfg(feature = "allocator-api2")]
#[test]
fn a_collection_whose_bytes_are_refused_to_be_zeroed_is_dropped() {
    quietly();
    let ledger = Arc::new(Ledger::default());
    let builder = Arena::builder().pool(1 << 20).zero(Zero::Free);
    let arena = builder.custom(HeapMemory::of(&ledger)).build().unwrap();
    assert!(!arena.is_pageable() && arena.host_allocator().is_err());
    // SAFETY: no device is at work.
    let allocator = unsafe { arena.host_allocator_unchecked().unwrap() };
    let mut numbers = allocator_api2::vec::Vec::new_in(allocator);
    numbers.extend(0..1000_u32);
    let live = arena.stats().live_blocks;
    told(&ledger, "zero");
    drop(numbers);
    assert_eq!(arena.stats().live_blocks, live);
    let block = arena.alloc(1000).unwrap();
    assert_eq!(block.try_free().unwrap_err().kind(), ErrorKind::Driver);
    told(&ledger, "");
    arena.check().unwrap();
}

type Calls = Arc<Mutex<Vec<(&'static str, u64)>>>;

/// The heap, with points of streams, which it notes.
struct Ordered {
    heap: HeapMemory,
    calls: Calls,
}

impl Ordered {
    fn note(&self, call: &'static str, number: u64) {
        self.calls.lock().unwrap().push((call, number));
    }
}

// SAFETY: that of the heap, whose streams have no work: any point will do.
unsafe impl Memory for Ordered {
    fn describe(&self) -> MemoryDescription {
        MemoryDescription::new("heap with points")
            .granularity(4096)
            .has_streams()
            .orders()
    }

    fn get(&self, bytes: u64, address_bytes: u64) -> MemoryResult<Segment> {
        self.note("get", bytes);
        self.heap.get(bytes, address_bytes)
    }

    fn give_back(&self, segment: Segment) {
        self.note("give_back", segment.bytes);
        self.heap.give_back(segment);
    }

    fn get_on(&self, bytes: u64, stream: RawStream) -> MemoryResult<Segment> {
        self.note("get_on", stream.as_ptr() as u64);
        self.heap.get(bytes, bytes)
    }

    fn give_on(&self, segment: Segment, stream: RawStream) {
        self.note("give_on", stream.as_ptr() as u64);
        self.heap.give_back(segment);
    }

    fn identify(&self, stream: RawStream) -> MemoryResult<StreamInfo> {
        self.heap.identify(stream)
    }

    fn record_event(
        &self,
        stream: Option<RawStream>,
        event: Option<StreamEvent>,
    ) -> MemoryResult<StreamEvent> {
        self.heap.record_event(stream, event)
    }

    fn query_event(&self, event: StreamEvent) -> MemoryResult<bool> {
        self.heap.query_event(event)
    }

    fn wait_event(&self, event: StreamEvent, stream: Option<RawStream>) -> MemoryResult<()> {
        self.heap.wait_event(event, stream)
    }

    fn end_event(&self, event: StreamEvent) {
        self.heap.end_event(event);
    }
}

#[test]
fn blocks_of_a_memory_with_order_come_and_go_at_points_of_streams() {
    let (ledger, calls) = (Arc::new(Ledger::default()), Calls::default());
    let memory = Ordered {
        heap: HeapMemory::of(&ledger),
        calls: calls.clone(),
    };
    let builder = Arena::builder().preset(Preset::Grow).limit(1 << 20);
    let builder = builder.segments(Segments::Each).custom(memory);
    let arena = builder.build().unwrap();
    let said = || std::mem::take(&mut *calls.lock().unwrap());
    // SAFETY: nobody follows the handles of this memory.
    let stream = |number: usize| unsafe { arena.stream(RawStream::new(number as *mut _)) };
    let (one, two) = (stream(0x10).unwrap(), stream(0x20).unwrap());
    drop(arena.alloc(5000).unwrap());
    assert_eq!(said(), [("get", 8192), ("give_back", 8192)]);
    drop(arena.alloc_on(5000, &one).unwrap());
    assert_eq!(said(), [("get_on", 0x10), ("give_on", 0x10)]);
    let block = arena.alloc_on(5000, &one).unwrap();
    // SAFETY: the streams have no work.
    unsafe { block.free_ordered_on(&two) }.unwrap();
    assert_eq!(said(), [("get_on", 0x10), ("give_on", 0x20)]);
    drop((one, two));
    arena.check().unwrap();
    arena.close().unwrap();
    assert_eq!(ledger.held.load(Ordering::Relaxed), 0);
}

#[test]
fn a_memory_of_ones_own_resolves_without_an_arena() {
    let ledger = Arc::new(Ledger::default());
    let builder = Arena::builder().preset(Preset::Grow).limit(1 << 20);
    let builder = builder.custom(HeapMemory::of(&ledger)).resolve().unwrap();
    assert_eq!(builder.get("grow").unwrap(), "exact");
    let arena = builder.build().unwrap();
    drop(arena.alloc(1000).unwrap());
    arena.close().unwrap();
    assert_eq!(ledger.held.load(Ordering::Relaxed), 0);
}
