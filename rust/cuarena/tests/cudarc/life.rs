//! Who outlives whom.

use cuarena::interop::cudarc::{ArenaExt, ArenaSlice, ArenaStream, BuilderExt};
use cuarena::{Arena, EventKind, Events};
use cudarc::driver::CudaContext;

use crate::driver::Device;

#[test]
fn slices_and_streams_go_from_thread_to_thread() {
    fn both<T: Send + Sync>() {}
    both::<ArenaSlice<f32>>();
    both::<ArenaStream>();
}

/// A slice keeps its stream, its arena and the context.
#[test]
fn a_slice_outlives_every_handle() {
    let Some(device) = Device::get() else { return };
    let slice = {
        let arena = device.arena();
        let stream = device.served(&arena);
        stream.clone_htod(&[1_u32, 2, 3]).unwrap()
    };
    assert_eq!(slice.stream().clone_dtoh(&slice).unwrap(), [1, 2, 3]);
    drop(slice);
    device.reclaim();
}

/// The stand-in aborts when a stream is used that was destroyed.
#[test]
fn the_arena_forgets_a_stream_before_it_is_destroyed() {
    let Some(device) = Device::get() else { return };
    let arena = device.arena();
    for round in 0..300_u32 {
        let stream = device.served(&arena);
        let slice = stream.clone_htod(&[round; 1000]).unwrap();
        let again = arena.cuda_stream(stream.cuda()).unwrap();
        drop((stream, slice));
        drop(again.clone_htod(&[round; 1000]).unwrap());
    }
    arena.compact().unwrap();
    arena.trim(0).unwrap();
    assert_eq!(arena.stats().live_blocks, 0);
    device.reclaim();
}

#[test]
fn a_context_of_the_programs_own_lives_as_long_as_the_arena() {
    let Some(device) = Device::get() else { return };
    let (arena, block) = {
        let own = CudaContext::new_non_primary(0, 0).unwrap();
        let arena = Arena::builder().cuda(&own).pool(1 << 20).build().unwrap();
        let stream = arena.cuda_stream(&own.new_stream().unwrap()).unwrap();
        let slice = stream.clone_htod(&[5_u32; 100]).unwrap();
        assert_eq!(stream.cuda().clone_dtoh(&slice).unwrap(), [5; 100]);
        drop(slice);
        let block = arena.alloc(1000).unwrap();
        (arena, block)
    };
    arena.compact().unwrap();
    drop(block);
    drop(arena);
    device.reclaim();
}

#[test]
fn large_alignments_are_kept() {
    #[derive(Clone, Copy)]
    #[repr(C, align(1024))]
    struct Wide([u8; 1024]);
    // SAFETY: bytes are all it has.
    unsafe impl cudarc::driver::DeviceRepr for Wide {}
    let Some(device) = Device::get() else { return };
    let arena = device.arena();
    let stream = device.served(&arena);
    let small = stream.alloc_zeros::<u8>(1).unwrap();
    let wide = stream.clone_htod(&[Wide([7; 1024]); 2]).unwrap();
    use cudarc::driver::DevicePtr;
    assert_eq!(wide.device_ptr(stream.cuda()).0 % 1024, 0);
    assert_eq!(stream.cuda().clone_dtoh(&wide).unwrap()[1].0, [7; 1024]);
    drop((small, wide));
    device.reclaim();
}

/// Collections in memory that the device reaches too.
#[cfg(feature = "allocator-api2")]
#[test]
fn a_vector_of_pinned_memory_is_copied_from_and_to() {
    let Some(device) = Device::get() else { return };
    let arena = device.arena();
    let stream = device.served(&arena);
    let pinned = Arena::builder()
        .cuda(&device.context)
        .memory(cuarena::MemoryKind::Pinned)
        .pool(1 << 20);
    let pinned = pinned.build().unwrap();
    let refused = pinned.host_allocator().unwrap_err();
    assert_eq!(refused.kind(), cuarena::ErrorKind::Unsupported);
    assert!(
        refused.message().contains("host_allocator_unchecked"),
        "{refused}"
    );
    // SAFETY: the stream is waited for before the collections are read or end.
    let allocator = unsafe { pinned.host_allocator_unchecked().unwrap() };
    let mut words = allocator_api2::vec::Vec::new_in(allocator.clone());
    words.extend(0..10_000_u32);
    let slice = stream.clone_htod(&words[..]).unwrap();
    let mut back = allocator_api2::vec::Vec::with_capacity_in(10_000, allocator);
    back.resize(10_000, 0_u32);
    stream.cuda().memcpy_dtoh(&slice, &mut back[..]).unwrap();
    stream.cuda().synchronize().unwrap();
    assert_eq!(words, back);
    assert!(device.arena().host_allocator().is_err());
    drop((words, back, slice));
    device.reclaim();
}

/// The driver refuses the event that a free is to have: the bytes stay taken.
#[test]
fn a_slice_that_cannot_be_freed_is_dropped() {
    let Some(device) = Device::get() else { return };
    let builder = Arena::builder().cuda(&device.context).pool(1 << 20);
    let arena = builder.events(Events::Eager).build().unwrap();
    let stream = device.served(&arena);
    let slice = stream.clone_htod(&[1_u32, 2, 3]).unwrap();
    let dropped = device.failing("cuEventRecord", || drop(slice));
    let live = arena.stats().live_blocks;
    assert_eq!(live, u64::from(dropped.is_some()));
    arena.check().unwrap();
    device.reclaim();
}

/// What a closure of the arena's panics with comes out, and nothing is lost.
#[test]
fn a_slice_of_an_allocation_that_panics_is_freed() {
    let Some(device) = Device::get() else { return };
    let arena = device.arena();
    let stream = device.served(&arena);
    let empty = stream.alloc_zeros::<u32>(0).unwrap();
    arena.on_event(|event| assert_ne!(event.kind, EventKind::Alloc));
    let caught = |program: &dyn Fn()| {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(program));
        assert!(result.is_err(), "no panic came out");
    };
    caught(&|| drop(stream.alloc_zeros::<u32>(100)));
    let empty = std::cell::Cell::new(Some(empty));
    caught(&|| drop(empty.take().unwrap().into_block()));
    arena.clear_events();
    assert_eq!(arena.stats().live_blocks, 0);
    assert!(arena.take_panic().is_none());
    drop(stream);
    arena.close().unwrap();
    device.reclaim();
}

/// Safe code has no slice of them, for cudarc would queue a copy of it.
#[cfg(feature = "bytemuck")]
#[test]
fn plain_data_in_pinned_memory_is_read_by_copies() {
    let Some(device) = Device::get() else { return };
    let builder = Arena::builder().cuda(&device.context);
    let builder = builder.memory(cuarena::MemoryKind::Pinned).pool(1 << 20);
    let arena = builder.build().unwrap();
    let mut block = arena.alloc_copied(&[1_u32, 2, 3]).unwrap();
    for refused in [block.host().err(), block.host_mut().err()] {
        let refused = refused.expect("a slice of pinned memory is refused");
        assert_eq!(refused.kind(), cuarena::ErrorKind::Unsupported);
        assert!(refused.message().contains("read and write"), "{refused}");
    }
    block.write(1, &[20]).unwrap();
    let mut values = [0; 3];
    block.read(0, &mut values).unwrap();
    assert_eq!(values, [1, 20, 3]);
    arena.check().unwrap();
    device.reclaim();
}
