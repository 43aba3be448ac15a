//! One allocation and one free, by size.

use cuarena::interop::cudarc::BuilderExt;
use cuarena::{Arena, MemoryKind};
use cuarena_bench::arenas::{Blocks, Slices, Typed};
use cuarena_bench::cuda::{self, MallocAsync, MallocSync, Managed, Pinned};
use cuarena_bench::gpu::Gpu;
use cuarena_bench::raw::{Raw, RawArena};
use cuarena_bench::side::{time_pairs, Call, Side};

use crate::Bench;

/// 256 B to 64 MiB.
pub const SIZES: [usize; 6] = [256, 4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20];

/// Large enough for all of it, on several threads too.
pub const POOL: usize = 2 << 30;
pub const POOL_OPTIONS: &str = "memory=device,pool=2GiB";

fn each_size<S: Side>(bench: &mut Bench<'_>, side: &S) {
    let hand = side.hand();
    for bytes in SIZES {
        bench.run(side, &bytes, |bencher| {
            bencher.iter_custom(|rounds| time_pairs(&hand, rounds, bytes));
        });
    }
}

/// What the crate adds to the calls of C, on addresses alone.
pub fn host(bench: &mut Bench<'_>) {
    let raw = RawArena::new("memory=none,pool=2GiB");
    let builder = Arena::builder().memory(MemoryKind::None).pool(POOL);
    let arena = builder.build().expect("an arena");
    each_size(
        bench,
        &Raw::<false> {
            arena: raw.clone(),
            context: None,
            name: "C, pointers",
        },
    );
    each_size(
        bench,
        &Raw::<true> {
            arena: raw,
            context: None,
            name: "C, blocks",
        },
    );
    let name = "Block";
    each_size(
        bench,
        &Blocks {
            arena: arena.clone(),
            name,
        },
    );
    let name = "TypedBlock";
    each_size(bench, &Typed { arena, name });
}

/// cudarc's ways to get memory of the device, and ours.
pub fn device(bench: &mut Bench<'_>, gpu: &Gpu) {
    cudarc_slices(bench, gpu);
    driver(bench, gpu);
    raw(bench, gpu);
    ours(bench, gpu);
}

fn cudarc_slices(bench: &mut Bench<'_>, gpu: &Gpu) {
    for call in [Call::Alloc, Call::Zeros] {
        cuda::Slices::each(gpu, call).for_each(|side| each_size(bench, &side));
    }
}

fn driver(bench: &mut Bench<'_>, gpu: &Gpu) {
    each_size(bench, &MallocSync(gpu.untracked.clone()));
    MallocAsync::each(gpu).for_each(|side| each_size(bench, &side));
}

/// Zeros of two streams, of which neither side may mix up the order.
pub fn foreign(bench: &mut Bench<'_>, gpu: &Gpu) {
    cuda::Slices::each(gpu, Call::Foreign).for_each(|side| each_size(bench, &side));
    let builder = Arena::builder().cuda(&gpu.tracking).pool(POOL);
    let side = Slices {
        arena: builder.build().expect("an arena"),
        context: gpu.tracking.clone(),
        call: Call::Foreign,
        name: "ArenaSlice, zeros",
    };
    each_size(bench, &side);
}

/// Each in an arena of its own: what another's streams left behind is not
/// measured.
fn raw(bench: &mut Bench<'_>, gpu: &Gpu) {
    for (context, pointers, blocks) in [
        (None, "C, pointers", "C, blocks"),
        (
            Some(gpu.untracked.clone()),
            "C, pointers on a stream",
            "C, blocks on a stream",
        ),
    ] {
        each_size(
            bench,
            &Raw::<false> {
                arena: RawArena::new(POOL_OPTIONS),
                context: context.clone(),
                name: pointers,
            },
        );
        each_size(
            bench,
            &Raw::<true> {
                arena: RawArena::new(POOL_OPTIONS),
                context,
                name: blocks,
            },
        );
    }
}

fn ours(bench: &mut Bench<'_>, gpu: &Gpu) {
    let arena = || {
        let builder = Arena::builder().cuda(&gpu.tracking).pool(POOL);
        builder.build().expect("an arena")
    };
    let name = "Block";
    each_size(
        bench,
        &Blocks {
            arena: arena(),
            name,
        },
    );
    let name = "TypedBlock";
    each_size(
        bench,
        &Typed {
            arena: arena(),
            name,
        },
    );
    for (call, name) in [
        (Call::Alloc, "ArenaSlice"),
        (Call::Zeros, "ArenaSlice, zeros"),
    ] {
        each_size(
            bench,
            &Slices {
                arena: arena(),
                context: gpu.tracking.clone(),
                call,
                name,
            },
        );
    }
}

/// Memory that the CPU reaches too.
pub fn reachable(bench: &mut Bench<'_>, gpu: &Gpu) {
    each_size(bench, &Pinned(gpu.untracked.clone()));
    each_size(bench, &Managed(gpu.untracked.clone()));
    for (memory, name) in [
        (MemoryKind::Pinned, "Block, pinned"),
        (MemoryKind::Managed, "Block, managed"),
    ] {
        let builder = Arena::builder().cuda(&gpu.untracked).memory(memory);
        let arena = builder.pool(256 << 20).build().expect("an arena");
        each_size(bench, &Blocks { arena, name });
    }
}
