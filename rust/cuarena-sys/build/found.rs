//! A library that was found or built: how it is linked, and what dependents
//! are told of it.

use std::path::{Path, PathBuf};

/// A library that will be linked.
pub struct Found {
    /// The folder that holds those of the library and of the headers.
    pub root: PathBuf,
    /// Where the library is.
    pub lib_dir: PathBuf,
    /// Where `cuarena.h` is; several where the system says so.
    pub include: Vec<PathBuf>,
    /// Its version.
    pub version: String,
    /// Whether it was built here.
    pub vendored: bool,
}

impl Found {
    /// Tells the build scripts of direct dependents, which see each as
    /// `DEP_CUARENA_<KEY>`.
    pub fn print_metadata(&self) {
        println!("cargo::metadata=root={}", self.root.display());
        println!("cargo::metadata=lib_dir={}", self.lib_dir.display());
        if let Ok(include) = std::env::join_paths(&self.include) {
            println!("cargo::metadata=include={}", include.to_string_lossy());
        }
        println!("cargo::metadata=version={}", self.version);
        println!("cargo::metadata=vendored={}", u8::from(self.vendored));
    }
}

/// The two kinds of library, as files have their names.
#[derive(Clone, Copy)]
pub enum Kind {
    Static,
    Shared,
}

impl Kind {
    /// The name of its file on the target.
    pub fn file(self) -> String {
        let os = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
        match (self, os.as_str()) {
            (Kind::Static, _) => "libcuarena.a".to_owned(),
            (Kind::Shared, "macos") => "libcuarena.dylib".to_owned(),
            (Kind::Shared, _) => "libcuarena.so".to_owned(),
        }
    }

    /// Whether a folder has it.
    pub fn is_in(self, folder: &Path) -> bool {
        folder.join(self.file()).is_file()
    }

    /// Has cargo link it.
    pub fn link(self, folder: &Path) {
        let kind = match self {
            Kind::Static => "static",
            Kind::Shared => "dylib",
        };
        println!("cargo::rustc-link-search=native={}", folder.display());
        println!("cargo::rustc-link-lib={kind}=cuarena");
        if matches!(self, Kind::Static) {
            link_system();
        }
    }
}

/// What a static library wants of the system. New systems have it in their C
/// library; glibc has it apart before 2.34.
pub fn link_system() {
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-link-lib=dl");
        println!("cargo::rustc-link-lib=pthread");
    }
}
