//! What takes the program's word for a stream, or for its work, is unsafe.

use cuarena::{Arena, RawStream};

fn main() {
    let arena = Arena::builder().pool(1 << 20).build().unwrap();
    let stream = arena.stream(RawStream::LEGACY).unwrap();
    let mark = stream.mark().unwrap();
    let _ = arena.waited_for(&stream, mark);
    let _ = stream.waited_for(&stream, mark);
    let _ = arena.capture(&stream);
    let _ = arena.alloc_on(100, &stream).unwrap().free_ordered_on(&stream);
    let _ = arena.alloc_on(100, &stream).unwrap().free_idle();
    let _ = arena.alloc_on(100, &stream).unwrap().pin_on(&stream);
}
