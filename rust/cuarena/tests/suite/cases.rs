//! What every arena does, whatever its preset, its memory and the streams that
//! its calls go to. Named as in the C suites where those have the same.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use cuarena::{CompactOptions, ErrorKind, LimitKind, Preset, Region, Request, StatsForm};

use super::rig::{place, Bytes, Rig, Row, Uses};

pub type Case = (&'static str, fn(Row));

pub const CASES: &[Case] = &[
    (
        "addresses_are_aligned_and_apart",
        addresses_are_aligned_and_apart,
    ),
    ("zero_bytes", zero_bytes),
    ("freed_bytes_are_reused", freed_bytes_are_reused),
    (
        "neighbours_coalesce_in_any_order",
        neighbours_coalesce_in_any_order,
    ),
    ("exhaustion", exhaustion),
    ("fragmentation_is_told_apart", fragmentation_is_told_apart),
    ("resize_keeps_contents", resize_keeps_contents),
    (
        "a_refused_resize_changes_nothing",
        a_refused_resize_changes_nothing,
    ),
    ("compaction_keeps_values", compaction_keeps_values),
    ("pinned_blocks_stay", pinned_blocks_stay),
    (
        "a_panic_in_compaction_stops_it",
        a_panic_in_compaction_stops_it,
    ),
    (
        "blocks_are_dropped_in_the_callback",
        blocks_are_dropped_in_the_callback,
    ),
    ("zeroed_blocks_are_zero", zeroed_blocks_are_zero),
    ("dedicated_blocks_go_back", dedicated_blocks_go_back),
    ("trim_gives_back", trim_gives_back),
    ("limits_bind", limits_bind),
    ("peaks_have_scopes", peaks_have_scopes),
    ("figures_agree", figures_agree),
    ("tags_count_apart", tags_count_apart),
    ("threads_share_an_arena", threads_share_an_arena),
    ("the_last_handle_ends_it", the_last_handle_ends_it),
];

fn addresses_are_aligned_and_apart(row: Row) {
    let rig = Rig::small(row);
    let blocks: Vec<_> = (0..40).map(|i| rig.take(1 + i * 97)).collect();
    for (block, seed) in &blocks {
        assert_eq!(place(block) % 256, 0);
        rig.expect_painted(block, block.len(), *seed);
    }
    blocks.into_iter().for_each(|(block, _)| rig.give(block));
    rig.close();
}

fn zero_bytes(row: Row) {
    let rig = Rig::small(row);
    let block = rig.try_take(0).unwrap();
    assert!(block.is_empty());
    // SAFETY: nothing uses the address.
    let pinned = unsafe { block.pin().unwrap() };
    assert_eq!(pinned.device_ptr().as_raw(), 0);
    drop(pinned);
    assert_eq!(rig.live_bytes(), 0);
    drop(block);
    rig.close();
}

fn freed_bytes_are_reused(row: Row) {
    let rig = Rig::small(row);
    let all = 8 * row.kind.unit();
    drop(rig.try_take(all).unwrap());
    let reserved = rig.arena.stats().reserved_bytes;
    for i in 0..4 {
        let (block, seed) = rig.take(all - i * 256);
        rig.expect_painted(&block, 4096, seed);
        rig.give(block);
    }
    for i in 0..20 {
        rig.give(rig.try_take(all - i * 256).unwrap());
    }
    assert_eq!(rig.arena.stats().reserved_bytes, reserved);
    rig.close();
}

fn neighbours_coalesce_in_any_order(row: Row) {
    let rig = Rig::small(row);
    let unit = row.kind.unit();
    drop(rig.try_take(8 * unit).unwrap());
    for order in [
        [2, 3, 4],
        [2, 4, 3],
        [3, 2, 4],
        [3, 4, 2],
        [4, 2, 3],
        [4, 3, 2],
    ] {
        let mut blocks: Vec<_> = rig.take_row(8, unit).into_iter().map(Some).collect();
        for i in order {
            rig.give(blocks[i].take().unwrap().0);
        }
        rig.reclaim();
        let found = rig.arena.inspect(Some(Region::Dynamic));
        assert!(
            found.ranges <= 2,
            "{} ranges, expected one, or two",
            found.ranges
        );
        drop(blocks);
        rig.reclaim();
        assert_eq!(rig.arena.inspect(None).ranges, 1);
    }
    rig.close();
}

fn exhaustion(row: Row) {
    let rig = Rig::small(row);
    let all = 8 * row.kind.unit();
    let (block, _) = rig.take(all);
    let error = rig.try_take(1).unwrap_err();
    assert!(error.is_out_of_memory(), "{error:?}");
    assert_eq!((error.asked(), error.reserved(), error.free()), (1, all, 0));
    assert_eq!(rig.arena.stats().failed, 1);
    rig.give(block);
    drop(rig.try_take(all).unwrap());
    rig.close();
}

/// Every second of eight blocks is free.
fn with_holes(rig: &Rig) -> Vec<(cuarena::Block, u64)> {
    let unit = rig.row.kind.unit();
    drop(rig.try_take(8 * unit).unwrap());
    rig.reclaim();
    let mut kept = Vec::new();
    for (i, pair) in rig.take_row(8, unit).into_iter().enumerate() {
        if i % 2 == 1 {
            kept.push(pair);
        }
    }
    rig.reclaim();
    kept
}

fn fragmentation_is_told_apart(row: Row) {
    let rig = Rig::small(row);
    let unit = row.kind.unit();
    let kept = with_holes(&rig);
    match rig.try_take(2 * unit) {
        // An arena that grows gives holes back and takes bytes elsewhere.
        Ok(block) => {
            assert_ne!(row.kind.preset, Preset::Pool);
            drop(block);
        }
        Err(error) if row.kind.preset == Preset::Pool => {
            assert!(error.is_fragmented(), "{error:?}");
            assert_eq!((error.free(), error.largest()), (4 * unit, unit));
        }
        Err(error) => assert!(error.is_out_of_memory(), "{error:?}"),
    }
    drop(kept);
    rig.close();
}

fn resize_keeps_contents(row: Row) {
    let rig = Rig::small(row);
    let (mut block, seed) = rig.take(4096);
    let (wall, _) = rig.take(256);
    for bytes in [16384, 4096, 65536, 100, row.kind.unit()] {
        let kept = bytes.min(block.len()).min(100);
        match rig.next_stream() {
            Some(stream) if bytes > 20000 => block.resize_on(bytes, stream).unwrap(),
            _ => block.resize(bytes).unwrap(),
        }
        assert_eq!(block.len(), bytes);
        rig.reclaim();
        rig.expect_painted(&block, kept, seed);
    }
    block.resize(0).unwrap();
    assert!(block.is_empty());
    drop((block, wall));
    rig.close();
}

fn a_refused_resize_changes_nothing(row: Row) {
    let rig = Rig::small(row);
    let (mut block, seed) = rig.take(4096);
    let error = block.resize(9 * row.kind.unit()).unwrap_err();
    assert!(error.is_out_of_memory(), "{error:?}");
    assert_eq!(block.len(), 4096);
    rig.expect_painted(&block, 4096, seed);
    drop(block);
    rig.close();
}

fn compaction_keeps_values(row: Row) {
    let rig = Rig::small(row);
    let unit = row.kind.unit();
    let kept = with_holes(&rig);
    let mut moved = 0;
    let mut options = CompactOptions::new();
    if let Some(stream) = rig.next_stream() {
        options = options.stream(stream).streams(&rig.streams);
    }
    let report = rig
        .arena
        .compact_with(&options, |list| {
            moved += list.len() as u64;
            for relocation in list {
                assert!(relocation.to() != relocation.from());
                assert!(kept
                    .iter()
                    .any(|(block, _)| block.id() == relocation.block()));
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(report.moves, moved);
    assert!(moved > 0, "nothing moved");
    rig.reclaim();
    for (block, seed) in &kept {
        rig.expect_painted(block, unit, *seed);
    }
    rig.arena.check().unwrap();
    let (whole, _) = rig.take(4 * unit);
    drop((whole, kept, options));
    rig.close();
}

fn pinned_blocks_stay(row: Row) {
    let rig = Rig::small(row);
    let kept = with_holes(&rig);
    // SAFETY: nothing uses the addresses.
    let pins: Vec<_> = kept
        .iter()
        .map(|(block, _)| unsafe { block.pin().unwrap() })
        .collect();
    let before: Vec<_> = pins.iter().map(|pin| pin.device_ptr().as_raw()).collect();
    assert_eq!(rig.arena.compact().unwrap().moves, 0);
    let after: Vec<_> = pins.iter().map(|pin| pin.device_ptr().as_raw()).collect();
    assert_eq!(before, after);
    drop(pins);
    assert!(rig.arena.compact().unwrap().moves > 0);
    for (block, seed) in &kept {
        rig.expect_painted(block, row.kind.unit(), *seed);
    }
    drop(kept);
    rig.close();
}

fn a_panic_in_compaction_stops_it(row: Row) {
    let rig = Rig::small(row);
    let kept = with_holes(&rig);
    let options = CompactOptions::new().batch_moves(1);
    let mut batches = 0;
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        rig.arena.compact_with(&options, |_| {
            batches += 1;
            std::panic::resume_unwind(Box::new("stop here"));
        })
    }))
    .unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"stop here"));
    assert_eq!(batches, 1);
    rig.arena.check().unwrap();
    for (block, seed) in &kept {
        rig.expect_painted(block, row.kind.unit(), *seed);
    }
    drop(kept);
    rig.close();
}

fn blocks_are_dropped_in_the_callback(row: Row) {
    let rig = Rig::small(row);
    let mut kept = with_holes(&rig);
    rig.arena
        .compact_with(&CompactOptions::new(), |_| {
            kept.clear();
            ControlFlow::Continue(())
        })
        .unwrap();
    rig.reclaim();
    assert_eq!(rig.arena.stats().live_blocks, 0);
    rig.close();
}

fn zeroed_blocks_are_zero(row: Row) {
    let rig = Rig::small(row);
    let (dirty, _) = rig.take(8 * row.kind.unit());
    rig.give(dirty);
    let block = match rig.take_with(100_000, &Request::new().zeroed()) {
        Ok(block) => block,
        Err(error) => {
            assert!(!row.kind.has_contents(), "{error}");
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            return rig.close();
        }
    };
    if row.kind.has_contents() {
        assert!(rig.read(&block, 100_000).iter().all(|byte| *byte == 0));
    }
    drop(block);
    rig.close();
}

fn dedicated_blocks_go_back(row: Row) {
    let rig = Rig::open_with(row, 8 * row.kind.unit(), |builder| {
        builder.limit(64 * row.kind.unit())
    });
    let reserved = rig.arena.stats().reserved_bytes;
    match rig.take_with(row.kind.unit(), &Request::new().dedicated()) {
        Ok(block) => {
            let seed = rig.paint(&block);
            assert!(block.info().unwrap().is_dedicated);
            assert!(rig.arena.stats().reserved_bytes > reserved);
            rig.expect_painted(&block, row.kind.unit(), seed);
            drop(block);
            rig.reclaim();
            assert_eq!(rig.arena.stats().reserved_bytes, reserved);
        }
        Err(error) => assert_eq!(row.kind.bytes, Bytes::Buffer, "{error}"),
    }
    rig.close();
}

fn trim_gives_back(row: Row) {
    let rig = Rig::small(row);
    let (block, _) = rig.take(8 * row.kind.unit());
    assert_eq!(rig.arena.trim(0).unwrap(), 0);
    rig.give(block);
    rig.reclaim();
    let given = rig.arena.trim(0).unwrap();
    let reserved = rig.arena.stats().reserved_bytes;
    assert_eq!(given + reserved, 8 * row.kind.unit());
    if row.kind.bytes != Bytes::Buffer {
        assert_eq!(reserved, 0);
    }
    let (again, seed) = rig.take(8 * row.kind.unit());
    rig.expect_painted(&again, 4096, seed);
    drop(again);
    rig.close();
}

fn limits_bind(row: Row) {
    let rig = Rig::small(row);
    let unit = row.kind.unit();
    rig.arena.set_limit(LimitKind::Live, unit).unwrap();
    let (block, _) = rig.take(unit);
    let error = rig.try_take(256).unwrap_err();
    assert!(error.is_limit(), "{error:?}");
    assert_eq!(rig.arena.clear_limit(LimitKind::Live).unwrap(), Some(unit));
    drop(rig.take(256));
    drop(block);
    rig.close();
}

fn peaks_have_scopes(row: Row) {
    let rig = Rig::small(row);
    let unit = row.kind.unit();
    let whole = rig.arena.peaks(None).unwrap();
    let (first, _) = rig.take(unit);
    let inner = rig.arena.peaks(None).unwrap();
    rig.give(rig.take(2 * unit).0);
    let inner = inner.end().unwrap();
    assert_eq!((inner.live_bytes, inner.live_blocks), (3 * unit, 2));
    drop(first);
    drop(rig.arena.peaks(Some(Region::Dynamic)).unwrap());
    let whole = whole.end().unwrap();
    assert_eq!((whole.live_bytes, whole.live_blocks), (3 * unit, 2));
    if let Some(stream) = rig.streams.first() {
        let scope = stream.peaks().unwrap();
        drop(rig.arena.alloc_on(unit, stream).unwrap());
        assert_eq!(scope.end().unwrap().live_bytes, unit);
    }
    rig.arena.reset_peaks();
    assert_eq!(rig.arena.stats().peak_live_bytes, 0);
    rig.close();
}

fn figures_agree(row: Row) {
    let rig = Rig::small(row);
    let blocks = rig.take_row(3, 1000);
    let (stats, ort) = (rig.arena.stats(), rig.arena.ort_stats().unwrap());
    assert_eq!(ort.num_allocs as u64, stats.allocs);
    assert_eq!(ort.bytes_in_use as usize, stats.live_bytes);
    assert_eq!(ort.bytes_requested_in_use, 3000);
    assert_eq!(ort.total_allocated_bytes as usize, stats.reserved_bytes);
    assert_eq!(
        ort.max_alloc_size as usize,
        blocks[0].0.info().unwrap().allocated
    );
    let text = rig.arena.stats_text(StatsForm::Ort).unwrap();
    assert!(
        text.contains(&format!("InUse={}\n", ort.bytes_in_use)),
        "{text}"
    );
    let mut pairs = 0;
    let count = |key: &str, value: &str| {
        pairs += 1;
        if key == "requested_bytes" {
            assert_eq!(value, "3000");
        }
    };
    rig.arena.stats_pairs(StatsForm::Native, count).unwrap();
    let text = rig.arena.stats_text(StatsForm::Native).unwrap();
    assert_eq!(pairs, text.lines().count());
    let steps = rig.arena.step_stats();
    assert!(
        steps.iter().any(|step| step.name.contains("compact")),
        "{steps:?}"
    );
    drop(blocks);
    rig.close();
}

fn tags_count_apart(row: Row) {
    let rig = Rig::small(row);
    let weights = rig.arena.tag("weights").unwrap();
    let scope = rig.arena.tag_peaks(weights).unwrap();
    let block = rig.take_with(1000, &Request::new().tag(weights)).unwrap();
    let other = rig.try_take(5000).unwrap();
    let stats = rig.arena.tag_stats(weights).unwrap();
    assert_eq!((stats.live_blocks, stats.requested_bytes), (1, 1000));
    drop((block, other));
    assert_eq!(rig.arena.tag_stats(weights).unwrap().live_blocks, 0);
    assert_eq!(scope.end().unwrap().requested_bytes, 1000);
    rig.close();
}

fn threads_share_an_arena(row: Row) {
    const THREADS: usize = 4;
    let rig = Rig::open(row, 32 * row.kind.unit());
    let turns = if row.kind.is_of_device() { 12 } else { 40 };
    let served = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (rig, served) = (&rig, &served);
            scope.spawn(move || {
                let mut kept = Vec::new();
                for turn in 0..turns {
                    let bytes = 1 + (turn * 7919 + thread * 104_729) % (2 * row.kind.unit());
                    if let Ok(block) = rig.try_take(bytes) {
                        let seed = rig.paint(&block);
                        kept.push((block, seed));
                        served.fetch_add(1, Ordering::Relaxed);
                    }
                    if turn % 10 == 3 {
                        let _ = rig.arena.compact();
                    }
                    if kept.len() > 5 {
                        let (block, seed) = kept.swap_remove(turn % 5);
                        rig.expect_painted(&block, block.len(), seed);
                        rig.give(block);
                    }
                }
            });
        }
    });
    assert!(
        served.load(Ordering::Relaxed) as usize > turns,
        "hardly anything was served"
    );
    rig.arena.check().unwrap();
    rig.close();
}

/// Without waiting for streams that may be at work on what was freed.
fn the_last_handle_ends_it(row: Row) {
    let rig = Rig::small(row);
    let (block, seed) = rig.take(row.kind.unit());
    rig.expect_painted(&block, 4096, seed);
    let weak = rig.arena.downgrade();
    let ledger = rig.ledger.clone();
    drop(rig);
    assert!(weak.upgrade().is_some(), "a block keeps its arena");
    drop(block);
    assert!(weak.upgrade().is_none());
    if row.uses == Uses::NoStream {
        assert_eq!(ledger.held.load(Ordering::Relaxed), 0);
    }
}
