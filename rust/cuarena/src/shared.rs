//! Arenas that a process shares: one for each device and memory.
//!
//! Whoever comes first makes the arena, and its configuration stands. Those who
//! come later hold the same arena; where they asked for something else they are
//! told, and it is ignored. Holders may be written in any language: libraries
//! of one process that do not know of each other get one arena instead of two
//! that take each other's memory. The last one to let go ends it.
//!
//! Two configurations mean the same arena if they have the same memory and, for
//! memory of a device, the same device, or the same context where they name
//! one. Bytes and functions of the program's own are not shared.
//!
//! A shared arena has one out-of-memory handler, one event listener and one
//! relocation listener, whoever set it last. It goes on calling them when who
//! set them has let go, so what a holder sets is never dropped.

use core::ptr::{self, NonNull};
use std::ffi::CString;

use crate::error::{check, text_of};
use crate::life::{self, Handle, Hold};
use crate::sized::sized;
use crate::{ffi, panics, Arena, ArenaBuilder, Error, ErrorKind, Result};

/// What asking for a shared arena came to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SharedReport {
    /// This call made the arena.
    pub created: bool,
    /// Options that are in force with another value than was asked for.
    pub differs: i32,
    /// Holders of the arena now, the caller among them.
    pub holders: u64,
    /// The differences in words, of as many as there was room for.
    pub text: String,
}

impl SharedReport {
    fn from_raw(raw: &ffi::cuarena_shared_report_t) -> Self {
        Self {
            created: raw.created != 0,
            differs: raw.differs,
            holders: raw.holders,
            text: text_of(&raw.text),
        }
    }
}

fn report() -> ffi::cuarena_shared_report_t {
    // SAFETY: an init function of the library.
    unsafe { sized(ffi::cuarena_shared_report_init) }
}

impl ArenaBuilder {
    /// Holds the process's arena of this memory and device, which is made if
    /// there is none.
    ///
    /// # Errors
    ///
    /// Those of [`ArenaBuilder::build`]; a bad argument for bytes or functions
    /// of the program's own.
    ///
    /// ```
    /// # fn main() -> cuarena::Result<()> {
    /// use cuarena::{Arena, Preset};
    /// let grow = || Arena::builder().preset(Preset::Grow);
    /// let (mine, first) = grow().limit(64 << 20).share()?;
    /// let (theirs, second) = grow().limit(16 << 20).share()?;
    /// assert!(first.created && !second.created);
    /// assert_eq!((second.differs, second.holders), (1, 2));
    /// let block = mine.alloc(1000)?;
    /// assert_eq!(theirs.stats().live_blocks, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn share(mut self) -> Result<(Arena, SharedReport)> {
        life::end_what_was_set_aside();
        self.check_pool()?;
        let (mut raw, mut report) = (ptr::null_mut(), report());
        // SAFETY: the config is a valid one; what it points to is kept.
        check(unsafe { ffi::cuarena_shared_acquire(self.config_mut(), &mut raw, &mut report) })?;
        let arena = self.holding(raw)?;
        Ok((arena, SharedReport::from_raw(&report)))
    }

    /// Holds the process's arena of this memory and device as it is, whatever
    /// other options say; `None` if there is none.
    ///
    /// # Errors
    ///
    /// A bad argument for bytes or functions of the program's own.
    pub fn find_shared(mut self) -> Result<Option<Arena>> {
        let mut raw = ptr::null_mut();
        // SAFETY: as above.
        let status = unsafe { ffi::cuarena_shared_find(self.config_mut(), &mut raw) };
        if status == ffi::CUARENA_STALE {
            return Ok(None);
        }
        check(status)?;
        self.holding(raw).map(Some)
    }

    fn holding(self, raw: *mut ffi::cuarena_t) -> Result<Arena> {
        let Some(raw) = NonNull::new(raw) else {
            return Err(Error::new(ErrorKind::Corrupt, "an arena at no address"));
        };
        let kept = self.into_kept();
        Ok(Arena::of(Handle::new(raw, Hold::Shared, kept)))
    }
}

impl Arena {
    /// Puts an arena with another configuration, of the same device and memory,
    /// in the place of a shared one that nobody else holds.
    ///
    /// The old arena is ended before the new one is made, since they may want
    /// the same bytes: where the new one cannot be made, there is none.
    ///
    /// # Errors
    ///
    /// Busy while others hold the arena (the message says how many), blocks
    /// live in it, or other handles of it do: this one comes back then. A bad
    /// argument for another device or memory, stale for an arena that is not
    /// shared, likewise. Otherwise those of [`ArenaBuilder::build`], and no
    /// arena.
    pub fn replace_shared(
        self,
        mut builder: ArenaBuilder,
    ) -> core::result::Result<(Arena, SharedReport), (Option<Arena>, Error)> {
        let mut report = report();
        if let Err(error) = builder.check_pool() {
            return Err((Some(self), error));
        }
        let config: *const ffi::cuarena_config_t = builder.config_mut();
        let replaced = self.into_handle().replace(|raw| {
            // SAFETY: nobody else has this holder's handle; the config is a
            // valid one, and lives.
            unsafe { ffi::cuarena_shared_replace(raw, config, &mut report) }
        });
        match replaced {
            Ok(raw) => match builder.holding(raw) {
                Ok(arena) => Ok((arena, SharedReport::from_raw(&report))),
                Err(error) => Err((None, error)),
            },
            Err((handle, error)) => Err((handle.map(Arena::of), error)),
        }
    }
}

/// Trims the shared arenas of a list of devices to what lives in them, and
/// tells the bytes given back: what ONNX Runtime's run option
/// `memory.enable_memory_arena_shrinkage` asks for at the end of a run.
///
/// Items are `cpu:0`, the shared arena of pageable memory, and `gpu:ID`, that
/// of device memory, with `;` between them. The caller need not hold the
/// arenas. An empty list is fine. Cost: that of [`Arena::trim`] for each.
///
/// # Errors
///
/// A bad argument, before anything is trimmed, for another word than `cpu` and
/// `gpu`, for what is no number of a device, and for a device without a shared
/// arena: the message names the item. Otherwise the first error of a trim.
///
/// # Panics
///
/// Resumes the panic of an event listener of the arenas.
///
/// ```
/// # fn main() -> cuarena::Result<()> {
/// use cuarena::{shrink_shared, Arena, Preset};
/// let (arena, _) = Arena::builder().preset(Preset::Grow).share()?;
/// drop(arena.alloc(100_000)?);
/// assert!(shrink_shared("cpu:0")? >= 100_000);
/// assert_eq!(arena.stats().reserved_bytes, 0);
/// assert!(shrink_shared("cpu:0;tpu:0").is_err());
/// # Ok(())
/// # }
/// ```
pub fn shrink_shared(devices: &str) -> Result<usize> {
    let devices = CString::new(devices)
        .map_err(|_| Error::new(ErrorKind::BadArgument, "a list of devices with a NUL in it"))?;
    let mut given = 0;
    // SAFETY: the text and the output live as long as the call.
    let result = check(unsafe { ffi::cuarena_shared_shrink(devices.as_ptr(), &mut given) });
    panics::resume(); // of a listener that heard of it
    result.map(|()| given as usize)
}
