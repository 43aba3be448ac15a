//! Panics of the program's own closures, which must not unwind through C.
//!
//! *Vocabulary.* A panic that leaves a closure is **parked**, on its thread,
//! while the C call returns, and **resumed** after it. Where it may not be
//! resumed, in a drop, it is **kept** by the arena instead.
//!
//! *Invariants.* No panic steals a C frame. The first of several in one call
//! is the one that is resumed. A payload whose own drop panics is leaked.
//!
//! *Cost.* Nothing where nothing listens: who calls C looks for a parked panic
//! only if the arena has a closure.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};

/// What a panic carries.
pub(crate) type Payload = Box<dyn Any + Send>;

thread_local! {
    static CACHED: Cell<Option<Payload>> = const { Cell::new(None) };
    /// Whether one is, for who looks often.
    static IS_CACHED: Cell<bool> = const { Cell::new(false) };
}

/// Runs a closure of the program's; if it panics, parks that and answers
/// `otherwise`. Calls of the closure's own do not see what was parked before.
pub(crate) fn guard<R>(otherwise: R, closure: impl FnOnce() -> R) -> R {
    let first = take();
    // Whatever state the closure leaves behind is seen by its owner only after
    // the panic is resumed, as if it had been called without C in between.
    let (answer, second) = match panic::catch_unwind(AssertUnwindSafe(closure)) {
        Ok(answer) => (answer, None),
        Err(payload) => (otherwise, Some(payload)),
    };
    match (first, second) {
        (Some(first), second) => {
            park(first);
            if let Some(second) = second {
                discard(second);
            }
        }
        (None, Some(second)) => park(second),
        (None, None) => {}
    }
    answer
}

/// The same of what has nobody to tell: `None` where it panicked, and the panic
/// is over.
pub(crate) fn caught<R>(closure: impl FnOnce() -> R) -> Option<R> {
    let parked = take();
    let answer = panic::catch_unwind(AssertUnwindSafe(closure));
    forget();
    if let Some(parked) = parked {
        park(parked);
    }
    answer.map_err(discard).ok()
}

/// A thread that is ending has no place for it: then it is over.
fn park(payload: Payload) {
    let mut payload = Some(payload);
    let _ = CACHED.try_with(|parked| parked.set(payload.take()));
    IS_CACHED.set(payload.is_none());
    if let Some(payload) = payload {
        discard(payload);
    }
}

/// What is parked on this thread, if anything.
pub(crate) fn take() -> Option<Payload> {
    IS_CACHED.set(false);
    CACHED.try_with(Cell::take).ok().flatten()
}

/// Goes on with the panic that is parked on this thread, if any.
pub(crate) fn resume() {
    if let Some(payload) = take() {
        panic::resume_unwind(payload);
    }
}

/// What is parked on this thread is over.
#[inline]
pub(crate) fn forget() {
    if IS_CACHED.get() {
        discard(take());
    }
}

/// Drops a payload, or anything else of the program's, whatever its drop does.
pub(crate) fn discard<T>(payload: T) {
    if let Err(worse) = panic::catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(worse);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct PanicsWhenDropped;

    impl Drop for PanicsWhenDropped {
        fn drop(&mut self) {
            panic!("from a payload");
        }
    }

    #[test]
    fn first_of_two_is_resumed() {
        assert_eq!(guard(1, || panic!("first")), 1);
        assert_eq!(guard(2, || panic!("second")), 2);
        let payload = panic::catch_unwind(resume).unwrap_err();
        assert_eq!(*payload.downcast::<&str>().unwrap(), "first");
        resume();
    }

    #[test]
    fn what_is_caught_leaves_what_was_parked() {
        guard((), || panic!("first"));
        assert_eq!(caught(|| take().is_none()), Some(true));
        assert_eq!(caught(|| park(Box::new("of its own"))), Some(()));
        assert_eq!(caught(|| panic!("caught")), None::<()>);
        assert_eq!(*take().unwrap().downcast::<&str>().unwrap(), "first");
    }

    #[test]
    fn a_payload_whose_drop_panics_is_leaked() {
        guard((), || panic!("kept"));
        guard((), || panic::panic_any(PanicsWhenDropped));
        assert!(take().is_some());
        assert!(take().is_none());
    }
}
