//! What the programs `host` and `device` share: the same cases, run on every
//! kind of arena that a program has, with calls that go to no stream, to one
//! and to many.
//!
//! - *kind*: a preset on a memory.
//! - *row*: a kind, and the use of streams.
//! - *rig*: an arena of a row, and how the contents of its blocks are reached.
//! - *case*: a function that gets a rig.

#![allow(dead_code)]

pub mod cases;
pub mod device;
pub mod driver;
pub mod guest;
pub mod harness;
pub mod rig;
pub mod scenarios;
pub mod streams;
pub mod traces;
