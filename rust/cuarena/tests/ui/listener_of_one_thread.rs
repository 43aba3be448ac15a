//! And is called on any thread.
#![allow(unused)]
use cuarena::*;

fn main() {
    let arena = Arena::builder().pool(1 << 20).build().unwrap();
    let mut block = arena.alloc(1000).unwrap();
    let seen = std::rc::Rc::new(std::cell::Cell::new(0));
    arena.on_event(move |_| seen.set(seen.get() + 1));
}
