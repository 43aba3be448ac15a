//! And not kept beyond the pin.
#![allow(unused)]
use cuarena::*;

fn main() {
    let arena = Arena::builder().pool(1 << 20).build().unwrap();
    let mut block = arena.alloc(1000).unwrap();
    let address = {
        // SAFETY: not the point.
        let pinned = unsafe { block.pin().unwrap() };
        pinned.device_ptr()
    };
    block.resize(2000).unwrap();
    let _ = address.as_raw();
}
