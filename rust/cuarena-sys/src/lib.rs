#![doc = include_str!("../README.md")]
//! # What is here
//!
//! - `bindings`, made of the header by bindgen and committed. Kinds and statuses
//!   are `i32` with constants, as in C: a newer library may answer one that is
//!   not known here.
//! - The constants that bindgen cannot make, by hand.
//!
//! All of it is at the top of the crate, under the names of C; what each does
//! is what the header says of it.
//!
//! # Rules that hold for all of it
//!
//! - Structs that begin with `struct_size` are set by their `_init` function
//!   before anything else.
//! - Every function but those that say otherwise may be called from any thread.
//! - A panic must not leave a callback: it would end the process.
//!
//! # Costs
//!
//! A call is a call of a C function in another object: nothing is inlined
//! across, unless the program is linked with LTO by a clang of the same
//! version.
#![no_std]

#[cfg(not(all(unix, target_pointer_width = "64")))]
compile_error!(
    "cuarena-sys: libcuarena runs on systems of POSIX (cfg(unix)) with addresses of 64 bits only"
);

mod constants;

#[cfg(not(feature = "buildtime-bindgen"))]
#[rustfmt::skip]
#[allow(missing_docs, non_camel_case_types, non_snake_case, clippy::all, rustdoc::all)]
mod bindings;

/// Made by the build of the header that it found.
#[cfg(feature = "buildtime-bindgen")]
#[allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    clippy::all,
    rustdoc::all
)]
mod bindings {
    include!(concat!(env!("OUT_DIR"), "/bindings.rs"));
}

pub use bindings::*;
pub use constants::*;
