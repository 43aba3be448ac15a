//! Slices that become blocks which may move.
