// SPDX-License-Identifier: MIT OR Apache-2.0
//! A shared and an exclusive reference to one value of a hash map.
use rtrcu::{HashMap, read};

fn main() {
    let guard = read();
    let mut map = HashMap::new();
    map.insert(1, String::new());
    let seen = map.get(&1, &guard);
    map.get_mut(&1).unwrap().clear();
    println!("{seen:?}");
}
