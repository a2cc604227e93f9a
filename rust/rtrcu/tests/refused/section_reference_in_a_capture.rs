// SPDX-License-Identifier: MIT OR Apache-2.0
//! A value that a section has loaded is kept in a variable outside.
use rtrcu::Rcu;

fn main() {
    let cell = Rcu::new(String::from("value"));
    let mut kept: Option<&String> = None;
    smol::block_on(rtrcu::section(async |s| {
        kept = Some(cell.load(s));
    }));
    println!("{kept:?}");
}
