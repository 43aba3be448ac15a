//! What must not compile: each way to come by an address, by bytes or by values
//! that are not there any more. Wants the features that the cases use.
//!
//! The compiler's words are compared, which change from one release to the
//! next; with another one than they were written for nothing is compared.

#![cfg(all(feature = "bytemuck", feature = "cudarc"))]

use std::process::Command;

/// The release whose words stand in ui/*.stderr.
const RELEASE: &str = "rustc 1.95.";

#[test]
fn stale_addresses_do_not_compile() {
    let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
    let version = Command::new(rustc).arg("--version").output().unwrap();
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    if !version.starts_with(RELEASE) {
        println!("skipped: wants {RELEASE}*, not {version}");
        return;
    }
    // Nothing is linked, so the C sources need not be built once more.
    std::env::set_var("DOCS_RS", "1");
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
    cases.compile_fail("tests/ui/cudarc/*.rs");
}
