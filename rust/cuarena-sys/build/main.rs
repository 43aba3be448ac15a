//! Finds the C library or builds it, and tells cargo how to link it.
//!
//! In this order; what was asked for and cannot be had is an error, never
//! something else instead:
//!
//! 1. `DOCS_RS` is set: nothing is linked, documentation needs no library.
//! 2. `CUARENA_LIB_DIR`: the library there, with `CUARENA_INCLUDE_DIR`.
//! 3. `CUARENA_NO_VENDOR`: what pkg-config knows.
//! 4. The feature `vendored`: the sources in `vendor/`.
//! 5. What pkg-config knows, if its version is right; else the sources.
//!
//! `CUARENA_STATIC` wants a static library of 2, 3 and 5; the one that is built
//! here always is. A version is right from that of this crate up to the next
//! one that may break.

#[cfg(feature = "buildtime-bindgen")]
mod bindings;
mod found;
mod installed;
mod settings;
mod sources;
mod system;
mod told;
mod vendored;
mod version;

use std::process::ExitCode;

use found::Found;
use settings::Settings;

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed=build");
    match Settings::read().and_then(|settings| run(&settings)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cuarena-sys: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(settings: &Settings) -> Result<(), String> {
    if settings.documentation {
        return make_bindings(settings, &[settings.package.join("vendor/include")]);
    }
    let target = |key: &str| std::env::var(key).unwrap_or_default();
    system::check(
        &target("TARGET"),
        std::env::var_os("CARGO_CFG_UNIX").is_some(),
        &target("CARGO_CFG_TARGET_POINTER_WIDTH"),
    )?;
    let found = find(settings)?;
    make_bindings(settings, &found.include)?;
    found.print_metadata();
    Ok(())
}

fn find(settings: &Settings) -> Result<Found, String> {
    if let Some(lib_dir) = &settings.lib_dir {
        return told::find(settings, lib_dir);
    }
    if settings.no_vendor {
        return installed::find(settings).map_err(|error| {
            format!(
                "CUARENA_NO_VENDOR is set, so the library must be installed:\n\
                 {error}\nExpected: a cuarena.pc where PKG_CONFIG_PATH says, or \
                 the folder of the library in CUARENA_LIB_DIR"
            )
        });
    }
    if settings.vendored {
        return vendored::build(settings);
    }
    installed::find(settings).or_else(|reason| {
        println!("the sources are built, since none that is right is installed: {reason}");
        vendored::build(settings)
    })
}

#[cfg(feature = "buildtime-bindgen")]
fn make_bindings(settings: &Settings, include: &[std::path::PathBuf]) -> Result<(), String> {
    bindings::make(settings, include)
}

#[cfg(not(feature = "buildtime-bindgen"))]
fn make_bindings(_: &Settings, _: &[std::path::PathBuf]) -> Result<(), String> {
    Ok(())
}
