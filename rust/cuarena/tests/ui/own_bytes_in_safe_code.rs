//! Bytes of the program are served from in unsafe code only.
#![allow(unused)]
use cuarena::*;

fn main() {
    let arena = Arena::builder().pool(1 << 20).build().unwrap();
    let mut block = arena.alloc(1000).unwrap();
    let mut bytes = [0_u8; 4096];
    let _ = Arena::builder().bytes(bytes.as_mut_ptr().cast(), 4096, BytesKind::Host);
    let _ = arena.adopt(bytes.as_mut_ptr().cast(), 4096, Tag::NONE);
}
