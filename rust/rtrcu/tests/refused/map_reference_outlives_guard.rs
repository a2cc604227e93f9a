// SPDX-License-Identifier: MIT OR Apache-2.0
//! A value of a map is used after its guard.
use rtrcu::{RcuMap, read};

fn main() {
    let map = RcuMap::new();
    map.insert(1, String::from("value"));
    let seen = map.get(&1, &read());
    println!("{seen:?}");
}
