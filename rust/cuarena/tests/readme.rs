//! The README's list of what is `unsafe` has every such item of the crate.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// The name that follows one of the words at the start of a line.
fn declared(line: &str) -> Option<&str> {
    let rest = [
        "pub unsafe fn ",
        "pub const unsafe fn ",
        "pub unsafe trait ",
    ]
    .iter()
    .find_map(|words| line.trim_start().strip_prefix(words))?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_')
        .next()
}

fn unsafe_items() -> BTreeSet<String> {
    let mut files = Vec::new();
    sources(&root().join("src"), &mut files);
    files
        .iter()
        .map(|file| fs::read_to_string(file).expect("source text"))
        .flat_map(|text| {
            text.lines()
                .filter_map(declared)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect()
}

/// What stands in backquotes between the list's first line and the next code.
fn listed() -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("README.md")).expect("the README");
    let list = text
        .split("`unsafe` is where the")
        .nth(1)
        .expect("the list");
    let list = list.split("```").next().unwrap_or_default();
    list.split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_unsafe_item_is_in_the_list_and_nothing_else() {
    let items = unsafe_items();
    assert!(
        items.contains("pin") && items.contains("Memory"),
        "{items:?}"
    );
    assert_eq!(listed(), items);
}
