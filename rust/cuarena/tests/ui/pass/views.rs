//! What they stand for does compile.
use cuarena::*;

fn main() {
    let arena = Arena::builder().pool(1 << 20).build().unwrap();
    let mut block = arena.alloc(1000).unwrap();
    block.host_mut().unwrap().fill(1);
    let (first, second) = (block.host().unwrap(), block.host().unwrap());
    assert_eq!(first.len(), second.len());
    drop((first, second));
    // SAFETY: no device uses the address.
    let pinned = unsafe { block.pin().unwrap() };
    assert_ne!(pinned.device_ptr().as_raw(), 0);
    pinned.unpin();
    block.resize(2000).unwrap();
    block.try_free().unwrap();
}
