//! The library, built by the C compiler alone from the sources in `vendor/`.
//!
//! What comes out is `<OUT_DIR>/cuarena/{lib,include}`: a static library and
//! the headers, so that C code of dependents can be compiled against it.

use std::fs;
use std::path::Path;

use crate::found::{link_system, Found};
use crate::settings::Settings;
use crate::sources::SOURCES;
use crate::version;

/// Builds the library, or says what is missing.
pub fn build(settings: &Settings) -> Result<Found, String> {
    let vendor = settings.package.join("vendor");
    let root = settings.out.join("cuarena");
    let include = root.join("include");
    let lib_dir = root.join("lib");
    check_tree(&vendor)?;
    copy_headers(&vendor.join("include"), &include)?;
    compile(&vendor, &lib_dir)?;
    Ok(Found {
        root,
        lib_dir,
        version: version::of_header(&include)?,
        include: vec![include],
        vendored: true,
    })
}

// A checkout that was made without symbolic links has files in their place.
fn check_tree(vendor: &Path) -> Result<(), String> {
    for name in ["src", "include"] {
        let folder = vendor.join(name);
        if !folder.is_dir() {
            return Err(format!(
                "{} is not a folder; expected: in a checkout, a symbolic link \
                 to the folder of the C library, so check out with symbolic \
                 links, or depend on the published crate",
                folder.display()
            ));
        }
        println!("cargo::rerun-if-changed={}", folder.display());
    }
    Ok(())
}

fn compile(vendor: &Path, lib_dir: &Path) -> Result<(), String> {
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
    build
        .try_compile("cuarena")
        .map_err(|error| format!("{error}\nExpected: a compiler of C11, in CC if not cc"))?;
    link_system();
    Ok(())
}

fn copy_headers(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |path: &Path, error| format!("{}: {error}", path.display());
    fs::create_dir_all(to).map_err(|error| failed(to, error))?;
    for entry in fs::read_dir(from).map_err(|error| failed(from, error))? {
        let path = entry.map_err(|error| failed(from, error))?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_headers(&path, &target)?;
        } else {
            fs::copy(&path, &target).map_err(|error| failed(&path, error))?;
        }
    }
    Ok(())
}
