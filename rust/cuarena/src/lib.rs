//! Arenas of GPU and CPU memory.

pub use cuarena_sys as ffi;
