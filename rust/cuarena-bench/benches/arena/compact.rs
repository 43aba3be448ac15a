//! Compaction with a closure, beside the same call of C.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::ptr;
use std::time::{Duration, Instant};

use cuarena::interop::cudarc::BuilderExt;
use cuarena::{Arena, Block, CompactOptions, MemoryKind};
use cuarena_bench::gpu::Gpu;
use cuarena_bench::raw::{must, RawArena};
use cuarena_sys as ffi;

use crate::Bench;

/// Blocks that stay, each behind a hole of its size.
const BLOCKS: usize = 10_000;
const BYTES: usize = 4096;
const POOL: usize = 256 << 20;

/// The sum of where blocks went, so that every relocation is looked at.
fn sum(list: impl Iterator<Item = u64>) -> u64 {
    list.fold(0, u64::wrapping_add)
}

/// Compacts so many times, with holes anew each time.
fn time_closure(arena: &Arena, rounds: u64) -> Duration {
    let mut taken = Duration::ZERO;
    for _ in 0..rounds {
        let all: Vec<Block> = (0..BLOCKS * 2).map(|_| fresh(arena)).collect();
        let blocks: Vec<Block> = all.into_iter().step_by(2).collect();
        let begin = Instant::now();
        let mut seen = 0_u64;
        let report = arena.compact_with(&CompactOptions::new(), |relocations| {
            // SAFETY: the numbers are added up, and not followed.
            seen = seen.wrapping_add(sum(relocations.iter().map(|r| unsafe { r.to().as_raw() })));
            ControlFlow::Continue(())
        });
        taken += begin.elapsed();
        std::hint::black_box(seen);
        assert!(report.expect("a compaction").moves > 0);
        drop(blocks);
    }
    taken
}

fn fresh(arena: &Arena) -> Block {
    arena.alloc(BYTES).expect("bytes")
}

/// The same through C.
fn time_raw(arena: &RawArena, rounds: u64) -> Duration {
    let mut taken = Duration::ZERO;
    for _ in 0..rounds {
        let blocks: Vec<u64> = (0..BLOCKS * 2).map(|_| fresh_raw(arena)).collect();
        blocks
            .iter()
            .skip(1)
            .step_by(2)
            .for_each(|&b| free_raw(arena, b));
        let begin = Instant::now();
        let mut seen = 0_u64;
        let user = ptr::from_mut(&mut seen).cast();
        let mut options = MaybeUninit::<ffi::cuarena_compact_options_t>::zeroed();
        let mut report = MaybeUninit::<ffi::cuarena_compact_report_t>::zeroed();
        // SAFETY: the init functions fill both; the callback is for a number,
        // which lives until it returns.
        must(unsafe {
            ffi::cuarena_compact_options_init(options.as_mut_ptr());
            ffi::cuarena_compact_report_init(report.as_mut_ptr());
            ffi::cuarena_compact(
                arena.as_ptr(),
                options.as_ptr(),
                Some(add),
                user,
                report.as_mut_ptr(),
            )
        });
        taken += begin.elapsed();
        std::hint::black_box(seen);
        // SAFETY: the call filled it.
        assert!(unsafe { report.assume_init() }.moves > 0);
        blocks.iter().step_by(2).for_each(|&b| free_raw(arena, b));
    }
    taken
}

fn fresh_raw(arena: &RawArena) -> u64 {
    let mut block = 0;
    // SAFETY: the arena lives.
    must(unsafe { ffi::cuarena_block_alloc(arena.as_ptr(), BYTES as u64, &mut block) });
    block
}

fn free_raw(arena: &RawArena, block: u64) {
    // SAFETY: the block is this program's, and not used after that.
    must(unsafe { ffi::cuarena_block_free(arena.as_ptr(), block) });
}

unsafe extern "C" fn add(
    user: *mut c_void,
    list: *const ffi::cuarena_relocation_t,
    count: usize,
) -> i32 {
    // SAFETY: what `time_raw` passes, and the library's list.
    unsafe {
        let seen = &mut *user.cast::<u64>();
        let list = std::slice::from_raw_parts(list, count);
        *seen = seen.wrapping_add(sum(list.iter().map(|r| r.to as u64)));
    }
    0
}

fn both(bench: &mut Bench<'_>, raw: &RawArena, arena: &Arena) {
    bench.group.sample_size(10);
    bench.named("C, callback", &BLOCKS, |bencher| {
        bencher.iter_custom(|rounds| time_raw(raw, rounds));
    });
    bench.named("closure", &BLOCKS, |bencher| {
        bencher.iter_custom(|rounds| time_closure(arena, rounds));
    });
}

/// Addresses alone: the bookkeeping.
pub fn host(bench: &mut Bench<'_>) {
    let builder = Arena::builder().memory(MemoryKind::None).pool(POOL);
    let arena = builder.build().expect("an arena");
    both(bench, &RawArena::new("memory=none,pool=256MiB"), &arena);
}

/// Waited for.
pub fn device(bench: &mut Bench<'_>, gpu: &Gpu) {
    let builder = Arena::builder().cuda(&gpu.untracked).pool(POOL);
    let arena = builder.build().expect("an arena");
    both(bench, &RawArena::new("memory=device,pool=256MiB"), &arena);
}
