//! The functions that C calls, which call the program's closures.
//!
//! *Invariants.* None unwinds: each runs the closure under
//! [`panics::guard`]. Each is given with the `user` pointer that it casts back,
//! in the one place that names it.

use std::ffi::c_void;
use std::ops::ControlFlow;

use crate::compact::Relocation;
use crate::hooks::Hooks;
use crate::listen::{Event, OutOfMemory, Retry};
use crate::{ffi, panics, Arena};

/// What C takes for "no further batch".
const STOP: i32 = 1;

/// A batch of C's as a slice.
///
/// # Safety
///
/// `list` has `count` relocations that nobody changes meanwhile.
unsafe fn relocations<'a>(
    list: *const ffi::cuarena_relocation_t,
    count: usize,
) -> &'a [Relocation] {
    if count == 0 {
        return &[];
    }
    // SAFETY: the caller's word; the types have one layout.
    unsafe { std::slice::from_raw_parts(list.cast(), count) }
}

fn answer(flow: ControlFlow<()>) -> i32 {
    match flow {
        ControlFlow::Continue(()) => 0,
        ControlFlow::Break(()) => STOP,
    }
}

/// For the closure of one compaction; `user` is the closure.
pub(crate) unsafe extern "C" fn batch<F>(
    user: *mut c_void,
    list: *const ffi::cuarena_relocation_t,
    count: usize,
) -> i32
where
    F: FnMut(&[Relocation]) -> ControlFlow<()>,
{
    panics::guard(STOP, || {
        // SAFETY: the compaction has the closure alone until it returns, and
        // is in it once at a time; the list is C's for that long.
        let (closure, list) = unsafe { (&mut *user.cast::<F>(), relocations(list, count)) };
        answer(closure(list))
    })
}

/// For relocations that no compact call reports; `user` is the hooks.
pub(crate) unsafe extern "C" fn relocated(
    user: *mut c_void,
    list: *const ffi::cuarena_relocation_t,
    count: usize,
) -> i32 {
    panics::guard(STOP, || {
        // SAFETY: the hooks outlive the C arena; the list is C's for the call.
        let (hooks, list) = unsafe { (&*user.cast::<Hooks>(), relocations(list, count)) };
        hooks
            .relocations
            .share()
            .map_or(0, |closure| answer(closure(list)))
    })
}

/// For an arena that is running out; `user` is the hooks.
pub(crate) unsafe extern "C" fn out_of_memory(
    user: *mut c_void,
    _arena: *mut ffi::cuarena_t,
    asked: u64,
    attempt: i32,
) -> i32 {
    panics::guard(0, || {
        // SAFETY: the hooks outlive the C arena.
        let hooks = unsafe { &*user.cast::<Hooks>() };
        let (Some(closure), Some(handle)) = (hooks.oom.share(), hooks.arena()) else {
            return 0;
        };
        let arena = Arena::of(handle);
        let retry = closure(&OutOfMemory::new(&arena, asked, attempt));
        i32::from(retry == Retry::Again)
    })
}

/// For events; `user` is the hooks.
pub(crate) unsafe extern "C" fn event(user: *mut c_void, event: *const ffi::cuarena_event_t) {
    panics::guard((), || {
        // SAFETY: the hooks outlive the C arena; the event is C's for the call.
        let (hooks, event) = unsafe { (&*user.cast::<Hooks>(), &*event) };
        if let Some(closure) = hooks.events.share() {
            closure(&Event::from_raw(event));
        }
    });
}
