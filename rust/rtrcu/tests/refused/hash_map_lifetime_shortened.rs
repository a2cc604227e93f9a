// SPDX-License-Identifier: MIT OR Apache-2.0
//! A hash map of references that live for ever is used as one of shorter references.
use rtrcu::HashMap;

fn shorten<'a>(map: &'a HashMap<u32, &'static str>) -> &'a HashMap<u32, &'a str> {
    map
}

fn main() {
    println!("{:?}", shorten(&HashMap::new()));
}
