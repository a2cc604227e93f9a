// SPDX-License-Identifier: MIT OR Apache-2.0
//! A section returns a reference to a value that it has loaded.
use rtrcu::{Rcu, read};

fn main() {
    let cell = Rcu::new(1);
    let seen: &i32 = smol::block_on(rtrcu::section(async |s| cell.load(s)));
    println!("{seen} {:?}", read());
}
