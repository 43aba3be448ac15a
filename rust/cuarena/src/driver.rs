//! The driver of the GPU: which one runs, and what its devices can do.
//!
//! Nothing here links to a part of CUDA. The driver's library is opened when
//! the first of these is asked, the first stream is passed, or the first arena
//! on a device is made; the variable `CUARENA_CUDA_LIBRARY` names another file.
//! Where there is none, or it has no device, that is an error like any other,
//! [`ErrorKind::NoDevice`](crate::ErrorKind::NoDevice), never a panic.

use crate::error::{check, text_of};
use crate::sized::sized;
use crate::{ffi, Result};

/// The driver that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DriverInfo {
    /// Of CUDA: 12040 is 12.4.
    pub version: i32,
    /// How many devices it has; at least 1.
    pub device_count: i32,
    /// The file that was opened.
    pub library: String,
}

/// A device, by the driver's ordinal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct DeviceId(pub i32);

impl core::fmt::Display for DeviceId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.fmt(f)
    }
}

/// What one device is and can do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Its name.
    pub name: String,
    /// Compute capability, major and minor.
    pub compute: (i32, i32),
    /// Multiprocessors.
    pub multiprocessors: i32,
    /// The backing `vmm` can be had.
    pub vmm: bool,
    /// ... with blocks that can be exported.
    pub fd: bool,
    /// ... that network cards reach.
    pub rdma: bool,
    /// ... that can be exported to other hosts, if the system lets it.
    pub fabric: bool,
    /// The backing `async` can be had.
    pub pools: bool,
    /// Managed memory can be had.
    pub managed: bool,
    /// ... and be touched by the CPU while the device runs.
    pub concurrent: bool,
    /// All of its memory, in bytes.
    pub total_bytes: usize,
    /// What is free of that now, of all processes.
    pub free_bytes: usize,
}

/// The driver that runs here. The first call takes what the driver takes to
/// start.
///
/// # Errors
///
/// No device, with the reason in words.
///
/// ```
/// match cuarena::driver_info() {
///     Ok(driver) => println!("CUDA {}: {}", driver.version, driver.library),
///     Err(error) => assert!(error.is_no_device()),
/// }
/// ```
pub fn driver_info() -> Result<DriverInfo> {
    // SAFETY: an init function of the library.
    let mut raw = unsafe { sized(ffi::cuarena_driver_info_init) };
    // SAFETY: the struct was made by its init function.
    check(unsafe { ffi::cuarena_driver_info(&mut raw) })?;
    Ok(DriverInfo {
        version: raw.version,
        device_count: raw.device_count,
        library: text_of(&raw.library),
    })
}

/// What a device is. Takes the device's primary context, which is created for
/// the call if nobody has it.
///
/// # Errors
///
/// A bad argument for an ordinal that the driver does not have; no device; what
/// the driver refuses.
pub fn device_info(device: DeviceId) -> Result<DeviceInfo> {
    // SAFETY: an init function of the library.
    let mut raw = unsafe { sized(ffi::cuarena_device_info_init) };
    // SAFETY: the struct was made by its init function.
    check(unsafe { ffi::cuarena_device_info(device.0, &mut raw) })?;
    Ok(DeviceInfo {
        name: text_of(&raw.name),
        compute: (raw.compute_major, raw.compute_minor),
        multiprocessors: raw.multiprocessors,
        vmm: raw.vmm != 0,
        fd: raw.fd != 0,
        rdma: raw.rdma != 0,
        fabric: raw.fabric != 0,
        pools: raw.pools != 0,
        managed: raw.managed != 0,
        concurrent: raw.concurrent != 0,
        total_bytes: raw.total_bytes as usize,
        free_bytes: raw.free_bytes as usize,
    })
}

/// The devices that there are.
///
/// # Errors
///
/// As [`driver_info`].
pub fn devices() -> Result<impl ExactSizeIterator<Item = DeviceId>> {
    Ok((0..driver_info()?.device_count).map(DeviceId))
}
