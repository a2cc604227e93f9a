// SPDX-License-Identifier: MIT OR Apache-2.0
//! A dynamic library that holds the crate, as those of `bevy_dylib`'s kind do.
pub use rtrcu;

/// Returns the value of a cell, which is read inside this library.
pub fn value(cell: &rtrcu::Rcu<i32>) -> i32 {
    *cell.load(&rtrcu::read())
}
