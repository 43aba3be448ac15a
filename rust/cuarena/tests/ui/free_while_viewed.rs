//! A viewed block cannot be freed.
#![allow(unused)]
use cuarena::*;

fn main() {
    let arena = Arena::builder().pool(1 << 20).build().unwrap();
    let mut block = arena.alloc(1000).unwrap();
    let view = block.host().unwrap();
    block.try_free().unwrap();
    let _ = view.len();
}
