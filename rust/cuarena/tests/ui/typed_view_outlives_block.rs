//! Views of values are as those of bytes.
#![allow(unused)]
use cuarena::*;

fn main() {
    let arena = Arena::builder().pool(1 << 20).build().unwrap();
    let mut block = arena.alloc(1000).unwrap();
    let typed = TypedBlock::<u32>::try_from(block).unwrap();
    let view = typed.host().unwrap();
    let block = typed.into_block();
    let _ = (view.len(), block);
}
