//! The same pairs on one thread and on eight, each with a stream of its own.

use std::sync::Arc;

use cuarena::interop::cudarc::BuilderExt;
use cuarena::Arena;
use cuarena_bench::arenas::{Blocks, Slices};
use cuarena_bench::cuda::{self, Call, MallocAsync};
use cuarena_bench::gpu::Gpu;
use cuarena_bench::raw::{Raw, RawArena};
use cuarena_bench::side::{time_threads, Side};
use cudarc::driver::CudaContext;

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

fn cudarc_slices(context: &Arc<CudaContext>, name: &'static str) -> cuda::Slices {
    cuda::Slices {
        context: context.clone(),
        call: Call::Alloc,
        name,
    }
}

pub fn device(bench: &mut Bench<'_>, gpu: &Gpu) {
    each_count(bench, &cudarc_slices(&gpu.tracking, "cudarc alloc"));
    let off = "cudarc alloc, tracking off";
    each_count(bench, &cudarc_slices(&gpu.untracked, off));
    let pool = MallocAsync {
        context: gpu.untracked.clone(),
        threshold: u64::MAX,
        name: "cudarc malloc_async, threshold most",
    };
    if pool.is_there() {
        each_count(bench, &pool);
    }
    each_count(
        bench,
        &Raw::<false> {
            arena: RawArena::new(POOL_OPTIONS),
            context: Some(gpu.untracked.clone()),
            name: "C, pointers on a stream",
        },
    );
    let builder = Arena::builder().cuda(&gpu.tracking).pool(POOL);
    let arena = builder.build().expect("an arena");
    let name = "Block";
    each_count(
        bench,
        &Blocks {
            arena: arena.clone(),
            name,
        },
    );
    each_count(
        bench,
        &Slices {
            arena,
            context: gpu.tracking.clone(),
            zeros: false,
            name: "ArenaSlice",
        },
    );
}
