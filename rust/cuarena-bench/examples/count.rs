//! So many pairs of calls on addresses alone, for a tool that counts
//! instructions: `count c|block|typed PAIRS`. The difference of two runs is
//! that of their pairs.
//!
//!     cargo build --profile bench --example count
//!     valgrind --tool=callgrind target/release/examples/count block 10000
//!
//! Counts do not depend on the machine, and say nothing of what an atomic
//! operation takes.

use cuarena::{Arena, MemoryKind};
use cuarena_bench::arenas::{Blocks, Typed};
use cuarena_bench::raw::{Raw, RawArena};
use cuarena_bench::side::{time_calls, Side};

const BYTES: usize = 4096;

fn pairs<S: Side>(side: &S, count: u64) {
    time_calls(&side.hand(), count, BYTES);
}

fn main() {
    let mut words = std::env::args().skip(1);
    let who = words.next().expect("who is counted");
    let count = words.next().and_then(|word| word.parse().ok());
    let count = count.expect("how many pairs");
    let builder = Arena::builder().memory(MemoryKind::None).pool(1 << 30);
    let arena = builder.build().expect("an arena");
    let calls = Raw::<true> {
        arena: RawArena::of(&arena),
        context: None,
        name: "",
    };
    let name = "";
    match who.as_str() {
        "c" => pairs(&calls, count),
        "block" => pairs(&Blocks { arena, name }, count),
        "typed" => pairs(&Typed { arena, name }, count),
        _ => panic!("{who}: c, block or typed is counted"),
    }
}
