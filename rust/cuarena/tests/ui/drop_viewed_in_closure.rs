//! A viewed block cannot be dropped in a closure.
#![allow(unused)]
use cuarena::*;

fn main() {
    let arena = Arena::builder().pool(1 << 20).build().unwrap();
    let mut block = arena.alloc(1000).unwrap();
    let view = block.host().unwrap();
    let mut owned = Some(block);
    arena
        .compact_with(&CompactOptions::new(), |_| {
            owned.take();
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    let _ = view.len();
}
