//! What an arena's memory has become: the kind, the backing, the device, and
//! what other parties can do with its bytes.

use crate::choices::Choice;
use crate::driver::DeviceId;
use crate::error::check;
use crate::figures::told;
use crate::sized::sized;
use crate::{ffi, Arena, Backing, BytesKind};

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
            ffi::CUARENA_MEMORY_BYTES => {
                BytesKind::of_code(bytes_kind).map_or(Self::Unknown(code), Self::Bytes)
            }
            ffi::CUARENA_MEMORY_CUSTOM => Self::Custom,
            _ => Self::Unknown(code),
        }
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
    pub granularity: usize,
    /// Of the smallest handle of the backing `vmm`; 0 without.
    pub handle_bytes: usize,
    /// What addresses and sizes of blocks are multiples of, whoever configured
    /// the arena.
    pub granule_bytes: usize,
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
    /// ```
    /// # fn main() -> cuarena::Result<()> {
    /// let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
    /// let properties = arena.properties();
    /// assert!(properties.host_readable);
    /// assert_eq!(properties.device, None);
    /// # Ok(())
    /// # }
    /// ```
    pub fn properties(&self) -> Properties {
        // SAFETY: an init function of the library.
        let mut raw = unsafe { sized(ffi::cuarena_properties_init) };
        // SAFETY: the arena lives; the struct was made by its init function.
        told(check(unsafe {
            ffi::cuarena_properties(self.raw(), &mut raw)
        }));
        Properties {
            source: Source::from_code(raw.memory, raw.bytes_kind),
            // 0, the code of `auto`, stands for none.
            backing: Backing::of_code(raw.backing).filter(|&backing| backing != Backing::Auto),
            device: (raw.device >= 0).then_some(DeviceId(raw.device)),
            fd: raw.fd != 0,
            rdma: raw.rdma != 0,
            fabric: raw.fabric != 0,
            peers: raw.peers,
            host_readable: raw.host_readable != 0,
            relocation_kernel: raw.relocation_kernel != 0,
            compute: (raw.compute_major, raw.compute_minor),
            granularity: raw.granularity as usize,
            handle_bytes: raw.handle_bytes as usize,
            granule_bytes: raw.granule_bytes as usize,
            context: raw.context,
        }
    }
}
