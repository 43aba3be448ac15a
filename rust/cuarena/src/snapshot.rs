//! Snapshots: what an arena consists of at one moment, block by block.

use core::ffi::c_void;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::{ffi, panics, Arena, Error, ErrorKind, Result};

/// What a snapshot is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SnapshotFormat {
    /// JSON, of which docs/snapshot.schema.json of the C library says what each
    /// member is.
    Json,
    /// A pickle that PyTorch's memory viewer opens.
    PyTorch,
}

impl SnapshotFormat {
    fn code(self) -> i32 {
        match self {
            Self::Json => ffi::CUARENA_SNAPSHOT_JSON,
            Self::PyTorch => ffi::CUARENA_SNAPSHOT_PYTORCH,
        }
    }
}

impl Arena {
    /// The arena's segments, blocks, free ranges, tags, streams and figures, of
    /// one moment. Other threads wait for a copy of the bookkeeping only, about
    /// a millisecond for each 10^5 blocks.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OutOfMemory`] if the host has no memory for the copy.
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// use cuarena::SnapshotFormat;
    ///
    /// let arena = cuarena::Arena::open("pool=1MiB")?;
    /// let text = arena.snapshot(SnapshotFormat::Json)?;
    /// assert!(text.starts_with(b"{\"version\":1,"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn snapshot(&self, format: SnapshotFormat) -> Result<Vec<u8>> {
        let mut bytes = Vec::<u8>::new();
        // SAFETY: the arena lives; `append` gets the vector, which nobody else
        // has during the call.
        let status = unsafe {
            ffi::cuarena_snapshot_to(
                self.raw(),
                format.code(),
                Some(append),
                core::ptr::from_mut(&mut bytes).cast(),
            )
        };
        self.life().finish(status)?;
        Ok(bytes)
    }

    /// The same in a file that only its owner can read and write, which is
    /// there when it is whole.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Driver`] with the errno if the system refuses.
    pub fn write_snapshot(&self, format: SnapshotFormat, path: impl AsRef<Path>) -> Result<()> {
        let path = c_path(path.as_ref())?;
        // SAFETY: the arena lives, and so does the text, which ends with a zero.
        let status =
            unsafe { ffi::cuarena_snapshot_write(self.raw(), format.code(), path.as_ptr()) };
        self.life().finish(status)
    }
}

/// A path for C.
pub(crate) fn c_path(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| {
        let message = format!("{path:?}: a path without a zero character is accepted");
        Error::new(ErrorKind::BadArgument, message)
    })
}

/// # Safety
///
/// `user` is a `Vec<u8>` that nobody else uses; there are `size` bytes.
unsafe extern "C" fn append(user: *mut c_void, bytes: *const c_void, size: usize) -> i32 {
    panics::guard(1, || {
        // SAFETY: as the caller says.
        let (to, from) = unsafe {
            (
                &mut *user.cast::<Vec<u8>>(),
                core::slice::from_raw_parts(bytes.cast::<u8>(), size),
            )
        };
        to.extend_from_slice(from);
        0
    })
}
