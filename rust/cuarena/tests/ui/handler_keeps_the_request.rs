//! What a handler is asked about is not kept.
#![allow(unused)]
use cuarena::*;

fn main() {
    let arena = Arena::builder().pool(1 << 20).build().unwrap();
    let mut block = arena.alloc(1000).unwrap();
    let kept = std::sync::Mutex::new(None);
    let kept = Box::leak(Box::new(kept));
    arena.on_out_of_memory(|oom| {
        *kept.lock().unwrap() = Some(oom.arena());
        Retry::GiveUp
    });
}
