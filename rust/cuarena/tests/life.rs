//! When an arena ends: with its last handle and its last block, whichever goes
//! last, on whatever thread, and never before.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use cuarena::memory::{Memory, MemoryDescription, MemoryResult, Segment};
use cuarena::{Arena, Block, CompactOptions, ErrorKind, MemoryKind, RawStream, Request, WeakArena};
use proptest::prelude::*;

/// Numbers to serve from, and what tells that the arena is gone: it keeps its
/// memory until then.
struct Numbers(#[allow(dead_code)] Arc<()>);

// SAFETY: one segment at a time is got here, and nothing is touched.
unsafe impl Memory for Numbers {
    fn describe(&self) -> MemoryDescription {
        MemoryDescription::new("numbers")
    }

    fn get(&self, bytes: u64, _reserve: u64) -> MemoryResult<Segment> {
        Ok(Segment {
            address: 1 << 20,
            bytes,
            address_bytes: bytes,
            cookie: 0,
        })
    }

    fn give_back(&self, _segment: Segment) {}
}

/// Whether an arena has ended.
struct Witness(Arc<()>);

impl Witness {
    fn is_gone(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}

fn arena() -> (Arena, Witness) {
    let token = Arc::new(());
    let builder = Arena::builder().custom(Numbers(token.clone()));
    (builder.pool(1 << 20).build().unwrap(), Witness(token))
}

#[test]
fn ends_with_the_last_block_that_outlives_the_handles() {
    let (arena, witness) = arena();
    let mut blocks: Vec<_> = (0..20).map(|n| arena.alloc(n * 100).unwrap()).collect();
    let weak = arena.downgrade();
    drop(arena.clone());
    drop(arena);
    while let Some(block) = blocks.pop() {
        assert!(!witness.is_gone());
        assert!(weak.upgrade().is_some());
        assert_eq!(block.info().unwrap().pins, 0);
        block.arena().check().unwrap();
        drop(block);
    }
    assert!(witness.is_gone());
    assert!(weak.upgrade().is_none());
}

#[test]
fn a_blocks_handle_makes_blocks_and_handles_again() {
    let (arena, witness) = arena();
    let first = arena.alloc(100).unwrap();
    drop(arena);
    let second = first.arena().alloc(200).unwrap();
    drop(first);
    let again = second.arena().clone();
    drop(second);
    assert!(!witness.is_gone());
    assert_eq!(again.stats().live_blocks, 0);
    let third = again.alloc(300).unwrap();
    drop(again);
    third.try_free().unwrap();
    assert!(witness.is_gone());
}

#[test]
fn freed_one_by_one_with_an_answer() {
    let (arena, witness) = arena();
    let blocks: Vec<_> = (0..5).map(|_| arena.alloc(100).unwrap()).collect();
    drop(arena);
    for (n, block) in blocks.into_iter().enumerate() {
        assert!(!witness.is_gone(), "before block {n}");
        block.try_free().unwrap();
    }
    assert!(witness.is_gone());
}

#[test]
fn an_id_that_nobody_owns_keeps_the_arena() {
    let (arena, witness) = arena();
    let (owner, id) = arena.alloc(100).unwrap().into_raw();
    let weak = arena.downgrade();
    drop((arena, owner));
    assert!(!witness.is_gone());
    let arena = weak.upgrade().unwrap();
    // SAFETY: the id is live, and nobody else owns it.
    let block = unsafe { Block::from_raw(arena, id).unwrap() };
    assert_eq!(block.len(), 100);
    drop(block);
    assert!(witness.is_gone());
}

#[test]
fn an_id_that_names_nothing_takes_its_handle_along() {
    let (arena, witness) = arena();
    let id = arena.alloc(100).unwrap().id();
    // SAFETY: the id names nothing, so nothing is owned.
    let error = unsafe { Block::from_raw(arena, id).unwrap_err() };
    assert_eq!(error.kind(), ErrorKind::Stale);
    assert!(witness.is_gone());
}

#[test]
fn a_leaked_block_keeps_the_arena() {
    let (arena, witness) = arena();
    let block = arena.alloc(100).unwrap();
    std::mem::forget(arena.alloc(100).unwrap());
    let weak = arena.downgrade();
    let error = arena.close().unwrap_err();
    assert!(error.error().is_busy());
    drop((error, block));
    assert!(!witness.is_gone());
    assert_eq!(weak.upgrade().unwrap().stats().live_blocks, 1);
}

#[test]
fn close_is_busy_for_blocks_and_for_handles() {
    let (arena, witness) = arena();
    let block = arena.alloc(100).unwrap();
    let other = arena.clone();
    let arena = arena.close().unwrap_err().into_parts().1;
    drop(other);
    let arena = arena.close().unwrap_err().into_parts().1;
    drop(block);
    arena.close().unwrap();
    assert!(witness.is_gone());
}

#[test]
fn dropped_where_closures_hear_of_it() {
    let (arena, witness) = arena();
    let heard = Arc::new(AtomicUsize::new(0));
    let counter = heard.clone();
    let inner: Arc<Mutex<Vec<Block>>> = Arc::default();
    let more = inner.clone();
    arena.on_event(move |_| {
        counter.fetch_add(1, Ordering::Relaxed);
        let one = more.lock().unwrap().pop();
        drop(one); // another free, in this one
    });
    let block = arena.alloc(100).unwrap();
    let others: Vec<_> = (0..3).map(|_| arena.alloc(100).unwrap()).collect();
    *inner.lock().unwrap() = others;
    drop(arena);
    assert!(!witness.is_gone());
    drop(block);
    assert!(inner.lock().unwrap().is_empty());
    assert_eq!(heard.load(Ordering::Relaxed), 8);
    assert!(witness.is_gone());
}

#[test]
fn a_panic_of_the_last_drops_listener_goes_nowhere() {
    let (arena, witness) = arena();
    let block = arena.alloc(100).unwrap();
    let last = arena.alloc(100).unwrap();
    arena.on_event(|_| panic!("on purpose"));
    drop(arena);
    drop(block);
    assert!(last.arena().take_panic().is_some());
    drop(last);
    assert!(witness.is_gone());
    assert!(self::arena().0.alloc(100).is_ok()); // and none is parked
}

#[test]
fn the_last_handle_goes_in_a_compactions_closure() {
    let (arena, witness) = arena();
    let arena = Mutex::new(Some(arena));
    let lent = arena.lock().unwrap().as_ref().unwrap().clone();
    let mut blocks: Vec<_> = (0..10).map(|_| lent.alloc(5000).unwrap()).collect();
    blocks.retain(|block| block.id().as_raw() % 2 == 0);
    let keep = lent.alloc(100).unwrap();
    drop(lent);
    let result = keep.arena().compact_with(&CompactOptions::new(), |_| {
        drop(arena.lock().unwrap().take());
        blocks.clear();
        std::ops::ControlFlow::Continue(())
    });
    // Numbers cannot be moved, or can: either way the arena is as it was.
    drop(result);
    keep.arena().check().unwrap();
    drop((arena, blocks));
    assert!(!witness.is_gone());
    drop(keep);
    assert!(witness.is_gone());
}

#[test]
fn blocks_with_a_home_outlive_arena_and_stream() {
    let builder = Arena::builder().memory(MemoryKind::None).pool(1 << 20);
    let arena = builder.build().unwrap();
    let weak = arena.downgrade();
    // SAFETY: nobody follows the handle.
    let stream = unsafe { arena.stream(RawStream::new(0x10 as *mut _)).unwrap() };
    let first = arena.alloc_on(4096, &stream).unwrap();
    let second = arena.alloc_on(4096, &stream).unwrap();
    let plain = arena.alloc(100).unwrap();
    drop((arena, stream));
    drop(first);
    second.try_free().unwrap();
    assert!(weak.upgrade().is_some());
    drop(plain);
    assert!(weak.upgrade().is_none());
}

#[test]
fn a_shared_arena_ends_with_its_last_block_too() {
    let share = || {
        let builder = Arena::builder().memory(MemoryKind::None).pool(1 << 20);
        builder.share().unwrap()
    };
    let (arena, _) = share();
    let weak = arena.downgrade();
    let block = arena.alloc(100).unwrap();
    let (owner, id) = arena.alloc(100).unwrap().into_raw();
    drop(arena);
    // SAFETY: the id is live, and nobody else owns it.
    let other = unsafe { Block::from_raw(owner, id).unwrap() };
    drop(block);
    assert!(weak.upgrade().is_some());
    drop(other);
    assert!(weak.upgrade().is_none());
    let (again, report) = share();
    assert!(report.created);
    again.close().unwrap();
}

// ---- Threads ---------------------------------------------------------------

const THREADS: usize = 4;

/// How often; sanitizers and valgrind take their time.
fn rounds() -> usize {
    match std::env::var("CUARENA_TEST_SCALE").as_deref() {
        Ok("short") => 200,
        Ok("long") => 20_000,
        _ => 2000,
    }
}

/// Each thread does its part with its blocks at the same moment.
fn all_at_once(arena: &Arena, part: impl Fn(usize, Vec<Block>) + Sync) -> Vec<()> {
    let barrier = Barrier::new(THREADS);
    thread::scope(|scope| {
        let (barrier, part) = (&barrier, &part);
        let hands: Vec<_> = (0..THREADS)
            .map(|number| {
                let blocks = (0..=number % 3).map(|_| arena.alloc(64).unwrap()).collect();
                scope.spawn(move || {
                    barrier.wait();
                    part(number, blocks);
                })
            })
            .collect();
        hands.into_iter().map(|hand| hand.join().unwrap()).collect()
    })
}

#[test]
fn the_last_of_several_threads_ends_it() {
    for _ in 0..rounds() {
        let (arena, witness) = arena();
        let handle = Mutex::new(Some(arena.clone()));
        let mut arena = Some(arena);
        let of_all = arena.take().unwrap();
        let weak = of_all.downgrade();
        let last = Mutex::new(None);
        all_at_once(&of_all.clone(), |number, blocks| {
            if number == 0 {
                drop(handle.lock().unwrap().take());
            }
            let mut blocks = blocks;
            let kept = blocks.pop();
            drop(blocks);
            if number == 1 {
                *last.lock().unwrap() = kept;
            }
        });
        drop(of_all);
        assert!(weak.upgrade().is_some());
        drop(last);
        assert!(witness.is_gone());
    }
}

/// The handle goes while others drop, clone what their blocks have, and upgrade
/// weak handles.
#[test]
fn handles_come_and_go_while_blocks_do() {
    for round in 0..rounds() {
        let (arena, witness) = arena();
        let weak = arena.downgrade();
        let barrier = Barrier::new(THREADS);
        let sets: Vec<Vec<Block>> = (0..THREADS)
            .map(|_| (0..3).map(|_| arena.alloc(64).unwrap()).collect())
            .collect();
        let mut arena = Some(arena);
        thread::scope(|scope| {
            for (number, blocks) in sets.into_iter().enumerate() {
                let (barrier, weak) = (&barrier, &weak);
                let arena = arena.take();
                scope.spawn(move || {
                    barrier.wait();
                    drop(arena);
                    for (n, block) in blocks.into_iter().enumerate() {
                        one_turn(round + number + n, block, weak);
                    }
                });
            }
        });
        assert!(weak.upgrade().is_none());
        assert!(witness.is_gone());
    }
}

fn one_turn(which: usize, block: Block, weak: &WeakArena) {
    match which % 5 {
        0 => drop(block),
        1 => {
            let handle = block.arena().clone();
            drop(block);
            drop(handle.alloc(64).unwrap());
        }
        2 => block.try_free().unwrap(),
        3 => {
            drop(block);
            if let Some(handle) = weak.upgrade() {
                drop(handle.alloc(64).unwrap());
            }
        }
        _ => {
            let (handle, id) = block.into_raw();
            // SAFETY: the id is live, and nobody else owns it.
            drop(unsafe { Block::from_raw(handle, id).unwrap() });
        }
    }
}

/// It is closed by one while others drop what they have.
#[test]
fn closed_while_blocks_go() {
    for _ in 0..rounds() {
        let (arena, witness) = arena();
        let block = arena.alloc(64).unwrap();
        let weak = arena.downgrade();
        let barrier = Barrier::new(3);
        thread::scope(|scope| {
            let (barrier, weak) = (&barrier, &weak);
            scope.spawn(move || {
                barrier.wait();
                drop(block);
            });
            scope.spawn(move || {
                barrier.wait();
                drop(weak.upgrade());
            });
            barrier.wait();
            drop(arena.close());
        });
        assert!(witness.is_gone());
    }
}

// ---- A model of it ----------------------------------------------------------

#[derive(Clone, Debug)]
enum Step {
    Clone(usize),
    CloneOfBlock(usize),
    Upgrade,
    DropHandle(usize),
    Alloc(usize),
    AllocOfBlock(usize),
    DropBlock(usize),
    Free(usize),
    Remake(usize),
    Close(usize),
    Dedicated(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let any = any::<usize>;
    prop_oneof![
        1 => any().prop_map(Step::Clone),
        1 => any().prop_map(Step::CloneOfBlock),
        1 => Just(Step::Upgrade),
        3 => any().prop_map(Step::DropHandle),
        1 => any().prop_map(Step::Alloc),
        1 => any().prop_map(Step::AllocOfBlock),
        3 => any().prop_map(Step::DropBlock),
        1 => any().prop_map(Step::Free),
        1 => any().prop_map(Step::Remake),
        1 => any().prop_map(Step::Close),
        1 => any().prop_map(Step::Dedicated),
    ]
}

struct Model {
    handles: Vec<Arena>,
    blocks: Vec<Block>,
    weak: WeakArena,
}

fn take<T>(of: &mut Vec<T>, which: usize) -> Option<T> {
    let at = which.checked_rem(of.len())?;
    Some(of.swap_remove(at))
}

fn look<T>(of: &[T], which: usize) -> Option<&T> {
    of.get(which.checked_rem(of.len())?)
}

impl Model {
    fn take(&mut self, step: &Step) {
        match *step {
            Step::Clone(n) => self.handles.extend(look(&self.handles, n).cloned()),
            Step::CloneOfBlock(n) => {
                let of = look(&self.blocks, n).map(|block| block.arena().clone());
                self.handles.extend(of);
            }
            Step::Upgrade => self.handles.extend(self.weak.upgrade()),
            Step::DropHandle(n) => drop(take(&mut self.handles, n)),
            Step::Alloc(n) => {
                let of = look(&self.handles, n).map(|arena| arena.alloc(100).unwrap());
                self.blocks.extend(of);
            }
            Step::AllocOfBlock(n) => {
                let of = look(&self.blocks, n).map(|block| block.arena().alloc(100).unwrap());
                self.blocks.extend(of);
            }
            Step::DropBlock(n) => drop(take(&mut self.blocks, n)),
            Step::Free(n) => {
                if let Some(block) = take(&mut self.blocks, n) {
                    block.try_free().unwrap();
                }
            }
            Step::Remake(n) => {
                if let Some(block) = take(&mut self.blocks, n) {
                    let (arena, id) = block.into_raw();
                    // SAFETY: the id is live, and nobody else owns it.
                    self.blocks
                        .push(unsafe { Block::from_raw(arena, id).unwrap() });
                }
            }
            Step::Close(n) => self.close(n),
            Step::Dedicated(n) => {
                let request = Request::new().alignment(1 << 12);
                let of = look(&self.handles, n);
                let of = of.map(|arena| arena.alloc_with(100, &request).unwrap());
                self.blocks.extend(of);
            }
        }
    }

    /// Fine if it is the last handle of an empty arena, else busy.
    fn close(&mut self, which: usize) {
        let last = self.handles.len() == 1 && self.blocks.is_empty();
        let Some(arena) = take(&mut self.handles, which) else {
            return;
        };
        match arena.close() {
            Ok(()) => assert!(last),
            Err(error) => {
                assert!(!last && error.error().is_busy());
                self.handles.push(error.into_parts().1);
            }
        }
    }

    fn assert_true(&self, witness: &Witness) {
        let alive = !self.handles.is_empty() || !self.blocks.is_empty();
        assert_eq!(alive, !witness.is_gone());
        let Some(arena) = self.weak.upgrade() else {
            assert!(!alive);
            return;
        };
        assert!(alive);
        let live = arena.stats().live_blocks;
        assert_eq!(live, self.blocks.len() as u64);
        arena.check().unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_order_of_handles_and_blocks(watched in any::<bool>(), steps in prop::collection::vec(step(), 1..60)) {
        let (arena, witness) = arena();
        if watched {
            arena.on_event(|_| ());
        }
        let weak = arena.downgrade();
        let mut model = Model { handles: vec![arena], blocks: Vec::new(), weak };
        for step in &steps {
            model.take(step);
            model.assert_true(&witness);
        }
        drop(model);
        prop_assert!(witness.is_gone());
    }
}
