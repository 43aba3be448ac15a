//! Slices on one stream.

use cudarc::driver::{LaunchConfig, PushKernelArg};

use crate::{Device, Outcome};

pub fn allocated_and_freed(device: &Device) -> Outcome {
    let stream = device.context.new_stream()?;
    let mut kept = Vec::new();
    for round in 0..1000_usize {
        let len = 1 + round * 7919 % 20_000;
        let slice = stream.clone_htod(&vec![round as u32; len])?;
        if round % 3 == 0 {
            kept.push((round as u32, slice));
        }
        if kept.len() > 20 {
            let (value, slice) = kept.remove(round % 20);
            assert!(stream.clone_dtoh(&slice)?.iter().all(|&got| got == value));
        }
    }
    for (value, slice) in kept {
        assert!(stream.clone_dtoh(&slice)?.iter().all(|&got| got == value));
    }
    Ok(())
}

pub fn copied(device: &Device) -> Outcome {
    let stream = device.context.default_stream();
    let first = stream.clone_htod(&[1_u8, 2, 3, 4, 5, 6])?;
    let second = stream.clone_dtod(&first)?;
    drop(first);
    let mut third = stream.alloc_zeros::<u8>(6)?;
    stream.memcpy_dtod(&second.slice(2..5), &mut third.slice_mut(0..3))?;
    assert_eq!(stream.clone_dtoh(&third)?, [3, 4, 5, 0, 0, 0]);
    Ok(())
}

pub fn computed(device: &Device) -> Outcome {
    let stream = device.context.new_stream()?;
    for len in [1_usize, 100, 5000] {
        let ones = stream.clone_htod(&vec![1.0_f32; len])?;
        let mut sums = stream.alloc_zeros::<f32>(len)?;
        for _ in 0..10 {
            let mut launch = stream.launch_builder(&device.axpy);
            launch.arg(&2.0_f32).arg(&ones).arg(&mut sums).arg(&len);
            // SAFETY: these are the kernel's arguments, and it stays within both.
            unsafe { launch.launch(LaunchConfig::for_num_elems(len as u32))? };
        }
        assert!(stream.clone_dtoh(&sums)?.iter().all(|&sum| sum == 20.0));
    }
    Ok(())
}
