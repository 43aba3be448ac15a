//! What cargo and the environment ask of this build.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// All of it; read once.
pub struct Settings {
    /// The folder of this crate.
    pub package: PathBuf,
    /// Where results go.
    pub out: PathBuf,
    /// `DOCS_RS`: only documentation is made.
    pub documentation: bool,
    /// The feature `vendored`.
    pub vendored: bool,
    /// `CUARENA_NO_VENDOR`: never build the sources.
    pub no_vendor: bool,
    /// `CUARENA_STATIC`: link a static library.
    pub want_static: bool,
    /// `CUARENA_LIB_DIR`: the folder with the library.
    pub lib_dir: Option<PathBuf>,
    /// `CUARENA_INCLUDE_DIR`: the folder with `cuarena.h`.
    pub include_dir: Option<PathBuf>,
}

impl Settings {
    /// Reads the environment; every variable that is looked at makes the build
    /// run again when it changes.
    pub fn read() -> Result<Self, String> {
        let settings = Settings {
            package: given("CARGO_MANIFEST_DIR")?,
            out: given("OUT_DIR")?,
            documentation: variable("DOCS_RS").is_some(),
            vendored: env::var_os("CARGO_FEATURE_VENDORED").is_some(),
            no_vendor: switch("CUARENA_NO_VENDOR")?,
            want_static: switch("CUARENA_STATIC")?,
            lib_dir: variable("CUARENA_LIB_DIR").map(PathBuf::from),
            include_dir: variable("CUARENA_INCLUDE_DIR").map(PathBuf::from),
        };
        match (&settings.lib_dir, &settings.include_dir) {
            (None, Some(include)) => Err(format!(
                "CUARENA_INCLUDE_DIR={} is set but CUARENA_LIB_DIR is not; \
                 expected: both, or CUARENA_LIB_DIR alone where the headers \
                 are in ../include of it",
                include.display()
            )),
            _ => Ok(settings),
        }
    }
}

// What cargo always sets.
fn given(name: &str) -> Result<PathBuf, String> {
    env::var_os(name)
        .map(PathBuf::from)
        .ok_or_else(|| format!("{name} is not set; expected: to be run by cargo"))
}

// An empty variable counts as none.
fn variable(name: &str) -> Option<OsString> {
    println!("cargo::rerun-if-env-changed={name}");
    env::var_os(name).filter(|value| !value.is_empty())
}

fn switch(name: &str) -> Result<bool, String> {
    match variable(name) {
        None => Ok(false),
        Some(value) if value == "0" => Ok(false),
        Some(value) if value == "1" => Ok(true),
        Some(value) => Err(format!(
            "{name}={}; expected: 1, or 0 which is the same as not to set it",
            value.to_string_lossy()
        )),
    }
}
