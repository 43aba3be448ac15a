//! The presets that behave as MLX's and CuPy's allocators, on memories that need
//! no device, and how options are told, limited and resolved.

use cuarena::{
    Amount, Arena, CacheBound, DriverPool, ErrorKind, Keep, LimitKind, MemoryKind, PoolChoice,
    Preset, RawStream, ReleaseThreshold, Segments, SoftLimit, Steal, Stream,
};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

// ---- The cache -------------------------------------------------------------

fn caching() -> Arena {
    let builder = Arena::builder().preset(Preset::MlxCpu).limit(1 << 40);
    let builder = builder.memory(MemoryKind::None).handle_bytes(16);
    builder.build().unwrap()
}

/// Drops blocks of these sizes, the first one first.
fn cache(arena: &Arena, sizes: &[usize]) {
    let blocks: Vec<_> = sizes.iter().map(|bytes| arena.alloc(*bytes)).collect();
    blocks.into_iter().for_each(|block| drop(block.unwrap()));
    arena.check().unwrap();
}

#[test]
fn a_dropped_block_serves_the_next_request_whole() {
    let arena = caching();
    cache(&arena, &[16 * KIB]);
    let block = arena.alloc(12 * KIB).unwrap();
    assert_eq!(block.info().unwrap().allocated, 16 * KIB);
    let stats = arena.cache_stats();
    assert_eq!((stats.hits, stats.misses), (1, 1), "{stats:?}");
    assert_eq!((stats.active_bytes, stats.cached_bytes), (16 * KIB, 0));
    assert_eq!(stats.peak_cached_bytes, 16 * KIB);
    drop(block);
    arena.check().unwrap();
    arena.close().unwrap();
}

#[test]
fn a_much_larger_block_stays_in_the_cache() {
    let arena = caching();
    cache(&arena, &[16 * KIB]);
    let block = arena.alloc(8 * KIB).unwrap();
    assert_eq!(block.info().unwrap().allocated, 8 * KIB);
    assert_eq!(arena.cache_stats().misses, 2);
    assert_eq!(arena.cache_stats().cached_blocks, 1);
}

#[test]
fn the_oldest_cached_blocks_are_released_first() {
    let arena = caching();
    cache(&arena, &[16 * KIB, 64 * KIB, 32 * KIB]);
    assert_eq!(arena.cache_release(16 * KIB).unwrap(), 1);
    assert_eq!(arena.cache_stats().cached_bytes, 96 * KIB);
    assert_eq!(arena.stats().reserved_bytes, 96 * KIB);
    assert_eq!(arena.cache_clear().unwrap(), 2);
    assert_eq!(arena.cache_stats().evicted_blocks, 3);
    assert_eq!(arena.stats().reserved_bytes, 0);
    assert_eq!(arena.cache_clear().unwrap(), 0);
    arena.check().unwrap();
}

#[test]
fn a_lower_cache_limit_ends_cached_blocks() {
    let arena = caching();
    assert_eq!(arena.limit(LimitKind::Cached).unwrap(), Some(32 * MIB));
    cache(&arena, &[16 * KIB, 64 * KIB]);
    let old = arena.set_limit(LimitKind::Cached, 64 * KIB).unwrap();
    assert_eq!(old, Some(32 * MIB));
    assert_eq!(arena.cache_stats().cached_bytes, 64 * KIB);
    arena.check().unwrap();
}

#[test]
fn the_soft_limit_refuses_nothing() {
    let arena = caching();
    arena.set_limit(LimitKind::Soft, 64 * KIB).unwrap();
    assert_eq!(arena.limit(LimitKind::Soft).unwrap(), Some(64 * KIB));
    let block = arena.alloc(MIB).unwrap();
    assert_eq!(block.len(), MIB);
}

#[test]
fn cached_bytes_are_written_to_again() {
    let arena = Arena::builder().preset(Preset::MlxCpu).build().unwrap();
    for round in 0..4_u8 {
        let mut block = arena.alloc(100_000).unwrap();
        let mut view = block.host_mut().unwrap();
        view.write(0, &[round; 1000]);
    }
    let stats = arena.cache_stats();
    assert_eq!((stats.hits, stats.misses), (3, 1), "{stats:?}");
    assert_eq!(arena.cache_clear().unwrap(), 1);
    arena.check().unwrap();
}

#[test]
fn an_arena_without_a_cache_has_nothing_in_it() {
    let arena = Arena::builder().pool(MIB).build().unwrap();
    drop(arena.alloc(1000).unwrap());
    let stats = arena.cache_stats();
    assert_eq!((stats.cached_blocks, stats.hits, stats.misses), (0, 0, 0));
    assert_eq!(arena.cache_release(usize::MAX).unwrap(), 0);
    assert_eq!(arena.limit(LimitKind::Cached).unwrap(), None);
}

#[test]
fn keep_none_gives_back_at_once() {
    let builder = Arena::builder().preset(Preset::Grow).limit(MIB);
    let arena = builder.keep(Keep::None).build().unwrap();
    let block = arena.alloc(256 * KIB).unwrap();
    assert_eq!(arena.stats().reserved_bytes, 256 * KIB);
    drop(block);
    assert_eq!(arena.stats().reserved_bytes, 0);
}

// ---- Each stream its own ---------------------------------------------------

fn of_streams() -> (Arena, Stream, Stream) {
    let builder = Arena::builder().preset(Preset::CupyPool).limit(1 << 30);
    let arena = builder.memory(MemoryKind::None).build().unwrap();
    // SAFETY: addresses without bytes: nobody follows the handles.
    let stream = |number: usize| unsafe { arena.stream(RawStream::new(number as *mut _)) };
    let (one, two) = (stream(0x10).unwrap(), stream(0x20).unwrap());
    (arena, one, two)
}

#[test]
fn streams_do_not_take_from_each_other() {
    let (arena, one, two) = of_streams();
    let chunk = arena.alloc_on(4 * MIB, &one).unwrap();
    let place = chunk.info().unwrap().address;
    drop(chunk);
    let theirs = arena.alloc_on(4 * MIB, &two).unwrap();
    let mine = arena.alloc_on(4 * MIB, &one).unwrap();
    assert_ne!(theirs.info().unwrap().address, place);
    assert_eq!(mine.info().unwrap().address, place);
    assert_eq!(arena.stats().segments, 2);
    assert_eq!(arena.stats().free_ranges, 0);
    arena.check().unwrap();
}

#[test]
fn sizes_are_multiples_of_512_and_rests_stay_free() {
    let (arena, one, _) = of_streams();
    drop(arena.alloc_on(4 * MIB, &one).unwrap());
    let block = arena.alloc_on(513, &one).unwrap();
    assert_eq!(
        (arena.granule(), block.info().unwrap().allocated),
        (512, KIB)
    );
    assert_eq!(arena.stats().free_ranges, 1);
    assert_eq!(arena.stats().free_bytes, 4 * MIB - KIB);
}

#[test]
fn trim_on_gives_back_what_one_stream_freed() {
    let (arena, one, two) = of_streams();
    drop(arena.alloc_on(4 * MIB, &one).unwrap());
    drop(arena.alloc_on(8 * MIB, &two).unwrap());
    assert_eq!(arena.trim_on(&one, 0).unwrap(), 4 * MIB);
    assert_eq!(arena.trim_on(&one, 0).unwrap(), 0);
    assert_eq!(arena.stats().reserved_bytes, 8 * MIB);
    assert_eq!(arena.trim_and_wait(8 * MIB).unwrap(), 0);
    assert_eq!(arena.trim_and_wait(0).unwrap(), 8 * MIB);
    assert_eq!(arena.stats().reserved_bytes, 0);
    arena.check().unwrap();
}

#[test]
fn trim_on_a_stream_of_another_arena_is_refused() {
    let (arena, _, _) = of_streams();
    let (_other, foreign, _) = of_streams();
    let error = arena.trim_on(&foreign, 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadArgument, "{error}");
}

// ---- Options ---------------------------------------------------------------

#[test]
fn setters_are_the_options_of_their_names() {
    let builder = Arena::builder()
        .preset(Preset::DriverPool)
        .in_place(false)
        .segments(Segments::Shared)
        .driver_pool(DriverPool::Own)
        .driver_pool_max(MIB)
        .release_threshold(ReleaseThreshold::Never)
        .make_current(true)
        .threshold_limits(true)
        .keep_on_trim(2 * MIB)
        .keep(Keep::Cache)
        .cache_bound(CacheBound::Late)
        .cache_limit(Amount::percent(5))
        .cache_page(8 * KIB)
        .soft_limit(3 * MIB)
        .soft_limit_rule(SoftLimit::Enforce)
        .round_powers(KIB)
        .round_to(2 * KIB)
        .natural(4 * KIB)
        .steal(Steal::Never);
    let expected = [
        ("preset", "driver-pool"),
        ("in_place", "0"),
        ("segments", "shared"),
        ("driver_pool", "own"),
        ("driver_pool_max", "1MiB"),
        ("release_threshold", "never"),
        ("make_current", "1"),
        ("threshold_limits", "1"),
        ("keep_on_trim", "2MiB"),
        ("keep", "cache"),
        ("cache_bound", "late"),
        ("cache_limit", "5%"),
        ("cache_page", "8KiB"),
        ("soft_limit", "3MiB"),
        ("soft_limit_rule", "enforce"),
        ("round_powers", "1KiB"),
        ("round_to", "2KiB"),
        ("natural", "4KiB"),
        ("steal", "never"),
    ];
    for (key, value) in expected {
        assert_eq!(builder.get(key).unwrap(), value, "{key}");
    }
    for (preset, name) in [
        (Preset::MlxCpu, "mlx-cpu"),
        (Preset::MlxCuda, "mlx-cuda"),
        (Preset::CupyPool, "cupy-pool"),
    ] {
        let builder = Arena::builder().preset(preset);
        assert_eq!(builder.get("preset").unwrap(), name);
    }
}

#[test]
fn resolve_tells_what_an_arena_is_made_of() {
    let builder = Arena::builder().preset(Preset::MlxCuda).resolve().unwrap();
    for (key, value) in [
        ("memory", "device"),
        ("backing", "async"),
        ("alignment", "8"),
        ("keep", "cache"),
        ("natural", "256"),
    ] {
        assert_eq!(builder.get(key).unwrap(), value, "{key}");
    }
    let builder = Arena::builder().alignment(100);
    assert_eq!(
        builder.resolve().unwrap_err().kind(),
        ErrorKind::BadArgument
    );
}

#[test]
fn granules_are_those_of_the_presets() {
    #[derive(Clone, Copy)]
    #[repr(align(128))]
    struct Wide(#[allow(dead_code)] [u8; 128]);

    for (preset, granule) in [
        (Preset::Grow, 256),
        (Preset::MlxCpu, 16),
        (Preset::MlxCuda, 8),
    ] {
        let builder = Arena::builder().preset(preset).memory(MemoryKind::None);
        let arena = builder
            .round_to(0)
            .round_powers(0)
            .natural(0)
            .build()
            .unwrap();
        assert_eq!(arena.granule(), granule, "{preset:?}");
        let _apart = arena.alloc(granule).unwrap();
        let typed = arena.alloc_typed::<Wide>(1).unwrap();
        let place = typed.as_block().info().unwrap().address;
        // SAFETY: nobody follows it.
        let place = unsafe { place.expect("a place").as_raw() };
        assert_eq!(place % 128, 0, "{preset:?}");
    }
}

/// One that was made with another granule than was asked for.
#[test]
fn a_shared_arena_has_the_granule_that_it_was_made_with() {
    let shared = || {
        Arena::builder()
            .preset(Preset::Grow)
            .memory(MemoryKind::None)
    };
    let (first, report) = shared().alignment(64).share().unwrap();
    assert!(report.created);
    assert_eq!(first.granule(), 64);
    let (same, report) = shared().alignment(64).share().unwrap();
    assert_eq!((report.differs, same.granule()), (0, 64));
    let (other, report) = shared().share().unwrap();
    assert_eq!((report.differs, other.granule()), (1, 64), "{report:?}");
    assert_eq!(shared().find_shared().unwrap().unwrap().granule(), 64);
}

#[test]
fn the_limit_is_read_from_a_variable() {
    std::env::set_var("CUARENA_TEST_LIMIT", "1048576");
    let builder = Arena::builder();
    let builder = builder
        .limit_environment(Some("CUARENA_TEST_LIMIT"))
        .unwrap();
    assert_eq!(builder.get("limit").unwrap(), "1MiB");
    std::env::set_var("CUARENA_TEST_LIMIT", "12.5%");
    let builder = builder
        .limit_environment(Some("CUARENA_TEST_LIMIT"))
        .unwrap();
    assert_eq!(builder.get("limit").unwrap(), "12.5%");
    std::env::set_var("CUARENA_TEST_LIMIT", "1 GiB");
    let error = builder
        .limit_environment(Some("CUARENA_TEST_LIMIT"))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadArgument);
    assert!(error.message().contains("CUARENA_TEST_LIMIT"), "{error}");
}

// ---- The driver's pools ----------------------------------------------------

#[test]
fn a_pool_that_text_names_is_vouched_for_by_nobody() {
    let text = "preset=driver-pool,driver_pool=external,driver_pool_handle=4096";
    let refused = |builder: cuarena::ArenaBuilder| {
        let error = builder.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadArgument, "{error}");
        assert!(error.message().contains("4096"), "{error}");
    };
    refused(Arena::builder().parse(text).unwrap());
    // SAFETY: no arena is made of it.
    let vouched = unsafe { Arena::builder().driver_pool_handle(8192) };
    refused(vouched.parse(text).unwrap());
    let error = Arena::builder().parse(text).unwrap().share().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadArgument, "{error}");
}

#[test]
fn an_arena_without_a_driver_pool_has_no_figures_of_one() {
    let arena = Arena::builder().pool(MIB).build().unwrap();
    let kinds = [
        arena.driver_pool_stats().unwrap_err().kind(),
        arena.driver_pool_reset_peaks().unwrap_err().kind(),
        arena.limit(LimitKind::Threshold).unwrap_err().kind(),
        arena.set_limit(LimitKind::Threshold, 0).unwrap_err().kind(),
    ];
    assert_eq!(kinds, [ErrorKind::Unsupported; 4]);
}

#[test]
fn bytes_of_the_program_serve_no_list_of_devices() {
    let pools: [PoolChoice; 1] = [DriverPool::Own.into()];
    let builder = Arena::builder().buffer(vec![0_u8; 4096]);
    let error = builder.per_device(&pools).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadArgument, "{error}");
}
