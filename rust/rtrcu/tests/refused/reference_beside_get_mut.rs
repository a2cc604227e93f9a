// SPDX-License-Identifier: MIT OR Apache-2.0
//! A shared and an exclusive reference to one value.
use rtrcu::{Rcu, read};

fn main() {
    let guard = read();
    let mut cell = Rcu::new(String::new());
    let seen = cell.load(&guard);
    cell.get_mut().clear();
    println!("{seen}");
}
