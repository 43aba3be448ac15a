//! Compaction with a closure, and who else hears of moves.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use cuarena::{Arena, Block, BlockId, CompactOptions, ErrorKind, Placement, Preset};

const KIB: usize = 1 << 10;

fn builder() -> cuarena::ArenaBuilder {
    Arena::builder().placement(Placement::Low).pool(1 << 20)
}

/// Blocks of a number each, every second one gone.
fn holes(arena: &Arena, count: u64) -> Vec<Block> {
    let all: Vec<_> = (0..count)
        .map(|n| {
            let mut block = arena.alloc(KIB).unwrap();
            block.host_mut().unwrap().fill(n as u8);
            block
        })
        .collect();
    all.into_iter().skip(1).step_by(2).collect()
}

fn assert_contents(blocks: &[Block]) {
    for (n, block) in blocks.iter().enumerate() {
        let view = block.host().unwrap();
        // SAFETY: all were written.
        let bytes = unsafe { view.assume_init() };
        assert!(bytes.iter().all(|&b| b == (2 * n + 1) as u8), "block {n}");
    }
}

#[test]
fn every_relocation_is_told_once_in_an_order_that_can_be_replayed() {
    let arena = builder().build().unwrap();
    let blocks = holes(&arena, 100);
    let mut told = HashMap::new();
    let mut list = Vec::new();
    let report = arena
        .compact_with(&CompactOptions::new(), |batch| {
            for r in batch {
                assert!(told.insert(r.block(), r.to()).is_none(), "{r:?} again");
                list.push(*r);
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(report.moves, 50);
    assert_eq!(report.bytes_moved, 50 * KIB);
    assert!(report.largest_after > report.largest_before && !report.stopped);
    for block in &blocks {
        assert_eq!(
            block.info().unwrap().address.as_ref(),
            told.get(&block.id())
        );
    }
    for (n, early) in list.iter().enumerate() {
        for late in &list[n + 1..] {
            // SAFETY: the numbers are compared, nobody follows them.
            let (to, from) = unsafe { (early.to().as_raw(), late.from().as_raw()) };
            let bytes = |one: &cuarena::Relocation| one.bytes() as u64;
            assert!(to + bytes(early) <= from || from + bytes(late) <= to);
        }
    }
    assert_contents(&blocks);
    arena.check().unwrap();
}

#[test]
fn a_break_is_the_end_after_the_batch_that_was_told() {
    let arena = builder().build().unwrap();
    let blocks = holes(&arena, 100);
    let mut batches = 0;
    let options = CompactOptions::new().batch_moves(5);
    let report = arena
        .compact_with(&options, |batch| {
            assert_eq!(batch.len(), 5);
            batches += 1;
            if batches == 3 {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!((batches, report.batches, report.moves), (3, 3, 15));
    assert!(report.stopped);
    assert_contents(&blocks);
}

#[test]
fn blocks_may_be_dropped_made_pinned_and_resized_in_the_closure() {
    let arena = builder().build().unwrap();
    let mut blocks: HashMap<BlockId, Block> = holes(&arena, 100)
        .into_iter()
        .map(|block| (block.id(), block))
        .collect();
    let mut made = Vec::new();
    let options = CompactOptions::new().batch_moves(10);
    arena
        .compact_with(&options, |batch| {
            for (n, r) in batch.iter().enumerate() {
                // What was made here may move later.
                let Some(block) = blocks.get_mut(&r.block()) else {
                    continue;
                };
                match n % 4 {
                    0 => drop(blocks.remove(&r.block())),
                    1 => made.push(arena.alloc(KIB).unwrap()),
                    2 => block.host_mut().unwrap().fill(1),
                    _ => block.resize(10).unwrap(),
                }
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(!made.is_empty() && blocks.len() < 50);
    let live = (blocks.len() + made.len()) as u64;
    assert_eq!(arena.stats().live_blocks, live);
    drop((blocks, made));
    assert_eq!(arena.stats().live_bytes, 0);
    arena.check().unwrap();
}

#[test]
fn all_may_be_dropped_in_the_closure_the_closure_s_own_handle_too() {
    let arena = builder().build().unwrap();
    let weak = arena.downgrade();
    let mut blocks = Some(holes(&arena, 100));
    let mut handle = Some(arena.clone());
    arena
        .compact_with(&CompactOptions::new(), |_| {
            drop((blocks.take(), handle.take()));
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(arena.stats().live_blocks, 0);
    drop(arena);
    assert!(weak.upgrade().is_none());
}

#[test]
fn what_is_not_legal_in_the_closure_is_refused() {
    let arena = builder().build().unwrap();
    let _blocks = holes(&arena, 10);
    let mut kinds = Vec::new();
    arena
        .compact_with(&CompactOptions::new(), |_| {
            kinds.push(arena.compact().unwrap_err().kind());
            kinds.push(arena.trim(0).unwrap_err().kind());
            kinds.push(arena.resize_pool(2 << 20).unwrap_err().kind());
            kinds.push(arena.clone().close().unwrap_err().error().kind());
            ControlFlow::Continue(())
        })
        .unwrap();
    let reentered = ErrorKind::Reentered;
    assert_eq!(kinds, [reentered, reentered, reentered, ErrorKind::Busy]);
}

#[test]
fn a_request_in_the_closure_may_need_growth() {
    let grow = Arena::builder().preset(Preset::Grow).limit(64 << 20);
    let arena = grow.build().unwrap();
    let blocks = holes(&arena, 100);
    let mut made = Vec::new();
    arena
        .compact_with(&CompactOptions::new(), |_| {
            made.push(arena.alloc(8 << 20).unwrap());
            assert!(arena.alloc(128 << 20).unwrap_err().is_limit());
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(made.len(), 1);
    assert_contents(&blocks);
    arena.check().unwrap();
}

#[test]
fn a_goal_moves_no_more_than_it_needs() {
    let arena = builder().build().unwrap();
    let mut blocks = holes(&arena, 1024);
    blocks.push(arena.alloc(0).unwrap());
    let error = arena.alloc(8 * KIB).unwrap_err();
    assert!(error.is_fragmented() && error.is_out_of_memory(), "{error}");
    assert!(error.free() >= 8 * KIB && error.largest() < 8 * KIB);
    let report = arena
        .compact_to(&CompactOptions::new().goal(8 * KIB))
        .unwrap();
    assert!(report.moves <= 16, "{report:?}");
    let block = arena.alloc(8 * KIB).unwrap();
    let goal = CompactOptions::new().goal(64 * KIB).max_moves(1);
    assert!(arena.compact_to(&goal).unwrap_err().is_fragmented());
    drop(block);
}

#[test]
fn what_stayed_is_told_last_if_asked_for() {
    let arena = builder().build().unwrap();
    let stays = arena.alloc(KIB).unwrap();
    let _moves = holes(&arena, 10);
    let pinned = arena.alloc(KIB).unwrap();
    let _view = pinned.host().unwrap();
    let mut last = Vec::new();
    arena
        .compact_with(&CompactOptions::new().report_unmoved(), |batch| {
            last = batch.to_vec();
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(last.iter().all(|r| r.from() == r.to()));
    assert!(last.iter().any(|r| r.block() == stays.id()));
    assert!(!last.iter().any(|r| r.block() == pinned.id()));
}

#[test]
fn the_listener_hears_of_a_pool_that_is_resized() {
    let arena = builder().build().unwrap();
    let wall = arena.alloc(900 * KIB).unwrap();
    let mut block = arena.alloc(KIB).unwrap();
    block.host_mut().unwrap().fill(1);
    drop(wall);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let sink = heard.clone();
    arena.on_relocation(move |batch| {
        sink.lock().unwrap().extend(batch.iter().map(|r| r.block()));
        ControlFlow::Continue(())
    });
    arena.resize_pool(512 * KIB).unwrap();
    assert_eq!(*heard.lock().unwrap(), [block.id()]);
    assert_contents(&[block]);
}

#[test]
fn running_out_compacts_whether_or_not_somebody_listens() {
    let arena = builder().compact_on_oom(true).build().unwrap();
    let blocks = holes(&arena, 1024);
    let block = arena.alloc(8 * KIB).unwrap();
    drop(block);
    assert_eq!(arena.stats().compactions, 1);
    drop(blocks);
}
