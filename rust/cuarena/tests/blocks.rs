//! Blocks on host memory: what is asked for, and what is got.

use std::collections::HashSet;

use cuarena::*;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

fn pool(bytes: usize) -> Arena {
    Arena::builder().pool(bytes).build().unwrap()
}

/// The arena is empty and whole.
fn assert_empty(arena: &Arena) {
    let stats = arena.stats();
    assert_eq!((stats.live_blocks, stats.live_bytes), (0, 0), "{stats:?}");
    assert_eq!(stats.free_bytes, stats.capacity_bytes);
    arena.check().unwrap();
}

#[test]
fn a_dropped_block_is_free() {
    let arena = pool(MIB);
    let block = arena.alloc(1000).unwrap();
    assert_eq!(arena.stats().requested_bytes, 1000);
    drop(block);
    assert_empty(&arena);
}

#[test]
fn an_empty_block_lives() {
    let arena = pool(MIB);
    let mut block = arena.alloc(0).unwrap();
    assert!(block.is_empty());
    assert_eq!(block.host().unwrap().len(), 0);
    // SAFETY: no device uses it.
    assert_eq!(unsafe { block.pin().unwrap() }.device_ptr().as_raw(), 0);
    block.resize(100).unwrap();
    assert_eq!(block.host().unwrap().len(), 100);
    block.resize(0).unwrap();
    assert!(block.is_empty());
    drop(block);
    assert_empty(&arena);
}

#[test]
fn a_request_is_answered_as_asked() {
    let arena = pool(MIB);
    let tag = arena.tag("rows").unwrap();
    let mut first = arena.alloc(4 * KIB).unwrap();
    first.host_mut().unwrap().fill(0xff);
    drop(first);
    let request = Request::new().alignment(64 * KIB).zeroed().tag(tag);
    let block = arena.alloc_with(4 * KIB, &request).unwrap();
    let info = block.info().unwrap();
    assert_eq!(info.requested, 4 * KIB);
    assert_eq!((info.tag, info.region), (tag, Region::Dynamic));
    assert_eq!(info.alignment, 64 * KIB);
    let view = block.host().unwrap();
    assert_eq!(view.as_ptr() as usize % (64 << 10), 0);
    // SAFETY: zeroed.
    assert!(unsafe { view.assume_init() }.iter().all(|&b| b == 0));
    assert_eq!(arena.tag_name(tag).unwrap(), "rows");
    assert_eq!(arena.tag("rows").unwrap(), tag);
}

#[test]
fn the_stable_region_neither_lends_nor_borrows() {
    let arena = Arena::builder()
        .pool(MIB)
        .stable(256 * KIB)
        .build()
        .unwrap();
    let stable = Request::new().region(Region::Stable);
    let block = arena.alloc_with(256 * KIB, &stable).unwrap();
    assert_eq!(block.info().unwrap().region, Region::Stable);
    assert!(arena
        .alloc_with(256, &stable)
        .unwrap_err()
        .is_out_of_memory());
    let stats = arena.region_stats(Region::Stable);
    assert_eq!(stats.free_bytes, 0);
    assert!(arena.alloc(768 * KIB).is_ok());
    assert!(arena.alloc(768 * KIB + 1).is_err());
}

#[test]
fn a_dedicated_block_has_its_own_segment_and_keeps_its_size() {
    let arena = pool(MIB);
    let reserved = arena.stats().reserved_bytes;
    let mut block = arena
        .alloc_with(2 * MIB, &Request::new().dedicated())
        .unwrap();
    assert!(block.info().unwrap().is_dedicated);
    assert_eq!(arena.stats().reserved_bytes, reserved + 2 * MIB);
    assert_eq!(
        block.resize(MIB).unwrap_err().kind(),
        ErrorKind::Unsupported
    );
    drop(block);
    assert_eq!(arena.stats().reserved_bytes, reserved);
}

#[test]
fn foreign_bytes_are_counted_and_left_alone() {
    let arena = pool(MIB);
    let mut bytes = vec![7_u64; 1024];
    let start = bytes.as_mut_ptr().cast::<u8>();
    // SAFETY: the offset stays in the vector.
    let start = unsafe { start.add(start.align_offset(256)) };
    // SAFETY: the bytes outlive the block, and nobody else uses them.
    let block = unsafe { arena.adopt(start.cast(), 4096, Tag::NONE).unwrap() };
    assert!(block.info().unwrap().is_adopted);
    assert_eq!(block.host().unwrap().as_ptr().cast::<u8>(), start as _);
    assert_eq!(arena.stats().dedicated_bytes, 4096);
    drop(block);
    assert_empty(&arena);
    assert!(bytes.iter().all(|&word| word == 7));
}

#[test]
fn contents_survive_a_resize() {
    let arena = pool(MIB);
    let mut block = arena.alloc(3000).unwrap();
    let _wall = arena.alloc(1000).unwrap();
    block.host_mut().unwrap().fill(42);
    for bytes in [100_000, 5000, 3000, 200_000] {
        block.resize(bytes).unwrap();
        let view = block.host().unwrap();
        // SAFETY: so many bytes were written, and a resize keeps them.
        let kept = unsafe { &view.assume_init()[..3000] };
        assert!(kept.iter().all(|&b| b == 42), "after a resize to {bytes}");
    }
    let error = block.resize(2 * MIB).unwrap_err();
    assert!(error.is_out_of_memory());
    assert_eq!(block.len(), 200_000);
    arena.check().unwrap();
}

#[test]
fn typed_blocks_have_room_for_their_values() {
    #[derive(Clone, Copy)]
    #[repr(align(4096))]
    struct Page(#[allow(dead_code)] [u8; 4096]);

    let arena = pool(MIB);
    let page: TypedBlock<Page> = arena.alloc_typed(3).unwrap();
    assert_eq!(page.host().unwrap().as_ptr() as usize % 4096, 0);
    assert_eq!(page.as_block().len(), 3 * 4096);

    let mut words: TypedBlock<u32> = arena.alloc_typed(10).unwrap();
    words.host_mut().unwrap().write(2, &[1, 2, 3]);
    words.resize(100_000).unwrap();
    assert_eq!(words.len(), 100_000);
    let view = words.host().unwrap();
    // SAFETY: these three were written.
    let sum: u32 = unsafe { view[2].assume_init() + view[3].assume_init() + view[4].assume_init() };
    assert_eq!(sum, 6);
}

#[test]
fn values_of_no_size_take_no_bytes() {
    let arena = pool(MIB);
    let mut block = arena.alloc_typed::<()>(usize::MAX).unwrap();
    assert_eq!(
        (block.len(), block.as_block().len(), block.is_empty()),
        (usize::MAX, 0, false)
    );
    assert_eq!(block.host_mut().unwrap().len(), usize::MAX);
    block.resize(5).unwrap();
    assert_eq!(block.host().unwrap().len(), 5);
}

#[test]
fn too_many_values_are_refused() {
    let arena = pool(MIB);
    for len in [usize::MAX, usize::MAX / 8 + 1, isize::MAX as usize / 8 + 1] {
        let error = arena.alloc_typed::<u64>(len).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadArgument, "{len} values");
        assert!(error.message().contains(&len.to_string()), "{error}");
    }
    let mut block = arena.alloc_typed::<u64>(1).unwrap();
    assert!(block.resize(usize::MAX).is_err());
    assert_eq!(block.len(), 1);
}

#[test]
fn a_block_becomes_one_of_values_if_it_is_aligned() {
    #[derive(Clone, Copy, Debug)]
    #[repr(align(1024))]
    struct Wide(#[allow(dead_code)] u8);

    let arena = pool(MIB);
    let block = arena.alloc(1001).unwrap();
    let words = TypedBlock::<u16>::try_from(block).unwrap();
    assert_eq!(words.len(), 500);
    let refused = TypedBlock::<Wide>::try_from(Block::from(words)).unwrap_err();
    let (error, block) = refused.into_parts();
    assert_eq!(error.kind(), ErrorKind::BadArgument);
    assert_eq!(block.len(), 1001);
    let aligned = arena
        .alloc_with(4096, &Request::new().alignment(1024))
        .unwrap();
    assert_eq!(TypedBlock::<Wide>::try_from(aligned).unwrap().len(), 4);
}

#[test]
fn a_block_is_taken_apart_and_made_whole() {
    let arena = pool(MIB);
    let (of_block, id) = arena.alloc(1000).unwrap().into_raw();
    assert_eq!(arena.stats().live_blocks, 1);
    // SAFETY: nobody else owns it.
    let block = unsafe { Block::from_raw(of_block, id).unwrap() };
    assert_eq!(block.len(), 1000);
    block.try_free().unwrap();
    // SAFETY: the id names nothing, which is seen.
    let error = unsafe { Block::from_raw(arena.clone(), id) }.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Stale);
    assert_empty(&arena);
    // SAFETY: as above.
    let none = unsafe { Block::from_raw(arena.clone(), BlockId::from_raw(0)) };
    assert!(none.is_err());
}

#[test]
fn a_block_outlives_every_handle() {
    let arena = pool(MIB);
    let weak = arena.downgrade();
    let mut block = arena.alloc(1000).unwrap();
    drop(arena);
    block.host_mut().unwrap().fill(1);
    assert_eq!(block.arena().stats().live_blocks, 1);
    assert!(weak.upgrade().is_some());
    drop(block);
    assert!(weak.upgrade().is_none());
}

#[test]
fn an_arena_closes_when_it_is_the_last_of_all() {
    let arena = pool(MIB);
    let other = arena.clone();
    let error = arena.close().unwrap_err();
    assert!(error.error().is_busy());
    drop(other);
    assert_eq!(error.error().reserved(), 0);
    let arena = error.into_parts().1;
    assert!(arena.alloc(1000).is_ok());
    arena.close().unwrap();
}

#[test]
fn ids_that_nobody_owns_keep_an_arena_open() {
    let arena = pool(MIB);
    let (of_block, id) = arena.alloc(1000).unwrap().into_raw();
    drop(of_block);
    let error = arena.close().unwrap_err();
    assert!(error.error().is_busy(), "{error}");
    let arena = error.into_parts().1;
    // SAFETY: nobody else owns it.
    drop(unsafe { Block::from_raw(arena.clone(), id).unwrap() });
    arena.close().unwrap();
}

#[test]
fn enumeration_sees_every_block_once() {
    let arena = pool(MIB);
    let blocks: Vec<_> = (0..100).map(|n| arena.alloc(n * 8).unwrap()).collect();
    let ids: HashSet<_> = blocks.iter().map(Block::id).collect();
    let seen: Vec<_> = arena.blocks().map(|info| info.block).collect();
    assert_eq!(seen.len(), ids.len());
    assert_eq!(seen.into_iter().collect::<HashSet<_>>(), ids);
}

#[test]
fn trim_and_resize_change_what_is_held() {
    let arena = pool(4 * MIB);
    let block = arena.alloc(1000).unwrap();
    assert!(arena.trim(0).unwrap() >= 3 * MIB);
    assert!(arena.stats().reserved_bytes <= MIB);
    arena.resize_pool(8 * MIB).unwrap();
    assert!(arena.alloc(4 * MIB).is_ok());
    drop(block);
    arena.resize_pool(MIB).unwrap();
    assert!(arena.alloc(2 * MIB).is_err());
    assert_empty(&arena);
}

#[test]
fn limits_bound_what_comes() {
    let arena = Arena::builder().preset(Preset::Grow).build().unwrap();
    assert_eq!(arena.limit(LimitKind::Live).unwrap(), None);
    assert_eq!(arena.set_limit(LimitKind::Live, MIB).unwrap(), None);
    let error = arena.alloc(2 * MIB).unwrap_err();
    assert!(error.is_limit() && error.is_out_of_memory(), "{error}");
    assert_eq!((error.asked(), error.limit()), (2 * MIB, MIB));
    assert_eq!(arena.clear_limit(LimitKind::Live).unwrap(), Some(MIB));
    assert!(arena.alloc(2 * MIB).is_ok());
    let most = Amount::percent(50);
    arena.set_limit(LimitKind::Reserved, most).unwrap();
    assert!(arena.limit(LimitKind::Reserved).unwrap().is_some());
}

#[test]
fn a_buffer_is_served_from_and_ends_with_the_arena() {
    let arena = Arena::builder()
        .buffer(vec![0; 64 << 10])
        .alignment(64)
        .build()
        .unwrap();
    let (base, bytes) = arena.base().unwrap();
    assert!(bytes > 63 * KIB, "{base:?}");
    let mut block = arena.alloc(1000).unwrap();
    block.host_mut().unwrap().fill(1);
    let error = arena.resize_pool(MIB).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn memory_that_the_cpu_cannot_reach_is_not_viewed() {
    let arena = Arena::builder()
        .memory(MemoryKind::None)
        .pool(MIB)
        .build()
        .unwrap();
    assert!(!arena.is_host_readable());
    let mut block = arena.alloc(1000).unwrap();
    assert_eq!(block.host().unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(block.host_mut().unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(block.info().unwrap().pins, 0);
}

#[test]
fn options_say_what_is_wrong() {
    let builder = Arena::builder();
    let error = builder.option("colour", "red").unwrap_err();
    assert!(error.message().contains("colour"), "{error}");
    let error = Arena::builder().parse("limit=12KB").unwrap_err();
    assert!(error.message().contains("12KB"), "{error}");
    let error = Arena::builder()
        .pool(2 * MIB)
        .limit(MIB)
        .build()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(Arena::builder().name(&"ä".repeat(40)).get("name").unwrap() == "ä".repeat(15));
}

/// Every row of the options table has a setter whose value comes back as text.
#[test]
fn typed_options_are_those_of_the_table() {
    use cuarena::*;
    let set = Arena::builder()
        .preset(Preset::Bfc)
        .memory(MemoryKind::Pinned)
        .pool(1 << 30)
        .stable(Amount::percent(10))
        .limit(Amount::all_but(4096))
        .addresses(1 << 31)
        .alignment(512)
        .split(Split::Never)
        .max_blocks(1000)
        .grow(Grow::Exact)
        .zero(Zero::Alloc)
        .guard(64)
        .fill(Fill::Free)
        .nvtx(Nvtx::On)
        .quarantine(1 << 20)
        .stacks(8)
        .placement(Placement::Best)
        .compact_on_oom(true)
        .device(3)
        .backing(Backing::Async)
        .fd(Property::Try)
        .rdma(Property::Require)
        .fabric(Property::Try)
        .peers(Property::Try)
        .handle_bytes(1 << 21)
        .mapped(false)
        .write_combined(true)
        .portable(false)
        .device_only(true)
        .events(Events::Eager)
        .steal(Steal::Idle)
        .name("all")
        .initial_chunk(1 << 16)
        .growth_after_trim(1 << 17)
        .max_doubling(1 << 18)
        .take_first(true)
        .unknown_keys(UnknownKeys::Warn)
        .in_place(false)
        .reuse(false)
        .segments(Segments::Each)
        .driver_pool_max(1 << 33)
        .release_threshold(ReleaseThreshold::Bytes(1 << 20))
        .make_current(true)
        .threshold_limits(true)
        .keep_on_trim(1 << 19)
        .use_cuda_mempool(true)
        .keep(Keep::Cache)
        .cache_bound(CacheBound::Late)
        .cache_limit(Amount::percent(30))
        .cache_page(1 << 14)
        .soft_limit(Amount::bytes(1 << 32))
        .soft_limit_rule(SoftLimit::Enforce)
        .round_powers(1 << 13)
        .round_to(1 << 15)
        .natural(1 << 12)
        .snapshot_on_oom("/no/folder/%n.json")
        .unwrap()
        .trace("/no/folder/%p.csv")
        .unwrap()
        .trace_ring(100);
    // SAFETY: no arena is made of it.
    let set = unsafe { set.driver_pool_handle(77) }.driver_pool(DriverPool::Own);
    let text = format!("{set:?}");
    let pairs = [
        ("preset", "bfc"),
        ("memory", "pinned"),
        ("pool", "1GiB"),
        ("stable", "10%"),
        ("limit", "auto-4KiB"),
        ("addresses", "2GiB"),
        ("alignment", "512"),
        ("split_threshold", "never"),
        ("max_blocks", "1000"),
        ("grow", "exact"),
        ("zero", "alloc"),
        ("guard", "64"),
        ("fill", "free"),
        ("quarantine", "1MiB"),
        ("stacks", "8"),
        ("placement", "best"),
        ("compact_on_oom", "1"),
        ("device", "3"),
        ("backing", "async"),
        ("fd", "try"),
        ("rdma", "require"),
        ("fabric", "try"),
        ("peers", "try"),
        ("handle", "2MiB"),
        ("mapped", "0"),
        ("write_combined", "1"),
        ("portable", "0"),
        ("device_only", "1"),
        ("events", "eager"),
        ("steal", "idle"),
        ("name", "all"),
        ("initial_chunk", "64KiB"),
        ("growth_after_trim", "128KiB"),
        ("max_doubling", "256KiB"),
        ("take_first", "1"),
        ("unknown_keys", "warn"),
        ("in_place", "0"),
        ("reuse", "0"),
        ("segments", "each"),
        ("driver_pool", "own"),
        ("driver_pool_handle", "77"),
        ("driver_pool_max", "8GiB"),
        ("release_threshold", "1MiB"),
        ("make_current", "1"),
        ("threshold_limits", "1"),
        ("keep_on_trim", "512KiB"),
        ("use_cuda_mempool", "1"),
        ("keep", "cache"),
        ("cache_bound", "late"),
        ("cache_limit", "30%"),
        ("cache_page", "16KiB"),
        ("soft_limit", "4GiB"),
        ("soft_limit_rule", "enforce"),
        ("round_powers", "8KiB"),
        ("round_to", "32KiB"),
        ("natural", "4KiB"),
        ("snapshot_on_oom", "/no/folder/%n.json"),
        ("trace", "/no/folder/%p.csv"),
        ("trace_ring", "100"),
        ("nvtx", "on"),
    ];
    for (key, value) in pairs {
        let pair = format!("{key:?}: {value:?}");
        assert!(text.contains(&pair), "{pair} is not in {text}");
    }
    for option in options() {
        let named = pairs.iter().any(|(key, _)| *key == option.key);
        assert!(named, "{}: expected a setter, and a pair here", option.key);
    }
}

#[test]
fn base_of_an_arena_that_holds_nothing_is_an_error() {
    let arena = Arena::builder().preset(Preset::Grow).build().unwrap();
    assert_eq!(arena.base().unwrap_err().kind(), ErrorKind::Stale);
    let block = arena.alloc(1000).unwrap();
    let (base, bytes) = arena.base().unwrap();
    assert_eq!(Some(base), block.info().unwrap().address);
    assert!(bytes >= 1024, "{bytes}");
}

#[test]
fn arenas_are_equal_by_identity() {
    let (one, other) = (pool(MIB), pool(MIB));
    assert_eq!(one, one.clone());
    assert_ne!(one, other);
    let weak = one.downgrade();
    assert_eq!(weak, one.downgrade());
    assert_ne!(weak, other.downgrade());
    let known = HashSet::from([one.clone(), other.clone(), one.clone()]);
    assert_eq!(known.len(), 2);
    assert_eq!(*one.alloc(1).unwrap().arena(), one);
}

#[test]
fn a_clone_of_a_builder_builds_an_arena_of_its_own() {
    let builder = Arena::builder().pool(MIB).name("twice").alignment(4096);
    let (one, other) = (builder.clone().build().unwrap(), builder.build().unwrap());
    let block = one.alloc(1).unwrap();
    assert_eq!((other.stats().live_blocks, other.granule()), (0, 4096));
    drop(block);
}

/// Not the same bytes: safe code would have each of them twice.
#[test]
fn a_clone_of_a_builder_has_a_copy_of_bytes_that_were_handed_over() {
    let builder = Arena::builder().buffer(vec![7_u8; 1 << 16]);
    let clone = builder.clone();
    let one = builder.build().unwrap();
    let all = 32 * KIB; // wherever the bytes are aligned
    let mut block = one.alloc(all).unwrap();
    block.host_mut().unwrap().fill(1);
    let other = clone.clone().build().unwrap();
    let twin = other.alloc(all).unwrap();
    let view = twin.host().unwrap();
    // SAFETY: the copy has values as the bytes had, which were not used yet.
    assert!(unsafe { view.assume_init() }.iter().all(|&byte| byte == 7));
    assert_ne!(view.as_ptr(), block.host().unwrap().as_ptr());
    drop(clone);
}

#[test]
fn an_error_is_cloned_and_goes_into_one_of_io() {
    let error = pool(MIB).alloc(2 * MIB).unwrap_err();
    let clone = error.clone();
    assert_eq!(
        (clone.kind(), clone.to_string()),
        (error.kind(), error.to_string())
    );
    let outer = std::io::Error::from(clone);
    assert_eq!(outer.kind(), std::io::ErrorKind::OutOfMemory);
    assert_eq!(outer.to_string(), error.to_string());
    let inner = outer
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<cuarena::Error>());
    assert_eq!(inner.unwrap().asked(), 2 * MIB);
}

#[test]
fn choices_are_told_and_read_as_the_words_of_the_table() {
    fn both_ways<T>(words: &[(&str, T)])
    where
        T: std::str::FromStr<Err = cuarena::Error> + ToString + PartialEq + std::fmt::Debug,
    {
        for (word, choice) in words {
            assert_eq!(choice.to_string(), *word);
            assert_eq!(word.parse::<T>().unwrap(), *choice);
        }
        let error = "bogus".parse::<T>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadArgument);
        assert!(error.message().contains(words[0].0), "{error}");
    }
    both_ways(&[
        ("pool", Preset::Pool),
        ("grow", Preset::Grow),
        ("bfc", Preset::Bfc),
        ("mlx-cpu", Preset::MlxCpu),
        ("mlx-cuda", Preset::MlxCuda),
        ("cupy-pool", Preset::CupyPool),
        ("driver-pool", Preset::DriverPool),
    ]);
    both_ways(&[
        ("pageable", MemoryKind::Pageable),
        ("device", MemoryKind::Device),
    ]);
    both_ways(&[("exact", Grow::Exact), ("doubling", Grow::Doubling)]);
    both_ways(&[("never", Zero::Never), ("owner", Zero::Owner)]);
    both_ways(&[("never", Fill::Never), ("both", Fill::Both)]);
    both_ways(&[("off", Nvtx::Off), ("on", Nvtx::On)]);
    both_ways(&[("best", Placement::Best), ("low", Placement::Low)]);
    both_ways(&[("auto", Backing::Auto), ("vmm", Backing::Vmm)]);
    both_ways(&[("shared", Segments::Shared), ("each", Segments::Each)]);
    both_ways(&[("current", DriverPool::Current), ("own", DriverPool::Own)]);
    both_ways(&[("all", Keep::All), ("cache", Keep::Cache)]);
    both_ways(&[("strict", CacheBound::Strict), ("late", CacheBound::Late)]);
    both_ways(&[("store", SoftLimit::Store), ("enforce", SoftLimit::Enforce)]);
    both_ways(&[("off", Property::Off), ("try", Property::Try)]);
    both_ways(&[("late", Events::Late), ("eager", Events::Eager)]);
    both_ways(&[("wait", Steal::Wait), ("idle", Steal::Idle)]);
    both_ways(&[("error", UnknownKeys::Error), ("warn", UnknownKeys::Warn)]);
    let error = "bytes".parse::<MemoryKind>().unwrap_err();
    let told = |word| error.message().contains(word);
    assert!(told("'bytes'") && told("pageable, none, device"), "{error}");
}
