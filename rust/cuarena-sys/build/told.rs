//! The library that `CUARENA_LIB_DIR` names, with the headers that
//! `CUARENA_INCLUDE_DIR` names or that lie beside it.

use std::path::{Path, PathBuf};

use crate::found::{Found, Kind};
use crate::settings::Settings;
use crate::version;

/// Looks at what is there, or says what is not.
pub fn find(settings: &Settings, lib_dir: &Path) -> Result<Found, String> {
    let kind = kind_in(lib_dir, settings.want_static)?;
    let include = include_of(settings, lib_dir)?;
    let version = version::of_header(&include)?;
    if !version::is_right(&version) {
        let (from, to) = version::range();
        return Err(format!(
            "the headers in {} are of version {version}; expected: {from} or \
             newer, before {to}",
            include.display()
        ));
    }
    kind.link(lib_dir);
    println!("cargo::rerun-if-changed={}", include.display());
    println!(
        "cargo::rerun-if-changed={}",
        lib_dir.join(kind.file()).display()
    );
    Ok(Found {
        root: lib_dir.parent().unwrap_or(lib_dir).to_owned(),
        lib_dir: lib_dir.to_owned(),
        include: vec![include],
        version,
        vendored: false,
    })
}

// A shared library is preferred, as linkers do.
fn kind_in(lib_dir: &Path, want_static: bool) -> Result<Kind, String> {
    let kinds: &[Kind] = if want_static {
        &[Kind::Static]
    } else {
        &[Kind::Shared, Kind::Static]
    };
    let there = kinds.iter().find(|kind| kind.is_in(lib_dir));
    there.copied().ok_or_else(|| {
        let names: Vec<_> = kinds.iter().map(|kind| kind.file()).collect();
        format!(
            "CUARENA_LIB_DIR={}{}; expected: a folder with {}",
            lib_dir.display(),
            if want_static {
                " with CUARENA_STATIC=1"
            } else {
                ""
            },
            names.join(" or ")
        )
    })
}

// `lib/../include`, or where libraries have folders by machine one more up.
fn include_of(settings: &Settings, lib_dir: &Path) -> Result<PathBuf, String> {
    let has_header = |folder: &PathBuf| folder.join("cuarena.h").is_file();
    if let Some(include) = &settings.include_dir {
        return Some(include.clone()).filter(has_header).ok_or_else(|| {
            format!(
                "CUARENA_INCLUDE_DIR={}; expected: a folder with cuarena.h",
                include.display()
            )
        });
    }
    let beside = lib_dir.ancestors().skip(1).take(2);
    let mut beside = beside.map(|folder| folder.join("include"));
    beside.find(has_header).ok_or_else(|| {
        format!(
            "there is no cuarena.h beside CUARENA_LIB_DIR={}, in ../include or \
             ../../include; expected: its folder in CUARENA_INCLUDE_DIR",
            lib_dir.display()
        )
    })
}
