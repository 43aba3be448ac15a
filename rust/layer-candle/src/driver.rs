//! What the driver tells of memory; under the layer, what the layer answers.

use candle_core::cuda_backend::cudarc::driver::result::{device, mem_get_info, mem_pool};
use candle_core::cuda_backend::cudarc::driver::sys::{CUmemPool_attribute, CUmemoryPool};
use candle_core::{Error, Result};

fn pool() -> Result<CUmemoryPool> {
    let ordinal = device::get(0).map_err(Error::wrap)?;
    // SAFETY: the device is one that the driver has just named.
    unsafe { device::get_default_mem_pool(ordinal) }.map_err(Error::wrap)
}

/// The default pool keeps what is freed: the highest release threshold.
pub fn keep_all_that_is_freed() -> Result<()> {
    let mut most = u64::MAX;
    let value = std::ptr::from_mut(&mut most).cast();
    let threshold = CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    // SAFETY: the attribute is a u64.
    unsafe { mem_pool::set_attribute(pool()?, threshold, value) }.map_err(Error::wrap)
}

fn figure(attribute: CUmemPool_attribute) -> Result<u64> {
    let mut bytes = 0_u64;
    let value = std::ptr::from_mut(&mut bytes).cast();
    // SAFETY: the attributes that are asked for are u64.
    unsafe { mem_pool::get_attribute(pool()?, attribute, value) }.map_err(Error::wrap)?;
    Ok(bytes)
}

/// Bytes that the device's default pool had at most, and that were in use at most.
pub fn peaks() -> Result<(u64, u64)> {
    Ok((
        figure(CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)?,
        figure(CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH)?,
    ))
}

/// Bytes that are free, as a program is told that asks how much it can take.
pub fn free_bytes() -> Result<u64> {
    mem_get_info()
        .map(|(free, _)| free as u64)
        .map_err(Error::wrap)
}

type MemGetInfo = unsafe extern "C" fn(*mut usize, *mut usize) -> i32;

/// The driver's own function, which the layer's name hides from the linker.
fn mem_get_info_of_driver() -> Option<MemGetInfo> {
    // SAFETY: the library is loaded already, and stays; the symbol has that type.
    unsafe {
        let library = libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW);
        let symbol = libc::dlsym(library, c"cuMemGetInfo_v2".as_ptr());
        (!library.is_null() && !symbol.is_null())
            .then(|| std::mem::transmute::<*mut libc::c_void, MemGetInfo>(symbol))
    }
}

/// Bytes of the device that are taken by whomever, as the driver itself says.
pub fn taken_bytes() -> Result<u64> {
    let (mut free, mut total) = (0, 0);
    let function =
        mem_get_info_of_driver().ok_or_else(|| Error::msg("no cuMemGetInfo_v2 in libcuda.so.1"))?;
    // SAFETY: both are written.
    match unsafe { function(&mut free, &mut total) } {
        0 => Ok((total - free) as u64),
        code => Err(Error::Msg(format!("cuMemGetInfo: CUresult {code}"))),
    }
}
