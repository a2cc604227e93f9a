// SPDX-License-Identifier: MIT OR Apache-2.0
//! The token of a section is used after its end.
use rtrcu::{Rcu, read};

fn main() {
    let cell = Rcu::new(1);
    let mut kept = None;
    smol::block_on(rtrcu::section(async |s| kept = Some(s)));
    println!("{:?} {:?}", cell.load(kept.unwrap()), read());
}
