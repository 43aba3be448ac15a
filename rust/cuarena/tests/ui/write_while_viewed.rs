//! One that writes beside one that reads.
#![allow(unused)]
use cuarena::*;

fn main() {
    let arena = Arena::builder().pool(1 << 20).build().unwrap();
    let mut block = arena.alloc(1000).unwrap();
    let view = block.host().unwrap();
    block.host_mut().unwrap().fill(1);
    let _ = view.len();
}
