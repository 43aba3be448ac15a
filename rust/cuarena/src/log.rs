//! The log of the process: what a call returns as an error is logged once.
//!
//! It belongs to the C library, so to every arena of the process, whoever made
//! it. Lines go to standard error unless [`set_function`] names another place;
//! how many, [`set_level`] says, or the variable `CUARENA_LOG`: off, error,
//! warn, info, debug.

use core::ffi::{c_char, c_void, CStr};

use crate::error::check;
use crate::ffi;
use crate::panics::caught;

/// How much is logged, or how grave a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Level {
    /// Nothing.
    Off,
    /// What failed.
    Error,
    /// What is probably not meant.
    Warn,
    /// What arenas do as a whole.
    Info,
    /// Steps of it.
    Debug,
}

const LEVELS: [(Level, i32); 5] = [
    (Level::Off, ffi::CUARENA_LOG_OFF),
    (Level::Error, ffi::CUARENA_LOG_ERROR),
    (Level::Warn, ffi::CUARENA_LOG_WARN),
    (Level::Info, ffi::CUARENA_LOG_INFO),
    (Level::Debug, ffi::CUARENA_LOG_DEBUG),
];

impl Level {
    fn number(self) -> i32 {
        let row = LEVELS.iter().find(|(level, _)| *level == self);
        row.map_or(ffi::CUARENA_LOG_OFF, |(_, number)| *number)
    }

    /// A level that is not known is above all that are.
    fn from_number(number: i32) -> Self {
        let row = LEVELS.iter().find(|(_, n)| *n == number);
        row.map_or(Self::Debug, |(level, _)| *level)
    }
}

/// Logs lines up to this level from now on.
///
/// ```
/// use cuarena::log::{level, set_level, Level};
/// set_level(Level::Error);
/// assert_eq!(level(), Level::Error);
/// ```
pub fn set_level(level: Level) {
    // SAFETY: a call without conditions.
    let status = unsafe { ffi::cuarena_log_set_level(level.number()) };
    debug_assert!(check(status).is_ok(), "each level is one of the library's");
}

/// The level up to which lines are logged.
#[must_use]
pub fn level() -> Level {
    // SAFETY: a call without conditions.
    Level::from_number(unsafe { ffi::cuarena_log_level() })
}

/// Hands lines, without their ends, to `function` from now on: from whichever
/// thread logs, with no lock held. A panic of the function is swallowed; lines
/// that its own calls of this library would make are left out.
///
/// A line that is on its way may reach the function that was there before, so
/// no function is ever dropped: each call leaks one.
///
/// ```
/// use cuarena::log::{set_function, Level};
/// set_function(|level, line| println!("{level:?}: {line}"));
/// ```
pub fn set_function<F: Fn(Level, &str) + Send + Sync + 'static>(function: F) {
    let user: *mut F = Box::into_raw(Box::new(function));
    // SAFETY: the function is never dropped, and may be called on any thread.
    unsafe { ffi::cuarena_log_set_callback(Some(line_in::<F>), user.cast()) };
}

/// Hands lines to the logger of the crate `log` from now on, with the target
/// `cuarena`, up to the level that [`log::max_level`] says
/// now.
///
/// ```
/// // ... after the program has set its logger ...
/// cuarena::log::use_log_crate();
/// ```
#[cfg(feature = "log")]
#[cfg_attr(docsrs, doc(cfg(feature = "log")))]
pub fn use_log_crate() {
    set_function(|level, line| {
        if let Some(level) = level.filter().to_level() {
            ::log::log!(target: "cuarena", level, "{line}");
        }
    });
    set_level(Level::of_filter(::log::max_level()));
}

#[cfg(feature = "log")]
impl Level {
    fn filter(self) -> ::log::LevelFilter {
        match self {
            Self::Off => ::log::LevelFilter::Off,
            Self::Error => ::log::LevelFilter::Error,
            Self::Warn => ::log::LevelFilter::Warn,
            Self::Info => ::log::LevelFilter::Info,
            Self::Debug => ::log::LevelFilter::Debug,
        }
    }

    /// The library has nothing below debug.
    fn of_filter(filter: ::log::LevelFilter) -> Self {
        let same = LEVELS.iter().find(|(level, _)| level.filter() == filter);
        same.map_or(Self::Debug, |(level, _)| *level)
    }
}

/// Lines go to standard error again.
pub fn set_default() {
    // SAFETY: NULL is the default.
    unsafe { ffi::cuarena_log_set_callback(None, core::ptr::null_mut()) };
}

/// # Safety
///
/// `user` is an `F` that lives; the line ends with a zero.
unsafe extern "C" fn line_in<F: Fn(Level, &str)>(
    user: *mut c_void,
    level: i32,
    line: *const c_char,
) {
    // SAFETY: as the library says.
    let (function, line) = unsafe { (&*user.cast::<F>(), CStr::from_ptr(line)) };
    caught(|| function(Level::from_number(level), &line.to_string_lossy()));
}
