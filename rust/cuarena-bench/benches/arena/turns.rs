//! What the crate promises: what `Block` adds to the calls of C, in the same
//! arena, and how much faster `ArenaSlice` is than cudarc's slices.

use cuarena::interop::cudarc::BuilderExt;
use cuarena::{Arena, MemoryKind};
use cuarena_bench::arenas::{Blocks, BlocksOn, Slices, Typed};
use cuarena_bench::beside::Sheet;
use cuarena_bench::cuda;
use cuarena_bench::gpu::Gpu;
use cuarena_bench::raw::{Raw, RawArena};
use cuarena_bench::side::Call;

use crate::pairs::{POOL, SIZES};

/// The calls of C on an arena of the crate's.
fn raw<const BLOCKS: bool>(arena: &Arena, gpu: Option<&Gpu>, name: &'static str) -> Raw<BLOCKS> {
    Raw {
        arena: RawArena::of(arena),
        context: gpu.map(|gpu| gpu.untracked.clone()),
        name,
    }
}

fn blocks(sheet: &mut Sheet, case: &str, arena: &Arena) {
    let calls = raw::<true>(arena, None, "C, blocks");
    let arena = arena.clone();
    let typed = Typed {
        arena: arena.clone(),
        name: "TypedBlock",
    };
    let name = "Block";
    sheet.measure(case, &Blocks { arena, name }, &calls, &SIZES);
    sheet.measure(case, &typed, &calls, &SIZES);
}

/// On addresses alone.
pub fn host(sheet: &mut Sheet) {
    let builder = Arena::builder().memory(MemoryKind::None).pool(POOL);
    let arena = builder.build().expect("an arena");
    blocks(sheet, "host", &arena);
}

/// On memory of the device.
pub fn device(sheet: &mut Sheet, gpu: &Gpu) {
    let arena = || {
        let builder = Arena::builder().cuda(&gpu.tracking).pool(POOL);
        builder.build().expect("an arena")
    };
    blocks(sheet, "device", &arena());
    on_streams(sheet, gpu, &arena);
    // The same work on both sides, each with its own threshold and tracking.
    let ours = slices(&arena(), gpu);
    for theirs in cuda::Slices::each(gpu, Call::Alloc) {
        sheet.measure("device", &ours, &theirs, &SIZES);
    }
}

/// Each side in an arena of its own, which so has one stream only.
fn on_streams(sheet: &mut Sheet, gpu: &Gpu, arena: &dyn Fn() -> Arena) {
    let blocks = BlocksOn {
        arena: arena(),
        context: gpu.untracked.clone(),
        name: "Block on a stream",
    };
    let calls = raw::<true>(&arena(), Some(gpu), "C, blocks on a stream");
    sheet.measure("device", &blocks, &calls, &SIZES);
    let calls = raw::<false>(&arena(), Some(gpu), "C, pointers on a stream");
    sheet.measure("device", &slices(&arena(), gpu), &calls, &SIZES);
}

fn slices(arena: &Arena, gpu: &Gpu) -> Slices {
    Slices {
        arena: arena.clone(),
        context: gpu.tracking.clone(),
        call: Call::Alloc,
        name: "ArenaSlice",
    }
}
