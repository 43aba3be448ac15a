//! Nor its slice the view, which holds the block in place.
#![allow(unused)]
use cuarena::*;

fn main() {
    let arena = Arena::builder().pool(1 << 20).build().unwrap();
    let mut block = arena.alloc(1000).unwrap();
    let slice: &[std::mem::MaybeUninit<u8>] = {
        let view = block.host().unwrap();
        &view[..]
    };
    block.resize(2000).unwrap();
    let _ = slice.len();
}
