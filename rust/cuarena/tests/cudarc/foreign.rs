//! Uses on other streams through cudarc's own functions: whatever order is
//! wanted comes without a word of the program.

use std::sync::Arc;

use cudarc::driver::CudaStream;

use crate::driver::Device;

const WORDS: usize = 50_000;

fn pattern(seed: u32) -> Vec<u32> {
    (0..WORDS as u32)
        .map(|n| n.wrapping_mul(2_654_435_761) ^ seed)
        .collect()
}

fn read(stream: &Arc<CudaStream>, slice: &impl cudarc::driver::DevicePtr<u32>) -> Vec<u32> {
    let words = stream.clone_dtoh(slice).unwrap();
    stream.synchronize().unwrap();
    words
}

#[test]
fn a_foreign_reader_waits_for_the_home() {
    let Some(device) = Device::get() else { return };
    let arena = device.arena();
    let stream = device.served(&arena);
    let slice = stream.clone_htod(&pattern(1)).unwrap();
    assert_eq!(read(&device.stream(), &slice), pattern(1));
    device.reclaim();
}

#[test]
fn everybody_waits_for_a_foreign_writer() {
    let Some(device) = Device::get() else { return };
    let arena = device.arena();
    let stream = device.served(&arena);
    let (writer, reader) = (device.stream(), device.stream());
    let mut slice = stream.alloc_zeros::<u32>(WORDS).unwrap();
    writer.memcpy_htod(&pattern(2), &mut slice).unwrap();
    assert_eq!(read(&reader, &slice), pattern(2));
    writer.memcpy_htod(&pattern(3), &mut slice).unwrap();
    assert_eq!(read(stream.cuda(), &slice), pattern(3));
    device.reclaim();
}

/// cudarc's own slices remember one reader only.
#[test]
fn a_writer_waits_for_every_reader() {
    let Some(device) = Device::get() else { return };
    let arena = device.arena();
    let stream = device.served(&arena);
    let readers = [device.stream(), device.stream(), device.stream()];
    let mut slice = stream.clone_htod(&pattern(4)).unwrap();
    let copies: Vec<_> = readers
        .iter()
        .map(|r| r.clone_dtod(&slice).unwrap())
        .collect();
    stream.cuda().memset_zeros(&mut slice).unwrap();
    for (reader, copy) in readers.iter().zip(&copies) {
        assert_eq!(read(reader, copy), pattern(4));
    }
    let copies: Vec<_> = readers
        .iter()
        .map(|r| r.clone_dtod(&slice).unwrap())
        .collect();
    readers[0].memcpy_htod(&pattern(5), &mut slice).unwrap();
    assert_eq!(read(&readers[1], &slice), pattern(5));
    drop(copies);
    device.reclaim();
}

#[test]
fn bytes_are_free_when_every_reader_is_done() {
    let Some(device) = Device::get() else { return };
    let arena = device.arena();
    let stream = device.served(&arena);
    for round in 0..10 {
        let readers = [device.stream(), device.stream()];
        let slice = stream.clone_htod(&pattern(round)).unwrap();
        let copies: Vec<_> = readers
            .iter()
            .map(|r| r.clone_dtod(&slice).unwrap())
            .collect();
        drop(slice);
        // The same bytes, and another program's at once.
        let next = stream.alloc_zeros::<u32>(WORDS).unwrap();
        let elsewhere = device.served(&arena).alloc_zeros::<u32>(WORDS).unwrap();
        for (reader, copy) in readers.iter().zip(&copies) {
            assert_eq!(read(reader, copy), pattern(round));
        }
        drop((next, elsewhere));
    }
    device.reclaim();
}

#[test]
fn the_default_stream_is_one_like_others() {
    let Some(device) = Device::get() else { return };
    let arena = device.arena();
    let default = arena.cuda_stream(&device.context.default_stream());
    let default = default.unwrap();
    let slice = default.clone_htod(&pattern(6)).unwrap();
    // cudarc records nothing while the context has made no stream.
    assert_eq!(read(&device.context.default_stream(), &slice), pattern(6));
    assert_eq!(
        read(&device.context.per_thread_stream(), &slice),
        pattern(6)
    );
    assert_eq!(read(&device.stream(), &slice), pattern(6));
    drop(slice);
    device.reclaim();
}

#[test]
fn a_slice_may_be_dropped_on_another_thread() {
    let Some(device) = Device::get() else { return };
    let arena = device.arena();
    let stream = device.served(&arena);
    let other = device.stream();
    let mut slice = stream.clone_htod(&pattern(7)).unwrap();
    other.memcpy_htod(&pattern(8), &mut slice).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || drop(slice));
    });
    let next = stream.clone_htod(&pattern(9)).unwrap();
    assert_eq!(read(stream.cuda(), &next), pattern(9));
    device.reclaim();
}

use cuarena::interop::cudarc::ArenaExt;
