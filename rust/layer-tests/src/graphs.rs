//! Captured streams: what is allocated and freed in a capture is the graph's.

use std::sync::Arc;

use cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use cudarc::driver::{CudaGraph, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg};

use crate::{Device, Outcome};

const LEN: usize = 4000;

/// `sums += 3 * ones`, by a slice that lives in the capture alone.
fn capture(
    device: &Device,
    stream: &Arc<CudaStream>,
    ones: &CudaSlice<f32>,
    sums: &mut CudaSlice<f32>,
) -> Result<CudaGraph, DriverError> {
    stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED)?;
    let mut middle = stream.alloc_zeros::<f32>(LEN)?;
    let mut launch = stream.launch_builder(&device.axpy);
    launch.arg(&3.0_f32).arg(ones).arg(&mut middle).arg(&LEN);
    // SAFETY: these are the kernel's arguments, and it stays within both.
    unsafe { launch.launch(LaunchConfig::for_num_elems(LEN as u32))? };
    let mut launch = stream.launch_builder(&device.axpy);
    launch.arg(&1.0_f32).arg(&middle).arg(&mut *sums).arg(&LEN);
    // SAFETY: as above.
    unsafe { launch.launch(LaunchConfig::for_num_elems(LEN as u32))? };
    drop(middle);
    let graph = stream.end_capture(CUgraphInstantiate_flags(0))?;
    Ok(graph.expect("a graph"))
}

/// One stream has all that is captured, so nothing need wait: cudarc would
/// have the capture wait for events from before it.
fn without_tracking(device: &Device, program: impl FnOnce() -> Outcome) -> Outcome {
    // SAFETY: each slice is used on one stream alone.
    unsafe { device.context.disable_event_tracking() };
    let outcome = program();
    // SAFETY: as above.
    unsafe { device.context.enable_event_tracking() };
    outcome
}

pub fn launched_again(device: &Device) -> Outcome {
    without_tracking(device, || {
        let stream = device.context.new_stream()?;
        let ones = stream.clone_htod(&vec![1.0_f32; LEN])?;
        let mut sums = stream.alloc_zeros::<f32>(LEN)?;
        let graph = capture(device, &stream, &ones, &mut sums)?;
        for _ in 0..10 {
            graph.launch()?;
        }
        assert!(stream.clone_dtoh(&sums)?.iter().all(|&sum| sum == 30.0));
        Ok(())
    })
}

pub fn beside_others(device: &Device) -> Outcome {
    without_tracking(device, || {
        let stream = device.context.new_stream()?;
        let other = device.context.new_stream()?;
        let ones = stream.clone_htod(&vec![1.0_f32; LEN])?;
        for round in 0..5 {
            let mut sums = stream.alloc_zeros::<f32>(LEN)?;
            let graph = capture(device, &stream, &ones, &mut sums)?;
            for launch in 1..=20 {
                graph.launch()?;
                let noise = other.clone_htod(&vec![99.0_f32; LEN])?;
                assert_eq!(stream.clone_dtoh(&sums)?[round], launch as f32 * 3.0);
                drop(noise);
            }
        }
        Ok(())
    })
}
