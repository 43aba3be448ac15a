//! The list of files that the build script compiles is that of the library's
//! own build, and names every file there is.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[path = "../build/sources.rs"]
mod sources;

fn src() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("vendor/src")
}

fn listed() -> BTreeSet<String> {
    sources::SOURCES
        .iter()
        .map(|&name| name.to_owned())
        .collect()
}

// Names are words, whatever list they are in.
fn in_makefile() -> BTreeSet<String> {
    let makefile = fs::read_to_string(src().join("Makefile.inc")).unwrap();
    makefile
        .split_whitespace()
        .filter_map(|word| word.strip_prefix("src/"))
        .filter(|name| name.ends_with(".c"))
        .map(str::to_owned)
        .collect()
}

fn below(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            below(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "c") {
            let name = path.strip_prefix(src()).unwrap();
            found.insert(name.to_str().unwrap().to_owned());
        }
    }
}

#[track_caller]
fn same(found: &BTreeSet<String>, where_found: &str) {
    let listed = listed();
    let lacking: Vec<_> = found.difference(&listed).collect();
    let too_many: Vec<_> = listed.difference(found).collect();
    assert!(
        lacking.is_empty() && too_many.is_empty(),
        "build/sources.rs lacks {lacking:?} of {where_found}, which lacks {too_many:?} of it"
    );
}

#[test]
fn as_in_the_makefile() {
    same(&in_makefile(), "src/Makefile.inc");
}

#[test]
fn as_in_the_folder() {
    let mut found = BTreeSet::new();
    below(&src(), &mut found);
    same(&found, "src/");
}

#[test]
fn sorted_and_each_once() {
    assert!(
        sources::SOURCES.windows(2).all(|pair| pair[0] < pair[1]),
        "build/sources.rs: expected the order of the alphabet, each file once"
    );
}
