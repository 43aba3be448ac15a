//! Collections in an arena's memory.

#![cfg(feature = "allocator-api2")]

use std::alloc::Layout;
use std::collections::VecDeque;

use allocator_api2::alloc::Allocator;
use allocator_api2::boxed::Box;
use allocator_api2::vec::Vec;
use cuarena::{Arena, HostAllocator, Keep, LimitKind, MemoryKind, Preset, Segments};
use proptest::prelude::*;

fn arena() -> Arena {
    Arena::builder().pool(4 << 20).build().unwrap()
}

fn live(arena: &Arena) -> usize {
    arena.stats().live_bytes
}

/// Served from the lower end, so that what is behind the first block is free.
fn low_arena() -> Arena {
    let builder = Arena::builder().pool(4 << 20);
    builder.placement(cuarena::Placement::Low).build().unwrap()
}

#[test]
fn a_vector_grows_where_it_stands() {
    let arena = low_arena();
    let mut numbers: Vec<u64, _> = Vec::with_capacity_in(1000, arena.host_allocator().unwrap());
    let first = numbers.as_ptr();
    let allocs = arena.stats().allocs;
    numbers.extend(0..200_000);
    assert_eq!(numbers.as_ptr(), first, "it was to grow in place");
    assert_eq!(arena.stats().allocs, allocs);
    assert!(numbers.iter().copied().eq(0..200_000));
    numbers.truncate(10);
    numbers.shrink_to_fit();
    assert_eq!(numbers.as_ptr(), first, "it was to shrink in place");
    assert_eq!(live(&arena), 256);
}

/// Another block is in the way.
#[test]
fn a_vector_that_cannot_grow_where_it_stands_is_copied() {
    let arena = low_arena();
    let mut numbers: Vec<u32, _> = Vec::with_capacity_in(64, arena.host_allocator().unwrap());
    let wall = arena.alloc(100).unwrap();
    let first = numbers.as_ptr();
    numbers.extend(0..10_000);
    assert_ne!(numbers.as_ptr(), first);
    assert!(numbers.iter().copied().eq(0..10_000));
    drop(wall);
}

/// Where a block has a segment of its own, or is one in a cache, it keeps its
/// size.
#[test]
fn a_vector_moves_where_blocks_keep_their_size() {
    let grow = || Arena::builder().preset(Preset::Grow);
    for (name, builder) in [
        ("each", grow().segments(Segments::Each)),
        ("mlx", Arena::builder().preset(Preset::MlxCpu)),
        (
            "cupy",
            Arena::builder()
                .preset(Preset::CupyPool)
                .memory(MemoryKind::Pageable),
        ),
        ("bfc", Arena::builder().preset(Preset::Bfc)),
        ("cache", grow().keep(Keep::Cache)),
    ] {
        let arena = builder.build().unwrap();
        let mut numbers: Vec<u64, _> = Vec::new_in(arena.host_allocator().unwrap());
        numbers.extend(0..100_000);
        assert!(numbers.iter().copied().eq(0..100_000), "{name} grows");
        let before = live(&arena);
        numbers.truncate(10);
        numbers.shrink_to_fit();
        assert!(numbers.iter().copied().eq(0..10), "{name} shrinks");
        assert!(live(&arena) < before, "{name} takes no less: {before}");
        arena.check().unwrap();
        drop(numbers);
        assert_eq!(live(&arena), 0, "{name}");
    }
}

/// A collection that is to shrink cannot be told of an error.
#[test]
fn a_vector_that_cannot_move_to_shrink_stays_as_it_is() {
    let builder = Arena::builder()
        .preset(Preset::Grow)
        .segments(Segments::Each);
    let arena = builder.build().unwrap();
    let mut numbers: Vec<u64, _> = Vec::new_in(arena.host_allocator().unwrap());
    numbers.extend(0..100_000);
    numbers.truncate(10);
    let first = numbers.as_ptr();
    arena.set_limit(LimitKind::Live, 1).unwrap();
    numbers.shrink_to_fit();
    assert_eq!((numbers.as_ptr(), numbers.len()), (first, 10));
    assert!(numbers.try_reserve(1_000_000).is_err());
    arena.clear_limit(LimitKind::Live).unwrap();
    numbers.extend(10..200_000);
    assert!(numbers.iter().copied().eq(0..200_000));
    arena.check().unwrap();
}

#[test]
fn nothing_takes_no_bytes() {
    let arena = arena();
    let allocator = arena.host_allocator().unwrap();
    let calls = |arena: &Arena| arena.stats().allocs;
    let before = calls(&arena);
    let units: Vec<(), _> = [(); 1000].into_iter().collect_in(&allocator);
    let empty: Vec<u64, _> = Vec::new_in(allocator.clone());
    let nothing = allocator.allocate(Layout::new::<()>()).unwrap();
    // SAFETY: it came from here.
    unsafe { allocator.deallocate(nothing.cast(), Layout::new::<()>()) };
    assert_eq!((units.len(), empty.len()), (1000, 0));
    assert_eq!(calls(&arena), before);
}

trait CollectIn: Iterator + Sized {
    fn collect_in<A: Allocator>(self, allocator: A) -> Vec<Self::Item, A> {
        let mut vector = Vec::new_in(allocator);
        vector.extend(self);
        vector
    }
}

impl<I: Iterator> CollectIn for I {}

#[test]
fn alignments_are_kept_when_it_grows() {
    #[derive(Clone, Copy, PartialEq, Debug)]
    #[repr(align(4096))]
    struct Page(u64);
    let arena = arena();
    let mut pages = Vec::new_in(arena.host_allocator().unwrap());
    let _wall = arena.alloc(100).unwrap();
    for n in 0..50 {
        pages.push(Page(n));
        assert_eq!(pages.as_ptr() as usize % 4096, 0);
    }
    assert!((0..50).all(|n| pages[n as usize] == Page(n)));
}

#[test]
fn zeroed_bytes_are_zero_though_they_were_used() {
    let arena = arena();
    let allocator = arena.host_allocator().unwrap();
    drop(Vec::from_iter_in([u64::MAX; 1000], allocator.clone()));
    let layout = Layout::array::<u64>(1000).unwrap();
    let bytes = allocator.allocate_zeroed(layout).unwrap();
    // SAFETY: they are 0, so all of them were written.
    assert!(unsafe { bytes.as_ref() }.iter().all(|&byte| byte == 0));
    // SAFETY: they came from here.
    unsafe { allocator.deallocate(bytes.cast(), layout) };
}

trait FromIterIn<T, A: Allocator> {
    fn from_iter_in(values: impl IntoIterator<Item = T>, allocator: A) -> Self;
}

impl<T, A: Allocator> FromIterIn<T, A> for Vec<T, A> {
    fn from_iter_in(values: impl IntoIterator<Item = T>, allocator: A) -> Self {
        values.into_iter().collect_in(allocator)
    }
}

/// What a collection holds stays where it is, and lives as long as it does.
#[test]
fn compaction_moves_around_collections() {
    let arena = arena();
    let gap = arena.alloc(10_000).unwrap();
    let numbers: Vec<u32, _> = (0..1000).collect_in(arena.host_allocator().unwrap());
    let (at, copy) = (numbers.as_ptr(), numbers.to_vec());
    let movable = arena.alloc(10_000).unwrap();
    drop(gap);
    arena.compact().unwrap();
    arena.trim(0).unwrap();
    assert_eq!(numbers.as_ptr(), at);
    assert_eq!(numbers[..], copy[..]);
    drop(movable);
    let boxed = Box::new_in(5_u8, arena.host_allocator().unwrap());
    drop(arena);
    assert_eq!((numbers[999], *boxed), (999, 5));
}

#[test]
fn clones_are_one_allocator() {
    let (one, other) = (arena(), arena());
    let allocator = one.host_allocator().unwrap();
    assert_eq!(allocator, allocator.clone());
    assert_ne!(allocator, other.host_allocator().unwrap());
    assert_eq!(allocator.arena().as_raw(), one.as_raw());
    assert!(format!("{allocator:?}").contains("HostAllocator"));
}

#[test]
fn running_out_is_an_error() {
    let arena = arena();
    let mut numbers: Vec<u8, _> = Vec::new_in(arena.host_allocator().unwrap());
    assert!(numbers.try_reserve(8 << 20).is_err());
    assert!(numbers.try_reserve(1 << 20).is_ok());
    assert!(numbers.try_reserve(8 << 20).is_err());
    assert!(numbers.capacity() >= 1 << 20);
}

#[test]
fn threads_share_it() {
    let arena = arena();
    let allocator: HostAllocator = arena.host_allocator().unwrap();
    std::thread::scope(|scope| {
        for seed in 0..4_u64 {
            let allocator = allocator.clone();
            scope.spawn(move || {
                for round in 0..50 {
                    let mut mine = Vec::new_in(allocator.clone());
                    mine.extend((0..100 * round).map(|n| n ^ seed));
                    assert!(mine.iter().copied().eq((0..100 * round).map(|n| n ^ seed)));
                }
            });
        }
    });
    assert_eq!(live(&arena), 0);
}

#[derive(Clone, Debug)]
enum Step {
    Push(usize, u32),
    Extend(usize, u16),
    Pop(usize),
    Shrink(usize),
    New(u8),
    Drop,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (any::<usize>(), any::<u32>()).prop_map(|(at, n)| Step::Push(at, n)),
        3 => (any::<usize>(), any::<u16>()).prop_map(|(at, n)| Step::Extend(at, n % 3000)),
        2 => any::<usize>().prop_map(Step::Pop),
        2 => any::<usize>().prop_map(Step::Shrink),
        2 => any::<u8>().prop_map(Step::New),
        1 => Just(Step::Drop),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Vectors of an arena are what vectors are.
    #[test]
    fn vectors_behave_as_those_of_the_heap(
        which in 0_usize..4,
        steps in proptest::collection::vec(step(), 1..200)
    ) {
        let grow = Arena::builder().preset(Preset::Grow);
        let builder = match which {
            0 => Arena::builder().pool(64 << 20),
            1 => grow.segments(Segments::Each),
            2 => grow.keep(Keep::Cache),
            _ => Arena::builder().preset(Preset::MlxCpu),
        };
        let arena = builder.build().unwrap();
        let allocator = arena.host_allocator().unwrap();
        let mut ours: VecDeque<Vec<u32, HostAllocator>> = VecDeque::new();
        let mut model: VecDeque<std::vec::Vec<u32>> = VecDeque::new();
        for step in steps {
            let count = ours.len();
            match step {
                Step::New(room) => {
                    ours.push_back(Vec::with_capacity_in(room.into(), allocator.clone()));
                    model.push_back(std::vec::Vec::new());
                }
                Step::Drop => {
                    ours.pop_front();
                    model.pop_front();
                }
                _ if count == 0 => {}
                Step::Push(at, n) => {
                    ours[at % count].push(n);
                    model[at % count].push(n);
                }
                Step::Extend(at, n) => {
                    ours[at % count].extend(0..u32::from(n));
                    model[at % count].extend(0..u32::from(n));
                }
                Step::Pop(at) => {
                    prop_assert_eq!(ours[at % count].pop(), model[at % count].pop());
                }
                Step::Shrink(at) => {
                    let half = model[at % count].len() / 2;
                    ours[at % count].truncate(half);
                    model[at % count].truncate(half);
                    ours[at % count].shrink_to_fit();
                }
            }
            for (ours, model) in ours.iter().zip(&model) {
                prop_assert_eq!(&ours[..], &model[..]);
            }
        }
        arena.check().unwrap();
        drop(ours);
        prop_assert_eq!(arena.stats().live_bytes, 0);
    }
}
