//! Pins and views: what they hold, and what becomes of a leaked one.

use std::mem::forget;
use std::sync::atomic::{AtomicBool, Ordering};

use cuarena::{
    Arena, CompactOptions, ErrorKind, MemoryKind, Placement, RawStream, Stream, StreamOwner,
};

fn arena() -> Arena {
    let low = Arena::builder().placement(Placement::Low);
    low.pool(1 << 20).build().unwrap()
}

#[test]
fn a_pinned_block_stays_where_it_is() {
    let arena = arena();
    let hole = arena.alloc(4096).unwrap();
    let block = arena.alloc(4096).unwrap();
    drop(hole);
    {
        // SAFETY: no device uses the address.
        let pinned = unsafe { block.pin().unwrap() };
        let before = pinned.device_ptr();
        assert_eq!(arena.compact().unwrap().moves, 0);
        assert_eq!(pinned.device_ptr(), before);
        assert_eq!(block.info().unwrap().pins, 1);
        assert_eq!(format!("{before:x}"), format!("{:x}", before.as_raw()));
    }
    assert_eq!(arena.compact().unwrap().moves, 1);
}

#[test]
fn a_view_holds_its_block_and_its_bytes() {
    let arena = arena();
    let hole = arena.alloc(4096).unwrap();
    let mut block = arena.alloc(4096).unwrap();
    block.host_mut().unwrap().fill(9);
    drop(hole);
    let view = block.host().unwrap();
    let second = block.host().unwrap();
    assert_eq!(arena.compact().unwrap().moves, 0);
    assert_eq!(view.as_ptr(), second.as_ptr());
    drop((view, second));
    assert_eq!(arena.compact().unwrap().moves, 1);
    let view = block.host().unwrap();
    // SAFETY: all were written.
    assert!(unsafe { view.assume_init() }.iter().all(|&b| b == 9));
}

#[test]
fn a_view_is_refused_while_a_device_may_be_at_work() {
    let arena = arena();
    let block = arena.alloc(4096).unwrap();
    // SAFETY: no device uses the address.
    let pinned = unsafe { block.pin().unwrap() };
    assert!(block.host().unwrap_err().is_busy());
    assert!(block.is_in_use());
    pinned.unpin();
    assert!(block.host().is_ok());
    assert_eq!(block.info().unwrap().pins, 0);
}

#[test]
fn a_leaked_view_leaves_the_block_where_it_is_and_no_more() {
    let arena = arena();
    let hole = arena.alloc(4096).unwrap();
    let mut block = arena.alloc(4096).unwrap();
    forget(block.host().unwrap());
    forget(block.host_mut().unwrap());
    drop(hole);
    assert_eq!(arena.compact().unwrap().moves, 0);
    block.host_mut().unwrap().fill(1);
    assert!(block.resize(1 << 19).is_ok() || block.len() == 4096);
    drop(block);
    assert_eq!(arena.stats().live_blocks, 0);
    arena.close().unwrap();
}

/// Nobody has said that the device is done with it.
#[test]
fn a_leaked_device_pin_leaks_the_block() {
    let arena = arena();
    let mut block = arena.alloc(4096).unwrap();
    // SAFETY: no device uses the address.
    forget(unsafe { block.pin().unwrap() });
    assert!(block.host().unwrap_err().is_busy());
    assert!(block.host_mut().unwrap_err().is_busy());
    assert!(block.resize(256).unwrap_err().is_busy());
    assert_eq!(block.len(), 4096);
    drop(block);
    assert_eq!(arena.stats().live_blocks, 1);
    let second = arena.alloc(4096).unwrap();
    // SAFETY: as above.
    forget(unsafe { second.pin().unwrap() });
    assert!(second.try_free().unwrap_err().is_busy());
    assert_eq!(arena.stats().live_blocks, 2);
    let weak = arena.downgrade();
    drop(arena);
    assert!(weak.upgrade().is_some(), "what is leaked stays mapped");
}

#[test]
fn so_many_pins_and_no_more() {
    let arena = arena();
    let block = arena.alloc(4096).unwrap();
    for _ in 0..65_535 {
        forget(block.host().unwrap());
    }
    assert!(block.host().unwrap_err().is_busy());
    // SAFETY: no device uses the address.
    let error = unsafe { block.pin() }.unwrap_err();
    assert!(error.is_busy());
    assert!(!block.is_in_use(), "a refused pin is none");
}

fn stream_of(arena: &Arena, handle: usize) -> Stream {
    // SAFETY: memory that is only addresses does not follow handles.
    unsafe { arena.stream(RawStream::new(handle as *mut _)).unwrap() }
}

#[test]
fn a_pin_that_is_not_released_comes_back() {
    let none = || Arena::builder().memory(MemoryKind::None).pool(1 << 20);
    let (arena, other) = (none().build().unwrap(), none().build().unwrap());
    let foreign = stream_of(&other, 0x10);
    let block = arena.alloc(1000).unwrap();
    // SAFETY: no device uses the address.
    let error = unsafe { block.pin().unwrap() }
        .release_on(&foreign)
        .unwrap_err();
    let (error, pinned) = error.into_parts();
    assert_eq!(error.kind(), ErrorKind::BadArgument);
    assert_eq!(block.info().unwrap().pins, 1);
    drop(pinned);
    assert_eq!(block.info().unwrap().pins, 0);
    block.try_free().unwrap();
    // Nor does its error say, when it is dropped, that the device is done.
    let block = arena.alloc(1000).unwrap();
    // SAFETY: as above.
    drop(unsafe { block.pin().unwrap() }.release_on(&foreign));
    assert!(block.try_free().unwrap_err().is_busy());
    assert_eq!(arena.stats().live_blocks, 1);
}

/// What names it could be freed on another thread, and so on another stream.
#[test]
fn the_default_stream_of_each_thread_has_no_owner() {
    struct OfThread;
    // SAFETY: these streams live as long as their threads.
    unsafe impl StreamOwner for OfThread {
        fn raw_stream(&self) -> RawStream {
            RawStream::PER_THREAD
        }
    }
    let error = arena().stream_of(OfThread).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadArgument);
}

#[test]
fn a_released_block_goes_to_its_home_and_comes_back() {
    let none = Arena::builder().memory(MemoryKind::None).pool(1 << 20);
    let arena = none.build().unwrap();
    let (first, second) = (stream_of(&arena, 0x10), stream_of(&arena, 0x20));
    let mut block = arena.alloc(1 << 20).unwrap();
    for stream in [&first, &second] {
        // SAFETY: no device uses the address.
        unsafe { block.pin().unwrap() }.release_on(stream).unwrap();
        assert_eq!(block.home().as_ref(), Some(&first), "the first is home");
    }
    assert!(block.is_in_use());
    block.resize(1 << 19).unwrap();
    drop(block);
    drop(arena.alloc(1 << 20).unwrap());
    drop((first, second));
    arena.close().unwrap();
}

/// Threads compact without end; views stay true, and blocks keep their bytes.
#[test]
fn views_are_true_whatever_another_thread_compacts() {
    let arena = arena();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let options = CompactOptions::new().batch_moves(3);
                    arena.compact_to(&options).unwrap();
                }
            });
        }
        for round in 0..60_u32 {
            let mut blocks: Vec<_> = (1..40).map(|n| arena.alloc(n * 64).unwrap()).collect();
            for (n, block) in blocks.iter_mut().enumerate() {
                block.host_mut().unwrap().fill(n as u8);
            }
            let kept: Vec<_> = blocks.into_iter().enumerate().skip(1).step_by(2).collect();
            for (n, block) in &kept {
                let view = block.host().unwrap();
                std::thread::yield_now();
                // SAFETY: all were written.
                let bytes = unsafe { view.assume_init() };
                assert!(bytes.iter().all(|&b| b == *n as u8), "round {round}");
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(arena.stats().live_blocks, 0);
    arena.check().unwrap();
}

#[test]
fn a_resize_waits_for_nobody_and_refuses_a_pinned_block_that_must_move() {
    let arena = arena();
    let mut block = arena.alloc(4096).unwrap();
    let _wall = arena.alloc(4096).unwrap();
    forget(block.host().unwrap());
    let error = block.resize(64 << 10).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert_eq!(block.len(), 4096);
    block.resize(1000).unwrap();
    assert_eq!(block.host().unwrap().len(), 1000);
}
