//! The same pairs on one thread and on eight, each with a stream of its own.

use cuarena::interop::cudarc::BuilderExt;
use cuarena::Arena;
use cuarena_bench::arenas::{BlocksOn, Slices};
use cuarena_bench::cuda::{self, MallocAsync};
use cuarena_bench::gpu::Gpu;
use cuarena_bench::raw::{Raw, RawArena};
use cuarena_bench::side::{time_threads, Call, Side};

use crate::pairs::{POOL, POOL_OPTIONS};
use crate::Bench;

const BYTES: usize = 64 << 10;

/// The figure is of one pair on every thread.
fn each_count<S: Side>(bench: &mut Bench<'_>, side: &S) {
    for threads in [1, 8] {
        bench.run(side, &threads, |bencher| {
            bencher.iter_custom(|rounds| time_threads(side, threads, rounds, BYTES));
        });
    }
}

pub fn device(bench: &mut Bench<'_>, gpu: &Gpu) {
    cuda::Slices::each(gpu, Call::Alloc).for_each(|side| each_count(bench, &side));
    MallocAsync::each(gpu).for_each(|side| each_count(bench, &side));
    each_count(
        bench,
        &Raw::<false> {
            arena: RawArena::new(POOL_OPTIONS),
            context: Some(gpu.untracked.clone()),
            name: "C, pointers on a stream",
        },
    );
    let arena = || {
        let builder = Arena::builder().cuda(&gpu.tracking).pool(POOL);
        builder.build().expect("an arena")
    };
    each_count(
        bench,
        &BlocksOn {
            arena: arena(),
            context: gpu.tracking.clone(),
            name: "Block on a stream",
        },
    );
    each_count(
        bench,
        &Slices {
            arena: arena(),
            context: gpu.tracking.clone(),
            call: Call::Alloc,
            name: "ArenaSlice",
        },
    );
}
