//! A kernel on arena memory, with cudarc: on the stream that the memory is of,
//! and on another one.
//!
//!     cargo run --example cudarc_kernel --features cudarc
//!
//! Without a device it says so and ends.

use std::error::Error;
use std::sync::Arc;

use cuarena::interop::cudarc::{ArenaExt, ArenaSlice, BuilderExt};
use cuarena::Arena;
use cudarc::driver::{sys, CudaContext, CudaFunction, CudaStream, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;

/// `y[i] = a * x[i] + y[i]`, one number a thread.
const KERNEL: &str = include_str!("axpy.ptx");

/// # Safety
///
/// The stream comes after all other work on both slices.
unsafe fn axpy(
    stream: &Arc<CudaStream>,
    kernel: &CudaFunction,
    a: f32,
    x: &ArenaSlice<f32>,
    y: &ArenaSlice<f32>,
) -> Result<(), Box<dyn Error>> {
    let count = x.len().min(y.len());
    let mut launch = stream.launch_builder(kernel);
    launch.arg(&a).arg(x).arg(y).arg(&count);
    // SAFETY: the arguments are the kernel's, which stays within both slices;
    // the caller sees to the order.
    unsafe { launch.launch(LaunchConfig::for_num_elems(count as u32))? };
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    // SAFETY: opens the driver's library and closes it.
    if !unsafe { sys::is_culib_present() } {
        println!("no driver here: nothing to do");
        return Ok(());
    }
    let context = CudaContext::new(0)?;
    let kernel = context
        .load_module(Ptx::from_src(KERNEL))?
        .load_function("axpy_f32")?;

    let arena = Arena::builder().cuda(&context).pool(64 << 20).build()?;
    let stream = arena.cuda_stream(&context.new_stream()?)?;
    let x = stream.clone_htod(&vec![1.0_f32; 100_000])?;

    // Bytes of one round serve the next one: the driver is not asked for any.
    for round in 1..=1000 {
        let y = stream.alloc_zeros::<f32>(x.len())?;
        let a = round as f32;
        // SAFETY: all of it is on the stream of both slices.
        unsafe { axpy(stream.cuda(), &kernel, a, &x, &y)? };
        if round % 250 == 0 {
            let sum: f32 = stream.cuda().clone_dtoh(&y)?[..1000].iter().sum();
            println!("round {round}: 1000 numbers add up to {sum}");
            assert_eq!(sum, a * 1000.0);
        }
    }

    // On another stream what cudarc cannot see has to be said.
    let other = context.new_stream()?;
    let y = stream.alloc_zeros::<f32>(x.len())?;
    {
        let _x = x.sync_for(&other)?;
        let _y = y.sync_for(&other)?;
        // SAFETY: the brackets see to the order.
        unsafe { axpy(&other, &kernel, 2.0, &x, &y)? };
    }
    let result = stream.cuda().clone_dtoh(&y)?;
    assert!(result.iter().all(|&number| number == 2.0));

    let stats = arena.stats();
    println!(
        "{} allocations, {} bytes at most, {} calls of the driver for memory",
        stats.allocs, stats.peak_live_bytes, stats.memory_calls
    );
    Ok(())
}
