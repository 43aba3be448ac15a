//! The driver that the tests run on, and what the stand-in tells of it.

use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::mem::size_of;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use cuarena::interop::cudarc::{ArenaExt, ArenaStream, BuilderExt};
use cuarena::Arena;
use cudarc::driver::{sys, CudaContext, CudaStream};

extern "C" {
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

const RTLD_LAZY: c_int = 1;
const RTLD_NOLOAD: c_int = 4;

/// One test at a time: reports and counts are the process's.
static TURN: Mutex<()> = Mutex::new(());

/// A device for the length of a test.
pub struct Device {
    pub context: Arc<CudaContext>,
    standin: Option<Standin>,
    _turn: MutexGuard<'static, ()>,
}

impl Device {
    /// None where there is none, which is said; a failure where one is
    /// required.
    pub fn get() -> Option<Self> {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: opens the library and closes it.
        let context = if unsafe { sys::is_culib_present() } {
            CudaContext::new(0).map_err(|error| format!("{error:?}"))
        } else {
            Err("no driver".into())
        };
        match context {
            Ok(context) => {
                let standin = Standin::get();
                standin.iter().for_each(Standin::clear);
                Some(Self {
                    context,
                    standin,
                    _turn: turn,
                })
            }
            Err(why) => {
                let required = std::env::var("CUARENA_REQUIRE_GPU").is_ok_and(|set| set == "1");
                assert!(!required, "CUARENA_REQUIRE_GPU is set: {why}");
                println!("skipped: {why}");
                None
            }
        }
    }

    /// A pool in the context.
    pub fn arena(&self) -> Arena {
        let builder = Arena::builder().cuda(&self.context).pool(64 << 20);
        builder.build().expect("an arena")
    }

    pub fn stream(&self) -> Arc<CudaStream> {
        self.context.new_stream().expect("a stream")
    }

    /// A new stream that the arena serves.
    pub fn served(&self, arena: &Arena) -> ArenaStream {
        arena.cuda_stream(&self.stream()).expect("a stream")
    }

    /// All that was queued is done, nothing was out of order, and cudarc has
    /// parked no error.
    #[track_caller]
    pub fn reclaim(&self) {
        self.context.synchronize().expect("a wait");
        self.context.check_err().expect("no parked error");
        if let Some(standin) = &self.standin {
            assert_eq!(standin.reports(), "", "reports of the stand-in");
        }
    }

    /// Whether the stand-in reported anything; None on a real device.
    pub fn take_reports(&self) -> Option<bool> {
        self.context.synchronize().expect("a wait");
        let standin = self.standin.as_ref()?;
        let any = !standin.reports().is_empty();
        standin.clear();
        Some(any)
    }

    /// Every call of the entry point fails while a program runs. None on a real
    /// device.
    pub fn failing<R>(&self, entry: &str, program: impl FnOnce() -> R) -> Option<R> {
        const INVALID_VALUE: c_int = 1;
        let standin = self.standin.as_ref()?;
        let name = CString::new(entry).expect("no zero");
        // SAFETY: takes a name, and any numbers; the other nothing.
        let known = unsafe { (standin.fail)(name.as_ptr(), 1, INVALID_VALUE, 1) };
        assert_eq!(known, 0, "{entry} is no entry point");
        let result = program();
        // SAFETY: as above.
        unsafe { (standin.fail_clear)() };
        Some(result)
    }

    /// Reports are expected: they are not printed meanwhile.
    pub fn quietly<R>(&self, program: impl FnOnce() -> R) -> R {
        self.standin.iter().for_each(|s| s.print(false));
        let result = program();
        self.standin.iter().for_each(|s| s.print(true));
        result
    }

    /// How often a program calls an entry point of the driver, or any (None);
    /// on a real device nobody counts.
    pub fn calls<R>(&self, entry: Option<&str>, program: impl FnOnce() -> R) -> (R, Option<u64>) {
        let before = self.standin.as_ref().map(|s| s.calls(entry));
        let result = program();
        let after = self.standin.as_ref().map(|s| s.calls(entry));
        (result, after.zip(before).map(|(a, b)| a - b))
    }
}

/// The functions of `tests/standin/standin.h` that are used here.
#[derive(Clone, Copy)]
struct Standin {
    report_count: unsafe extern "C" fn(c_int) -> usize,
    report_text: unsafe extern "C" fn(usize) -> *const c_char,
    reports_clear: unsafe extern "C" fn(),
    report_print: unsafe extern "C" fn(c_int),
    calls: unsafe extern "C" fn(*const c_char) -> u64,
    fail: unsafe extern "C" fn(*const c_char, u64, c_int, c_int) -> c_int,
    fail_clear: unsafe extern "C" fn(),
}

impl Standin {
    /// None on a real driver.
    fn get() -> Option<Self> {
        static FOUND: OnceLock<Option<Standin>> = OnceLock::new();
        *FOUND.get_or_init(|| {
            // SAFETY: the library is loaded already, and stays.
            let library = unsafe { dlopen(c"libcuda.so.1".as_ptr(), RTLD_LAZY | RTLD_NOLOAD) };
            if library.is_null() {
                return None;
            }
            // SAFETY: the names are functions of these types in the stand-in,
            // and nothing in any other library.
            unsafe {
                Some(Self {
                    report_count: find(library, c"standin_report_count")?,
                    report_text: find(library, c"standin_report_text")?,
                    reports_clear: find(library, c"standin_reports_clear")?,
                    report_print: find(library, c"standin_report_print")?,
                    calls: find(library, c"standin_calls")?,
                    fail: find(library, c"standin_fail")?,
                    fail_clear: find(library, c"standin_fail_clear")?,
                })
            }
        })
    }

    /// Any number: 0 counts all kinds.
    fn report_count(&self) -> usize {
        // SAFETY: takes any number.
        unsafe { (self.report_count)(0) }
    }

    fn reports(&self) -> String {
        // SAFETY: any number is taken; a text is good until the next report.
        let text = |index| unsafe { CStr::from_ptr((self.report_text)(index)) };
        let count = self.report_count();
        let texts = (0..count).map(|index| text(index).to_string_lossy());
        texts.collect::<Vec<_>>().join("\n")
    }

    fn clear(&self) {
        // SAFETY: takes nothing.
        unsafe { (self.reports_clear)() };
    }

    fn print(&self, print: bool) {
        // SAFETY: takes any number.
        unsafe { (self.report_print)(c_int::from(print)) };
    }

    fn calls(&self, entry: Option<&str>) -> u64 {
        let name = entry.map(|name| CString::new(name).expect("no zero"));
        let name = name.as_ref().map_or(std::ptr::null(), |name| name.as_ptr());
        // SAFETY: takes a name or NULL.
        unsafe { (self.calls)(name) }
    }
}

/// # Safety
///
/// The library is loaded, and the name, if it has it, is a function of the type.
unsafe fn find<F: Copy>(library: *mut c_void, name: &CStr) -> Option<F> {
    assert_eq!(size_of::<F>(), size_of::<*mut c_void>());
    // SAFETY: the caller says that the library is loaded.
    let found = unsafe { dlsym(library, name.as_ptr()) };
    // SAFETY: a function is an address, and the caller says of which type.
    (!found.is_null()).then(|| unsafe { std::mem::transmute_copy(&found) })
}
