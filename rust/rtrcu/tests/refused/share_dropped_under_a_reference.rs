// SPDX-License-Identifier: MIT OR Apache-2.0
//! The last share of a cell goes under a reference.
use std::sync::Arc;

use rtrcu::{Rcu, read};

fn main() {
    let cell = Arc::new(Rcu::new(1));
    let guard = read();
    let seen = cell.load(&guard);
    drop(cell);
    println!("{seen}");
}
