//! The closures that an arena keeps: who is asked when it runs out, who hears
//! of events, who hears of relocations.
//!
//! *Invariants.* The C library gets a function and a pointer to the hooks,
//! which live as long as the C arena does, parked or not. The closure behind
//! it may be replaced at any time: whoever is in the old one has a share of
//! it, and the last one out drops it. Nothing of the program's is called, nor
//! dropped, while a lock of this file is held.
//!
//! *Cost.* Two atomic additions a callback; nothing where there is none.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

use crate::compact::Relocation;
use crate::life::{Handle, Kept, Life};
use crate::listen::{Event, OutOfMemory, Retry};
use crate::panics::{discard, Payload};

pub(crate) type OomHandler = dyn Fn(&OutOfMemory<'_>) -> Retry + Send + Sync;
pub(crate) type EventListener = dyn Fn(&Event) + Send + Sync;
pub(crate) type RelocationListener = dyn Fn(&[Relocation]) -> ControlFlow<()> + Send + Sync;

/// A closure that can be replaced while it runs.
pub(crate) struct Slot<F: ?Sized>(RwLock<Option<Arc<F>>>);

impl<F: ?Sized> Default for Slot<F> {
    fn default() -> Self {
        Self(RwLock::new(None))
    }
}

impl<F: ?Sized> Slot<F> {
    /// Puts one in the place of another, which is handed back to be dropped.
    pub(crate) fn replace(&self, closure: Option<Arc<F>>) -> Option<Arc<F>> {
        let mut place = self.0.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *place, closure)
    }

    /// A share of what is there now.
    pub(crate) fn share(&self) -> Option<Arc<F>> {
        let place = self.0.read().unwrap_or_else(PoisonError::into_inner);
        place.clone()
    }
}

/// All closures of one arena.
#[derive(Default)]
pub(crate) struct Hooks {
    pub(crate) oom: Slot<OomHandler>,
    pub(crate) events: Slot<EventListener>,
    pub(crate) relocations: Slot<RelocationListener>,
    life: Mutex<Option<Weak<Life>>>,
    panic: Mutex<Option<Payload>>,
    kept: Mutex<Vec<Kept>>,
    used: AtomicBool,
}

impl Hooks {
    /// Whose they are.
    pub(crate) fn belong_to(&self, life: &Arc<Life>) {
        *self.life.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::downgrade(life));
    }

    /// A handle of the arena, unless that has ended.
    pub(crate) fn arena(&self) -> Option<Handle> {
        let life = self.life.lock().unwrap_or_else(PoisonError::into_inner);
        life.as_ref().and_then(Handle::upgrade)
    }

    /// The C library may know of them from now on.
    pub(crate) fn use_them(&self) {
        self.used.store(true, Ordering::Relaxed);
    }

    /// Whether the C library may know of them, or something is kept here.
    pub(crate) fn are_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    /// Keeps something as long as the C arena.
    pub(crate) fn keep(&self, kept: Kept) {
        self.use_them();
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(kept);
    }

    /// Keeps the first panic that could not be resumed.
    pub(crate) fn keep_panic(&self, payload: Payload) {
        let mut place = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
        if place.is_none() {
            *place = Some(payload);
            return;
        }
        drop(place);
        discard(payload);
    }

    /// Takes the panic that was kept.
    pub(crate) fn take_panic(&self) -> Option<Payload> {
        let mut place = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
        place.take()
    }
}

impl Drop for Hooks {
    /// Each by itself: panics of what the program left here are over.
    fn drop(&mut self) {
        discard(self.oom.replace(None));
        discard(self.events.replace(None));
        discard(self.relocations.replace(None));
        discard(self.take_panic());
        let kept = self.kept.get_mut().unwrap_or_else(PoisonError::into_inner);
        kept.drain(..).for_each(discard);
    }
}
