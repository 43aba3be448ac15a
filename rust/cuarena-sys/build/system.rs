//! Which systems the library runs on.

/// An error for a target that it does not, which a compiler of C would tell at
/// more length.
pub fn check(target: &str, is_unix: bool, pointer_width: &str) -> Result<(), String> {
    if is_unix && pointer_width == "64" {
        return Ok(());
    }
    Err(format!(
        "{target}: libcuarena does not run there; expected: a system of POSIX (cfg(unix)) with \
         addresses of 64 bits"
    ))
}
