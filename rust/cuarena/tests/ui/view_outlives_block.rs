//! A view cannot outlive its block.
#![allow(unused)]
use cuarena::*;

fn main() {
    let arena = Arena::builder().pool(1 << 20).build().unwrap();
    let mut block = arena.alloc(1000).unwrap();
    let view = block.host().unwrap();
    drop(block);
    let _ = view.len();
}
