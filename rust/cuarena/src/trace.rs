//! Recording what is asked of an arena, for `cuarena replay` and spreadsheets.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::error::check;
use crate::{ffi, Arena, Error, ErrorKind, Result};

impl Arena {
    /// Begins to record in a file: CSV, or gzip if its name ends in `.gz`. In
    /// the path `%p` stands for the process, `%n` for the trace, `%%` for a
    /// percent sign. Cost: the live blocks, then what `trace.h` says of an event.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BadArgument`] for another percent sign, an empty path or one
    /// of more than 255 bytes; [`ErrorKind::Busy`] while the arena records, or something else in that
    /// file; [`ErrorKind::Driver`] with `errno` where it cannot be written;
    /// [`ErrorKind::Unsupported`] for gzip without `libz.so.1`.
    ///
    /// ```
    /// # fn main() -> cuarena::Result<()> {
    /// use cuarena::Arena;
    ///
    /// let arena: Arena = "memory=pageable, pool=1MiB".parse()?;
    /// let path = std::env::temp_dir().join("cuarena-rust-%p.csv");
    /// arena.trace_begin(&path)?;
    /// let block = arena.alloc(4096)?;
    /// drop(block);
    /// arena.trace_end()?;
    /// # let name = format!("cuarena-rust-{}.csv", std::process::id());
    /// # let path = std::env::temp_dir().join(name);
    /// # let text = std::fs::read_to_string(&path).unwrap();
    /// # std::fs::remove_file(&path).unwrap();
    /// # assert!(text.starts_with("op,id,size,stream,time"));
    /// # assert!(text.contains("\na,") && text.contains("\nf,"), "{text}");
    /// # Ok(())
    /// # }
    /// ```
    pub fn trace_begin(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let text = std::ffi::CString::new(path.as_os_str().as_bytes()).map_err(|_| {
            let message = format!("{path:?}: a path without a zero character is accepted");
            Error::new(ErrorKind::BadArgument, message)
        })?;
        // SAFETY: the arena lives, the text as long as the call.
        check(unsafe { ffi::cuarena_trace_begin(self.raw(), text.as_ptr()) })
    }

    /// Ends the recording, when all is in the file; nothing where there is
    /// none.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Driver`] with `errno` where the file could not be written
    /// to its end: it has whole lines up to there.
    pub fn trace_end(&self) -> Result<()> {
        // SAFETY: the arena lives.
        check(unsafe { ffi::cuarena_trace_end(self.raw()) })
    }
}
