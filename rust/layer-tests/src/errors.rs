//! Errors are those of the driver.

use cudarc::driver::{result, sys::CUresult};

use crate::{Device, Outcome};

pub fn too_much(device: &Device) -> Outcome {
    let stream = device.context.new_stream()?;
    // SAFETY: nothing reads it.
    let refused = unsafe { stream.alloc::<u8>(1 << 46) };
    let error = refused.map(drop).expect_err("that is more than there is");
    assert_eq!(error.0, CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    let slice = stream.clone_htod(&[7_u8; 100])?;
    assert_eq!(stream.clone_dtoh(&slice)?, [7; 100]);
    Ok(())
}

pub fn freed_twice(device: &Device) -> Outcome {
    device.context.bind_to_thread()?;
    // SAFETY: nothing uses them, and a driver refuses the second free.
    unsafe {
        let pointer = result::malloc_sync(1000)?;
        result::free_sync(pointer)?;
        let error = result::free_sync(pointer).expect_err("it is free");
        assert_eq!(error.0, CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    Ok(())
}
