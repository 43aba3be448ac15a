//! Arena memory in the terms of other crates.
//!
//! A module here is there with the feature of the same name only. What it
//! shows of the other crate is pinned to one minor version of that crate, and
//! changes with it, so it is outside this crate's own promise of stability.

#[cfg(feature = "cudarc")]
#[cfg_attr(docsrs, doc(cfg(feature = "cudarc")))]
pub mod cudarc;
