//! The driver's own pools, of which [`Backing::Async`](crate::Backing::Async)
//! takes its bytes, and arenas on all devices, each with a choice of pool.

use std::ptr::{self, NonNull};

use crate::arena::bounded;
use crate::error::check;
use crate::life::{self, Handle, Hold};
use crate::sized::sized;
use crate::{ffi, Arena, ArenaBuilder, DriverPool, Error, ErrorKind, Result};

/// What a pool of the driver's has, for everybody who uses it. Sizes are
/// bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct DriverPoolStats {
    /// Of live pieces, whoever has them.
    pub used_bytes: usize,
    /// That the pool has of its device.
    pub total_bytes: usize,
    /// Total less used.
    pub free_bytes: usize,
    /// The most used since the pool was made, or a reset.
    pub peak_used_bytes: usize,
    /// The most in total, likewise.
    pub peak_total_bytes: usize,
    /// What it keeps of what it has free; `None`: it gives nothing back.
    pub release_threshold: Option<usize>,
    /// The `CUmemoryPool`, as a number.
    pub handle: u64,
    /// The ordinal of its device.
    pub device: i32,
    /// The pool ends with the arena.
    pub own: bool,
}

impl Arena {
    /// The figures of the arena's pool. Asks the driver, for one after the
    /// other.
    ///
    /// # Errors
    ///
    /// Unsupported for an arena that uses none, and where the device has no
    /// pools; what the driver refuses.
    pub fn driver_pool_stats(&self) -> Result<DriverPoolStats> {
        // SAFETY: an init function of the library.
        let mut raw = unsafe { sized(ffi::cuarena_driver_pool_stats_init) };
        // SAFETY: the arena lives; the struct was made by its init function.
        check(unsafe { ffi::cuarena_driver_pool_stats(self.raw(), &mut raw) })?;
        Ok(DriverPoolStats {
            used_bytes: raw.used_bytes as usize,
            total_bytes: raw.total_bytes as usize,
            free_bytes: raw.free_bytes as usize,
            peak_used_bytes: raw.peak_used_bytes as usize,
            peak_total_bytes: raw.peak_total_bytes as usize,
            release_threshold: bounded(raw.release_threshold),
            handle: raw.handle,
            device: raw.device,
            own: raw.own != 0,
        })
    }

    /// The pool's two peaks begin anew from what is now, for everybody who uses
    /// it.
    ///
    /// # Errors
    ///
    /// As [`Arena::driver_pool_stats`].
    pub fn driver_pool_reset_peaks(&self) -> Result<()> {
        // SAFETY: the arena lives.
        check(unsafe { ffi::cuarena_driver_pool_reset_peaks(self.raw()) })
    }
}

/// One of the driver's pools, for [`ArenaBuilder::per_device`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PoolChoice {
    kind: i32,
    handle: u64,
}

impl PoolChoice {
    /// One of the program's own, a `CUmemoryPool` as a number.
    ///
    /// # Safety
    ///
    /// It is a live pool, of the device that it is chosen for, until the arena
    /// there has ended.
    #[must_use]
    pub unsafe fn handle(handle: u64) -> Self {
        let kind = ffi::CUARENA_DRIVER_POOL_EXTERNAL;
        Self { kind, handle }
    }

    fn raw(self) -> ffi::cuarena_driver_pool_choice_t {
        ffi::cuarena_driver_pool_choice_t {
            kind: self.kind,
            zero: 0,
            handle: self.handle,
        }
    }
}

impl From<DriverPool> for PoolChoice {
    fn from(pool: DriverPool) -> Self {
        let kind = pool.code();
        Self { kind, handle: 0 }
    }
}

impl ArenaBuilder {
    /// Makes an arena on each device that the driver shows, by its number, of
    /// these options and a choice of pool for each: all or, on an error, none.
    ///
    /// # Errors
    ///
    /// A bad argument unless there are as many choices as devices, for options
    /// that name a device or a context, and for bytes or functions of the
    /// program's own, which serve one arena; otherwise those of
    /// [`ArenaBuilder::build`].
    ///
    /// ```no_run
    /// # fn main() -> cuarena::Result<()> {
    /// use cuarena::{devices, Arena, DriverPool, Preset};
    /// let own = vec![DriverPool::Own.into(); devices()?.len()];
    /// let arenas = Arena::builder().preset(Preset::DriverPool).per_device(&own)?;
    /// assert_eq!(arenas.len(), own.len());
    /// # Ok(())
    /// # }
    /// ```
    pub fn per_device(mut self, pools: &[PoolChoice]) -> Result<Vec<Arena>> {
        life::end_what_was_set_aside();
        self.prepare_for_many()?;
        let choices: Vec<_> = pools.iter().map(|pool| pool.raw()).collect();
        let mut raw = vec![ptr::null_mut(); choices.len()];
        // SAFETY: the config is a valid one, and points to nothing; both lists
        // have as many members as it is told.
        check(unsafe {
            ffi::cuarena_create_per_device(
                self.config_mut(),
                choices.as_ptr(),
                choices.len(),
                raw.as_mut_ptr(),
            )
        })?;
        let arenas = raw.into_iter().filter_map(NonNull::new);
        Ok(arenas
            .map(|raw| Arena::of(Handle::new(raw, Hold::Alone, Vec::new())))
            .collect())
    }

    /// For several arenas, for which the choices say which pool.
    fn prepare_for_many(&mut self) -> Result<()> {
        let config = self.config_mut();
        if [ffi::CUARENA_MEMORY_BYTES, ffi::CUARENA_MEMORY_CUSTOM].contains(&config.memory) {
            let message = "memory: the program's own, for an arena on each device; accepted: \
                           the library's";
            return Err(Error::new(ErrorKind::BadArgument, message));
        }
        config.driver_pool = DriverPool::Current.code();
        config.driver_pool_handle = 0;
        Ok(())
    }
}
