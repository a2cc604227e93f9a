// SPDX-License-Identifier: MIT OR Apache-2.0
//! The last share of a cell is dropped while a reference exists.
use std::sync::Arc;

use rtrcu::{Rcu, read};

fn main() {
    let cell = Arc::new(Rcu::new(1));
    let guard = read();
    let seen = cell.load(&guard);
    drop(cell);
    println!("{seen}");
}
