//! Slices as arguments of kernels.

use cuarena::interop::cudarc::ArenaSlice;
use cudarc::driver::{CudaFunction, CudaStream, PushKernelArg};

use crate::driver::Device;
use crate::kernel::{touch, FEW};

const WORDS: usize = 20_000;

fn launch(stream: &CudaStream, kernel: &CudaFunction, slice: &ArenaSlice<u32>) {
    let bytes = slice.num_bytes() as u64;
    let mut launch = stream.launch_builder(kernel);
    launch.arg(slice).arg(&bytes);
    // SAFETY: the kernel stays within the slice; callers see to the order.
    unsafe { launch.launch(FEW).unwrap() };
}

#[test]
fn a_launch_on_the_home_is_in_order() {
    let Some(device) = Device::get() else { return };
    let kernel = touch(&device.context);
    let arena = device.arena();
    let stream = device.served(&arena);
    let mut slice = stream.alloc_zeros::<u32>(WORDS).unwrap();
    launch(stream.cuda(), &kernel, &slice);
    let bytes = slice.num_bytes() as u64;
    let mut second = stream.cuda().launch_builder(&kernel);
    second.arg(&mut slice).arg(&bytes);
    // SAFETY: as above.
    unsafe { second.launch(FEW).unwrap() };
    assert_eq!(stream.cuda().clone_dtoh(&slice).unwrap(), [2; WORDS]);
    device.reclaim();
}

/// A foreign copy comes between, of which the launch knows nothing.
#[test]
fn a_launch_on_the_home_waits_for_others() {
    let Some(device) = Device::get() else { return };
    let kernel = touch(&device.context);
    let arena = device.arena();
    let stream = device.served(&arena);
    let other = device.stream();
    let mut slice = stream.alloc_zeros::<u32>(WORDS).unwrap();
    other.memcpy_htod(&[7; WORDS], &mut slice).unwrap();
    launch(stream.cuda(), &kernel, &slice);
    let before = other.clone_dtod(&slice).unwrap();
    launch(stream.cuda(), &kernel, &slice);
    assert_eq!(stream.cuda().clone_dtoh(&slice).unwrap(), [9; WORDS]);
    assert_eq!(other.clone_dtoh(&before).unwrap(), [8; WORDS]);
    drop((slice, before));
    device.reclaim();
}

#[test]
fn a_bracket_orders_a_launch_elsewhere() {
    let Some(device) = Device::get() else { return };
    let kernel = touch(&device.context);
    let arena = device.arena();
    let stream = device.served(&arena);
    let (other, third) = (device.stream(), device.stream());
    let slice = stream.alloc_zeros::<u32>(WORDS).unwrap();
    for foreign in [&other, &third, stream.cuda(), &other] {
        let bracket = slice.sync_for(foreign).unwrap();
        assert_eq!(bracket.stream(), foreign);
        launch(foreign, &kernel, &slice);
        drop(bracket);
    }
    assert_eq!(stream.cuda().clone_dtoh(&slice).unwrap(), [4; WORDS]);
    let bracket = slice.sync_for(&third).unwrap();
    launch(&third, &kernel, &slice);
    drop(bracket);
    drop(slice);
    drop(stream.alloc_zeros::<u32>(WORDS).unwrap());
    device.reclaim();
}

/// That it is the bracket which keeps the order.
#[test]
fn without_a_bracket_nothing_orders_it() {
    let Some(device) = Device::get() else { return };
    let kernel = touch(&device.context);
    let arena = device.arena();
    let stream = device.served(&arena);
    let other = device.stream();
    device.quietly(|| {
        let slice = stream.alloc_zeros::<u32>(WORDS).unwrap();
        launch(&other, &kernel, &slice);
        other.synchronize().unwrap();
        assert!(device.take_reports().unwrap_or(true));
    });
}

#[test]
fn a_bracket_orders_with_tracking_off_too() {
    let Some(device) = Device::get() else { return };
    // SAFETY: the bracket below is all that is needed.
    unsafe { device.context.disable_event_tracking() };
    let kernel = touch(&device.context);
    let arena = device.arena();
    let stream = device.served(&arena);
    let other = device.stream();
    let slice = stream.alloc_zeros::<u32>(WORDS).unwrap();
    let bracket = slice.sync_for(&other).unwrap();
    launch(&other, &kernel, &slice);
    drop(bracket);
    let bracket = slice.sync_for(stream.cuda()).unwrap();
    assert_eq!(stream.cuda().clone_dtoh(&slice).unwrap(), [1; WORDS]);
    drop(bracket);
    drop(slice);
    device.reclaim();
}
