// SPDX-License-Identifier: MIT OR Apache-2.0
//! A value of a hash map is used after its guard.
use rtrcu::{HashMap, read};

fn main() {
    let map = HashMap::new();
    map.insert(1, String::from("value"));
    let seen = map.get(&1, &read());
    println!("{seen:?}");
}
