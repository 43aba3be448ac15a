//! A graph on arena memory, with cudarc: what is allocated while the stream is
//! being captured keeps its address for each launch of the graph, whoever
//! allocates, frees and compacts meanwhile.
//!
//!     cargo run --example cudarc_graph --features cudarc
//!
//! Without a device it says so and ends.

use std::error::Error;
use std::sync::Arc;

use cuarena::interop::cudarc::{ArenaExt, ArenaSlice, ArenaStream, BuilderExt};
use cuarena::{Arena, CaptureSession};
use cudarc::driver::sys::{self, CUgraphInstantiate_flags, CUstreamCaptureMode};
use cudarc::driver::{CudaContext, CudaFunction, CudaGraph, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;

/// `y[i] = a * x[i] + y[i]`, one number a thread.
const KERNEL: &str = include_str!("axpy.ptx");
const COUNT: usize = 10_000;
const LAUNCHES: u32 = 100;

/// The graph ends before the session, which keeps its bytes from all others.
struct Step {
    graph: CudaGraph,
    session: CaptureSession,
}

/// # Safety
///
/// Both slices are of the stream.
unsafe fn axpy(
    stream: &ArenaStream,
    kernel: &CudaFunction,
    a: f32,
    x: &ArenaSlice<f32>,
    y: &ArenaSlice<f32>,
) -> Result<(), Box<dyn Error>> {
    let count = x.len().min(y.len());
    let mut launch = stream.cuda().launch_builder(kernel);
    launch.arg(&a).arg(x).arg(y).arg(&count);
    // SAFETY: the arguments are the kernel's, which stays within both slices.
    unsafe { launch.launch(LaunchConfig::for_num_elems(count as u32))? };
    Ok(())
}

/// `y += 3 * x`, by a slice between them that lives in the capture alone. No
/// events are in the way, so tracking may stay on.
///
/// # Safety
///
/// The slices are of the stream, live as long as the graph, and the graph is
/// launched on the stream alone.
unsafe fn capture(
    stream: &ArenaStream,
    kernel: &CudaFunction,
    x: &ArenaSlice<f32>,
    y: &ArenaSlice<f32>,
) -> Result<Step, Box<dyn Error>> {
    // SAFETY: all launches are on the session's own stream.
    let session = unsafe { stream.arena().capture(stream.stream())? };
    stream
        .cuda()
        .begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED)?;
    let middle = stream.alloc_zeros::<f32>(x.len())?;
    // SAFETY: all three are of the stream.
    unsafe {
        axpy(stream, kernel, 3.0, x, &middle)?;
        axpy(stream, kernel, 1.0, &middle, y)?;
    }
    drop(middle); // its bytes stay the graph's
    let graph = stream.cuda().end_capture(CUgraphInstantiate_flags(0))?;
    session.end()?;
    let graph = graph.ok_or("nothing was captured")?;
    Ok(Step { graph, session })
}

/// Others come, go and are packed; none of them gets the graph's bytes.
fn allocate_beside(stream: &ArenaStream, round: u32) -> Result<(), Box<dyn Error>> {
    let noise = stream.clone_htod(&vec![99.0_f32; COUNT])?;
    let block = stream.clone_htod(&vec![98.0_f32; COUNT])?.into_block()?;
    drop(noise);
    if round % 10 == 0 {
        stream.arena().compact()?;
    }
    drop(block);
    Ok(())
}

fn run(context: &Arc<CudaContext>) -> Result<(), Box<dyn Error>> {
    let kernel = context
        .load_module(Ptx::from_src(KERNEL))?
        .load_function("axpy_f32")?;
    let arena = Arena::builder().cuda(context).pool(64 << 20).build()?;
    let stream = arena.cuda_stream(&context.new_stream()?)?;
    let x = stream.clone_htod(&vec![1.0_f32; COUNT])?;
    let y = stream.alloc_zeros::<f32>(COUNT)?;

    // SAFETY: both live longer than the step, which is launched on their stream.
    let step = unsafe { capture(&stream, &kernel, &x, &y)? };
    for round in 0..LAUNCHES {
        step.graph.launch()?;
        allocate_beside(&stream, round)?;
    }
    let sums = stream.cuda().clone_dtoh(&y)?;
    assert!(sums.iter().all(|&sum| sum == 3.0 * LAUNCHES as f32));
    println!(
        "{LAUNCHES} launches add up to {}; {} bytes were the graph's",
        sums[0],
        step.session.stats().capacity_bytes
    );

    drop(step);
    assert_eq!(arena.stats().captured_bytes, 0);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    // SAFETY: opens the driver's library and closes it.
    if !unsafe { sys::is_culib_present() } {
        println!("no driver here: nothing to do");
        return Ok(());
    }
    run(&CudaContext::new(0)?)
}
