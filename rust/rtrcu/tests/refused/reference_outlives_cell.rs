// SPDX-License-Identifier: MIT OR Apache-2.0
//! A reference that outlives its cell, whose drop drops the value at once.
use rtrcu::{Rcu, read};

fn main() {
    let guard = read();
    let cell = Rcu::new(String::new());
    let seen = cell.load(&guard);
    drop(cell);
    println!("{seen}");
}
