//! A `main` for programs whose cases are rows of tables.
//!
//! Arguments are words that a name must have, as with the usual harness; flags
//! of that are passed over, but for `--list`. The exit status is 101 if
//! anything failed and 77 if there is no device where one is wanted, or 0 for
//! the latter under cargo, to which 77 is a failure. With
//! `CUARENA_REQUIRE_GPU=1` it is a failure.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::Instant;

pub const SKIPPED: i32 = 77;
/// Tests that take so many seconds are named.
const SLOW: u64 = 2;

/// One thing to run.
pub struct Test {
    pub name: String,
    pub run: Box<dyn Fn()>,
}

/// Runs all whose name has every word.
pub fn run(tests: Vec<Test>) -> i32 {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&String> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    let wanted = |test: &&Test| words.iter().all(|word| test.name.contains(word.as_str()));
    if arguments.iter().any(|a| a == "--list") {
        tests
            .iter()
            .filter(wanted)
            .for_each(|test| println!("{}: test", test.name));
        return 0;
    }
    let started = Instant::now();
    let (mut passed, mut failed) = (0, Vec::new());
    for test in tests.iter().filter(wanted) {
        let begun = Instant::now();
        match catch_unwind(AssertUnwindSafe(|| (test.run)())) {
            Ok(()) => passed += 1,
            Err(_) => {
                println!("FAILED {}", test.name);
                failed.push(&test.name);
            }
        }
        if begun.elapsed().as_secs() >= SLOW {
            println!("{:.1} s {}", begun.elapsed().as_secs_f64(), test.name);
        }
    }
    println!(
        "{passed} passed, {} failed in {:.1} s",
        failed.len(),
        started.elapsed().as_secs_f64()
    );
    for name in &failed {
        println!("    {name}");
    }
    if failed.is_empty() {
        0
    } else {
        101
    }
}

/// What a program without a device comes to.
pub fn no_device() -> i32 {
    if std::env::var("CUARENA_REQUIRE_GPU").is_ok_and(|value| value == "1") {
        println!("CUARENA_REQUIRE_GPU=1 and no device");
        return 1;
    }
    println!("skipped: no device");
    if std::env::var_os("CARGO_MANIFEST_DIR").is_some() {
        0
    } else {
        SKIPPED
    }
}
