//! What recorded programs asked for, from first to last, on one stream.

use std::path::PathBuf;
use std::time::Instant;

use cuarena::interop::cudarc::BuilderExt;
use cuarena::{Arena, Preset};
use cuarena_bench::arenas::{Blocks, Slices};
use cuarena_bench::cuda::{self, Call, MallocAsync};
use cuarena_bench::gpu::Gpu;
use cuarena_bench::side::Side;
use cuarena_bench::trace::Trace;

use crate::Bench;

/// The time of a program is divided by its events.
fn each_program<S: Side>(bench: &mut Bench<'_>, traces: &[Trace], side: &S) {
    let hand = side.hand();
    for trace in traces {
        let events = trace.events.len() as u32;
        trace.play(&hand); // bytes that have to be taken first are there
        bench.run(side, &trace.name, |bencher| {
            bencher.iter_custom(|rounds| {
                let begin = Instant::now();
                for _ in 0..rounds {
                    trace.play(&hand);
                }
                begin.elapsed() / events
            });
        });
    }
}

fn traces() -> Vec<Trace> {
    let folder = std::env::var_os("CUARENA_TRACES").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces")),
        PathBuf::from,
    );
    Trace::all(&folder).unwrap_or_else(|error| {
        println!("no recorded programs in {folder:?}: {error}");
        Vec::new()
    })
}

pub fn device(bench: &mut Bench<'_>, gpu: &Gpu) {
    let traces = traces();
    bench.group.sample_size(10);
    for (context, name) in [
        (&gpu.tracking, "cudarc alloc"),
        (&gpu.untracked, "cudarc alloc, tracking off"),
    ] {
        let context = context.clone();
        let call = Call::Alloc;
        each_program(
            bench,
            &traces,
            &cuda::Slices {
                context,
                call,
                name,
            },
        );
    }
    let pool = MallocAsync {
        context: gpu.untracked.clone(),
        threshold: u64::MAX,
        name: "cudarc malloc_async, threshold most",
    };
    if pool.is_there() {
        each_program(bench, &traces, &pool);
    }
    let builder = Arena::builder().cuda(&gpu.tracking).preset(Preset::Grow);
    let arena = builder.build().expect("an arena");
    let name = "Block";
    each_program(
        bench,
        &traces,
        &Blocks {
            arena: arena.clone(),
            name,
        },
    );
    each_program(
        bench,
        &traces,
        &Slices {
            arena,
            context: gpu.tracking.clone(),
            zeros: false,
            name: "ArenaSlice",
        },
    );
}
