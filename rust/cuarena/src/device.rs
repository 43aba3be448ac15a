//! What an arena's memory has become: the kind, the backing, the device, and
//! what other parties can do with its bytes.

use crate::driver::DeviceId;
use crate::error::check;
use crate::sized::sized;
use crate::{ffi, Arena, Backing, BytesKind, Result};

/// Where an arena's bytes come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// Pages of the process, committed as they are needed.
    Pageable,
    /// Nowhere: addresses alone, which nothing touches.
    None,
    /// A device.
    Device,
    /// A device and the CPU, by migration.
    Managed,
    /// Pages of the process that a device can reach.
    Pinned,
    /// The program's own bytes, which are of this kind.
    Bytes(BytesKind),
    /// The program's own functions.
    Custom,
    /// One that this version of the crate does not know.
    Unknown(i32),
}

impl Source {
    fn from_code(code: i32, bytes_kind: i32) -> Self {
        match code {
            ffi::CUARENA_MEMORY_PAGEABLE => Self::Pageable,
            ffi::CUARENA_MEMORY_NONE => Self::None,
            ffi::CUARENA_MEMORY_DEVICE => Self::Device,
            ffi::CUARENA_MEMORY_MANAGED => Self::Managed,
            ffi::CUARENA_MEMORY_PINNED => Self::Pinned,
            ffi::CUARENA_MEMORY_BYTES => Self::of_bytes(bytes_kind),
            ffi::CUARENA_MEMORY_CUSTOM => Self::Custom,
            _ => Self::Unknown(code),
        }
    }

    fn of_bytes(kind: i32) -> Self {
        match kind {
            ffi::CUARENA_BYTES_HOST => Self::Bytes(BytesKind::Host),
            ffi::CUARENA_BYTES_DEVICE => Self::Bytes(BytesKind::Device),
            ffi::CUARENA_BYTES_MANAGED => Self::Bytes(BytesKind::Managed),
            ffi::CUARENA_BYTES_PINNED => Self::Bytes(BytesKind::Pinned),
            _ => Self::Unknown(ffi::CUARENA_MEMORY_BYTES),
        }
    }
}

/// How device memory was got; `None` of other memory.
fn backing(code: i32) -> Option<Backing> {
    match code {
        ffi::CUARENA_BACKING_VMM => Some(Backing::Vmm),
        ffi::CUARENA_BACKING_MALLOC => Some(Backing::Malloc),
        ffi::CUARENA_BACKING_ASYNC => Some(Backing::Async),
        _ => None,
    }
}

/// What an arena's memory is, from its creation on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Properties {
    /// Where the bytes come from.
    pub source: Source,
    /// How memory of a device is had; never [`Backing::Auto`].
    pub backing: Option<Backing>,
    /// The device, where there is one.
    pub device: Option<DeviceId>,
    /// Blocks can be exported to other processes.
    pub fd: bool,
    /// Network cards can reach the bytes.
    pub rdma: bool,
    /// Handles can go to other hosts.
    pub fabric: bool,
    /// How many other devices reach the bytes.
    pub peers: i32,
    /// The CPU reads and writes the bytes.
    pub host_readable: bool,
    /// One kernel moves a whole list of blocks.
    pub relocation_kernel: bool,
    /// Compute capability of the device, major and minor.
    pub compute: (i32, i32),
    /// What the memory gives and takes back in multiples of.
    pub grain_bytes: u64,
    /// Of a handle of the backing `vmm`; 0 without.
    pub handle_bytes: u64,
    /// What addresses and sizes of blocks are multiples of, whoever configured
    /// the arena.
    pub granule_bytes: u64,
    /// The driver's context, a `CUcontext`; NULL where there is none.
    pub context: *mut core::ffi::c_void,
}

// SAFETY: the context is a number until somebody hands it to the driver.
unsafe impl Send for Properties {}
// SAFETY: as above.
unsafe impl Sync for Properties {}

impl Arena {
    /// What the arena's memory is. Constant time.
    ///
    /// # Errors
    ///
    /// None but for an arena that cannot be asked at all.
    ///
    /// ```
    /// # fn main() -> cuarena::Result<()> {
    /// let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
    /// let properties = arena.properties()?;
    /// assert!(properties.host_readable);
    /// assert_eq!(properties.device, None);
    /// # Ok(())
    /// # }
    /// ```
    pub fn properties(&self) -> Result<Properties> {
        // SAFETY: an init function of the library.
        let mut raw = unsafe { sized(ffi::cuarena_properties_init) };
        // SAFETY: the arena lives; the struct was made by its init function.
        check(unsafe { ffi::cuarena_properties(self.raw(), &mut raw) })?;
        Ok(Properties {
            source: Source::from_code(raw.memory, raw.bytes_kind),
            backing: backing(raw.backing),
            device: (raw.device >= 0).then_some(DeviceId(raw.device)),
            fd: raw.fd != 0,
            rdma: raw.rdma != 0,
            fabric: raw.fabric != 0,
            peers: raw.peers,
            host_readable: raw.host_readable != 0,
            relocation_kernel: raw.relocation_kernel != 0,
            compute: (raw.compute_major, raw.compute_minor),
            grain_bytes: raw.grain_bytes,
            handle_bytes: raw.handle_bytes,
            granule_bytes: raw.granule_bytes,
            context: raw.context,
        })
    }
}
