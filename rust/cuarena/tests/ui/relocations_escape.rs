//! Relocations are told during the closure only.
#![allow(unused)]
use cuarena::*;

fn main() {
    let arena = Arena::builder().pool(1 << 20).build().unwrap();
    let mut block = arena.alloc(1000).unwrap();
    let mut kept: &[Relocation] = &[];
    arena
        .compact_with(&CompactOptions::new(), |batch| {
            kept = batch;
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    let _ = kept.len();
}
