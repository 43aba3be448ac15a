//! What recorded programs asked for, from first to last, on one stream.

use std::path::PathBuf;
use std::time::Instant;

use criterion::SamplingMode;
use cuarena::interop::cudarc::BuilderExt;
use cuarena::{Arena, Preset};
use cuarena_bench::arenas::{BlocksOn, Slices};
use cuarena_bench::cuda::{self, MallocAsync};
use cuarena_bench::gpu::Gpu;
use cuarena_bench::side::{Call, Side};
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
    // Few of them fit the time as it is.
    bench.group.sampling_mode(SamplingMode::Flat);
    cuda::Slices::each(gpu, Call::Alloc).for_each(|side| each_program(bench, &traces, &side));
    MallocAsync::each(gpu).for_each(|side| each_program(bench, &traces, &side));
    let arena = || {
        let builder = Arena::builder().cuda(&gpu.tracking).preset(Preset::Grow);
        builder.build().expect("an arena")
    };
    each_program(
        bench,
        &traces,
        &BlocksOn {
            arena: arena(),
            context: gpu.tracking.clone(),
            name: "Block on a stream",
        },
    );
    each_program(
        bench,
        &traces,
        &Slices {
            arena: arena(),
            context: gpu.tracking.clone(),
            call: Call::Alloc,
            name: "ArenaSlice",
        },
    );
}
