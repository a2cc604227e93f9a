// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two cells change places, and one of them is dropped, while a reference to its value exists.
use rtrcu::{Rcu, read};

fn main() {
    let (mut cell, mut other) = (Rcu::new(1), Rcu::new(2));
    let guard = read();
    let seen = cell.load(&guard);
    std::mem::swap(&mut cell, &mut other);
    drop(other);
    println!("{seen}");
}
