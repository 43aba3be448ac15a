//! What streams add: rows without them have nothing of it.

use std::sync::atomic::Ordering;

use cuarena::{ErrorKind, RawStream};

use super::cases::Case;
use super::driver::{driver, OwnStream};
use super::rig::{new_stream, Bytes, Rig, Row};

pub const CASES: &[Case] = &[
    (
        "what_a_stream_freed_serves_it_at_once",
        what_a_stream_freed_serves_it_at_once,
    ),
    (
        "another_stream_waits_and_is_served",
        another_stream_waits_and_is_served,
    ),
    (
        "a_wait_of_the_program_need_not_be_made_again",
        a_wait_of_the_program_need_not_be_made_again,
    ),
    (
        "reclaim_brings_bytes_to_everybody",
        reclaim_brings_bytes_to_everybody,
    ),
    (
        "a_use_on_another_stream_is_waited_for",
        a_use_on_another_stream_is_waited_for,
    ),
    ("a_released_pin_makes_a_home", a_released_pin_makes_a_home),
    (
        "a_stream_of_another_arena_is_refused",
        a_stream_of_another_arena_is_refused,
    ),
    ("blocks_hold_their_stream", blocks_hold_their_stream),
    ("frees_say_what_they_know", frees_say_what_they_know),
    ("a_stream_counts_its_blocks", a_stream_counts_its_blocks),
];

fn touched_by_cpu(row: Row) -> bool {
    use cuarena::MemoryKind::{Managed, Pinned};
    matches!(row.kind.bytes, Bytes::Guest | Bytes::Of(Managed | Pinned))
}

fn what_a_stream_freed_serves_it_at_once(row: Row) {
    let rig = Rig::small(row);
    let (stream, all) = (&rig.streams[0], 8 * row.kind.unit());
    for _ in 0..10 {
        drop(rig.arena.alloc_on(all, stream).unwrap());
    }
    if !touched_by_cpu(row) {
        assert_eq!(rig.arena.stats().host_waits, 0);
    }
    rig.close();
}

fn another_stream_waits_and_is_served(row: Row) {
    let rig = Rig::small(row);
    let other = new_stream(&row.kind, &rig.arena, 9);
    let all = 8 * row.kind.unit();
    drop(rig.arena.alloc_on(all, &rig.streams[0]).unwrap());
    drop(rig.arena.alloc_on(all, &other).unwrap());
    let stats = rig.arena.stats();
    if row.kind.is_of_device() && !touched_by_cpu(row) {
        // Or the work was done when it was asked for.
        assert!(stats.steals <= 1, "{stats:?}");
        let least = u64::from(row.kind.keeps_streams_apart());
        let most = least + u64::from(row.kind.takes_idle_only());
        let waits = least..=most;
        assert!(waits.contains(&stats.host_waits), "{waits:?}: {stats:?}");
    }
    drop(other);
    rig.close();
}

fn a_wait_of_the_program_need_not_be_made_again(row: Row) {
    let rig = Rig::small(row);
    let waiter = new_stream(&row.kind, &rig.arena, 9);
    let (producer, all) = (&rig.streams[0], 8 * row.kind.unit());
    drop(rig.arena.alloc_on(all, producer).unwrap());
    let mark = producer.mark().unwrap();
    if row.kind.is_of_device() {
        driver()
            .unwrap()
            .order(producer.raw().as_ptr(), waiter.raw().as_ptr());
    }
    // SAFETY: the wait was queued; other memories have no work.
    unsafe { waiter.waited_for(producer, mark).unwrap() };
    drop(rig.arena.alloc_on(all, &waiter).unwrap());
    assert_eq!(rig.arena.stats().stream_waits, 0);
    let mark = waiter.mark().unwrap();
    rig.reclaim();
    // SAFETY: reclaiming has waited for all of it.
    unsafe { rig.arena.waited_for(&waiter, mark).unwrap() };
    drop(waiter);
    rig.close();
}

fn reclaim_brings_bytes_to_everybody(row: Row) {
    let rig = Rig::small(row);
    let all = 8 * row.kind.unit();
    drop(rig.arena.alloc_on(all, &rig.streams[0]).unwrap());
    assert_eq!(rig.arena.reclaim_and_wait().unwrap(), all);
    assert_eq!(rig.arena.reclaim().unwrap(), 0);
    drop(rig.arena.alloc(all).unwrap());
    rig.close();
}

fn a_use_on_another_stream_is_waited_for(row: Row) {
    let rig = Rig::small(row);
    let other = new_stream(&row.kind, &rig.arena, 9);
    let (stream, all) = (&rig.streams[0], 8 * row.kind.unit());
    let block = rig.arena.alloc_on(all, stream).unwrap();
    block.record_use(&other).unwrap();
    assert_eq!(block.home().as_ref(), Some(stream));
    drop(block);
    // A stream may end when its last use is over for the program.
    drop(other);
    drop(rig.arena.alloc_on(all, stream).unwrap());
    rig.close();
}

fn a_released_pin_makes_a_home(row: Row) {
    let rig = Rig::small(row);
    let (first, bytes) = (&rig.streams[0], row.kind.unit());
    let mut block = rig.arena.alloc(bytes).unwrap();
    assert_eq!(block.home(), None);
    // SAFETY: work that uses the address is on the stream that it is released
    // on.
    let pinned = unsafe { block.pin().unwrap() };
    if row.kind.is_of_device() {
        let driver = driver().unwrap();
        let at = pinned.device_ptr().as_raw();
        super::driver::cu!(driver, fill(at, 7, bytes, first.raw().as_ptr()));
    }
    pinned.release_on(first).unwrap();
    assert_eq!(block.home().as_ref(), Some(first));
    assert!(block.is_in_use());
    if rig.arena.is_host_readable() {
        assert!(block.host().unwrap_err().is_busy());
        assert!(block.host_mut().unwrap_err().is_busy());
    }
    if row.kind.is_of_device() {
        rig.arena.compact().unwrap();
        assert!(rig.read(&block, bytes).iter().all(|byte| *byte == 7));
    }
    drop(block);
    rig.close();
}

fn a_stream_of_another_arena_is_refused(row: Row) {
    let rig = Rig::small(row);
    let foreign = Rig::small(row);
    let stream = &foreign.streams[0];
    let error = rig.arena.alloc_on(100, stream).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadArgument);
    let block = rig.arena.alloc(100).unwrap();
    assert_eq!(
        block.record_use(stream).unwrap_err().kind(),
        ErrorKind::BadArgument
    );
    assert_eq!(
        block.free_on(stream).unwrap_err().kind(),
        ErrorKind::BadArgument
    );
    assert_eq!(rig.arena.stats().live_blocks, 0, "freed all the same");
    // SAFETY: never followed.
    let none = unsafe { rig.arena.stream(RawStream::new(usize::MAX as *mut _)) };
    assert_eq!(none.unwrap_err().kind(), ErrorKind::BadArgument);
    drop(foreign);
    rig.close();
}

/// A stream that something owns is destroyed when the last block is gone.
fn blocks_hold_their_stream(row: Row) {
    let rig = Rig::small(row);
    if !row.kind.is_of_device() {
        return rig.close();
    }
    let owner = OwnStream::new();
    let destroyed = owner.destroyed.clone();
    let stream = rig.arena.stream_of(owner).unwrap();
    let block = rig.arena.alloc_on(row.kind.unit(), &stream).unwrap();
    rig.paint(&block);
    drop(stream);
    assert_eq!(destroyed.load(Ordering::Relaxed), 0);
    rig.arena.reclaim().unwrap();
    drop(block);
    assert_eq!(destroyed.load(Ordering::Relaxed), 1);
    rig.reclaim();
    rig.close();
}

fn frees_say_what_they_know(row: Row) {
    let rig = Rig::small(row);
    let other = new_stream(&row.kind, &rig.arena, 9);
    let (stream, all) = (&rig.streams[0], 8 * row.kind.unit());
    rig.arena
        .alloc_on(all, stream)
        .unwrap()
        .free_on(&other)
        .unwrap();
    drop(rig.arena.alloc_on(all, &other).unwrap());
    rig.reclaim();
    let block = rig.arena.alloc_on(all, stream).unwrap();
    // SAFETY: nothing is queued on the stream.
    unsafe { block.free_ordered_on(&other).unwrap() };
    let block = rig.arena.alloc_on(all, &other).unwrap();
    // SAFETY: likewise.
    unsafe { block.free_idle().unwrap() };
    drop(rig.arena.alloc(all).unwrap());
    drop(other);
    rig.close();
}

fn a_stream_counts_its_blocks(row: Row) {
    let rig = Rig::small(row);
    let fresh = new_stream(&row.kind, &rig.arena, 9);
    assert_eq!(fresh.stats().unwrap_err().kind(), ErrorKind::Stale);
    let block = rig.arena.alloc_on(1000, &fresh).unwrap();
    assert_eq!(fresh.stats().unwrap().requested_bytes, 1000);
    drop(block);
    assert_eq!(fresh.stats().unwrap().free_bytes, 1024);
    fresh.release().unwrap();
    assert_eq!(fresh.stats().unwrap_err().kind(), ErrorKind::Stale);
    drop(fresh);
    rig.close();
}
