//! What cannot be had, and how it is said.

use cuarena::interop::cudarc::ArenaExt;
use cuarena::{Arena, ErrorKind};

use crate::driver::Device;

#[test]
fn the_per_thread_stream_is_no_home() {
    let Some(device) = Device::get() else { return };
    let arena = device.arena();
    let error = arena.cuda_stream(&device.context.per_thread_stream());
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn a_stream_of_no_device_or_another_context_is_refused() {
    let Some(device) = Device::get() else { return };
    let stream = device.stream();
    let host = Arena::builder().pool(1 << 20).build().unwrap();
    let error = host.cuda_stream(&stream).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadArgument);
    assert!(error.message().contains("cuda(&context)"), "{error}");
    let own = cudarc::driver::CudaContext::new_non_primary(0, 0).unwrap();
    let error = device.arena().cuda_stream(&own.default_stream());
    assert_eq!(error.unwrap_err().kind(), ErrorKind::BadArgument);
}

#[test]
fn too_much_is_an_error_with_its_figures() {
    let Some(device) = Device::get() else { return };
    let arena = device.arena();
    let stream = device.served(&arena);
    let error = stream.alloc_zeros::<u32>(1 << 30).unwrap_err();
    assert!(error.is_out_of_memory());
    assert_eq!(error.asked(), 4 << 30);
    // SAFETY: there is nothing to read.
    let error = unsafe { stream.alloc::<u64>(usize::MAX).unwrap_err() };
    assert_eq!(error.kind(), ErrorKind::BadArgument);
    device.reclaim();
}
