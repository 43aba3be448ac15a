//! Every function of the C library is reached by this crate, or is in the table
//! below with the reason why it is not, and every option has a setter. A function
//! or an option that the library gains, or a row that is no longer true, fails
//! here.
//!
//! Reads the bindings and the sources: outside the repository it has neither,
//! and passes over.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const POINTERS: &str =
    "blocks that stay where they are are blocks under a pin; an address without one \
     could be kept by safe code";

/// What is deliberately not reached, and why.
const NOT_REACHED: &[(&str, &str)] = &[
    ("cuarena_alloc", POINTERS),
    ("cuarena_alloc_array", POINTERS),
    ("cuarena_free_own", POINTERS),
    (
        "cuarena_block_free_own",
        "a Block knows its stream, which it keeps known",
    ),
    ("cuarena_record_use", POINTERS),
    ("cuarena_resize_on", POINTERS),
    ("cuarena_size_of", POINTERS),
    ("cuarena_stream_of", POINTERS),
    (
        "cuarena_open",
        "Arena::open goes by the builder, which keeps text from naming a driver's pool",
    ),
    (
        "cuarena_last_error",
        "an Error has the text, from cuarena_last_error_info",
    ),
    (
        "cuarena_reset",
        "it ends every block at once, and so handles that safe code still has",
    ),
    (
        "cuarena_destroy_forced",
        "likewise; the last handle ends an arena, and waits for nothing",
    ),
    (
        "cuarena_trace_recent",
        "a snapshot has these events, beside the blocks that they are about",
    ),
    (
        "cuarena_status_name",
        "a status is an ErrorKind, whose Debug is its name",
    ),
];

/// Options whose setter has another name.
const SETTERS: &[(&str, &str)] = &[("handle", "handle_bytes"), ("split_threshold", "split")];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

/// The names `cuarena_...` that follow `before` in a text.
fn names_after(text: &str, before: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, _) in text.match_indices(&format!("{before}cuarena_")) {
        let rest = &text[at + before.len()..];
        let end = rest
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        names.insert(rest[..end].to_owned());
    }
    names
}

fn sources(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            text.push_str(&fs::read_to_string(path).expect("a source"));
        }
    }
}

#[test]
fn every_function_is_reached_or_has_a_reason() {
    let bindings = root().join("../cuarena-sys/src/bindings.rs");
    let Ok(bindings) = fs::read_to_string(bindings) else {
        println!("passed over: no bindings beside this crate");
        return;
    };
    let mut text = String::new();
    sources(&root().join("src"), &mut text);
    let functions = names_after(&bindings, "pub fn ");
    let reached = names_after(&text, "ffi::");
    let table: BTreeMap<&str, &str> = NOT_REACHED.iter().copied().collect();

    assert!(functions.len() > 100, "only {} functions", functions.len());
    let mut wrong = Vec::new();
    for name in &functions {
        match (reached.contains(name), table.get(name.as_str())) {
            (true, Some(_)) => wrong.push(format!("{name} is reached: take its row out")),
            (false, None) => wrong.push(format!("{name} is not reached: reach it, or say why not")),
            _ => {}
        }
    }
    for name in table.keys() {
        if !functions.contains(*name) {
            wrong.push(format!("{name} is no function of the library"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_option_has_a_setter() {
    let builder = root().join("src/builder.rs");
    let text = fs::read_to_string(builder).expect("the builder's source");
    let renamed: BTreeMap<&str, &str> = SETTERS.iter().copied().collect();
    let lacking: Vec<&str> = cuarena::options()
        .map(|option| *renamed.get(option.key).unwrap_or(&option.key))
        .filter(|name| !text.contains(&format!(" {name}(")))
        .collect();
    assert!(lacking.is_empty(), "no setter: {}", lacking.join(", "));
}
