//! Which of the handles beside arenas and blocks other threads may have.

use cuarena::heap::Heap;
use cuarena::{CaptureSession, Mark, PeakScope, Properties, RawStream, Stream};

fn sent_and_shared<T: Send + Sync + 'static>() {}
fn sent<T: Send + 'static>() {}

#[test]
fn handles_go_to_any_thread() {
    sent_and_shared::<Stream>();
    sent_and_shared::<RawStream>();
    sent_and_shared::<Mark>();
    sent_and_shared::<PeakScope>();
    sent_and_shared::<CaptureSession>();
    sent_and_shared::<Properties>();
    sent_and_shared::<cuarena::Export>();
    sent::<Heap>();
}

/// A heap has no lock, so two threads must not have it at once: this compiles
/// only while `Heap` is not `Sync`.
#[test]
fn a_heap_is_not_shared() {
    trait Ambiguous<A> {
        fn told() {}
    }
    impl<T> Ambiguous<()> for T {}
    struct OfShared;
    impl<T: Sync> Ambiguous<OfShared> for T {}
    <Heap as Ambiguous<_>>::told();
}
