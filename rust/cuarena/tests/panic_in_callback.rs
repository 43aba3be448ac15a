//! A panic in every closure: it comes out of the call, nothing steals C, and
//! the arena is as good as before.

use std::any::Any;
use std::ops::ControlFlow;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

use cuarena::{
    shrink_shared, Arena, Block, CompactOptions, EventKind, MemoryKind, Placement, Preset,
    RawStream, Retry, StreamOwner,
};

const KIB: usize = 1 << 10;

fn arena() -> Arena {
    let low = Arena::builder().placement(Placement::Low);
    low.pool(1 << 20).build().unwrap()
}

fn holes(arena: &Arena, count: u64) -> Vec<Block> {
    let all: Vec<_> = (0..count).map(|_| arena.alloc(KIB).unwrap()).collect();
    all.into_iter().skip(1).step_by(2).collect()
}

fn caught<T>(call: impl FnOnce() -> T) -> String {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(_) => panic!("no panic came out"),
        Err(payload) => text(payload),
    }
}

fn text(payload: Box<dyn Any + Send>) -> String {
    payload.downcast_ref::<&str>().map_or_else(
        || payload.downcast_ref::<String>().unwrap().clone(),
        |s| s.to_string(),
    )
}

/// The arena serves, and says that it is whole.
fn assert_good(arena: &Arena) {
    arena.check().unwrap();
    drop(arena.alloc(100).unwrap());
    assert!(arena.take_panic().is_none());
}

#[test]
fn in_compaction_it_stops_further_batches_and_comes_out() {
    let arena = arena();
    let blocks = holes(&arena, 100);
    let mut batches = 0;
    let options = CompactOptions::new().batch_moves(10).report_unmoved();
    let said = caught(|| {
        arena.compact_with(&options, |_| {
            batches += 1;
            assert!(batches < 3, "third batch");
            ControlFlow::Continue(())
        })
    });
    assert!(said.contains("third batch"));
    assert_eq!(batches, 3);
    assert_eq!(arena.stats().moves, 30);
    assert_good(&arena);
    assert_eq!(arena.compact().unwrap().moves, 20);
    drop(blocks);
    assert_eq!(arena.stats().live_blocks, 0);
}

#[test]
fn in_compaction_with_blocks_dropped_by_the_unwinding() {
    let arena = arena();
    let blocks = holes(&arena, 100);
    let said = caught(|| {
        let mut owned = Some(blocks);
        arena.compact_with(&CompactOptions::new(), |_| {
            let _blocks = owned.take();
            panic!("while they are owned")
        })
    });
    assert_eq!(said, "while they are owned");
    assert_eq!(arena.stats().live_blocks, 0);
    assert_good(&arena);
}

#[test]
fn in_the_out_of_memory_handler() {
    let arena = arena();
    let mut block = arena.alloc(KIB).unwrap();
    let kept = arena.alloc(KIB).unwrap();
    arena.on_out_of_memory(|_| panic!("no more"));
    assert_eq!(caught(|| arena.alloc(1 << 20)), "no more");
    assert_eq!(caught(|| block.resize(1 << 20)), "no more");
    assert_eq!(block.len(), KIB);
    drop((block, kept));
    assert_good(&arena);
}

#[test]
fn in_the_event_listener_of_an_allocation_whose_block_is_freed_again() {
    let arena = arena();
    arena.on_event(|event| assert_ne!(event.kind, EventKind::Alloc, "of an allocation"));
    assert!(caught(|| arena.alloc(KIB)).contains("of an allocation"));
    assert_eq!(arena.stats().live_blocks, 0);
    arena.clear_events();
    assert_good(&arena);
}

#[test]
fn in_the_event_listener_of_a_drop_it_is_kept() {
    let arena = arena();
    let block = arena.alloc(KIB).unwrap();
    let other = arena.alloc(KIB).unwrap();
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    arena.on_event(move |event| {
        if event.kind == EventKind::Free {
            panic!("free {}", counted.fetch_add(1, Ordering::Relaxed));
        }
    });
    drop(block);
    drop(other);
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    arena.clear_events();
    assert_eq!(text(arena.take_panic().unwrap()), "free 0");
    assert_good(&arena);
}

#[test]
fn in_the_event_listener_of_a_free_that_can_tell() {
    let arena = arena();
    let block = arena.alloc(KIB).unwrap();
    arena.on_event(|_| panic!("of a free"));
    assert_eq!(caught(|| block.try_free()), "of a free");
    assert_eq!(arena.stats().live_blocks, 0);
    arena.clear_events();
    assert_good(&arena);
}

#[test]
fn in_the_event_listener_of_every_other_call() {
    let arena = arena();
    let mut block = arena.alloc(KIB).unwrap();
    arena.on_event(|event| panic!("{:?}", event.kind));
    assert_eq!(caught(|| block.resize(4 * KIB)), "Resize");
    assert_eq!(block.len(), 4 * KIB);
    assert!(caught(|| arena.alloc(2 << 20)).starts_with("Fail"));
    assert_eq!(caught(|| arena.trim(0)), "Trim");
    arena.clear_events();
    let hole = arena.alloc(KIB).unwrap();
    let _moves = arena.alloc(KIB).unwrap();
    drop(hole);
    arena.on_event(|event| panic!("{:?}", event.kind));
    let mut told = 0;
    let said = caught(|| {
        arena.compact_with(&CompactOptions::new(), |batch| {
            told += batch.len();
            ControlFlow::Continue(())
        })
    });
    assert_eq!((said.as_str(), told), ("Compact", 1));
    arena.clear_events();
    assert_good(&arena);
}

#[test]
fn in_the_relocation_listener() {
    let low = Arena::builder().placement(Placement::Low).pool(1 << 20);
    let arena = low.compact_on_oom(true).build().unwrap();
    let blocks = holes(&arena, 1024);
    arena.on_relocation(|_| panic!("moved"));
    assert_eq!(caught(|| arena.alloc(8 * KIB)), "moved");
    assert_eq!(arena.stats().live_blocks, blocks.len() as u64);
    drop(blocks);
    let wall = arena.alloc(900 * KIB).unwrap();
    let _block = arena.alloc(KIB).unwrap();
    drop(wall);
    assert_eq!(caught(|| arena.resize_pool(512 * KIB)), "moved");
    assert_good(&arena);
}

#[test]
fn of_two_the_first_comes_out() {
    let arena = arena();
    let _kept = arena.alloc(KIB).unwrap();
    arena.on_out_of_memory(|_| panic!("first"));
    arena.on_event(|_| panic!("second"));
    assert_eq!(caught(|| arena.alloc(1 << 20)), "first");
    arena.clear_events();
    assert_good(&arena);
}

#[test]
fn a_call_in_a_closure_does_not_get_the_panic_of_the_call_around_it() {
    let arena = arena();
    let _blocks = holes(&arena, 10);
    let weak = arena.downgrade();
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    arena.on_out_of_memory(|_| panic!("outer"));
    arena.on_event(move |event| {
        if let EventKind::Fail(_) = event.kind {
            let arena = weak.upgrade().unwrap();
            arena.check().unwrap(); // would go on with "outer"
            drop(arena.alloc(KIB).unwrap());
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    assert_eq!(caught(|| arena.alloc(1 << 20)), "outer");
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    assert_good(&arena);
}

#[test]
fn a_panic_of_a_closure_in_a_closure_comes_out_of_both() {
    let arena = arena();
    let _blocks = holes(&arena, 10);
    arena.on_out_of_memory(|oom| {
        drop(oom.arena().clone());
        panic!("inner")
    });
    let mut inner = String::new();
    let outer = caught(|| {
        arena.compact_with(&CompactOptions::new(), |_| {
            inner = caught(|| arena.alloc(1 << 20));
            panic!("outer")
        })
    });
    assert_eq!((inner.as_str(), outer.as_str()), ("inner", "outer"));
    let through = caught(|| {
        arena.on_event(|_| ());
        drop(arena.alloc(KIB).unwrap());
        holes(&arena, 4);
        let _more = holes(&arena, 20);
        arena.compact_with(&CompactOptions::new(), |_| {
            let _ = arena.alloc(1 << 20);
            ControlFlow::Continue(())
        })
    });
    assert_eq!(through, "inner");
    arena.clear_out_of_memory();
    assert_good(&arena);
}

#[test]
fn a_handler_that_panics_once_serves_later() {
    let arena = arena();
    let _kept = arena.alloc(KIB).unwrap();
    let calls = AtomicU32::new(0);
    arena.on_out_of_memory(move |_| {
        assert!(calls.fetch_add(1, Ordering::Relaxed) > 0, "once");
        Retry::GiveUp
    });
    assert_eq!(caught(|| arena.alloc(1 << 20)), "once");
    assert!(arena.alloc(1 << 20).unwrap_err().is_out_of_memory());
    assert_good(&arena);
}

#[test]
fn in_the_event_listener_of_shared_arenas_that_are_trimmed() {
    let (arena, _) = Arena::builder().preset(Preset::Grow).share().unwrap();
    drop(arena.alloc(KIB).unwrap());
    arena.on_event(|event| panic!("{:?}", event.kind));
    assert_eq!(caught(|| shrink_shared("cpu:0")), "Trim");
    arena.clear_events();
    assert_eq!(arena.stats().reserved_bytes, 0);
    assert_good(&arena);
}

struct PanicsWhenDropped(Arc<AtomicU32>);

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        panic!("from a drop");
    }
}

/// The end of an arena, which a block's drop may be, panics for nobody.
#[test]
fn in_the_drops_of_what_an_arena_keeps() {
    let drops = Arc::new(AtomicU32::new(0));
    let arena = arena();
    let kept = PanicsWhenDropped(drops.clone());
    arena.on_event(move |_| {
        let _ = &kept;
    });
    let kept = PanicsWhenDropped(drops.clone());
    arena.on_out_of_memory(move |_| {
        let _ = &kept;
        Retry::GiveUp
    });
    let block = arena.alloc(KIB).unwrap();
    let weak = arena.downgrade();
    drop(arena);
    drop(block);
    assert!(weak.upgrade().is_none());
    assert_eq!(drops.load(Ordering::Relaxed), 2);
}

// SAFETY: memory that is only addresses does not follow handles.
unsafe impl StreamOwner for PanicsWhenDropped {
    fn raw_stream(&self) -> RawStream {
        RawStream::new(0x10 as *mut _)
    }
}

#[test]
fn in_the_drop_of_what_owns_a_stream() {
    let none = Arena::builder().memory(MemoryKind::None).pool(1 << 20);
    let arena = none.build().unwrap();
    let drops = Arc::new(AtomicU32::new(0));
    let stream = arena.stream_of(PanicsWhenDropped(drops.clone())).unwrap();
    let block = arena.alloc_on(KIB, &stream).unwrap();
    drop(stream);
    drop(block);
    assert_eq!(drops.load(Ordering::Relaxed), 1);
    arena.reclaim_and_wait().unwrap();
    assert_good(&arena);
}
