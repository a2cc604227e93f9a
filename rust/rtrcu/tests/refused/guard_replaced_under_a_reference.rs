// SPDX-License-Identifier: MIT OR Apache-2.0
//! A guard that is replaced by one which began later, while a reference under it exists.
use rtrcu::{Rcu, read};

fn main() {
    let cell = Rcu::new(String::from("value"));
    let mut guard = read();
    let seen = cell.load(&guard);
    guard = read();
    println!("{seen} {guard:?}");
}
