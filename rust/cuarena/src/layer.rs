//! Programs that allocate by the driver's own calls, such as those on cudarc,
//! get blocks of arenas instead, by one line in the program's crate:
//!
//! ```
//! cuarena::device_allocator!();
//! # fn main() {}
//! ```
//!
//! From then on one arena for each device serves what the program, and each
//! crate that it is linked with, allocates and frees by the driver, on the
//! streams that they name: [`device_allocator!`](crate::device_allocator).
//! `cuarena/layer.h` of the C library says what is served, what goes to the
//! driver, and what callers may rely on. [`stats`] tells how often.

use crate::error::check;
use crate::stats::{self, Stats};
use crate::{ffi, ArenaBuilder, Preset, Result};

/// What the layer did for a device.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct LayerStats {
    /// Allocations that the arena served.
    pub allocs: u64,
    /// Frees of these.
    pub frees: u64,
    /// Those of `allocs` on streams that were being captured.
    pub captured: u64,
    /// Allocations that went to the driver.
    pub driver_allocs: u64,
    /// Frees that did.
    pub driver_frees: u64,
    /// Those of `driver_allocs` that the arena had refused.
    pub refused_allocs: u64,
    /// The arena's own figures; `None` where there is none.
    pub arena: Option<Stats>,
}

/// What the layer did for a device, by its ordinal; `None`: for calls without
/// one, such as those without a context. It calls no driver.
///
/// # Errors
///
/// [`ErrorKind::BadArgument`](crate::ErrorKind::BadArgument) for an ordinal
/// above 63.
///
/// ```
/// # fn main() -> Result<(), cuarena::Error> {
/// let stats = cuarena::layer::stats(Some(0))?;
/// assert_eq!((stats.allocs, stats.arena), (0, None));
/// # Ok(())
/// # }
/// ```
pub fn stats(device: Option<u32>) -> Result<LayerStats> {
    let ordinal = device.map_or(-1, |ordinal| i32::try_from(ordinal).unwrap_or(i32::MAX));
    let mut raw = std::mem::MaybeUninit::uninit();
    // SAFETY: the init makes the struct, and the call fills it in.
    let raw = unsafe {
        ffi::cuarena_layer_stats_init(raw.as_mut_ptr());
        check(ffi::cuarena_layer_stats(ordinal, raw.as_mut_ptr()))?;
        raw.assume_init()
    };
    let arena = (!raw.arena.is_null())
        .then(|| stats::read(raw.arena, ffi::CUARENA_REGION_ALL))
        .transpose()?;
    Ok(LayerStats {
        allocs: raw.allocs,
        frees: raw.frees,
        captured: raw.captured,
        driver_allocs: raw.driver_allocs,
        driver_frees: raw.driver_frees,
        refused_allocs: raw.refused_allocs,
        arena,
    })
}

/// The functions of the layer, for the macro.
#[doc(hidden)]
#[must_use]
pub fn table() -> &'static ffi::cuarena_layer_t {
    // SAFETY: the table is constant, and that of the process.
    unsafe { &*ffi::cuarena_layer() }
}

/// Sets the options of the arenas, for the macro: before any call of the table.
///
/// # Panics
///
/// If they are not accepted.
#[doc(hidden)]
pub fn configure(builder: &ArenaBuilder) {
    if let Err(error) = builder.configure_layer() {
        panic!("cuarena::device_allocator!: {error}");
    }
}

/// What the macro without an argument takes.
#[doc(hidden)]
pub fn grows() -> ArenaBuilder {
    ArenaBuilder::new().preset(Preset::Grow)
}

/// Serves what the program allocates by the driver from arenas, as
/// `#[global_allocator]` does for the heap.
///
/// ```no_run
/// use cuarena::{Amount, Arena, Preset};
///
/// cuarena::device_allocator!(Arena::builder()
///     .preset(Preset::Grow)
///     .limit(Amount::percent(80)));
///
/// fn main() {
///     // cudarc's slices, candle's tensors: all of them are blocks now.
/// }
/// ```
///
/// It belongs into the crate of the program, once. The builder has the options
/// of the arenas, one arena for each device; it is evaluated at the first call.
/// Without one they grow as they need. `CUARENA_CONF` in the environment adds to
/// it; `CUARENA_ALLOCATOR=off` turns the layer off, and with `CUARENA_REPORT=1`
/// a line for each device at exit says what was served. The device's number and
/// the kind of memory are the layer's to choose.
///
/// The macro defines the driver's functions `cuMemAllocAsync`, `cuMemFreeAsync`
/// and some others, so the linker takes these for the driver's own, in the
/// program and in all crates that it is linked with. That is so where cudarc has
/// its feature `dynamic-linking`, as in candle. Where it opens the driver while
/// the program runs (`dynamic-loading`, `fallback-dynamic-loading`) run the
/// program by `cuarena run`, which needs no change at all.
///
/// ```compile_fail
/// cuarena::device_allocator!("limit=80%"); // a text is no builder
/// ```
///
/// # Panics
///
/// The first call ends the program, with the reason, if the options are not
/// accepted: [`ErrorKind::BadArgument`](crate::ErrorKind::BadArgument).
#[macro_export]
macro_rules! device_allocator {
    () => {
        $crate::device_allocator!($crate::layer::grows());
    };
    ($builder:expr $(,)?) => {
        const _: () = {
            fn layer() -> &'static $crate::ffi::cuarena_layer_t {
                static ONCE: ::std::sync::Once = ::std::sync::Once::new();
                ONCE.call_once(|| {
                    let builder: $crate::ArenaBuilder = $builder;
                    $crate::layer::configure(&builder);
                });
                $crate::layer::table()
            }
            $crate::layer_entries! { layer
                cuMemAlloc_v2(out: *mut u64, bytes: usize);
                cuMemFree_v2(pointer: u64);
                cuMemAllocAsync(out: *mut u64, bytes: usize,
                    stream: *mut $crate::ffi::CUstream_st);
                cuMemAllocAsync_ptsz(out: *mut u64, bytes: usize,
                    stream: *mut $crate::ffi::CUstream_st);
                cuMemAllocFromPoolAsync(out: *mut u64, bytes: usize,
                    pool: *mut $crate::ffi::CUmemPoolHandle_st,
                    stream: *mut $crate::ffi::CUstream_st);
                cuMemAllocFromPoolAsync_ptsz(out: *mut u64, bytes: usize,
                    pool: *mut $crate::ffi::CUmemPoolHandle_st,
                    stream: *mut $crate::ffi::CUstream_st);
                cuMemFreeAsync(pointer: u64, stream: *mut $crate::ffi::CUstream_st);
                cuMemFreeAsync_ptsz(pointer: u64, stream: *mut $crate::ffi::CUstream_st);
                cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
                cuMemGetAddressRange_v2(base: *mut u64, bytes: *mut usize, pointer: u64);
                cuPointerGetAttribute(value: *mut ::core::ffi::c_void, attribute: i32,
                    pointer: u64);
                cuPointerGetAttributes(count: u32, attributes: *mut i32,
                    values: *mut *mut ::core::ffi::c_void, pointer: u64);
                cuIpcGetMemHandle(handle: *mut ::core::ffi::c_void, pointer: u64);
                cuMemRetainAllocationHandle(handle: *mut u64,
                    pointer: *mut ::core::ffi::c_void);
                cuStreamDestroy_v2(stream: *mut $crate::ffi::CUstream_st);
                cuStreamBeginCapture_v2(stream: *mut $crate::ffi::CUstream_st, mode: i32);
                cuStreamBeginCapture_v2_ptsz(stream: *mut $crate::ffi::CUstream_st, mode: i32);
                cuStreamEndCapture(stream: *mut $crate::ffi::CUstream_st,
                    graph: *mut *mut $crate::ffi::CUgraph_st);
                cuStreamEndCapture_ptsz(stream: *mut $crate::ffi::CUstream_st,
                    graph: *mut *mut $crate::ffi::CUgraph_st);
                cuMemPoolTrimTo(pool: *mut $crate::ffi::CUmemPoolHandle_st, keep: usize);
                cuMemPoolSetAttribute(pool: *mut $crate::ffi::CUmemPoolHandle_st, attribute: i32,
                    value: *mut ::core::ffi::c_void);
                cuMemPoolGetAttribute(pool: *mut $crate::ffi::CUmemPoolHandle_st, attribute: i32,
                    value: *mut ::core::ffi::c_void);
                cuDeviceSetMemPool(device: i32, pool: *mut $crate::ffi::CUmemPoolHandle_st);
                cuDevicePrimaryCtxReset_v2(device: i32);
                cuCtxDestroy_v2(context: *mut $crate::ffi::CUctx_st);
                cuGetProcAddress(symbol: *const ::core::ffi::c_char,
                    function: *mut *mut ::core::ffi::c_void, version: i32, flags: u64);
                cuGetProcAddress_v2(symbol: *const ::core::ffi::c_char,
                    function: *mut *mut ::core::ffi::c_void, version: i32, flags: u64,
                    found: *mut i32);
            }
        };
    };
}

/// The functions that have the driver's names. Their types are those of the
/// driver, and of the members of the table.
#[doc(hidden)]
#[macro_export]
macro_rules! layer_entries {
    ($layer:ident $($name:ident($($argument:ident: $type:ty),* $(,)?);)*) => {
        $(
            #[no_mangle]
            #[allow(non_snake_case, missing_docs, unreachable_pub, unused_unsafe)]
            #[allow(clippy::missing_safety_doc, clippy::not_unsafe_ptr_arg_deref)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> i32 {
                // SAFETY: the table has every function, and whoever calls this
                // one vouches for what it passes, as to the driver.
                match $layer().$name {
                    Some(function) => unsafe { function($($argument),*) },
                    None => 500,
                }
            }
        )*
    };
}
