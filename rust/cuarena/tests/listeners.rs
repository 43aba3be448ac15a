//! Who is told of running out, and of events.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use cuarena::{Arena, Block, ErrorKind, EventKind, Retry};

const MIB: usize = 1 << 20;

fn pool() -> Arena {
    Arena::builder().pool(MIB).build().unwrap()
}

#[test]
fn the_handler_frees_until_there_is_room() {
    let arena = pool();
    let cache: Arc<Mutex<Vec<Block>>> = Arc::default();
    for _ in 0..4 {
        let block = arena.alloc(MIB / 4).unwrap();
        cache.lock().unwrap().push(block);
    }
    let (cached, asked) = (Arc::downgrade(&cache), Arc::new(Mutex::new(Vec::new())));
    let log = asked.clone();
    arena.on_out_of_memory(move |oom| {
        log.lock().unwrap().push((oom.asked(), oom.attempt()));
        assert!(oom.arena().stats().free_bytes < oom.asked());
        match Weak::upgrade(&cached).and_then(|cache| cache.lock().unwrap().pop()) {
            Some(_) => Retry::Again,
            None => Retry::GiveUp,
        }
    });
    let block = arena.alloc(MIB / 2).unwrap();
    assert_eq!(cache.lock().unwrap().len(), 2);
    let attempts: Vec<_> = asked.lock().unwrap().drain(..).collect();
    assert_eq!(attempts, [(MIB / 2, 0), (MIB / 2, 1)]);
    let error = arena.alloc(MIB).unwrap_err();
    assert!(error.is_out_of_memory());
    assert!(cache.lock().unwrap().is_empty());
    assert_eq!(arena.stats().oom_handler_calls, 5);
    drop(block);
}

#[test]
fn a_handler_that_promises_too_much_is_given_up_on() {
    let arena = pool();
    let _kept = arena.alloc(1).unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    arena.on_out_of_memory(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        Retry::Again
    });
    let error = arena.alloc(MIB).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    assert_eq!(calls.load(Ordering::Relaxed), 16);
    arena.clear_out_of_memory();
    assert!(arena.alloc(MIB).is_err());
    assert_eq!(calls.load(Ordering::Relaxed), 16);
}

#[test]
fn the_handler_is_not_asked_for_more_than_a_pool() {
    let arena = pool();
    arena.on_out_of_memory(|_| Retry::Again);
    let error = arena.alloc(MIB + 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    assert_eq!(arena.stats().oom_handler_calls, 0);
    arena.check().unwrap();
}

#[test]
fn events_tell_what_happened() {
    let arena = pool();
    let events = Arc::new(Mutex::new(Vec::new()));
    let sink = events.clone();
    arena.on_event(move |event| {
        sink.lock()
            .unwrap()
            .push((event.kind, event.block, event.bytes))
    });
    let mut block = arena.alloc(1000).unwrap();
    let id = Some(block.id());
    block.resize(2000).unwrap();
    drop(block);
    assert!(arena.alloc(2 * MIB).is_err());
    arena.trim(0).unwrap();
    let expected = [
        (EventKind::Alloc, id, 1000),
        (EventKind::Resize, id, 2000),
        (EventKind::Free, id, 2000),
        (EventKind::Fail(ErrorKind::OutOfMemory), None, 2 * MIB),
        (EventKind::Trim, None, MIB),
    ];
    assert_eq!(*events.lock().unwrap(), expected);
    arena.clear_events();
    drop(arena.alloc(1000).unwrap());
    assert_eq!(events.lock().unwrap().len(), expected.len());
}

#[test]
fn a_listener_may_call_the_arena_and_change_the_listeners() {
    let arena = pool();
    let weak = arena.downgrade();
    let calls = Arc::new(AtomicU64::new(0));
    let counted = calls.clone();
    arena.on_event(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        let arena = weak.upgrade().unwrap();
        arena.clear_events(); // ends this closure, when it has returned
        drop(arena.alloc(100).unwrap());
        arena.check().unwrap();
    });
    let block = arena.alloc(1000).unwrap();
    drop(block);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    assert_eq!(Arc::strong_count(&calls), 1, "the closure was dropped");
}

#[test]
fn a_closure_is_dropped_with_the_arena_or_when_it_is_replaced() {
    let token = Arc::new(());
    let arena = pool();
    for _ in 0..3 {
        let (a, b) = (token.clone(), token.clone());
        arena.on_event(move |_| drop(a.clone()));
        arena.on_out_of_memory(move |_| {
            let _ = &b;
            Retry::GiveUp
        });
    }
    assert_eq!(Arc::strong_count(&token), 3);
    drop(arena);
    assert_eq!(Arc::strong_count(&token), 1);
}

#[test]
fn listeners_are_replaced_while_they_run() {
    let arena = pool();
    let heard = Arc::new(AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..2000 {
                    drop(arena.alloc(100).unwrap());
                }
            });
        }
        for _ in 0..500 {
            let counted = heard.clone();
            arena.on_event(move |_| {
                counted.fetch_add(1, Ordering::Relaxed);
            });
            arena.clear_events();
        }
    });
    assert_eq!(Arc::strong_count(&heard), 1);
    arena.check().unwrap();
}
