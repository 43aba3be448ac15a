//! Nor a pinned one.
#![allow(unused)]
use cuarena::*;

fn main() {
    let arena = Arena::builder().pool(1 << 20).build().unwrap();
    let mut block = arena.alloc(1000).unwrap();
    // SAFETY: not the point.
    let pinned = unsafe { block.pin().unwrap() };
    block.resize(2000).unwrap();
    let _ = pinned.device_ptr();
}
