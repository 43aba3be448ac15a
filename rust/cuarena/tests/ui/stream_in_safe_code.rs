//! A bare handle of a stream is taken in unsafe code only.
#![allow(unused)]
use cuarena::*;

fn main() {
    let arena = Arena::builder().pool(1 << 20).build().unwrap();
    let mut block = arena.alloc(1000).unwrap();
    let stream = arena.stream(RawStream::LEGACY).unwrap();
    let _ = stream;
}
