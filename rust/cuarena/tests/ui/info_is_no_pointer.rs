//! So are those of the enumeration.
#![allow(unused)]
use cuarena::*;

fn main() {
    let arena = Arena::builder().pool(1 << 20).build().unwrap();
    let mut block = arena.alloc(1000).unwrap();
    let _ = arena.blocks().next().unwrap().address.unwrap().as_raw();
}
