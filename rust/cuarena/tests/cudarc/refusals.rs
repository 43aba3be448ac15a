//! What cannot be had, and how it is said.

use cuarena::interop::cudarc::{ArenaExt, BuilderExt};
use cuarena::{Arena, DriverPool, ErrorKind, Preset, StatsForm};

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

#[test]
fn figures_that_the_driver_refuses_are_an_error() {
    let Some(device) = Device::get() else { return };
    let arena = Arena::builder()
        .cuda(&device.context)
        .preset(Preset::DriverPool)
        .driver_pool(DriverPool::Own)
        .build()
        .unwrap();
    assert!(arena.ort_stats().is_ok());
    let refused = device.failing("cuMemPoolGetAttribute", || {
        let native = arena.stats_text(StatsForm::Native).is_ok();
        let pairs = arena.stats_pairs(StatsForm::Ort, |_, _| {}).unwrap_err();
        let text = arena.stats_text(StatsForm::Ort).unwrap_err();
        (native, arena.ort_stats().unwrap_err(), pairs, text)
    });
    let Some((native, figures, pairs, text)) = refused else {
        return;
    };
    assert!(native);
    for error in [figures, pairs, text] {
        assert_eq!(error.kind(), ErrorKind::Driver, "{error}");
    }
    assert!(arena.ort_stats().is_ok());
}
