//! The same of bytes that were written.
#![allow(unused)]
use cuarena::*;

fn main() {
    let arena = Arena::builder().pool(1 << 20).build().unwrap();
    let mut block = arena.alloc(1000).unwrap();
    let view = block.host().unwrap();
    // SAFETY: not the point.
    let bytes = unsafe { view.assume_init() };
    drop(view);
    let _ = bytes[0];
}
