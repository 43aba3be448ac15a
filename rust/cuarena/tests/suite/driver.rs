//! The driver that a program runs on: a real one, or the stand-in of the C
//! suites, by its own entry points, to make streams and work beside the
//! library. Opened as the library opens it: `libcuda.so.1`, or what
//! `CUARENA_CUDA_LIBRARY` names.

use std::ffi::{c_char, c_int, c_uint, c_void, CStr, CString};
use std::sync::{Arc, OnceLock};

use cuarena::{Arena, RawStream, Stream, StreamOwner};

pub type Handle = *mut c_void;
type Address = u64;

extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

macro_rules! entries {
    ($($name:ident: $symbol:literal = fn($($argument:ty),*) -> $result:ty;)*) => {
        /// Entry points by what they do.
        pub struct Entries {
            $(pub $name: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Entries {
            /// None if one is missing.
            unsafe fn of(library: *mut c_void) -> Option<Self> {
                Some(Self { $($name: {
                    let name = CString::new($symbol).ok()?;
                    // SAFETY: the library is open.
                    let symbol = unsafe { dlsym(library, name.as_ptr()) };
                    if symbol.is_null() {
                        return None;
                    }
                    // SAFETY: the driver's own type of it.
                    unsafe {
                        std::mem::transmute::<
                            *mut c_void,
                            unsafe extern "C" fn($($argument),*) -> $result,
                        >(symbol)
                    }
                },)* })
            }
        }
    };
}

entries! {
    init: "cuInit" = fn(c_uint) -> c_int;
    device_count: "cuDeviceGetCount" = fn(*mut c_int) -> c_int;
    context_retain: "cuDevicePrimaryCtxRetain" = fn(*mut Handle, c_int) -> c_int;
    context_set: "cuCtxSetCurrent" = fn(Handle) -> c_int;
    stream_create: "cuStreamCreate" = fn(*mut Handle, c_uint) -> c_int;
    stream_destroy: "cuStreamDestroy_v2" = fn(Handle) -> c_int;
    stream_synchronize: "cuStreamSynchronize" = fn(Handle) -> c_int;
    stream_wait: "cuStreamWaitEvent" = fn(Handle, Handle, c_uint) -> c_int;
    event_create: "cuEventCreate" = fn(*mut Handle, c_uint) -> c_int;
    event_record: "cuEventRecord" = fn(Handle, Handle) -> c_int;
    event_destroy: "cuEventDestroy_v2" = fn(Handle) -> c_int;
    to_device: "cuMemcpyHtoDAsync_v2" = fn(Address, *const c_void, usize, Handle) -> c_int;
    to_host: "cuMemcpyDtoHAsync_v2" = fn(*mut c_void, Address, usize, Handle) -> c_int;
    fill: "cuMemsetD8Async" = fn(Address, u8, usize, Handle) -> c_int;
    capture_begin: "cuStreamBeginCapture_v2" = fn(Handle, c_int) -> c_int;
    capture_end: "cuStreamEndCapture" = fn(Handle, *mut Handle) -> c_int;
    graph_make: "cuGraphInstantiateWithFlags" = fn(*mut Handle, Handle, u64) -> c_int;
    graph_launch: "cuGraphLaunch" = fn(Handle, Handle) -> c_int;
    exec_destroy: "cuGraphExecDestroy" = fn(Handle) -> c_int;
    graph_destroy: "cuGraphDestroy" = fn(Handle) -> c_int;
}

/// What only the stand-in has.
pub struct Standin {
    reports: unsafe extern "C" fn(c_int) -> usize,
    text: unsafe extern "C" fn(usize) -> *const c_char,
    used: unsafe extern "C" fn(c_int) -> u64,
}

pub struct Driver {
    pub cu: Entries,
    pub standin: Option<Standin>,
    context: usize,
}

/// Every use of the driver goes through it: a test's own calls, whose arguments
/// are the driver's own.
#[allow(clippy::macro_metavars_in_unsafe)]
#[macro_export]
macro_rules! cu {
    ($driver:expr, $entry:ident($($argument:expr),*)) => {{
        // SAFETY: arguments as the driver wants them; handles are alive.
        #[allow(clippy::macro_metavars_in_unsafe)]
        let code = unsafe { ($driver.cu.$entry)($($argument),*) };
        assert_eq!(code, 0, "the driver's {} gave {code}", stringify!($entry));
    }};
}
pub use cu;

static DRIVER: OnceLock<Option<Driver>> = OnceLock::new();

/// The driver, if there is one and it has a device.
pub fn driver() -> Option<&'static Driver> {
    DRIVER.get_or_init(open).as_ref()
}

fn open() -> Option<Driver> {
    const NOW: c_int = 2;
    let name = std::env::var("CUARENA_CUDA_LIBRARY").unwrap_or_default();
    let name = if name.is_empty() {
        "libcuda.so.1".into()
    } else {
        name
    };
    let name = CString::new(name).ok()?;
    // SAFETY: the name ends with a zero; what a library does when it is opened
    // is its own.
    let library = unsafe { dlopen(name.as_ptr(), NOW) };
    if library.is_null() {
        return None;
    }
    // SAFETY: the library is open, and never closed.
    let cu = unsafe { Entries::of(library)? };
    let (mut count, mut context) = (0, std::ptr::null_mut());
    // SAFETY: as the driver wants them.
    let ready = unsafe {
        (cu.init)(0) == 0
            && (cu.device_count)(&mut count) == 0
            && count > 0
            && (cu.context_retain)(&mut context, 0) == 0
    };
    if !ready {
        return None;
    }
    // SAFETY: as above.
    let standin = unsafe { standin(library) };
    Some(Driver {
        cu,
        standin,
        context: context as usize,
    })
}

/// # Safety
///
/// The library is open.
unsafe fn standin(library: *mut c_void) -> Option<Standin> {
    let find = |name: &CStr| {
        // SAFETY: as the caller says.
        let symbol = unsafe { dlsym(library, name.as_ptr()) };
        (!symbol.is_null()).then_some(symbol)
    };
    let (reports, text) = (
        find(c"standin_report_count")?,
        find(c"standin_report_text")?,
    );
    let used = find(c"standin_device_used")?;
    // SAFETY: the stand-in's own types of them.
    unsafe {
        Some(Standin {
            reports: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_int) -> usize>(
                reports,
            ),
            text: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(usize) -> *const c_char>(
                text,
            ),
            used: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_int) -> u64>(used),
        })
    }
}

impl Driver {
    /// The device's context is current on this thread.
    pub fn use_here(&self) {
        cu!(self, context_set(self.context as Handle));
    }

    /// Fails if anything was done wrong so far; a real driver cannot tell.
    pub fn expect_clean(&self) {
        let Some(standin) = &self.standin else { return };
        // SAFETY: calls of the stand-in without conditions.
        let count = unsafe { (standin.reports)(0) };
        let text = |i| {
            // SAFETY: likewise; a text ends with a zero, and is copied.
            let text = unsafe { CStr::from_ptr((standin.text)(i)) };
            text.to_string_lossy().into_owned()
        };
        let texts: Vec<String> = (0..count).map(text).collect();
        assert!(
            texts.is_empty(),
            "the stand-in reports:\n{}",
            texts.join("\n")
        );
    }

    /// Bytes of the device that are taken, where the driver can tell.
    pub fn used(&self) -> Option<u64> {
        let standin = self.standin.as_ref()?;
        // SAFETY: a call without conditions.
        Some(unsafe { (standin.used)(0) })
    }

    /// Makes `later` wait for what is on `earlier`.
    pub fn order(&self, earlier: Handle, later: Handle) {
        const NO_TIMING: c_uint = 2;
        let mut event = std::ptr::null_mut();
        cu!(self, event_create(&mut event, NO_TIMING));
        cu!(self, event_record(event, earlier));
        cu!(self, stream_wait(later, event, 0));
        cu!(self, event_destroy(event));
    }
}

/// A stream that is destroyed when its last owner is dropped.
pub struct OwnStream {
    handle: usize,
    /// Counts the streams that were destroyed.
    pub destroyed: Arc<std::sync::atomic::AtomicUsize>,
}

impl OwnStream {
    pub fn new() -> Self {
        const NON_BLOCKING: c_uint = 1;
        let driver = driver().expect("a driver");
        driver.use_here();
        let mut handle = std::ptr::null_mut();
        cu!(driver, stream_create(&mut handle, NON_BLOCKING));
        Self {
            handle: handle as usize,
            destroyed: Arc::default(),
        }
    }
}

impl Drop for OwnStream {
    fn drop(&mut self) {
        let driver = driver().expect("a driver");
        driver.use_here();
        cu!(driver, stream_destroy(self.handle as Handle));
        self.destroyed
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

// SAFETY: the handle is that of a stream which lives as long as this; its
// context is the device's primary one, which is never released here.
unsafe impl StreamOwner for OwnStream {
    fn raw_stream(&self) -> RawStream {
        RawStream::new(self.handle as Handle)
    }
}

/// A stream of a device, for calls of the arena.
pub fn stream_for(arena: &Arena) -> Stream {
    arena.stream_of(OwnStream::new()).expect("a stream")
}
