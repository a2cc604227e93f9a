// SPDX-License-Identifier: MIT OR Apache-2.0
//! A reference that outlives its guard.
use rtrcu::{Rcu, read};

fn main() {
    let cell = Rcu::new(1);
    let seen = {
        let guard = read();
        cell.load(&guard)
    };
    println!("{seen}");
}
