//! Makes the comparison of cuarena-sys with the header of the library that was
//! found. Two parts, since neither sees all:
//!
//! - ctest compares constants, sizes, alignments and fields, most of it when
//!   the program runs;
//! - `signatures` declares each function and each type of callback a second
//!   time, as Rust sees it: the C compiler refuses what differs.

mod handles;
mod signatures;

use std::collections::HashSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let sys = Path::new("../cuarena-sys/src");
    let include = env::var("DEP_CUARENA_INCLUDE").expect("cuarena-sys tells where the header is");
    let include: Vec<PathBuf> = env::split_paths(&include).collect();
    for name in ["lib.rs", "bindings.rs", "constants.rs"] {
        println!("cargo::rerun-if-changed={}", sys.join(name).display());
    }
    println!("cargo::rerun-if-changed=build");
    let text = fs::read_to_string(sys.join("bindings.rs")).expect("the bindings can be read");
    let items = syn::parse_file(&text).expect("the bindings are Rust").items;
    signatures::compare(&items, &include);
    compare_layout(&sys.join("lib.rs"), &include, handles::names(&items));
}

fn compare_layout(bindings: &Path, include: &[PathBuf], handles: HashSet<String>) {
    let mut test = ctest::TestGenerator::new();
    test.header("cuarena.h").language(ctest::Language::C);
    for folder in include {
        test.include(folder);
    }
    // What bindgen asserts by itself.
    test.skip_const(|constant| constant.ident() == "_");
    let aliases = handles.clone();
    test.skip_struct(move |handle| handles.contains(handle.ident()));
    test.skip_alias(move |alias| aliases.contains(alias.ident()));
    // Of another name it is not known which bytes are padding; the struct
    // itself is passed there and back.
    test.skip_roundtrip(|name| name.ends_with("_t"));
    test.rename_struct_field(|_, field| (field.ident() == "type_").then(|| "type".to_owned()));
    ctest::generate_test(&mut test, bindings, "compare.rs").expect("the comparison can be made");
}
