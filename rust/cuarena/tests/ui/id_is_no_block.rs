//! An id alone owns nothing.
#![allow(unused)]
use cuarena::*;

fn main() {
    let arena = Arena::builder().pool(1 << 20).build().unwrap();
    let mut block = arena.alloc(1000).unwrap();
    let (arena, id) = block.into_raw();
    let _ = Block::from_raw(arena, id);
}
