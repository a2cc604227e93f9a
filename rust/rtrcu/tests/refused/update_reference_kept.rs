// SPDX-License-Identifier: MIT OR Apache-2.0
//! The old value is used after the update that passed it.
use rtrcu::{Rcu, read};

fn main() {
    let cell = Rcu::new(String::new());
    let mut kept = None;
    cell.update(|old| {
        kept = Some(old);
        String::new()
    });
    println!("{kept:?} {:?}", read());
}
