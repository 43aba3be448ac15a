//! The library that was linked is the one that the bindings were made of.

use core::ffi::CStr;
use core::mem::MaybeUninit;

use cuarena_sys as sys;

#[test]
fn version_is_that_of_the_crate() {
    // SAFETY: the call takes nothing and answers static text.
    let text = unsafe { CStr::from_ptr(sys::cuarena_version_string()) };
    assert_eq!(text.to_str(), Ok(env!("CARGO_PKG_VERSION")));
}

#[test]
fn constants_of_the_version_are_those_of_the_crate() {
    let constants = format!(
        "{}.{}.{}",
        sys::CUARENA_VERSION_MAJOR,
        sys::CUARENA_VERSION_MINOR,
        sys::CUARENA_VERSION_PATCH
    );
    assert_eq!(constants, env!("CARGO_PKG_VERSION"));
}

#[test]
fn init_sets_the_size_that_the_bindings_have() {
    let mut info = MaybeUninit::<sys::cuarena_error_info_t>::uninit();
    // SAFETY: the call writes all of what it is given.
    let info = unsafe {
        sys::cuarena_error_info_init(info.as_mut_ptr());
        info.assume_init()
    };
    assert_eq!(info.struct_size, core::mem::size_of_val(&info));
}
