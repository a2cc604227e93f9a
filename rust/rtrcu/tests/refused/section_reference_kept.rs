// SPDX-License-Identifier: MIT OR Apache-2.0
//! A reference that outlives its section.
use rtrcu::{Rcu, read};

fn main() {
    let cell = Rcu::new(1);
    let mut kept = None;
    smol::block_on(rtrcu::section(async |s| kept = Some(cell.load(s))));
    println!("{kept:?} {:?}", read());
}
