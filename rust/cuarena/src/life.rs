//! The life of a C arena behind the handles of this crate.
//!
//! *Vocabulary.* A **tenure** is the C arena with all that must outlive it:
//! closures that it may call, memory that it gives out. A **life** is what
//! every [`Arena`](crate::Arena) and [`Block`](crate::Block) has a share of.
//!
//! *Invariants.* The C arena lives as long as any share, so no handle is ever
//! used after the end, and a call of it is the last. The last share ends it
//! without waiting: if work on freed bytes is still under way on a stream, the
//! tenure is set aside whole and tried again when the next arena is made or
//! ends. So is one in which ids live that nobody owns (`Block::into_raw`, a
//! free that the driver refused): nobody can say that those bytes are idle.
//!
//! *Cost.* One atomic addition to share, one to end a share. What the short
//! path reads, the pointer and whether anything listens, lies together.

use std::any::Any;
use std::mem::{self, ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{check, Error, ErrorKind, Result};
use crate::hooks::Hooks;
use crate::{device_info, ffi, panics, DeviceId};

/// Who holds a C arena besides this crate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    /// Nobody: this crate made it.
    Alone,
    /// Others may. Closures of theirs may run in any call, and the arena may
    /// call this crate's when it has let go.
    Shared,
}

impl Hold {
    /// Ends a C arena, or lets go of it.
    fn end(self, mut raw: *mut ffi::cuarena_t) -> ffi::cuarena_status_t {
        // SAFETY: called for the last share only, or again after BUSY.
        unsafe {
            match self {
                Self::Alone => ffi::cuarena_destroy(&mut raw),
                Self::Shared => ffi::cuarena_shared_release(&mut raw),
            }
        }
    }
}

/// What the program handed over to the arena: memory, or functions for it.
pub(crate) type Kept = Box<dyn Any + Send + Sync>;

/// A C arena and all that must outlive it.
#[repr(C)]
pub(crate) struct Tenure {
    raw: NonNull<ffi::cuarena_t>,
    /// Whether closures may have run in a call, and so have panicked.
    watched: AtomicBool,
    host_readable: bool,
    granule: u64,
    hold: Hold,
    /// Not a box, which would claim, when it is moved, that nobody else points
    /// to them: the C arena does.
    hooks: Arc<Hooks>,
    kept: Vec<Kept>,
}

// SAFETY: the C library lets any thread call anything at any time, and all
// else in it is Send and Sync itself.
unsafe impl Send for Tenure {}
// SAFETY: as above.
unsafe impl Sync for Tenure {}

/// Tenures whose streams were still at work when the last share ended.
static ASIDE: Mutex<Vec<Tenure>> = Mutex::new(Vec::new());

impl Tenure {
    /// Ends the arena; it comes back if it is busy.
    fn end(self) -> std::result::Result<(), (Self, ffi::cuarena_status_t)> {
        let status = self.hold.end(self.raw.as_ptr());
        if status == ffi::CUARENA_OK {
            self.leave();
            Ok(())
        } else {
            Err((self, status))
        }
    }

    /// Leaves to the C arena what it may use yet, if others hold it, and drops
    /// the rest. A panic of what the program left here is over: nobody can be
    /// told where the last share is a block's, or ends in an unwinding.
    fn leave(self) {
        let Self {
            hold, hooks, kept, ..
        } = self;
        if hold == Hold::Alone {
            drop(hooks);
            kept.into_iter().for_each(panics::discard);
            return;
        }
        mem::forget(kept);
        if hooks.are_used() {
            mem::forget(hooks);
        }
    }

    /// Ends the arena, or sets it aside. Blocks that wait for a stream that
    /// used them count as live, so whether anything will ever end them is not
    /// to be told from figures.
    fn end_or_set_aside(self) {
        if let Err((tenure, _)) = self.end() {
            aside().push(tenure);
        }
    }
}

/// Nothing of C and nothing of the program's is called while it is held.
fn aside() -> std::sync::MutexGuard<'static, Vec<Tenure>> {
    ASIDE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tries again to end what was set aside.
pub(crate) fn end_what_was_set_aside() {
    let waiting = mem::take(&mut *aside());
    for tenure in waiting {
        tenure.end_or_set_aside();
    }
}

/// What every handle has a share of.
pub(crate) struct Life(ManuallyDrop<Tenure>);

impl Life {
    /// Takes a C arena over.
    pub(crate) fn new(
        raw: NonNull<ffi::cuarena_t>,
        hold: Hold,
        granule: u64,
        kept: Vec<Kept>,
    ) -> Arc<Self> {
        Self::of(Tenure {
            raw,
            watched: AtomicBool::new(hold == Hold::Shared),
            host_readable: host_readable(raw.as_ptr()),
            granule,
            hold,
            hooks: Arc::default(),
            kept,
        })
    }

    fn of(tenure: Tenure) -> Arc<Self> {
        let life = Arc::new(Self(ManuallyDrop::new(tenure)));
        life.hooks().belong_to(&life);
        life
    }

    /// The C arena; it lives as long as this share.
    #[inline]
    pub(crate) fn raw(&self) -> *mut ffi::cuarena_t {
        self.0.raw.as_ptr()
    }

    /// Whether the CPU can read and write the bytes.
    #[inline]
    pub(crate) fn is_host_readable(&self) -> bool {
        self.0.host_readable
    }

    /// What addresses and sizes are multiples of.
    #[inline]
    pub(crate) fn granule(&self) -> u64 {
        self.0.granule
    }

    pub(crate) fn hooks(&self) -> &Hooks {
        &self.0.hooks
    }

    /// From now on closures may run in any call. Before the C library is told
    /// of a closure: whoever then takes its lock sees this too.
    pub(crate) fn watch(&self) {
        self.0.watched.store(true, Ordering::Relaxed);
        self.hooks().use_them();
    }

    #[inline]
    fn is_watched(&self) -> bool {
        self.0.watched.load(Ordering::Relaxed)
    }

    /// What a call came to, after the panic of a closure that ran in it.
    #[inline]
    pub(crate) fn finish(&self, status: ffi::cuarena_status_t) -> Result<()> {
        if self.is_watched() {
            return finish_watched(status);
        }
        check(status)
    }

    /// Where no panic may leave: keeps it.
    #[inline]
    pub(crate) fn finish_quietly(&self) {
        if self.is_watched() {
            self.keep_panic();
        }
    }

    #[cold]
    fn keep_panic(&self) {
        if let Some(payload) = panics::take() {
            self.hooks().keep_panic(payload);
        }
    }

    /// Has the C library put another arena in this one's place: what `replace`
    /// leaves in its argument then. On an error the life comes back, unless the
    /// arena has ended.
    pub(crate) fn replace(
        self: Arc<Self>,
        replace: impl FnOnce(&mut *mut ffi::cuarena_t) -> ffi::cuarena_status_t,
    ) -> std::result::Result<*mut ffi::cuarena_t, (Option<Arc<Self>>, Error)> {
        let life = Arc::try_unwrap(self).map_err(|life| (Some(life), still_shared()))?;
        let mut life = ManuallyDrop::new(life);
        // SAFETY: `life` is not touched again, nor dropped.
        let tenure = unsafe { ManuallyDrop::take(&mut life.0) };
        let mut raw = tenure.raw.as_ptr();
        let status = replace(&mut raw);
        if status == ffi::CUARENA_OK {
            return Ok(raw);
        }
        let error = Error::last(status);
        let life = (!raw.is_null()).then(|| Self::of(tenure));
        Err((life, error))
    }

    /// Ends the arena now, or says why not: not the last share, or busy.
    pub(crate) fn close(self: Arc<Self>) -> std::result::Result<(), (Arc<Self>, Error)> {
        let life = Arc::try_unwrap(self).map_err(|life| (life, still_shared()))?;
        let mut life = ManuallyDrop::new(life);
        // SAFETY: `life` is not touched again, nor dropped.
        let tenure = unsafe { ManuallyDrop::take(&mut life.0) };
        match tenure.end() {
            Ok(()) => Ok(()),
            Err((tenure, status)) => {
                let error = Error::last(status);
                Err((Self::of(tenure), error))
            }
        }
    }
}

#[cold]
fn finish_watched(status: ffi::cuarena_status_t) -> Result<()> {
    let result = check(status);
    panics::resume();
    result
}

fn still_shared() -> Error {
    let message = "blocks of the arena, or other handles of it, live";
    Error::new(ErrorKind::Busy, message)
}

/// Whether the CPU may touch the bytes at any time: managed ones may be a fault
/// while the device runs, whatever it does.
fn host_readable(raw: *mut ffi::cuarena_t) -> bool {
    let mut properties = MaybeUninit::<ffi::cuarena_properties_t>::zeroed();
    // SAFETY: all bits 0 are a value of the struct, which its function then
    // makes ready for the call; the arena lives.
    let properties = unsafe {
        ffi::cuarena_properties_init(properties.as_mut_ptr());
        ffi::cuarena_properties(raw, properties.as_mut_ptr());
        properties.assume_init()
    };
    properties.host_readable != 0
        && (!is_managed(&properties)
            || device_info(DeviceId(properties.device)).is_ok_and(|device| device.concurrent))
}

fn is_managed(properties: &ffi::cuarena_properties_t) -> bool {
    match properties.memory {
        ffi::CUARENA_MEMORY_MANAGED => true,
        ffi::CUARENA_MEMORY_BYTES => properties.bytes_kind == ffi::CUARENA_BYTES_MANAGED,
        _ => false,
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        // SAFETY: nothing uses it after this.
        let tenure = unsafe { ManuallyDrop::take(&mut self.0) };
        tenure.end_or_set_aside();
        end_what_was_set_aside();
    }
}
