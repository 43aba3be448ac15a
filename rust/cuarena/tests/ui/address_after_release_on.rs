//! An address is not kept beyond the end of the pin in a stream.
#![allow(unused)]
use cuarena::*;

fn main() {
    let arena = Arena::builder().pool(1 << 20).build().unwrap();
    let mut block = arena.alloc(1000).unwrap();
    // SAFETY: not the point.
    let stream = unsafe { arena.stream(RawStream::LEGACY).unwrap() };
    // SAFETY: not the point.
    let pinned = unsafe { block.pin().unwrap() };
    let address = pinned.device_ptr();
    pinned.release_on(&stream).unwrap();
    let _ = address.as_raw();
}
