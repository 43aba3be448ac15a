//! The library that pkg-config knows.

use std::path::PathBuf;

use crate::found::{Found, Kind};
use crate::settings::Settings;
use crate::version;

/// Asks pkg-config, for the versions that are right.
pub fn find(settings: &Settings) -> Result<Found, String> {
    let (from, to) = version::range();
    let library = pkg_config::Config::new()
        .range_version(from.as_str()..to.as_str())
        .statik(settings.want_static)
        .cargo_metadata(false)
        .env_metadata(true)
        .probe("cuarena")
        .map_err(|error| error.to_string())?;
    let kind = if settings.want_static {
        Kind::Static
    } else {
        Kind::Shared
    };
    let folder = |kind: Kind| library.link_paths.iter().find(|path| kind.is_in(path));
    // An installation can be of static libraries only.
    let (kind, lib_dir) = folder(kind)
        .map(|path| (kind, path))
        .or_else(|| folder(Kind::Static).map(|path| (Kind::Static, path)))
        .ok_or_else(|| missing(kind, &library.link_paths))?;
    kind.link(lib_dir);
    Ok(Found {
        root: pkg_config::get_variable("cuarena", "prefix")
            .map_or_else(|_| lib_dir.clone(), PathBuf::from),
        lib_dir: lib_dir.clone(),
        include: library.include_paths,
        version: library.version,
        vendored: false,
    })
}

fn missing(kind: Kind, folders: &[PathBuf]) -> String {
    let folders: Vec<_> = folders
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    format!(
        "pkg-config says that the library is in {}; expected: {} there{}",
        folders.join(", "),
        kind.file(),
        match kind {
            Kind::Static => ", since CUARENA_STATIC is 1",
            Kind::Shared => "",
        }
    )
}
