//! The bindings: the committed ones, or with `buildtime-bindgen` those made of
//! the header that was found, which `src/lib.rs` takes from `<OUT_DIR>/bindings.rs`.
//!
//! A comment of the header becomes the documentation of what it stands at.
//! Constants get the type of the members and parameters that take them.

use std::path::PathBuf;

use bindgen::callbacks::{IntKind, ParseCallbacks};

use crate::settings::Settings;

/// Writes the bindings of the header in one of the folders.
pub fn make(settings: &Settings, include: &[PathBuf]) -> Result<(), String> {
    let out = &settings.out;
    let wrapper = settings.package.join("wrapper.h");
    println!("cargo::rerun-if-changed={}", wrapper.display());
    for folder in include {
        println!("cargo::rerun-if-changed={}", folder.display());
    }
    println!("cargo::rerun-if-env-changed=LIBCLANG_PATH");
    println!("cargo::rerun-if-env-changed=BINDGEN_EXTRA_CLANG_ARGS");
    bindgen::Builder::default()
        .header(wrapper.to_string_lossy())
        .clang_args(include.iter().map(|path| format!("-I{}", path.display())))
        .clang_arg("-fparse-all-comments")
        .allowlist_item("(cuarena_|CUARENA_).*")
        .blocklist_item("CUARENA_API|CUARENA_[A-Z]+_H")
        .rust_target(msrv()?)
        .use_core()
        .merge_extern_blocks(true)
        .clang_macro_fallback()
        .clang_macro_fallback_build_dir(out)
        .layout_tests(true)
        .disable_header_comment()
        .raw_line("// Made of include/cuarena.h by rust/scripts/bindings: do not edit.")
        .parse_callbacks(Box::new(Types))
        .generate()
        .map_err(|error| format!("buildtime-bindgen: {error}"))?
        .write_to_file(out.join("bindings.rs"))
        .map_err(|error| format!("buildtime-bindgen: {}: {error}", out.display()))
}

fn msrv() -> Result<bindgen::RustTarget, String> {
    let text = env!("CARGO_PKG_RUST_VERSION");
    text.parse()
        .map_err(|error| format!("rust-version {text}: {error}"))
}

/// What bindgen asks while it reads.
#[derive(Debug)]
struct Types;

impl ParseCallbacks for Types {
    fn int_macro(&self, name: &str, _value: i64) -> Option<IntKind> {
        let wide = [
            "CUARENA_HEAP_MAX_OFFSET",
            "CUARENA_HEAP_MAX_SEGMENT",
            "CUARENA_HEAP_MAX_BLOCKS",
        ];
        let flags = [
            "CUARENA_MEMORY_HOST_READABLE",
            "CUARENA_MEMORY_TOUCHES",
            "CUARENA_MEMORY_COMES_ZEROED",
        ];
        let counts = ["CUARENA_HEAP_", "CUARENA_MAX_", "CUARENA_VERSION_"];
        Some(if wide.contains(&name) {
            IntKind::U64
        } else if flags.contains(&name) || counts.iter().any(|p| name.starts_with(p)) {
            IntKind::U32
        } else {
            IntKind::I32
        })
    }
}
