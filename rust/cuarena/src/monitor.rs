//! Lets other processes of the same user see this one's arenas while it runs,
//! and writes snapshots on a signal. There is none unless the program opens it.
//!
//! `cuarena top SOCKET` and `cuarena snapshot SOCKET` ask it; cuarena/monitor.h
//! of the C library says in which words. It is one thread, and a forked child
//! has none.
//!
//! ```no_run
//! # fn main() -> Result<(), cuarena::Error> {
//! cuarena::monitor::open("/run/user/1000/cuarena-%p.sock")?;
//! // ...
//! cuarena::monitor::close()?;
//! # Ok(())
//! # }
//! ```

use std::path::Path;

use crate::error::check;
use crate::snapshot::c_path;
use crate::{ffi, Result};

/// Begins it, at a Unix socket that only this user can reach. `%p` in the path
/// stands for the process, `%%` for a percent sign.
///
/// # Errors
///
/// [`ErrorKind::Busy`] if there is one, or another process listens there;
/// [`ErrorKind::BadArgument`] for a path that is too long, or that names
/// something else than the socket of a process that has ended, which is
/// replaced; [`ErrorKind::Driver`] if the system refuses.
///
/// [`ErrorKind::Busy`]: crate::ErrorKind::Busy
/// [`ErrorKind::BadArgument`]: crate::ErrorKind::BadArgument
/// [`ErrorKind::Driver`]: crate::ErrorKind::Driver
pub fn open(path: impl AsRef<Path>) -> Result<()> {
    let path = c_path(path.as_ref())?;
    // SAFETY: the text lives until the call returns, and ends with a zero.
    check(unsafe { ffi::cuarena_monitor_open(path.as_ptr()) })
}

/// Begins it without a socket, for [`on_signal`] alone.
///
/// # Errors
///
/// [`ErrorKind::Busy`](crate::ErrorKind::Busy) if there is one.
pub fn open_without_socket() -> Result<()> {
    // SAFETY: NULL is for no socket.
    check(unsafe { ffi::cuarena_monitor_open(core::ptr::null()) })
}

/// Begins it at the path that `CUARENA_MONITOR` in the environment says; does
/// nothing if there is none.
///
/// # Errors
///
/// As [`open`].
pub fn environment() -> Result<()> {
    // SAFETY: takes nothing.
    check(unsafe { ffi::cuarena_monitor_environment() })
}

/// From now on the signal, such as 10 for `SIGUSR1` on Linux, makes the monitor
/// write a snapshot of each arena: in files whose names the pattern says, with
/// `%n` for the number of the file.
///
/// # Errors
///
/// [`ErrorKind::BadArgument`] for a signal that has a handler, cannot have one
/// or tells of a fault, and for a pattern without `%n`;
/// [`ErrorKind::Stale`] if there is no monitor; [`ErrorKind::Busy`] if it has a
/// signal.
///
/// [`ErrorKind::BadArgument`]: crate::ErrorKind::BadArgument
/// [`ErrorKind::Stale`]: crate::ErrorKind::Stale
/// [`ErrorKind::Busy`]: crate::ErrorKind::Busy
pub fn on_signal(signal: i32, pattern: impl AsRef<Path>) -> Result<()> {
    let pattern = c_path(pattern.as_ref())?;
    // SAFETY: the text lives until the call returns; the library's handler only
    // writes a byte to a pipe of its own.
    check(unsafe { ffi::cuarena_monitor_signal(signal, pattern.as_ptr()) })
}

/// Ends it, once it has answered whom it is answering. Fine if there is none.
///
/// # Errors
///
/// [`ErrorKind::Busy`](crate::ErrorKind::Busy) if another thread is in this
/// call.
pub fn close() -> Result<()> {
    // SAFETY: takes nothing.
    check(unsafe { ffi::cuarena_monitor_close() })
}
