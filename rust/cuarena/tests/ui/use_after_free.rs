//! A freed block is gone.
#![allow(unused)]
use cuarena::*;

fn main() {
    let arena = Arena::builder().pool(1 << 20).build().unwrap();
    let mut block = arena.alloc(1000).unwrap();
    block.try_free().unwrap();
    let _ = block.len();
}
