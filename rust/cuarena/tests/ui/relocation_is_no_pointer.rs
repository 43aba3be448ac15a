//! Their addresses are followed in unsafe code only.
#![allow(unused)]
use cuarena::*;

fn main() {
    let arena = Arena::builder().pool(1 << 20).build().unwrap();
    let mut block = arena.alloc(1000).unwrap();
    arena
        .compact_with(&CompactOptions::new(), |batch| {
            let _ = batch[0].to().as_raw();
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
}
