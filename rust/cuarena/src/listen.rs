//! Who is told: the out-of-memory handler, the event listener, the relocation
//! listener.
//!
//! *Invariants.* An arena has one of each; a later one takes the place of an
//! earlier one, also while that runs. They are called without a lock, by the
//! thread whose call caused it, by several threads at once.
//!
//! *Panics.* One that leaves a closure goes on in the call that the closure was
//! called from, when that returns. If it was called from a drop, the arena
//! keeps it: [`Arena::take_panic`].
//!
//! *Cycles.* An arena owns its closures. One that owns a handle or a block of
//! that arena keeps it alive for ever, unless it is taken away again; use
//! [`Arena::downgrade`].

use std::any::Any;
use std::ops::ControlFlow;
use std::ptr;
use std::sync::Arc;

use crate::compact::Address;
use crate::error::ErrorKind;
use crate::hooks::{EventListener, Hooks, OomHandler, RelocationListener};
use crate::trampoline;
use crate::{ffi, Arena, BlockId, Relocation, Tag};

/// What an out-of-memory handler says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Retry {
    /// Something was freed: try again.
    Again,
    /// Nothing was: the request goes on to the next step, or fails.
    GiveUp,
}

/// A request that found no room.
#[derive(Debug)]
pub struct OutOfMemory<'a> {
    arena: &'a Arena,
    asked: usize,
    attempt: u32,
}

impl<'a> OutOfMemory<'a> {
    pub(crate) fn new(arena: &'a Arena, asked: u64, attempt: i32) -> Self {
        let attempt = attempt.unsigned_abs();
        Self {
            arena,
            asked: asked as usize,
            attempt,
        }
    }

    /// Whose request it is. Any call is legal in the handler.
    #[must_use]
    pub fn arena(&self) -> &'a Arena {
        self.arena
    }

    /// The bytes asked for.
    #[must_use]
    pub fn asked(&self) -> usize {
        self.asked
    }

    /// How often the handler was asked for this request before.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventKind {
    /// A block was made.
    Alloc,
    /// A block was freed.
    Free,
    /// A block got another size.
    Resize,
    /// Bytes were taken from the memory.
    Grow,
    /// Bytes were given back.
    Trim,
    /// A batch was moved.
    Compact,
    /// A request was refused, with this kind of error.
    Fail(ErrorKind),
    /// All blocks were ended.
    Reset,
    /// An event that this version of the crate does not know.
    Unknown(i32),
}

impl EventKind {
    fn from_raw(raw: &ffi::cuarena_event_t) -> Self {
        match raw.kind {
            ffi::CUARENA_EVENT_ALLOC => Self::Alloc,
            ffi::CUARENA_EVENT_FREE => Self::Free,
            ffi::CUARENA_EVENT_RESIZE => Self::Resize,
            ffi::CUARENA_EVENT_GROW => Self::Grow,
            ffi::CUARENA_EVENT_TRIM => Self::Trim,
            ffi::CUARENA_EVENT_COMPACT => Self::Compact,
            ffi::CUARENA_EVENT_FAIL => Self::Fail(ErrorKind::from_status(raw.status)),
            ffi::CUARENA_EVENT_RESET => Self::Reset,
            kind => Self::Unknown(kind),
        }
    }
}

/// Something that happened in an arena.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Event {
    /// What.
    pub kind: EventKind,
    /// To which block, if to one.
    pub block: Option<BlockId>,
    /// Where that was, if anywhere.
    pub address: Option<Address>,
    /// Bytes requested, taken, given back or moved.
    pub bytes: usize,
    /// The block's tag.
    pub tag: Tag,
}

impl Event {
    pub(crate) fn from_raw(raw: &ffi::cuarena_event_t) -> Self {
        Self {
            kind: EventKind::from_raw(raw),
            block: (raw.block != 0).then_some(BlockId(raw.block)),
            address: (!raw.address.is_null()).then(|| Address::of(raw.address)),
            bytes: raw.bytes as usize,
            tag: Tag(raw.tag),
        }
    }
}

impl Arena {
    /// Who is asked when a request finds no room and nothing else helps, before
    /// compaction.
    ///
    /// It is asked again while it says [`Retry::Again`], up to 16 times for one
    /// request. On one thread it is not entered twice: a request made in it
    /// that finds no room fails. Nor is it asked for more bytes than a pool or
    /// the stable region has, or than both the limit of reserved bytes and all
    /// that is reserved.
    ///
    /// ```
    /// use cuarena::{Arena, Block, Retry};
    /// use std::sync::{Arc, Mutex};
    /// # fn main() -> Result<(), cuarena::Error> {
    /// let arena = Arena::builder().pool(1 << 20).build()?;
    /// let cache: Arc<Mutex<Vec<Block>>> = Arc::default();
    /// cache.lock().unwrap().push(arena.alloc(1 << 20)?);
    /// let of_handler = Arc::downgrade(&cache);
    /// arena.on_out_of_memory(move |_| {
    ///     let cached = of_handler.upgrade().and_then(|c| c.lock().unwrap().pop());
    ///     if cached.is_some() { Retry::Again } else { Retry::GiveUp }
    /// });
    /// let block = arena.alloc(1000)?;
    /// assert!(cache.lock().unwrap().is_empty());
    /// # drop(block);
    /// # Ok(())
    /// # }
    /// ```
    pub fn on_out_of_memory<F>(&self, handler: F)
    where
        F: Fn(&OutOfMemory<'_>) -> Retry + Send + Sync + 'static,
    {
        self.set_oom(Some(Arc::new(handler)));
    }

    /// Nobody is asked from now on.
    pub fn clear_out_of_memory(&self) {
        self.set_oom(None);
    }

    /// Who hears of allocations, frees, growth, and the like, after the fact.
    /// Any call is legal in the listener, and its events reach it too.
    ///
    /// While there is a listener, every allocation and free takes the longer
    /// path.
    ///
    /// ```
    /// use cuarena::{Arena, EventKind};
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// use std::sync::Arc;
    /// # fn main() -> Result<(), cuarena::Error> {
    /// let arena = Arena::builder().pool(1 << 20).build()?;
    /// let frees = Arc::new(AtomicU64::new(0));
    /// let counted = frees.clone();
    /// arena.on_event(move |event| {
    ///     if event.kind == EventKind::Free {
    ///         counted.fetch_add(1, Ordering::Relaxed);
    ///     }
    /// });
    /// drop(arena.alloc(1000)?);
    /// assert_eq!(frees.load(Ordering::Relaxed), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn on_event<F>(&self, listener: F)
    where
        F: Fn(&Event) + Send + Sync + 'static,
    {
        self.set_events(Some(Arc::new(listener)));
    }

    /// Nobody hears of events from now on, but who is in the listener now.
    pub fn clear_events(&self) {
        self.set_events(None);
    }

    /// Who hears of moves that no compaction of the program's reports: those of
    /// a pool that is resized, and of compaction as a step of running out
    /// ([`compact_on_oom`](crate::ArenaBuilder::compact_on_oom)), which moves
    /// blocks where nobody listens as well. The rules are those of the closure of
    /// [`compact_with`](Self::compact_with).
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// use cuarena::Arena;
    /// use std::ops::ControlFlow;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    /// use std::sync::Arc;
    /// let arena = Arena::builder().pool(1 << 20).compact_on_oom(true).build()?;
    /// let moved = Arc::new(AtomicUsize::new(0));
    /// let counted = moved.clone();
    /// arena.on_relocation(move |batch| {
    ///     counted.fetch_add(batch.len(), Ordering::Relaxed);
    ///     ControlFlow::Continue(())
    /// });
    /// let blocks: Vec<_> = (0..256).map(|_| arena.alloc(4096)).collect::<Result<_, _>>()?;
    /// let kept: Vec<_> = blocks.into_iter().step_by(2).collect();
    /// let block = arena.alloc(100_000)?;
    /// assert!(moved.load(Ordering::Relaxed) > 0);
    /// # drop((kept, block));
    /// # Ok(())
    /// # }
    /// ```
    pub fn on_relocation<F>(&self, listener: F)
    where
        F: Fn(&[Relocation]) -> ControlFlow<()> + Send + Sync + 'static,
    {
        self.set_relocations(Some(Arc::new(listener)));
    }

    /// Nobody hears of such moves from now on.
    pub fn clear_relocation(&self) {
        self.set_relocations(None);
    }

    /// The first panic of a closure that was called from a drop, where it could
    /// not go on.
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// # let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
    /// let block = arena.alloc(1000)?;
    /// arena.on_event(|_| panic!("heard of a free"));
    /// drop(block); // does not panic
    /// let payload = arena.take_panic().unwrap();
    /// assert_eq!(*payload.downcast::<&str>().unwrap(), "heard of a free");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn take_panic(&self) -> Option<Box<dyn Any + Send>> {
        self.life().hooks().take_panic()
    }

    fn set_oom(&self, handler: Option<Arc<OomHandler>>) {
        let function = handler.is_some().then_some(trampoline::out_of_memory as _);
        let old = self.hooked().oom.replace(handler);
        // SAFETY: the hooks, which the function expects, outlive the C arena.
        unsafe { ffi::cuarena_set_oom_handler(self.raw(), function, self.user()) };
        drop(old);
    }

    fn set_events(&self, listener: Option<Arc<EventListener>>) {
        let function = listener.is_some().then_some(trampoline::event as _);
        let old = self.hooked().events.replace(listener);
        // SAFETY: as above.
        unsafe { ffi::cuarena_set_event_listener(self.raw(), function, self.user()) };
        drop(old);
    }

    fn set_relocations(&self, listener: Option<Arc<RelocationListener>>) {
        let function = listener.is_some().then_some(trampoline::relocated as _);
        let old = self.hooked().relocations.replace(listener);
        // SAFETY: as above.
        unsafe { ffi::cuarena_set_relocation_callback(self.raw(), function, self.user()) };
        drop(old);
    }

    /// The hooks of an arena that is watched from now on.
    fn hooked(&self) -> &Hooks {
        self.life().watch();
        self.life().hooks()
    }

    fn user(&self) -> *mut std::ffi::c_void {
        ptr::from_ref(self.life().hooks()).cast_mut().cast()
    }
}
