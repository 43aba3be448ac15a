//! Values are not dropped with a block, so they need none.
#![allow(unused)]
use cuarena::*;

fn main() {
    let arena = Arena::builder().pool(1 << 20).build().unwrap();
    let mut block = arena.alloc(1000).unwrap();
    let _ = arena.alloc_typed::<String>(1);
}
