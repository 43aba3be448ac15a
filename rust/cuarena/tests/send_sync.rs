//! What may cross threads, and what may not, is part of the API.

use cuarena::*;

fn shared<T: Send + Sync>() {}

#[test]
fn handles_and_guards_cross_threads() {
    shared::<Arena>();
    shared::<WeakArena>();
    shared::<Block>();
    shared::<TypedBlock<f32>>();
    shared::<PinnedBlock<'static>>();
    shared::<DevicePtr<'static>>();
    shared::<HostView<'static>>();
    shared::<HostViewMut<'static>>();
    shared::<HostView<'static, f32>>();
}

#[test]
fn values_cross_threads() {
    shared::<Address>();
    shared::<ArenaBuilder>();
    shared::<BlockId>();
    shared::<BlockInfo>();
    shared::<CompactOptions>();
    shared::<CompactReport>();
    shared::<Event>();
    shared::<Relocation>();
    shared::<Request>();
    shared::<Stats>();
    shared::<Tag>();
}

#[test]
fn errors_can_be_boxed_anywhere() {
    fn error<T: std::error::Error + Send + Sync + 'static>() {}
    error::<Error>();
    error::<CloseError>();
    assert_eq!(
        std::mem::size_of::<Result<()>>(),
        std::mem::size_of::<usize>()
    );
}

#[test]
fn a_result_is_no_larger_than_a_block() {
    assert_eq!(
        std::mem::size_of::<Result<Block>>(),
        std::mem::size_of::<Block>()
    );
}
