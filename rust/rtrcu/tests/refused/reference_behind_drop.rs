// SPDX-License-Identifier: MIT OR Apache-2.0
//! A reference that is used after the drop of its guard.
use rtrcu::{Rcu, read};

fn main() {
    let cell = Rcu::new(1);
    let guard = read();
    let seen = cell.load(&guard);
    drop(guard);
    println!("{seen}");
}
