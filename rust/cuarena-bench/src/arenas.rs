//! The crate `cuarena`.

use std::sync::Arc;

use cuarena::interop::cudarc::{ArenaExt, ArenaSlice, ArenaStream};
use cuarena::{Arena, Block, TypedBlock};
use cudarc::driver::{CudaContext, CudaStream};

use crate::side::{Call, Hand, Side};

/// `Arena::alloc`.
pub struct Blocks {
    pub arena: Arena,
    pub name: &'static str,
}

impl Side for Blocks {
    type Hand = BlocksHand;

    fn name(&self) -> &str {
        self.name
    }

    fn hand(&self) -> BlocksHand {
        BlocksHand(self.arena.clone())
    }
}

pub struct BlocksHand(Arena);

impl Hand for BlocksHand {
    type Held = Block;

    #[inline]
    fn take(&self, bytes: usize) -> Block {
        self.0.alloc(bytes).expect("bytes")
    }
}

/// `Arena::alloc_on`.
pub struct BlocksOn {
    pub arena: Arena,
    pub context: Arc<CudaContext>,
    pub name: &'static str,
}

impl Side for BlocksOn {
    type Hand = BlocksOnHand;

    fn name(&self) -> &str {
        self.name
    }

    fn hand(&self) -> BlocksOnHand {
        let stream = self.context.new_stream().expect("a stream");
        BlocksOnHand(self.arena.cuda_stream(&stream).expect("a stream"))
    }
}

pub struct BlocksOnHand(ArenaStream);

impl Hand for BlocksOnHand {
    type Held = Block;

    #[inline]
    fn take(&self, bytes: usize) -> Block {
        let (arena, stream) = (self.0.arena(), self.0.stream());
        arena.alloc_on(bytes, stream).expect("bytes")
    }

    fn wait(&self) {
        self.0.cuda().synchronize().expect("a wait");
    }
}

/// `Arena::alloc_typed`.
pub struct Typed {
    pub arena: Arena,
    pub name: &'static str,
}

impl Side for Typed {
    type Hand = TypedHand;

    fn name(&self) -> &str {
        self.name
    }

    fn hand(&self) -> TypedHand {
        TypedHand(self.arena.clone())
    }
}

pub struct TypedHand(Arena);

impl Hand for TypedHand {
    type Held = TypedBlock<u8>;

    #[inline]
    fn take(&self, bytes: usize) -> TypedBlock<u8> {
        self.0.alloc_typed(bytes).expect("bytes")
    }
}

/// `ArenaStream::alloc`, or `alloc_zeros`.
pub struct Slices {
    pub arena: Arena,
    pub context: Arc<CudaContext>,
    pub call: Call,
    pub name: &'static str,
}

impl Side for Slices {
    type Hand = SlicesHand;

    fn name(&self) -> &str {
        self.name
    }

    fn hand(&self) -> SlicesHand {
        let stream = self.context.new_stream().expect("a stream");
        SlicesHand {
            stream: self.arena.cuda_stream(&stream).expect("a stream"),
            other: self.context.new_stream().expect("a stream"),
            call: self.call,
        }
    }
}

pub struct SlicesHand {
    stream: ArenaStream,
    other: Arc<CudaStream>,
    call: Call,
}

impl Hand for SlicesHand {
    type Held = ArenaSlice<u8>;

    #[inline]
    fn take(&self, bytes: usize) -> ArenaSlice<u8> {
        if self.call == Call::Alloc {
            // SAFETY: nobody reads it.
            return unsafe { self.stream.alloc(bytes) }.expect("bytes");
        }
        let mut slice = self.stream.alloc_zeros(bytes).expect("bytes");
        if self.call == Call::Foreign {
            self.other.memset_zeros(&mut slice).expect("a fill");
        }
        slice
    }

    fn wait(&self) {
        self.stream.cuda().synchronize().expect("a wait");
        if self.call == Call::Foreign {
            self.other.synchronize().expect("a wait");
        }
    }
}
