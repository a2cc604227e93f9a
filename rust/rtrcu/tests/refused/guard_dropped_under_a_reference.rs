// SPDX-License-Identifier: MIT OR Apache-2.0
//! A guard that ends before the last use of a value loaded under it.
use rtrcu::{Rcu, read};

fn main() {
    let cell = Rcu::new(String::from("value"));
    let guard = read();
    let seen = cell.load(&guard);
    drop(guard);
    println!("{seen}");
}
