// SPDX-License-Identifier: MIT OR Apache-2.0
//! A plugin with a copy of the library of its own.

/// Updates a cell, and returns its new value.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_value() -> i32 {
    let cell = rtrcu::Rcu::new(1);
    cell.replace(7);
    rtrcu::synchronize();
    *cell.load(&rtrcu::read())
}
