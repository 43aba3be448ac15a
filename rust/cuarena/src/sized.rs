//! The C library's structs that begin with their own size, and how they are begun.
//!
//! Such a struct must be filled by its init function before the library sees
//! it: that is what lets a newer library serve a program that was built with an
//! older header. Its Rust twin is `#[non_exhaustive]` for the same reason.

use core::mem::MaybeUninit;

/// A struct as its init function leaves it.
///
/// # Safety
///
/// `init` writes every member that 0 is no valid value of, as each init
/// function of the library does.
pub(crate) unsafe fn sized<T: Copy>(init: unsafe extern "C" fn(*mut T)) -> T {
    let mut raw = MaybeUninit::<T>::zeroed();
    // SAFETY: the pointer is good for writes of a T.
    unsafe { init(raw.as_mut_ptr()) };
    // SAFETY: of plain numbers and pointers, for which 0 is a value; the rest
    // is init's, as the caller says.
    unsafe { raw.assume_init() }
}

/// A struct of figures that are a C struct's members of the same names.
macro_rules! figures {
    ($(#[$doc:meta])* $name:ident of $raw:ident {
        $($(#[$of:meta])* $field:ident: $type:ty,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize))]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$of])* pub $field: $type,)*
        }

        impl $name {
            pub(crate) fn from_raw(raw: &$crate::ffi::$raw) -> Self {
                Self { $($field: raw.$field as $type,)* }
            }
        }
    };
}
pub(crate) use figures;
