//! Compares cuarena-sys with the header: `cargo run -p systest`.
#![allow(missing_docs, clippy::all, clippy::undocumented_unsafe_blocks)]

use cuarena_sys::*;

include!(concat!(env!("OUT_DIR"), "/compare.rs"));
