//! Nor beyond a pin that is ended by hand.
#![allow(unused)]
use cuarena::*;

fn main() {
    let arena = Arena::builder().pool(1 << 20).build().unwrap();
    let mut block = arena.alloc(1000).unwrap();
    // SAFETY: not the point.
    let pinned = unsafe { block.pin().unwrap() };
    let address = pinned.device_ptr();
    pinned.unpin();
    let _ = address.as_raw();
}
