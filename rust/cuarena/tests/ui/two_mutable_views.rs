//! Two views that write to the same bytes.
#![allow(unused)]
use cuarena::*;

fn main() {
    let arena = Arena::builder().pool(1 << 20).build().unwrap();
    let mut block = arena.alloc(1000).unwrap();
    let mut first = block.host_mut().unwrap();
    let mut second = block.host_mut().unwrap();
    first.fill(1);
    second.fill(2);
}
