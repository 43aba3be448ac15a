//! Debugging: guards that are checked on demand, and what lives.
//!
//! The options of the builder that this is about are
//! [`guard`](crate::ArenaBuilder::guard), [`fill`](crate::ArenaBuilder::fill),
//! [`quarantine`](crate::ArenaBuilder::quarantine) and
//! [`stacks`](crate::ArenaBuilder::stacks).

use core::ffi::{c_char, c_void, CStr};
use core::ptr;

use crate::{ffi, Arena, Result};

impl Arena {
    /// Looks at the guards of all live blocks, and at what the quarantine
    /// keeps, which ends. Finds nothing where no option asks for them.
    ///
    /// Cost: all blocks, and a wait for the streams of each.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) if somebody wrote where
    /// no block is, or to a freed one: the first finding, and how many there
    /// are. The log has each, once.
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// let arena = cuarena::Arena::builder().pool(1 << 20).guard(64).build()?;
    /// let block = arena.alloc(100)?;
    /// arena.check_guards()?;
    /// # drop(block);
    /// # Ok(())
    /// # }
    /// ```
    pub fn check_guards(&self) -> Result<()> {
        // SAFETY: the arena lives; nobody asks for the number of findings.
        let status = unsafe { ffi::cuarena_check(self.raw(), ptr::null_mut()) };
        self.life().finish(status)
    }

    /// What lives, in lines: how many blocks, by tag, and the oldest of each;
    /// with [`stacks`](crate::ArenaBuilder::stacks) also where most of them were
    /// allocated. Cost: all blocks.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) if the host has
    /// none for the list.
    ///
    /// ```
    /// # fn main() -> Result<(), cuarena::Error> {
    /// let arena = cuarena::Arena::builder().pool(1 << 20).build()?;
    /// let block = arena.alloc(100)?;
    /// assert_eq!(arena.leaks()?[0], "1 blocks of 100 bytes live");
    /// # drop(block);
    /// # Ok(())
    /// # }
    /// ```
    pub fn leaks(&self) -> Result<Vec<String>> {
        let mut lines = Vec::<String>::new();
        let user = ptr::from_mut(&mut lines).cast();
        // SAFETY: the arena lives; `keep` is called within this call alone, with
        // the list.
        let status = unsafe { ffi::cuarena_report_leaks(self.raw(), Some(keep), user) };
        self.life().finish(status)?;
        Ok(lines)
    }
}

unsafe extern "C" fn keep(lines: *mut c_void, line: *const c_char) {
    // SAFETY: it is the list of `leaks`, which nobody else uses meanwhile, and a
    // text with an end.
    let (lines, line) = unsafe { (&mut *lines.cast::<Vec<String>>(), CStr::from_ptr(line)) };
    lines.push(line.to_string_lossy().into_owned());
}
