//! cudarc's own views of arena memory.

use cudarc::driver::PushKernelArg;

use crate::driver::Device;
use crate::kernel::{touch, FEW};

const WORDS: usize = 20_000;
const BYTES: usize = WORDS * 4;

#[test]
fn a_view_orders_launches_on_any_stream() {
    let Some(device) = Device::get() else { return };
    let kernel = touch(&device.context);
    let arena = device.arena();
    let stream = device.served(&arena);
    let mut slice = stream.alloc_zeros::<u32>(WORDS).unwrap();
    for _ in 0..3 {
        let other = device.stream();
        let mut view = slice.as_view_mut();
        let mut launch = other.launch_builder(&kernel);
        launch.arg(&mut view).arg(&BYTES);
        // SAFETY: the kernel stays within the view.
        unsafe { launch.launch(FEW).unwrap() };
    }
    assert_eq!(stream.cuda().clone_dtoh(&slice).unwrap(), [3; WORDS]);
    drop(slice);
    drop(stream.alloc_zeros::<u32>(WORDS).unwrap());
    device.reclaim();
}

#[test]
fn parts_are_read_and_written_through_views() {
    let Some(device) = Device::get() else { return };
    let arena = device.arena();
    let stream = device.served(&arena);
    let other = device.stream();
    let mut slice = stream.clone_htod(&[1_u32, 2, 3, 4]).unwrap();
    other
        .memcpy_htod(&[9, 9], &mut slice.slice_mut(1..3))
        .unwrap();
    assert_eq!(stream.cuda().clone_dtoh(&slice).unwrap(), [1, 9, 9, 4]);
    assert_eq!(other.clone_dtoh(&slice.slice(2..)).unwrap(), [9, 4]);
    assert_eq!(
        other.clone_dtoh(slice.as_cuda_slice()).unwrap(),
        [1, 9, 9, 4]
    );
    assert_eq!(slice.as_view().len(), 4);
    drop(slice);
    device.reclaim();
}

/// Uses by address and by view take turns.
#[test]
fn views_and_slices_mind_each_other() {
    let Some(device) = Device::get() else { return };
    let arena = device.arena();
    let stream = device.served(&arena);
    let (one, two) = (device.stream(), device.stream());
    let home = stream.cuda().clone();
    let mut slice = stream.alloc_zeros::<u32>(WORDS).unwrap();
    for round in 0..5 {
        let words = vec![round; WORDS];
        one.memcpy_htod(&words, &mut slice.as_view_mut()).unwrap();
        assert_eq!(two.clone_dtoh(&slice).unwrap(), words);
        two.memset_zeros(&mut slice).unwrap();
        assert_eq!(one.clone_dtoh(&slice.as_view()).unwrap(), [0; WORDS]);
        home.memcpy_htod(&words, &mut slice).unwrap();
        assert_eq!(two.clone_dtoh(&slice.as_view()).unwrap(), words);
        home.memset_zeros(&mut slice).unwrap();
        assert_eq!(one.clone_dtoh(&slice).unwrap(), [0; WORDS]);
    }
    drop(slice);
    device.reclaim();
}

#[test]
#[should_panic]
fn a_part_that_is_not_there_panics() {
    let Some(device) = Device::get() else {
        panic!("there is no device, which is fine")
    };
    let arena = device.arena();
    let stream = device.served(&arena);
    let slice = stream.alloc_zeros::<u32>(4).unwrap();
    let _ = slice.slice(2..6);
}
