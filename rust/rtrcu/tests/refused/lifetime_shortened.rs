// SPDX-License-Identifier: MIT OR Apache-2.0
//! A cell of references that live for ever is used as one of shorter references.
use rtrcu::Rcu;

fn shorten<'a>(cell: &'a Rcu<&'static str>) -> &'a Rcu<&'a str> {
    cell
}

fn main() {
    let cell = Rcu::new("for ever");
    println!("{:?}", shorten(&cell));
}
