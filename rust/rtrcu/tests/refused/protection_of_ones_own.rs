// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program implements a protection of its own, which protects nothing.
use rtrcu::{Rcu, read};

struct Nothing;
unsafe impl rtrcu::Protection for Nothing {}
fn main() {
    let cell = Rcu::new(1);
    println!("{} {:?}", cell.load(&Nothing), read());
}
