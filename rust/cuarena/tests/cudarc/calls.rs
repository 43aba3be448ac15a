//! What it costs in driver calls.

use crate::driver::Device;

#[test]
fn making_and_dropping_a_slice_calls_no_driver() {
    let Some(device) = Device::get() else { return };
    let arena = device.arena();
    let stream = device.served(&arena);
    drop(stream.alloc_zeros::<u32>(100).unwrap()); // the stream is known now
    let ((), calls) = device.calls(None, || {
        for n in 1..100 {
            // SAFETY: nobody reads it.
            drop(unsafe { stream.alloc::<u64>(n * 10).unwrap() });
        }
    });
    assert_eq!(calls.unwrap_or(0), 0);
    device.reclaim();
}

#[test]
fn the_home_makes_no_event() {
    let Some(device) = Device::get() else { return };
    let arena = device.arena();
    let stream = device.served(&arena);
    let cuda = stream.cuda().clone();
    let ((), events) = device.calls(Some("cuEventCreate"), || {
        let slice = stream.clone_htod(&[1_u32, 2, 3]).unwrap();
        let copy = stream.clone_dtod(&slice).unwrap();
        assert_eq!(cuda.clone_dtoh(&copy).unwrap(), [1, 2, 3]);
    });
    assert_eq!(events.unwrap_or(0), 0);
    device.reclaim();
}

#[test]
fn a_foreign_stream_costs_two_events_once() {
    let Some(device) = Device::get() else { return };
    let arena = device.arena();
    let stream = device.served(&arena);
    let other = device.stream();
    let slice = stream.clone_htod(&[1_u32, 2, 3]).unwrap();
    let ((), events) = device.calls(Some("cuEventCreate"), || {
        for _ in 0..10 {
            assert_eq!(other.clone_dtoh(&slice).unwrap(), [1, 2, 3]);
        }
    });
    assert_eq!(events.unwrap_or(2), 2);
    drop(slice);
    device.reclaim();
}

#[test]
fn with_tracking_off_there_is_no_event() {
    let Some(device) = Device::get() else { return };
    // SAFETY: streams are synchronised by hand below.
    unsafe { device.context.disable_event_tracking() };
    let arena = device.arena();
    let stream = device.served(&arena);
    let other = device.stream();
    let ((), events) = device.calls(Some("cuEventCreate"), || {
        let slice = stream.clone_htod(&[1_u32, 2, 3]).unwrap();
        stream.cuda().synchronize().unwrap();
        assert_eq!(other.clone_dtoh(&slice).unwrap(), [1, 2, 3]);
        assert_eq!(other.clone_dtoh(&slice.slice(1..)).unwrap(), [2, 3]);
        other.synchronize().unwrap();
    });
    assert_eq!(events.unwrap_or(0), 0);
    device.reclaim();
}

#[test]
fn nothing_takes_no_bytes() {
    let Some(device) = Device::get() else { return };
    let arena = device.arena();
    let stream = device.served(&arena);
    let empty = stream.alloc_zeros::<u64>(0).unwrap();
    let unit = stream.clone_dtod(&empty).unwrap();
    assert!(empty.is_empty() && unit.is_empty());
    assert_eq!(arena.stats().live_blocks, 0);
    drop((empty, unit));
    device.reclaim();
}
