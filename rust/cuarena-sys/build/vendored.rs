//! The library, built by the C compiler alone from the sources in `vendor/`.
//!
//! What comes out is `<OUT_DIR>/cuarena/{lib,include}`: a static library and
//! the headers, so that C code of dependents can be compiled against it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::found::Found;
use crate::sources::SOURCES;

/// Builds the library, or says what is missing.
pub fn build(package: &Path, out: &Path) -> Result<Found, String> {
    let vendor = package.join("vendor");
    let root = out.join("cuarena");
    let include = root.join("include");
    check_tree(&vendor)?;
    copy_headers(&vendor.join("include"), &include)?;
    compile(&vendor, &root.join("lib"));
    link_system();
    Ok(Found {
        lib_dir: Some(root.join("lib")),
        root: Some(root),
        include: vec![include],
        version: env!("CARGO_PKG_VERSION").to_owned(),
        vendored: true,
    })
}

// A checkout that was made without symbolic links has files in their place.
fn check_tree(vendor: &Path) -> Result<(), String> {
    for name in ["src", "include"] {
        let folder = vendor.join(name);
        if !folder.is_dir() {
            return Err(format!(
                "{} is not a folder: in a checkout it is a symbolic link to \
                 the folder of the C library; check out again with symbolic \
                 links, or depend on the published crate",
                folder.display()
            ));
        }
        println!("cargo::rerun-if-changed={}", folder.display());
    }
    Ok(())
}

fn compile(vendor: &Path, lib_dir: &Path) {
    let mut build = cc::Build::new();
    build
        .std("c11")
        .include(vendor.join("include"))
        .include(vendor.join("src"))
        .flag_if_supported("-fvisibility=hidden")
        .warnings(false)
        .out_dir(lib_dir);
    if matches!(std::env::var("OPT_LEVEL").as_deref(), Ok("0" | "1")) {
        // Its speed is what it is for: also in a debug build of the program.
        build.opt_level(2);
    }
    for source in SOURCES {
        build.file(vendor.join("src").join(source));
    }
    build.compile("cuarena");
}

// Part of the C library of the system where that is new; glibc before 2.34
// has them apart.
fn link_system() {
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-link-lib=dl");
        println!("cargo::rustc-link-lib=pthread");
    }
}

fn copy_headers(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |path: &Path, error| format!("{}: {error}", path.display());
    fs::create_dir_all(to).map_err(|error| failed(to, error))?;
    for entry in fs::read_dir(from).map_err(|error| failed(from, error))? {
        let path = entry.map_err(|error| failed(from, error))?.path();
        let target: PathBuf = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_headers(&path, &target)?;
        } else {
            fs::copy(&path, &target).map_err(|error| failed(&path, error))?;
        }
    }
    Ok(())
}
