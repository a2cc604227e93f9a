// SPDX-License-Identifier: MIT OR Apache-2.0
//! A cell of references that live for ever, given out as one of shorter ones.
use rtrcu::Rcu;

fn shorten<'a>(cell: &'a Rcu<&'static str>) -> &'a Rcu<&'a str> {
    cell
}

fn main() {
    let cell = Rcu::new("for ever");
    println!("{:?}", shorten(&cell));
}
