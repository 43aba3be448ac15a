//! Which systems and installed versions the build script takes.

#[path = "../build/system.rs"]
mod system;
#[path = "../build/version.rs"]
mod version;

use std::path::Path;

#[test]
fn from_its_own_up_to_the_next_that_may_break() {
    let (from, to) = version::range();
    assert_eq!(from, env!("CARGO_PKG_VERSION"));
    assert!(
        version::is_right(&from),
        "{from} is the first that is right"
    );
    assert!(!version::is_right(&to), "{to} is the first that is not");
}

#[test]
fn what_is_no_version_is_not_right() {
    for text in ["", "0", "0.1", "0.1.0.0", "0.1.x", "0.0.9", "99.0.0"] {
        assert!(!version::is_right(text), "'{text}' was taken");
    }
}

#[test]
fn version_of_the_header_is_that_of_the_crate() {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("vendor/include");
    assert_eq!(version::of_header(&include).as_deref(), Ok(version::OWN));
}

#[test]
fn a_folder_without_a_header_is_named() {
    let error = version::of_header(Path::new("no/such/folder")).unwrap_err();
    assert!(error.contains("no/such/folder/cuarena/base.h"), "{error}");
}

#[test]
fn systems_that_the_library_does_not_run_on_are_named() {
    assert_eq!(
        system::check("x86_64-unknown-linux-gnu", true, "64"),
        Ok(())
    );
    for (target, is_unix, width) in [
        ("x86_64-pc-windows-msvc", false, "64"),
        ("wasm32-unknown-unknown", false, "32"),
        ("armv7-unknown-linux-gnueabihf", true, "32"),
    ] {
        let error = system::check(target, is_unix, width).unwrap_err();
        assert!(error.contains(target) && error.contains("POSIX"), "{error}");
    }
}
