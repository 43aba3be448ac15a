//! A memory whose answers arenas believe cannot be written in safe code, nor an
//! owner of streams.

use cuarena::memory::{Memory, MemoryDescription, MemoryResult, Segment};
use cuarena::{RawStream, StreamOwner};

struct Mine;

impl Memory for Mine {
    fn describe(&self) -> MemoryDescription {
        MemoryDescription::new("mine")
    }
    fn get(&self, _bytes: u64, _reserve: u64) -> MemoryResult<Segment> {
        todo!()
    }
    fn give_back(&self, _segment: Segment) {}
}

impl StreamOwner for Mine {
    fn raw_stream(&self) -> RawStream {
        RawStream::LEGACY
    }
}

fn main() {}
