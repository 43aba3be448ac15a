//! Versions of the library: which of them these bindings can be linked to.
//!
//! Members and functions are added, none changes, until the number that stands
//! for it does: the first one, or before 1.0 the second.

use std::fs;
use std::path::Path;

/// The version that came with this crate.
pub const OWN: &str = env!("CARGO_PKG_VERSION");

type Parts = [u64; 3];

/// The range that is right: from that version up to, not with, the other.
pub fn range() -> (String, String) {
    let [major, minor, _] = parts(OWN).unwrap_or_default();
    let next = if major > 0 {
        [major + 1, 0, 0]
    } else {
        [0, minor + 1, 0]
    };
    (OWN.to_owned(), text(next))
}

/// Whether a version is in the range.
pub fn is_right(version: &str) -> bool {
    let (from, to) = range();
    match (parts(version), parts(&from), parts(&to)) {
        (Some(version), Some(from), Some(to)) => from <= version && version < to,
        _ => false,
    }
}

/// What `<include>/cuarena/base.h` says.
pub fn of_header(include: &Path) -> Result<String, String> {
    let path = include.join("cuarena").join("base.h");
    let header =
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let number = |name: &str| {
        let name = format!("CUARENA_VERSION_{name}");
        header.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            (words.next() == Some("#define") && words.next() == Some(&name))
                .then(|| words.next()?.parse().ok())?
        })
    };
    match (number("MAJOR"), number("MINOR"), number("PATCH")) {
        (Some(major), Some(minor), Some(patch)) => Ok(text([major, minor, patch])),
        _ => Err(format!(
            "{}: no CUARENA_VERSION_MAJOR, _MINOR and _PATCH",
            path.display()
        )),
    }
}

fn parts(version: &str) -> Option<Parts> {
    let mut numbers = version.split('.').map(|part| part.parse().ok());
    let parts = [numbers.next()??, numbers.next()??, numbers.next()??];
    numbers.next().is_none().then_some(parts)
}

fn text([major, minor, patch]: Parts) -> String {
    format!("{major}.{minor}.{patch}")
}
