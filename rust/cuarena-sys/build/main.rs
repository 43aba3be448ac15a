//! Finds or builds the C library, and tells cargo how to link it.

mod found;
mod sources;
mod vendored;

#[cfg(feature = "buildtime-bindgen")]
mod bindings;

use std::path::PathBuf;

fn main() {
    let package = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap());
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap());
    println!("cargo::rerun-if-changed=build");
    let found = vendored::build(&package, &out).unwrap();
    #[cfg(feature = "buildtime-bindgen")]
    bindings::make(&package, &found.include, &out).unwrap();
    found.print_metadata();
}
