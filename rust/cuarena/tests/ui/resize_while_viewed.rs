//! A viewed block cannot be resized.
#![allow(unused)]
use cuarena::*;

fn main() {
    let arena = Arena::builder().pool(1 << 20).build().unwrap();
    let mut block = arena.alloc(1000).unwrap();
    let view = block.host().unwrap();
    block.resize(2000).unwrap();
    let _ = view.len();
}
