//! The life of a C arena behind the handles of this crate.
//!
//! *Vocabulary.* A **tenure** is the C arena with all that must outlive it:
//! closures that it may call, memory that it gives out. A **life** is the tenure
//! and who needs it. A **handle** is an [`Arena`](crate::Arena), and is counted.
//! A [`Block`](crate::Block) has a handle that is **lent**: it is not, for the C
//! arena counts its blocks. Who changes the count of handles from or to 0 is in
//! the **gate**. An arena without handles is **retired**: C tells who ends its
//! last block.
//!
//! *Invariants.* The C arena lives as long as any handle or block. It ends
//! where the last handle goes and C says that no block lives, or else where C
//! tells that the last one went; a new handle, which only a block or a weak
//! handle can make, takes that back. If C is telling already, the call on its
//! way is a **stray**: it has a share of the life, and does nothing. Whoever
//! freed a block touches neither arena nor life after.
//!
//! Where others hold the C arena too, C cannot tell, so what is lent there is
//! counted like any handle.
//!
//! The end waits for nothing: if work on freed bytes is still under way on a
//! stream, the tenure is set aside whole and tried again when the next arena is
//! made or ends. An arena in which ids live that nobody owns
//! (`Block::into_raw`, a free that the driver refused) stays: nobody can say
//! that those bytes are idle.
//!
//! *Cost.* One atomic operation to make a handle or to drop it, none for those
//! of blocks. The first handle of a block's, and the last of an arena whose
//! blocks live, take a mutex and a call of C; and while an arena is retired no
//! free has a fast path in C. What the fast path reads, the pointer and
//! whether anything listens, lies together.

use std::any::Any;
use std::ffi::c_void;
use std::mem::{self, ManuallyDrop, MaybeUninit};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

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
        // SAFETY: called at the end only, or again after BUSY.
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
    pageable: bool,
    granule: usize,
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

/// Tenures whose streams were still at work when nobody needed them any more.
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
    /// told where the last to go is a block, or goes in an unwinding.
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

/// What every handle names.
#[repr(C)]
pub(crate) struct Life {
    /// Taken out at the end.
    tenure: ManuallyDrop<Tenure>,
    handles: AtomicUsize,
    gate: Mutex<Gate>,
}

/// What belongs to who changes the count of handles from or to 0. Nothing of
/// the program's is called while it is held, and of C no more than
/// `cuarena_retire`.
#[derive(Default)]
struct Gate {
    /// The tenure was taken, or is about to be; there are neither handles nor
    /// blocks.
    ended: bool,
    /// How many calls of C that tell of the last block came too late.
    strays: usize,
}

impl Life {
    /// The C arena; it lives as long as the handle that this is had from.
    #[inline]
    pub(crate) fn raw(&self) -> *mut ffi::cuarena_t {
        self.tenure.raw.as_ptr()
    }

    /// Whether the CPU can read and write the bytes.
    #[inline]
    pub(crate) fn is_host_readable(&self) -> bool {
        self.tenure.host_readable
    }

    /// Whether no device reaches the bytes.
    #[inline]
    pub(crate) fn is_pageable(&self) -> bool {
        self.tenure.pageable
    }

    /// What addresses and sizes are multiples of.
    #[inline]
    pub(crate) fn granule(&self) -> usize {
        self.tenure.granule
    }

    /// Whether handles of blocks are counted too.
    #[inline]
    pub(crate) fn counts_blocks(&self) -> bool {
        self.tenure.hold == Hold::Shared
    }

    pub(crate) fn hooks(&self) -> &Hooks {
        &self.tenure.hooks
    }

    /// From now on closures may run in any call. Before the C library is told
    /// of a closure: whoever then takes its lock sees this too.
    pub(crate) fn watch(&self) {
        self.tenure.watched.store(true, Ordering::Relaxed);
        self.hooks().use_them();
    }

    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        self.tenure.watched.load(Ordering::Relaxed)
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

    fn gate(&self) -> MutexGuard<'_, Gate> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One handle more, but not the first.
    #[inline]
    fn add_handle(&self) -> bool {
        let mut count = self.handles.load(Ordering::Relaxed);
        while count != 0 {
            if count > MOST_HANDLES {
                std::process::abort();
            }
            // What the new handle is used for is ordered by who hands it on.
            let (order, more) = (Ordering::Relaxed, count + 1);
            match self
                .handles
                .compare_exchange_weak(count, more, order, order)
            {
                Ok(_) => return true,
                Err(now) => count = now,
            }
        }
        false
    }

    /// One handle less, but not the last. The life may have ended then.
    #[inline]
    fn remove_handle(&self) -> bool {
        let mut count = self.handles.load(Ordering::Relaxed);
        while count > 1 {
            let (less, order) = (count - 1, Ordering::Release);
            match self
                .handles
                .compare_exchange_weak(count, less, order, Ordering::Relaxed)
            {
                Ok(_) => return true,
                Err(now) => count = now,
            }
        }
        false
    }
}

/// As of an `Arc`: more are leaked ones, and the count would come to 0.
const MOST_HANDLES: usize = isize::MAX as usize;

/// A counted handle: what an [`Arena`](crate::Arena) is.
pub(crate) struct Handle(NonNull<Life>);

// SAFETY: a life is Send and Sync, and its count is atomic.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Handle {
    /// Takes a C arena over.
    pub(crate) fn new(raw: NonNull<ffi::cuarena_t>, hold: Hold, kept: Vec<Kept>) -> Self {
        let properties = properties(raw.as_ptr());
        Self::of(Tenure {
            raw,
            watched: AtomicBool::new(hold == Hold::Shared),
            host_readable: host_readable(&properties),
            pageable: is_pageable(&properties),
            granule: properties.granule_bytes as usize,
            hold,
            hooks: Arc::default(),
            kept,
        })
    }

    /// The arena itself keeps a share of the life, until it ends.
    fn of(tenure: Tenure) -> Self {
        let life = Arc::new(Life {
            tenure: ManuallyDrop::new(tenure),
            handles: AtomicUsize::new(1),
            gate: Mutex::default(),
        });
        life.hooks().belong_to(&life);
        // SAFETY: it comes from an `Arc`.
        Self(unsafe { NonNull::new_unchecked(Arc::into_raw(life).cast_mut()) })
    }

    #[inline]
    pub(crate) fn life(&self) -> &Life {
        // SAFETY: it lives as long as the handle, counted or lent.
        unsafe { self.0.as_ref() }
    }

    /// A share of the life, which does not keep the arena alive.
    fn share(&self) -> Arc<Life> {
        // SAFETY: it is in an `Arc`, of which the arena has a share as long as
        // the handle lives; the one that is made here is counted.
        unsafe {
            Arc::increment_strong_count(self.0.as_ptr());
            Arc::from_raw(self.0.as_ptr())
        }
    }

    pub(crate) fn downgrade(&self) -> Weak<Life> {
        Arc::downgrade(&self.share())
    }

    /// A handle, unless the arena has ended.
    pub(crate) fn upgrade(weak: &Weak<Life>) -> Option<Self> {
        let life = weak.upgrade()?;
        // Whether there are handles or not: a life that has ended has none.
        if !life.add_handle() && !revive(&life) {
            return None;
        }
        // SAFETY: it comes from an `Arc`.
        Some(Self(unsafe {
            NonNull::new_unchecked(Arc::as_ptr(&life).cast_mut())
        }))
    }

    /// The same handle, not to be dropped: for a block of the arena, which may
    /// use it as long as C says that it lives.
    #[inline]
    pub(crate) fn uncounted(&self) -> Self {
        Self(self.0)
    }

    #[cold]
    fn revived(&self) {
        let alive = revive(&self.share());
        debug_assert!(alive, "of a block that lives, or of a handle");
    }

    #[cold]
    fn drop_last(&self) {
        let life = self.share();
        let mut gate = life.gate();
        if life.handles.fetch_sub(1, Ordering::AcqRel) > 1 {
            return; // somebody came meanwhile
        }
        if retire(&life, &mut gate) {
            drop(gate);
            // SAFETY: the gate says that it has ended, which it did not before.
            unsafe { take(self.0) }.end_or_set_aside();
            end_what_was_set_aside();
        }
    }

    /// The tenure, if this is the last handle and no block lives.
    fn unwrap(self) -> std::result::Result<Tenure, (Self, Error)> {
        let life = self.share();
        let mut gate = life.gate();
        let (order, failed) = (Ordering::AcqRel, Ordering::Relaxed);
        let last = life.handles.compare_exchange(1, 0, order, failed).is_ok();
        if last && retire(&life, &mut gate) {
            drop(gate);
            // SAFETY: the gate says that it has ended, which it did not before.
            return Ok(unsafe { take(ManuallyDrop::new(self).0) });
        }
        if last {
            life.handles.store(1, Ordering::Relaxed);
            take_back(&life, &mut gate);
        }
        drop(gate);
        Err((self, still_shared()))
    }

    /// Whether it is the last handle, and no block lives: of now.
    pub(crate) fn is_last(&self) -> bool {
        let life = self.share();
        let mut gate = life.gate();
        if life.handles.load(Ordering::Relaxed) != 1 {
            return false;
        }
        if life.counts_blocks() {
            return true;
        }
        let last = !ask(&life);
        if !last {
            take_back(&life, &mut gate);
        }
        last
    }

    /// Has the C library put another arena in this one's place: what `replace`
    /// leaves in its argument then. On an error the handle comes back, unless
    /// the arena has ended.
    pub(crate) fn replace(
        self,
        replace: impl FnOnce(&mut *mut ffi::cuarena_t) -> ffi::cuarena_status_t,
    ) -> std::result::Result<*mut ffi::cuarena_t, (Option<Self>, Error)> {
        let tenure = self
            .unwrap()
            .map_err(|(handle, error)| (Some(handle), error))?;
        let mut raw = tenure.raw.as_ptr();
        let status = replace(&mut raw);
        if status == ffi::CUARENA_OK {
            return Ok(raw);
        }
        let error = Error::last(status);
        let handle = (!raw.is_null()).then(|| Self::of(tenure));
        Err((handle, error))
    }

    /// Ends the arena now, or says why not: not the last handle, or busy.
    pub(crate) fn close(self) -> std::result::Result<(), (Self, Error)> {
        match self.unwrap()?.end() {
            Ok(()) => Ok(()),
            Err((tenure, status)) => {
                let error = Error::last(status);
                Err((Self::of(tenure), error))
            }
        }
    }
}

impl Clone for Handle {
    #[inline]
    fn clone(&self) -> Self {
        if !self.life().add_handle() {
            self.revived();
        }
        Self(self.0)
    }
}

impl Drop for Handle {
    #[inline]
    fn drop(&mut self) {
        if !self.life().remove_handle() {
            self.drop_last();
        }
    }
}

// ---- Within the gate, but for `take` ---------------------------------------

/// A first handle again, unless the arena has ended.
fn revive(life: &Arc<Life>) -> bool {
    let mut gate = life.gate();
    if gate.ended {
        return false;
    }
    if life.handles.fetch_add(1, Ordering::Relaxed) == 0 {
        take_back(life, &mut gate);
    }
    true
}

/// No handle is left. Whether nothing else is, so that the arena ends here.
fn retire(life: &Arc<Life>, gate: &mut Gate) -> bool {
    gate.ended = life.counts_blocks() || !ask(life);
    gate.ended
}

/// Asks C to tell when the last block ends; false: none lives. What C says is
/// ordered behind all calls that freed one.
fn ask(life: &Arc<Life>) -> bool {
    let user = Arc::as_ptr(life).cast_mut().cast();
    // SAFETY: the arena lives; `retired` may be called as long as the arena has
    // its share of the life, or until a stray's is gone.
    unsafe { ffi::cuarena_retire(life.raw(), Some(retired), user) != ffi::CUARENA_STALE }
}

/// Nobody is to be told any more. If C does so already, that is a stray.
fn take_back(life: &Arc<Life>, gate: &mut Gate) {
    // SAFETY: the arena lives, as it ends only behind the gate.
    let status = unsafe { ffi::cuarena_retire(life.raw(), None, ptr::null_mut()) };
    if status != ffi::CUARENA_OK {
        gate.strays += 1;
        mem::forget(life.clone());
    }
}

/// Takes the tenure, and ends the arena's share of the life.
///
/// # Safety
///
/// Its gate says that it has ended, and who calls this made it so.
unsafe fn take(life: NonNull<Life>) -> Tenure {
    // SAFETY: the share is the arena's; neither handle nor block is left, so
    // nobody else looks at the tenure.
    unsafe {
        let life = Arc::from_raw(life.as_ptr());
        ptr::read(&*life.tenure)
    }
}

/// C tells that the last block of a retired arena has ended. Comes from any
/// call of C that frees, which touches nothing of the arena after.
unsafe extern "C" fn retired(user: *mut c_void, _arena: *mut ffi::cuarena_t) {
    let Some(life) = NonNull::new(user.cast::<Life>()) else {
        return;
    };
    let stray = {
        // SAFETY: a share is this call's: a stray's or the arena's. Of two
        // calls on their way whichever comes last has that.
        let mut gate = unsafe { life.as_ref() }.gate();
        let stray = gate.strays != 0;
        gate.strays -= usize::from(stray);
        gate.ended |= !stray; // a stray may come when it has ended already
        stray
    };
    // SAFETY: the share is this call's; if it is the arena's, the gate says
    // since now that it has ended: C tells once.
    unsafe {
        if stray {
            drop(Arc::from_raw(life.as_ptr()));
        } else {
            take(life).end_or_set_aside();
            end_what_was_set_aside();
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

fn properties(raw: *mut ffi::cuarena_t) -> ffi::cuarena_properties_t {
    let mut properties = MaybeUninit::<ffi::cuarena_properties_t>::zeroed();
    // SAFETY: all bits 0 are a value of the struct, which its function then
    // makes ready for the call; the arena lives.
    unsafe {
        ffi::cuarena_properties_init(properties.as_mut_ptr());
        ffi::cuarena_properties(raw, properties.as_mut_ptr());
        properties.assume_init()
    }
}

/// Whether the CPU may touch the bytes at any time: managed ones may be a fault
/// while the device runs, whatever it does.
fn host_readable(properties: &ffi::cuarena_properties_t) -> bool {
    properties.host_readable != 0
        && (!is_managed(properties)
            || device_info(DeviceId(properties.device)).is_ok_and(|device| device.concurrent))
}

/// Of functions of the program's own nobody knows.
fn is_pageable(properties: &ffi::cuarena_properties_t) -> bool {
    match properties.memory {
        ffi::CUARENA_MEMORY_PAGEABLE => true,
        ffi::CUARENA_MEMORY_BYTES => properties.bytes_kind == ffi::CUARENA_BYTES_HOST,
        _ => false,
    }
}

fn is_managed(properties: &ffi::cuarena_properties_t) -> bool {
    match properties.memory {
        ffi::CUARENA_MEMORY_MANAGED => true,
        ffi::CUARENA_MEMORY_BYTES => properties.bytes_kind == ffi::CUARENA_BYTES_MANAGED,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arena;

    /// C tells of the last block, of which the last handle's drop has found out
    /// by itself meanwhile.
    #[test]
    fn a_stray_that_comes_after_the_end_brings_nothing_back() {
        let handle = Arena::open("memory=none, pool=1MiB").unwrap().into_handle();
        let (life, weak) = (handle.share(), handle.downgrade());
        life.gate().strays = 1;
        mem::forget(life.clone());
        drop(handle);
        let user = Arc::as_ptr(&life).cast_mut().cast();
        // SAFETY: the share that was forgotten is this call's.
        unsafe { retired(user, ptr::null_mut()) };
        assert_eq!(life.gate().strays, 0);
        assert!(Handle::upgrade(&weak).is_none(), "the arena has ended");
    }
}
