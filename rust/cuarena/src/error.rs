//! What a failed call tells.
//!
//! *Vocabulary.* A **kind** groups errors by what the caller can do about
//! them. The **figures** say how short the arena was: bytes asked, the limit
//! that was met, bytes reserved, free, and in the largest free range.
//!
//! *Invariants.* A failed call leaves every block as it was.
//!
//! *Cost.* An `Error` is one pointer, so a `Result<Block, Error>` is no larger
//! than a `Block`. Making one allocates host memory; that is off every path
//! that succeeds.

use std::ffi::CStr;
use std::fmt;
use std::io;

use crate::ffi;

/// A `Result` whose error is [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed.
///
/// ```
/// # fn main() -> Result<(), cuarena::Error> {
/// let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
/// let error = arena.alloc(1 << 30).unwrap_err();
/// assert!(error.is_out_of_memory());
/// assert_eq!(error.asked(), 1 << 30);
/// assert_eq!(error.free(), 1 << 20);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Error(Box<Details>);

#[derive(Clone)]
struct Details {
    kind: ErrorKind,
    driver_code: i32,
    asked: usize,
    limit: usize,
    reserved: usize,
    free: usize,
    largest: usize,
    message: String,
}

/// What kind of failure an [`Error`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The call is wrong as written; the message names the value and what
    /// would be accepted.
    BadArgument,
    /// Not enough bytes are left, in the arena or in the host's own memory.
    OutOfMemory,
    /// Enough bytes are free, but not together: compaction to that goal makes
    /// room.
    Fragmented,
    /// A limit that the program set stands in the way.
    Limit,
    /// No usable device; the message says why.
    NoDevice,
    /// The driver or the operating system refused; see
    /// [`Error::driver_code`].
    Driver,
    /// The arena is lost after an earlier failure. Blocks can still be dropped
    /// and statistics read.
    Lost,
    /// Not offered by this memory, preset or build.
    Unsupported,
    /// Names nothing that lives in this arena.
    Stale,
    /// Something is still in use; end that use and try again.
    Busy,
    /// Called from a callback in which this call is not legal.
    Reentered,
    /// The bookkeeping is damaged: a bug, or a stray write.
    Corrupt,
    /// A status that this version of the crate does not know.
    Unknown(i32),
}

impl ErrorKind {
    pub(crate) fn from_status(status: ffi::cuarena_status_t) -> Self {
        match status {
            ffi::CUARENA_BAD_ARGUMENT => Self::BadArgument,
            ffi::CUARENA_OUT_OF_MEMORY => Self::OutOfMemory,
            ffi::CUARENA_FRAGMENTED => Self::Fragmented,
            ffi::CUARENA_LIMIT => Self::Limit,
            ffi::CUARENA_NO_DEVICE => Self::NoDevice,
            ffi::CUARENA_DRIVER => Self::Driver,
            ffi::CUARENA_LOST => Self::Lost,
            ffi::CUARENA_UNSUPPORTED => Self::Unsupported,
            ffi::CUARENA_STALE => Self::Stale,
            ffi::CUARENA_BUSY => Self::Busy,
            ffi::CUARENA_REENTERED => Self::Reentered,
            ffi::CUARENA_CORRUPT => Self::Corrupt,
            _ => Self::Unknown(status),
        }
    }

    /// The status that the C library has for it.
    #[allow(dead_code)]
    pub(crate) fn status(self) -> ffi::cuarena_status_t {
        match self {
            Self::BadArgument => ffi::CUARENA_BAD_ARGUMENT,
            Self::OutOfMemory => ffi::CUARENA_OUT_OF_MEMORY,
            Self::Fragmented => ffi::CUARENA_FRAGMENTED,
            Self::Limit => ffi::CUARENA_LIMIT,
            Self::NoDevice => ffi::CUARENA_NO_DEVICE,
            Self::Driver => ffi::CUARENA_DRIVER,
            Self::Lost => ffi::CUARENA_LOST,
            Self::Unsupported => ffi::CUARENA_UNSUPPORTED,
            Self::Stale => ffi::CUARENA_STALE,
            Self::Busy => ffi::CUARENA_BUSY,
            Self::Reentered => ffi::CUARENA_REENTERED,
            Self::Corrupt => ffi::CUARENA_CORRUPT,
            Self::Unknown(status) => status,
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BadArgument => "bad argument",
            Self::OutOfMemory => "out of memory",
            Self::Fragmented => "fragmented",
            Self::Limit => "limit reached",
            Self::NoDevice => "no device",
            Self::Driver => "driver failure",
            Self::Lost => "arena lost",
            Self::Unsupported => "unsupported",
            Self::Stale => "stale or foreign block",
            Self::Busy => "busy",
            Self::Reentered => "re-entered",
            Self::Corrupt => "bookkeeping damaged",
            Self::Unknown(status) => return write!(f, "unknown status {status}"),
        })
    }
}

impl Error {
    /// An error that the crate itself found.
    #[cold]
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Details {
            kind,
            driver_code: 0,
            asked: 0,
            limit: 0,
            reserved: 0,
            free: 0,
            largest: 0,
            message: message.into(),
        }))
    }

    /// The error of the C call of this thread that has just come to `status`.
    #[cold]
    pub(crate) fn last(status: ffi::cuarena_status_t) -> Self {
        let info = last_info();
        // A listener's own failure may have come after the call's.
        if info.status != status {
            return Self::new(ErrorKind::from_status(status), status_text(status));
        }
        Self(Box::new(Details {
            kind: ErrorKind::from_status(status),
            driver_code: info.driver_code,
            asked: info.asked_bytes as usize,
            limit: info.limit_bytes as usize,
            reserved: info.reserved_bytes as usize,
            free: info.free_bytes as usize,
            largest: info.largest_bytes as usize,
            message: text_of(&info.message),
        }))
    }

    /// What kind of failure it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The bytes that the call asked for; 0 where it asked for none.
    #[must_use]
    pub fn asked(&self) -> usize {
        self.0.asked
    }

    /// The limit or capacity, in bytes, that the call met; 0 where none.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.0.limit
    }

    /// The bytes that the arena had reserved: what it had taken from its memory.
    #[must_use]
    pub fn reserved(&self) -> usize {
        self.0.reserved
    }

    /// The bytes that were free in the region asked.
    #[must_use]
    pub fn free(&self) -> usize {
        self.0.free
    }

    /// The bytes of the largest free range of that region.
    #[must_use]
    pub fn largest(&self) -> usize {
        self.0.largest
    }

    /// The driver's code or the operating system's `errno`, if one of them
    /// refused.
    #[must_use]
    pub fn driver_code(&self) -> Option<i32> {
        (self.0.driver_code != 0).then_some(self.0.driver_code)
    }

    /// What was wrong, in words: the value and what would be accepted, or the
    /// driver's name and text of its code.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Whether bytes were lacking: none left, apart from each other, or a limit
    /// in the way. To free something may help.
    #[must_use]
    pub fn is_out_of_memory(&self) -> bool {
        matches!(
            self.0.kind,
            ErrorKind::OutOfMemory | ErrorKind::Fragmented | ErrorKind::Limit
        )
    }

    /// Whether enough bytes are free but not together, so that
    /// [`Arena::compact_to`](crate::Arena::compact_to) makes room for the
    /// request, if it is the goal.
    #[must_use]
    pub fn is_fragmented(&self) -> bool {
        self.0.kind == ErrorKind::Fragmented
    }

    /// Whether a limit that the program set stood in the way.
    #[must_use]
    pub fn is_limit(&self) -> bool {
        self.0.kind == ErrorKind::Limit
    }

    /// Whether there is no usable driver or device here.
    #[must_use]
    pub fn is_no_device(&self) -> bool {
        self.0.kind == ErrorKind::NoDevice
    }

    /// Whether the arena is lost: nothing but frees and queries works any more.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.0.kind == ErrorKind::Lost
    }

    /// Whether something is still in use: to try again later may help.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.0.kind == ErrorKind::Busy
    }
}

/// The last error of this thread.
fn last_info() -> ffi::cuarena_error_info_t {
    let mut info = std::mem::MaybeUninit::<ffi::cuarena_error_info_t>::zeroed();
    // SAFETY: the first call fills the struct, of which all bits 0 are a valid
    // value, and sets the size that the second one reads.
    unsafe {
        ffi::cuarena_error_info_init(info.as_mut_ptr());
        ffi::cuarena_last_error_info(info.as_mut_ptr());
        info.assume_init()
    }
}

/// One sentence on a status.
fn status_text(status: ffi::cuarena_status_t) -> String {
    // SAFETY: the function takes any number and returns static text.
    let text = unsafe { CStr::from_ptr(ffi::cuarena_status_text(status)) };
    text.to_string_lossy().into_owned()
}

/// Text in a field of characters that ends with a zero, if there is room.
pub(crate) fn text_of(field: &[std::ffi::c_char]) -> String {
    let bytes: Vec<u8> = field
        .iter()
        .map(|&c| c as u8)
        .take_while(|&b| b != 0)
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// An error for any status but OK.
#[inline]
pub(crate) fn check(status: ffi::cuarena_status_t) -> Result<()> {
    if status == ffi::CUARENA_OK {
        Ok(())
    } else {
        Err(Error::last(status))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, message) = (self.0.kind.to_string(), self.message());
        if message.is_empty() {
            return f.write_str(&kind);
        }
        if message.starts_with(&kind) {
            return f.write_str(message);
        }
        write!(f, "{kind}: {message}")
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details {
            kind,
            driver_code,
            asked,
            limit,
            reserved,
            free,
            largest,
            message,
        } = &*self.0;
        f.debug_struct("Error")
            .field("kind", kind)
            .field("message", message)
            .field("asked", asked)
            .field("limit", limit)
            .field("reserved", reserved)
            .field("free", free)
            .field("largest", largest)
            .field("driver_code", driver_code)
            .finish()
    }
}

impl std::error::Error for Error {}

/// The error is inside, and what kind of them it is nearest to outside.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
/// let error = std::io::Error::from(arena.alloc(1 << 30).unwrap_err());
/// assert_eq!(error.kind(), std::io::ErrorKind::OutOfMemory);
/// let inside: cuarena::Error = error.downcast().unwrap();
/// assert_eq!(inside.asked(), 1 << 30);
/// # Ok(())
/// # }
/// ```
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::OutOfMemory | ErrorKind::Fragmented | ErrorKind::Limit => {
                io::ErrorKind::OutOfMemory
            }
            ErrorKind::BadArgument | ErrorKind::Reentered => io::ErrorKind::InvalidInput,
            ErrorKind::NoDevice | ErrorKind::Stale => io::ErrorKind::NotFound,
            ErrorKind::Unsupported => io::ErrorKind::Unsupported,
            ErrorKind::Busy => io::ErrorKind::WouldBlock,
            ErrorKind::Corrupt => io::ErrorKind::InvalidData,
            ErrorKind::Driver | ErrorKind::Lost | ErrorKind::Unknown(_) => io::ErrorKind::Other,
        };
        io::Error::new(kind, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_names_the_kind_once() {
        let text = |message: &str| Error::new(ErrorKind::NoDevice, message).to_string();
        assert_eq!(text(""), "no device");
        assert_eq!(text("no device: why"), "no device: why");
        assert_eq!(text("why"), "no device: why");
    }

    #[test]
    fn every_status_is_a_kind_and_back() {
        for status in ffi::CUARENA_BAD_ARGUMENT..=ffi::CUARENA_CORRUPT {
            let kind = ErrorKind::from_status(status);
            assert!(!matches!(kind, ErrorKind::Unknown(_)), "status {status}");
            assert_eq!(kind.status(), status);
            let text = kind.to_string();
            assert!(!text.ends_with('.') && text.to_lowercase() == text);
        }
        let next = ErrorKind::from_status(ffi::CUARENA_CORRUPT + 1);
        assert_eq!(next, ErrorKind::Unknown(ffi::CUARENA_CORRUPT + 1));
    }
}
