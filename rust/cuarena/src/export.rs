//! Blocks that other processes of this host map.
//!
//! An [`Export`] tells which handles of the driver are behind a block, as
//! descriptors to be sent (`SCM_RIGHTS`). The other process imports each
//! (`cuMemImportFromShareableHandle`), maps the whole handle (`cuMemMap`), and
//! finds the block's bytes at [`ExportPiece::offset`].
//!
//! Until the export is dropped the block stays where it is and its handles stay
//! mapped, also if the block is dropped meanwhile: its bytes count as live
//! until then. What the importer maps stays valid however long it likes; the
//! drop says that it no longer minds what becomes of the bytes.

use core::fmt;
use core::ptr::NonNull;
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};

use crate::error::check;
use crate::sized::sized;
use crate::{ffi, Arena, Block, Error, ErrorKind, Result};

/// One handle behind a range of bytes.
#[derive(Debug)]
pub struct ExportPiece {
    /// The handle's descriptor, closed when it is dropped.
    pub fd: OwnedFd,
    /// The whole handle, which is mapped at once.
    pub handle_bytes: usize,
    /// Of the piece in its handle.
    pub offset: usize,
    /// Of the piece.
    pub bytes: usize,
}

impl ExportPiece {
    /// # Safety
    ///
    /// The descriptor is open, and nobody else's.
    unsafe fn from_raw(raw: &ffi::cuarena_export_piece_t) -> Self {
        Self {
            // SAFETY: as the caller says.
            fd: unsafe { OwnedFd::from_raw_fd(raw.fd) },
            handle_bytes: raw.handle_bytes as usize,
            offset: raw.offset as usize,
            bytes: raw.bytes as usize,
        }
    }

    pub(crate) fn into_raw(self) -> ffi::cuarena_export_piece_t {
        ffi::cuarena_export_piece_t {
            fd: self.fd.into_raw_fd(),
            zero: 0,
            handle_bytes: self.handle_bytes as u64,
            offset: self.offset as u64,
            bytes: self.bytes as u64,
        }
    }
}

/// Which blocks can be exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Sharing {
    /// Dedicated ones, whose handles are theirs alone.
    #[default]
    OwnHandles,
    /// Any: other blocks may have bytes in the same handles, which the importer
    /// then reaches too.
    SharedHandles,
}

/// An export under way: the pieces of one block, in its order.
#[must_use = "an export ends when it is dropped"]
pub struct Export {
    arena: Arena,
    raw: NonNull<ffi::cuarena_export_t>,
    pieces: Vec<ExportPiece>,
}

// SAFETY: any thread may close an export.
unsafe impl Send for Export {}
// SAFETY: a shared one gives its pieces to be read.
unsafe impl Sync for Export {}

impl Export {
    /// The pieces, in the block's order.
    #[must_use]
    pub fn pieces(&self) -> &[ExportPiece] {
        &self.pieces
    }

    /// Takes the pieces out, to be sent and closed. The export goes on.
    pub fn take_pieces(&mut self) -> Vec<ExportPiece> {
        core::mem::take(&mut self.pieces)
    }
}

impl Drop for Export {
    fn drop(&mut self) {
        let mut raw = self.raw.as_ptr();
        // SAFETY: the arena lives and the export was not closed, so it is not
        // refused.
        let _ = unsafe { ffi::cuarena_export_close(self.arena.raw(), &mut raw) };
    }
}

impl fmt::Debug for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Export")
            .field("pieces", &self.pieces)
            .finish_non_exhaustive()
    }
}

fn options(sharing: Sharing) -> ffi::cuarena_export_options_t {
    // SAFETY: an init function of the library.
    let mut options = unsafe { sized(ffi::cuarena_export_options_init) };
    options.share_handles = i32::from(sharing == Sharing::SharedHandles);
    options
}

impl Block {
    /// Exports the block to other processes. Cost: two driver calls a piece.
    ///
    /// # Errors
    ///
    /// A bad argument for an empty block, and for one that shares its handles
    /// where [`Sharing::OwnHandles`] is asked; unsupported where
    /// [`Properties::fd`](crate::Properties::fd) is not so, or the bytes are
    /// adopted; what the driver refuses.
    ///
    /// ```
    /// # fn main() -> cuarena::Result<()> {
    /// use cuarena::{Arena, ErrorKind, Sharing};
    /// let arena = Arena::builder().pool(1 << 20).build()?;
    /// let block = arena.alloc(4096)?;
    /// let error = block.export(Sharing::SharedHandles).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::Unsupported); // pages of the process
    /// # Ok(())
    /// # }
    /// ```
    pub fn export(&self, sharing: Sharing) -> Result<Export> {
        let mut room = 4;
        loop {
            let mut list = Vec::with_capacity(room);
            match self.export_into(sharing, &mut list) {
                Ok(raw) => return Ok(self.exported(raw, &list)),
                Err(error) if error.kind() != ErrorKind::BadArgument => return Err(error),
                Err(error) => {
                    let count = self.export_pieces(sharing)?;
                    if count <= room {
                        return Err(error);
                    }
                    room = count;
                }
            }
        }
    }

    /// How many pieces an export would have. Exports nothing.
    ///
    /// # Errors
    ///
    /// As [`Block::export`].
    pub fn export_pieces(&self, sharing: Sharing) -> Result<usize> {
        let (mut count, mut raw) = (0, core::ptr::null_mut());
        // SAFETY: the arena lives; no pieces are asked for.
        check(unsafe {
            ffi::cuarena_export(
                self.arena().raw(),
                self.id().as_raw(),
                &options(sharing),
                core::ptr::null_mut(),
                0,
                &mut count,
                &mut raw,
            )
        })?;
        Ok(count)
    }

    fn export_into(
        &self,
        sharing: Sharing,
        list: &mut Vec<ffi::cuarena_export_piece_t>,
    ) -> Result<NonNull<ffi::cuarena_export_t>> {
        let (mut count, mut raw) = (0, core::ptr::null_mut());
        // SAFETY: the arena lives; the list has room for as many as it says.
        check(unsafe {
            ffi::cuarena_export(
                self.arena().raw(),
                self.id().as_raw(),
                &options(sharing),
                list.as_mut_ptr(),
                list.capacity(),
                &mut count,
                &mut raw,
            )
        })?;
        // SAFETY: so many were written.
        unsafe { list.set_len(count) };
        NonNull::new(raw).ok_or_else(|| Error::new(ErrorKind::Corrupt, "an export at no address"))
    }

    fn exported(
        &self,
        raw: NonNull<ffi::cuarena_export_t>,
        list: &[ffi::cuarena_export_piece_t],
    ) -> Export {
        // SAFETY: the descriptors were made for this call.
        let pieces = list
            .iter()
            .map(|piece| unsafe { ExportPiece::from_raw(piece) })
            .collect();
        Export {
            arena: self.arena().clone(),
            raw,
            pieces,
        }
    }
}
