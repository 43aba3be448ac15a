//! What the benchmarks are made of: who is measured, on what, and where the
//! figures go.
//!
//! *Vocabulary.* A **side** is a way of getting memory. A **hand** is one
//! thread's share of a side, with a stream of its own; what it takes is given
//! back when it is dropped.

pub mod arenas;
pub mod beside;
pub mod cuda;
pub mod gpu;
pub mod machine;
pub mod raw;
pub mod results;
pub mod side;
pub mod threshold;
pub mod trace;
