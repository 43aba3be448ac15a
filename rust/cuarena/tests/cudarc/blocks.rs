//! Slices that become blocks, which may move, and slices again.

use cuarena::interop::cudarc::ArenaStream;
use cuarena::{Arena, Region, Request};

use crate::driver::Device;

const WORDS: u32 = 10_000;

fn words(seed: u32) -> Vec<u32> {
    (0..WORDS).map(|n| n * 7 + seed).collect()
}

fn address_of(slice: &cuarena::interop::cudarc::ArenaSlice<u32>) -> u64 {
    use cudarc::driver::DevicePtr;
    slice.device_ptr(slice.stream()).0
}

/// A hole, and a block that will slide into it.
fn block_behind_a_hole(stream: &ArenaStream, seed: u32) -> (u64, cuarena::Block) {
    let slices = [0, seed, 0].map(|seed| stream.clone_htod(&words(seed)).unwrap());
    let [first, second, third] = slices;
    let before = address_of(&second);
    drop((first, third));
    (before, second.into_block().unwrap())
}

#[test]
fn a_block_of_a_slice_moves_and_keeps_its_contents() {
    let Some(device) = Device::get() else { return };
    let arena = device.arena();
    let stream = device.served(&arena);
    let (before, block) = block_behind_a_hole(&stream, 3);
    assert_eq!(block.len(), WORDS as usize * 4);
    assert!(block.is_in_use() && block.host().is_err());
    assert_eq!(arena.compact().unwrap().moves, 1);
    // SAFETY: it was a slice of such words, of this stream.
    let slice = unsafe { stream.slice_of::<u32>(block) }.unwrap();
    assert_ne!(address_of(&slice), before);
    assert_eq!(slice.len(), WORDS as usize);
    assert_eq!(stream.cuda().clone_dtoh(&slice).unwrap(), words(3));
    let pinned_at = address_of(&slice);
    arena.compact().unwrap();
    assert_eq!(address_of(&slice), pinned_at);
    // And again: the pin that it has now is like the first one.
    let (block, _hole) = (slice.into_block().unwrap(), arena.alloc(100).unwrap());
    assert_eq!(block.info().unwrap().pins, 0);
    drop(block);
    assert_eq!(arena.stats().live_blocks, 1);
    device.reclaim();
}

/// What other streams did comes before the block's end.
#[test]
fn a_block_comes_after_foreign_uses_of_the_slice() {
    let Some(device) = Device::get() else { return };
    let arena = device.arena();
    let stream = device.served(&arena);
    let other = device.stream();
    let mut slice = stream.clone_htod(&words(1)).unwrap();
    other.memcpy_htod(&words(2), &mut slice).unwrap();
    let copy = other.clone_dtod(&slice).unwrap();
    drop(slice.into_block().unwrap());
    let next = stream.clone_htod(&words(9)).unwrap();
    assert_eq!(other.clone_dtoh(&copy).unwrap(), words(2));
    drop((next, copy));
    device.reclaim();
}

#[test]
fn nothing_and_what_never_moves_become_blocks_too() {
    let Some(device) = Device::get() else { return };
    use cuarena::interop::cudarc::BuilderExt;
    let builder = Arena::builder().cuda(&device.context).pool(16 << 20);
    let arena = builder.stable(8 << 20).build().unwrap();
    let stream = device.served(&arena);
    let nothing = stream.alloc_zeros::<u32>(0).unwrap().into_block().unwrap();
    assert!(nothing.is_empty());
    // SAFETY: there is nothing to read.
    assert!(unsafe { stream.slice_of::<u32>(nothing) }
        .unwrap()
        .is_empty());
    let request = Request::new().region(Region::Stable);
    // SAFETY: nobody reads it.
    let stable = unsafe { stream.alloc_with::<u32>(100, &request) }.unwrap();
    let address = address_of(&stable);
    let block = stable.into_block().unwrap();
    assert_eq!(block.info().unwrap().region, Region::Stable);
    // SAFETY: nobody reads it.
    let stable = unsafe { stream.slice_of::<u32>(block) }.unwrap();
    assert_eq!(address_of(&stable), address);
    drop(stable);
    assert_eq!(arena.stats().live_blocks, 0);
    device.reclaim();
}

#[test]
fn a_block_of_another_arena_comes_back() {
    let Some(device) = Device::get() else { return };
    let (one, two) = (device.arena(), device.arena());
    let stream = device.served(&one);
    let block = two.alloc(100).unwrap();
    // SAFETY: it is refused.
    let refused = unsafe { stream.slice_of::<u32>(block) }.unwrap_err();
    let (error, block) = refused.into_parts();
    assert_eq!(error.kind(), cuarena::ErrorKind::BadArgument);
    assert_eq!(block.len(), 100);
}
