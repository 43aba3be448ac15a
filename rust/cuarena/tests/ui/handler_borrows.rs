//! A handler outlives the function that sets it.
#![allow(unused)]
use cuarena::*;

fn main() {
    let arena = Arena::builder().pool(1 << 20).build().unwrap();
    let mut block = arena.alloc(1000).unwrap();
    arena.on_out_of_memory(|_| {
        let _ = block.len();
        Retry::GiveUp
    });
}
