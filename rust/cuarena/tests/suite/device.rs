//! What only a device has: facts, exports, captures.

use cuarena::{
    device_info, devices, driver_info, Arena, Backing, DeviceId, ErrorKind, MemoryKind, Property,
    Request, Sharing, Source,
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
    ("a_device_that_is_not_there", a_device_that_is_not_there),
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
    let properties = arena.properties().unwrap();
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
    let bytes: u64 = export.pieces().iter().map(|piece| piece.bytes).sum();
    assert_eq!(bytes, 4 << 20);
    let pieces = export.take_pieces();
    assert!(pieces
        .iter()
        .all(|piece| piece.offset + piece.bytes <= piece.handle_bytes));
    drop(block);
    assert_eq!(
        arena.stats().unwrap().live_blocks,
        1,
        "the export keeps its bytes"
    );
    drop((export, pieces));
    assert_eq!(arena.stats().unwrap().live_blocks, 0);
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
    const BYTES: u64 = 1 << 20;
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
    cu!(driver, fill(address, 9, BYTES as usize, handle));
    drop(pinned);
    assert!(session.end().unwrap_err().is_busy(), "it is being captured");
    let (mut graph, mut exec): (Handle, Handle) = (std::ptr::null_mut(), std::ptr::null_mut());
    cu!(driver, capture_end(handle, &mut graph));
    session.end().unwrap();
    cu!(driver, graph_make(&mut exec, graph, 0));
    assert_eq!(session.stats().unwrap().live_blocks, 1);
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
    arena.settle_and_wait().unwrap();
    assert_eq!(arena.stats().unwrap().captured_bytes, 0);
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
    assert_eq!(arena.stats().unwrap().captures, 1);
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
    assert_eq!(third.stats().unwrap().live_blocks, 1);
    drop(block);
    let (_, error) = third.replace_shared(builder().pool(2 << 20)).unwrap_err();
    assert!(error.is_busy(), "{error}");
    let (replaced, report) = first.replace_shared(builder().pool(2 << 20)).unwrap();
    assert!(report.created);
    assert_eq!(replaced.stats().unwrap().held_bytes, 2 << 20);
    drop(replaced);
    assert!(builder().find_shared().unwrap().is_none());
    driver.expect_clean();
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
