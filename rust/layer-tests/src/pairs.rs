//! How long an allocation and its free take, for who compares: `layer-tests
//! pairs`, with and without the layer.

use std::time::Instant;

use cudarc::driver::sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
use cudarc::driver::{result, sys, CudaContext};

use crate::{Device, Outcome};

const PAIRS: u32 = 20_000;

/// The device's pool keeps what is freed, as programs have it that know of it.
fn keep_all(context: &CudaContext) -> Outcome {
    let mut pool = std::ptr::null_mut();
    let mut all = u64::MAX;
    // SAFETY: the attribute is 8 bytes, and the pool is the driver's own.
    unsafe {
        sys::cuDeviceGetDefaultMemPool(&mut pool, context.cu_device()).result()?;
        let value = (&raw mut all).cast();
        sys::cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, value).result()?;
    }
    Ok(())
}

pub fn timed(device: &Device) -> Outcome {
    let stream = device.context.new_stream()?;
    keep_all(&device.context)?;
    for bytes in [4096, 1 << 20, 64 << 20] {
        let begun = Instant::now();
        for _ in 0..PAIRS {
            // SAFETY: nothing uses it.
            unsafe {
                let pointer = result::malloc_async(stream.cu_stream(), bytes)?;
                result::free_async(pointer, stream.cu_stream())?;
            }
        }
        let each = begun.elapsed() / PAIRS;
        println!(
            "{bytes} bytes: {} ns for an allocation and its free",
            each.as_nanos()
        );
        stream.synchronize()?;
    }
    Ok(())
}
