//! Values of one thread stay on it.
#![allow(unused)]
use cuarena::*;

fn main() {
    let arena = Arena::builder().pool(1 << 20).build().unwrap();
    let mut block = arena.alloc(1000).unwrap();
    let typed = arena.alloc_typed::<*const u8>(1).unwrap();
    std::thread::spawn(move || drop(typed));
}
