//! What only a device has: facts, exports, captures.

use std::process::Command;

use cuarena::{
    device_info, devices, driver_info, Arena, Backing, Block, CompactOptions, DeviceId, DriverPool,
    ErrorKind, LimitKind, MemoryKind, Placement, PoolChoice, Preset, Property, ReleaseThreshold,
    Request, Sharing, Source, Stream,
};

use super::driver::{cu, stream_for, Driver, Handle};
use super::rig::place;

pub type Case = (&'static str, fn(&'static Driver));

pub const CASES: &[Case] = &[
    ("driver_and_devices_are_told", driver_and_devices_are_told),
    ("properties_say_what_was_got", properties_say_what_was_got),
    (
        "a_dedicated_block_is_exported",
        a_dedicated_block_is_exported,
    ),
    (
        "handles_are_shared_only_if_asked",
        handles_are_shared_only_if_asked,
    ),
    (
        "a_session_keeps_what_a_graph_uses",
        a_session_keeps_what_a_graph_uses,
    ),
    (
        "a_session_is_left_behind_by_a_capture_under_way",
        a_session_under_way,
    ),
    (
        "arenas_of_a_device_are_shared",
        arenas_of_a_device_are_shared,
    ),
    (
        "views_come_behind_copies_on_a_stream",
        views_come_behind_copies_on_a_stream,
    ),
    (
        "bytes_come_back_behind_copies_on_a_stream",
        bytes_come_back_behind_copies_on_a_stream,
    ),
    (
        "managed_memory_is_viewed_where_the_device_lets_the_cpu_in",
        managed_memory_is_viewed,
    ),
    ("a_device_that_is_not_there", a_device_that_is_not_there),
    ("a_driver_pool_tells_its_figures", a_driver_pool_tells),
    ("an_external_pool_serves", an_external_pool_serves),
    ("an_arena_on_each_device", an_arena_on_each_device),
];

fn driver_and_devices_are_told(driver: &'static Driver) {
    let info = driver_info().unwrap();
    assert!(info.version >= 12000, "{info:?}");
    assert_eq!(devices().unwrap().len(), info.device_count as usize);
    let device = device_info(DeviceId(0)).unwrap();
    assert!(
        device.total_bytes > 0 && device.free_bytes <= device.total_bytes,
        "{device:?}"
    );
    assert!(!device.name.is_empty());
    driver.expect_clean();
}

fn properties_say_what_was_got(_driver: &'static Driver) {
    let arena = Arena::builder()
        .memory(MemoryKind::Device)
        .backing(Backing::Vmm)
        .pool(4 << 20)
        .build()
        .unwrap();
    let properties = arena.properties();
    assert_eq!(properties.source, Source::Device);
    assert_eq!(properties.backing, Some(Backing::Vmm));
    assert_eq!(properties.device, Some(DeviceId(0)));
    assert!(!properties.host_readable && !properties.context.is_null());
    assert!(properties.handle_bytes > 0, "{properties:?}");
    assert!(arena.alloc(100).unwrap().host().is_err());
}

fn exporting() -> Arena {
    Arena::builder()
        .memory(MemoryKind::Device)
        .backing(Backing::Vmm)
        .fd(Property::Require)
        .pool(8 << 20)
        .limit(64 << 20)
        .build()
        .unwrap()
}

fn a_dedicated_block_is_exported(driver: &'static Driver) {
    let arena = exporting();
    let block = arena
        .alloc_with(4 << 20, &Request::new().dedicated())
        .unwrap();
    let count = block.export_pieces(Sharing::OwnHandles).unwrap();
    let mut export = block.export(Sharing::OwnHandles).unwrap();
    assert_eq!(export.pieces().len(), count);
    let bytes: usize = export.pieces().iter().map(|piece| piece.bytes).sum();
    assert_eq!(bytes, 4 << 20);
    let pieces = export.take_pieces();
    assert!(pieces
        .iter()
        .all(|piece| piece.offset + piece.bytes <= piece.handle_bytes));
    drop(block);
    assert_eq!(arena.stats().live_blocks, 1, "the export keeps its bytes");
    drop((export, pieces));
    assert_eq!(arena.stats().live_blocks, 0);
    arena.close().unwrap();
    driver.expect_clean();
}

fn handles_are_shared_only_if_asked(driver: &'static Driver) {
    let arena = exporting();
    let block = arena.alloc(1000).unwrap();
    let error = block.export(Sharing::OwnHandles).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadArgument, "{error}");
    let export = block.export(Sharing::SharedHandles).unwrap();
    assert_eq!(arena.compact().unwrap().moves, 0);
    drop((export, block));
    arena.close().unwrap();
    driver.expect_clean();
}

fn device_arena() -> Arena {
    Arena::builder()
        .memory(MemoryKind::Device)
        .pool(8 << 20)
        .build()
        .unwrap()
}

/// A graph fills a private block; at each launch the block is still its own,
/// whatever was dropped meanwhile.
fn a_session_keeps_what_a_graph_uses(driver: &'static Driver) {
    const GLOBAL: i32 = 0;
    const BYTES: usize = 1 << 20;
    driver.use_here();
    let arena = device_arena();
    let stream = stream_for(&arena);
    let handle = stream.raw().as_ptr();
    // SAFETY: the graph is launched on the stream only, and not after the
    // session.
    let session = unsafe { arena.capture(&stream).unwrap() };
    cu!(driver, capture_begin(handle, GLOBAL));
    let block = arena.alloc_on(BYTES, &stream).unwrap();
    // SAFETY: used by the graph only.
    let pinned = unsafe { block.pin().unwrap() };
    let address = pinned.device_ptr().as_raw();
    cu!(driver, fill(address, 9, BYTES, handle));
    drop(pinned);
    assert!(session.end().unwrap_err().is_busy(), "it is being captured");
    let (mut graph, mut exec): (Handle, Handle) = (std::ptr::null_mut(), std::ptr::null_mut());
    cu!(driver, capture_end(handle, &mut graph));
    session.end().unwrap();
    cu!(driver, graph_make(&mut exec, graph, 0));
    assert_eq!(session.stats().live_blocks, 1);
    drop(block);
    let others: Vec<_> = std::iter::from_fn(|| arena.alloc_on(BYTES, &stream).ok()).collect();
    assert!(others.len() >= 6);
    assert!(others.iter().all(|other| place(other) != address));
    for _ in 0..3 {
        cu!(driver, graph_launch(exec, handle));
    }
    drop(others);
    cu!(driver, exec_destroy(exec));
    cu!(driver, graph_destroy(graph));
    drop(session);
    arena.reclaim_and_wait().unwrap();
    assert_eq!(arena.stats().captured_bytes, 0);
    let all = arena.alloc(8 << 20).unwrap();
    drop((all, stream));
    arena.close().unwrap();
    driver.expect_clean();
}

/// A session that is dropped too early keeps its bytes, and its stream, for
/// good; nothing is touched that the driver may use.
fn a_session_under_way(driver: &'static Driver) {
    const GLOBAL: i32 = 0;
    driver.use_here();
    let arena = device_arena();
    let stream = stream_for(&arena);
    let handle = stream.raw().as_ptr();
    // SAFETY: there is never a graph.
    let session = unsafe { arena.capture(&stream).unwrap() };
    cu!(driver, capture_begin(handle, GLOBAL));
    drop(session);
    assert_eq!(arena.stats().captures, 1);
    let mut graph: Handle = std::ptr::null_mut();
    cu!(driver, capture_end(handle, &mut graph));
    cu!(driver, graph_destroy(graph));
    assert!(arena.close().unwrap_err().error().is_busy());
    driver.expect_clean();
}

fn arenas_of_a_device_are_shared(driver: &'static Driver) {
    let builder = || Arena::builder().memory(MemoryKind::Device);
    assert!(builder().find_shared().unwrap().is_none());
    let (first, report) = builder().pool(4 << 20).share().unwrap();
    assert!(report.created);
    let (second, report) = builder().pool(8 << 20).share().unwrap();
    assert_eq!(
        (report.created, report.differs, report.holders),
        (false, 1, 2)
    );
    assert!(report.text.contains("pool"), "{}", report.text);
    let block = second.alloc(1000).unwrap();
    drop(second);
    let third = builder().find_shared().unwrap().expect("an arena");
    assert_eq!(third.stats().live_blocks, 1);
    drop(block);
    let (_, error) = third.replace_shared(builder().pool(2 << 20)).unwrap_err();
    assert!(error.is_busy(), "{error}");
    let (replaced, report) = first.replace_shared(builder().pool(2 << 20)).unwrap();
    assert!(report.created);
    assert_eq!(replaced.stats().reserved_bytes, 2 << 20);
    drop(replaced);
    assert!(builder().find_shared().unwrap().is_none());
    driver.expect_clean();
}

/// Memory that the CPU reaches, whose copies are queued for the device: it
/// moves both of these itself, and is not waited for.
fn device_only_arenas() -> impl Iterator<Item = Arena> {
    let builder = || {
        let builder = Arena::builder().device_only(true).pool(4 * PIECE);
        builder.placement(Placement::Low)
    };
    let managed = builder().memory(MemoryKind::Managed);
    let pinned = builder().memory(MemoryKind::Pinned);
    [managed, pinned.write_combined(true)]
        .into_iter()
        .map(|builder| builder.build().unwrap())
}

const PIECE: usize = 64 << 10;

/// A block behind a hole, painted by the CPU, that a stream was given to move.
fn moved_on(arena: &Arena, stream: &Stream, paint: u8) -> Block {
    let hole = arena.alloc(PIECE).unwrap();
    let mut block = arena.alloc(PIECE).unwrap();
    block.host_mut().unwrap().fill(paint);
    drop(hole);
    let options = CompactOptions::new().stream(stream);
    assert_eq!(arena.compact_to(&options).unwrap().moves, 1);
    block
}

fn assert_painted(block: &Block, paint: u8) {
    let view = block.host().unwrap();
    // SAFETY: all bytes were written.
    let bytes = unsafe { view.assume_init() };
    assert!(bytes.iter().all(|byte| *byte == paint), "{paint}");
}

fn views_come_behind_copies_on_a_stream(driver: &'static Driver) {
    driver.use_here();
    for arena in device_only_arenas() {
        let stream = stream_for(&arena);
        for paint in 1..=20 {
            assert_painted(&moved_on(&arena, &stream, paint), paint);
        }
        drop(stream);
        arena.reclaim_and_wait().unwrap();
        arena.close().unwrap();
    }
    driver.expect_clean();
}

/// What is dropped while it is copied serves the CPU only when that is done.
fn bytes_come_back_behind_copies_on_a_stream(driver: &'static Driver) {
    driver.use_here();
    for arena in device_only_arenas() {
        let stream = stream_for(&arena);
        for paint in 1..=20 {
            drop(moved_on(&arena, &stream, paint));
            let mut all: Vec<_> = (0..4).map_while(|_| arena.alloc(PIECE).ok()).collect();
            for block in &mut all {
                block.host_mut().unwrap().fill(100 + paint);
            }
            arena.reclaim_and_wait().unwrap();
            assert!(!all.is_empty());
            all.iter()
                .for_each(|block| assert_painted(block, 100 + paint));
        }
        drop(stream);
        arena.close().unwrap();
    }
    driver.expect_clean();
}

/// The stand-in is asked to be a device where the CPU may touch managed memory
/// only while nothing runs, in a process of its own.
fn managed_memory_is_viewed(driver: &'static Driver) {
    const LACK: &str = "CUARENA_STANDIN_LACK";
    let lacks = std::env::var(LACK).is_ok_and(|lack| lack == "concurrent");
    let builder = Arena::builder().memory(MemoryKind::Managed);
    let arena = builder.pool(1 << 20).build().unwrap();
    let viewed = arena.alloc(100).unwrap().host().map(|view| view.len());
    if !device_info(DeviceId(0)).unwrap().concurrent {
        assert!(!arena.is_host_readable());
        assert_eq!(viewed.unwrap_err().kind(), ErrorKind::Unsupported);
        return;
    }
    assert!(!lacks, "the stand-in was asked to lack that");
    assert_eq!(viewed.unwrap(), 100);
    if driver.standin.is_some() {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child
            .arg("managed_memory_is_viewed")
            .env(LACK, "concurrent");
        assert!(child.status().unwrap().success());
    }
}

fn a_device_that_is_not_there(_driver: &'static Driver) {
    let error = device_info(DeviceId(99)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadArgument, "{error}");
    let made = Arena::builder()
        .memory(MemoryKind::Device)
        .device(99)
        .build();
    assert_eq!(made.unwrap_err().kind(), ErrorKind::BadArgument);
}

fn of_own_pool() -> Arena {
    let builder = Arena::builder().preset(Preset::DriverPool);
    let builder = builder.driver_pool(DriverPool::Own);
    let builder = builder.release_threshold(ReleaseThreshold::Never);
    builder.build().unwrap()
}

fn a_driver_pool_tells(driver: &'static Driver) {
    let arena = of_own_pool();
    let stream = stream_for(&arena);
    let block = arena.alloc_on(3 << 20, &stream).unwrap();
    let stats = arena.driver_pool_stats().unwrap();
    assert!(
        stats.own && stats.handle != 0 && stats.device == 0,
        "{stats:?}"
    );
    assert_eq!(
        (stats.used_bytes, stats.peak_used_bytes),
        (3 << 20, 3 << 20)
    );
    assert_eq!(stats.release_threshold, None);
    assert_eq!(stats.free_bytes, stats.total_bytes - stats.used_bytes);
    drop(block);
    arena.trim_on(&stream, 0).unwrap();
    let stats = arena.driver_pool_stats().unwrap();
    assert_eq!((stats.used_bytes, stats.total_bytes), (0, 0), "{stats:?}");
    arena.driver_pool_reset_peaks().unwrap();
    assert_eq!(arena.driver_pool_stats().unwrap().peak_used_bytes, 0);
    assert_eq!(arena.set_limit(LimitKind::Threshold, 4096).unwrap(), None);
    assert_eq!(arena.limit(LimitKind::Threshold).unwrap(), Some(4096));
    drop(stream);
    arena.close().unwrap();
    driver.expect_clean();
}

fn an_external_pool_serves(driver: &'static Driver) {
    let owner = of_own_pool();
    let handle = owner.driver_pool_stats().unwrap().handle;
    let builder = Arena::builder().preset(Preset::DriverPool);
    // SAFETY: the pool's owner is closed after the arena.
    let arena = unsafe { builder.driver_pool_handle(handle) }
        .build()
        .unwrap();
    let block = arena.alloc(1000).unwrap();
    assert_eq!(owner.driver_pool_stats().unwrap().used_bytes, 1024);
    assert!(!arena.driver_pool_stats().unwrap().own);
    drop(block);
    arena.close().unwrap();
    owner.close().unwrap();
    driver.expect_clean();
}

fn an_arena_on_each_device(driver: &'static Driver) {
    let count = devices().unwrap().len();
    let each = |pools: &[PoolChoice]| {
        let builder = Arena::builder().preset(Preset::DriverPool);
        builder.per_device(pools)
    };
    let arenas = each(&vec![DriverPool::Own.into(); count]).unwrap();
    for (device, arena) in arenas.iter().enumerate() {
        let stats = arena.driver_pool_stats().unwrap();
        assert_eq!((stats.device as usize, stats.own), (device, true));
        assert_eq!(arena.granule(), 512);
    }
    let error = each(&vec![DriverPool::Default.into(); count + 1]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadArgument, "{error}");
    for arena in arenas {
        arena.close().unwrap();
    }
    driver.expect_clean();
}
