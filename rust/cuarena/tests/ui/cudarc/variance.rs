//! What is written through a slice or a view of it is of its own type, and no
//! bracket lives longer than its slice.
#![allow(unused)]
use cuarena::interop::cudarc::{ArenaSlice, ForeignUse};

fn bracket<'a>(bracket: ForeignUse<'a>) -> ForeignUse<'static> {
    bracket
}

fn shorter<'a>(slice: ArenaSlice<&'static u8>) -> ArenaSlice<&'a u8> {
    slice
}

fn longer<'a>(slice: ArenaSlice<&'a u8>) -> ArenaSlice<&'static u8> {
    slice
}

fn main() {}
