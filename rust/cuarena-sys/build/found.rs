//! What was found or built: where the library is, and what dependents are told.

use std::path::PathBuf;

/// A library that will be linked.
pub struct Found {
    /// The folder that holds `lib` and `include`, if it is one.
    pub root: Option<PathBuf>,
    /// Where the library itself is, if that was told.
    pub lib_dir: Option<PathBuf>,
    /// Where `cuarena.h` is; empty where the compiler looks anyway.
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
        if let Some(root) = &self.root {
            println!("cargo::metadata=root={}", root.display());
        }
        if let Some(lib_dir) = &self.lib_dir {
            println!("cargo::metadata=lib_dir={}", lib_dir.display());
        }
        if let Ok(include) = std::env::join_paths(&self.include) {
            println!("cargo::metadata=include={}", include.to_string_lossy());
        }
        println!("cargo::metadata=version={}", self.version);
        println!("cargo::metadata=vendored={}", u8::from(self.vendored));
    }
}
