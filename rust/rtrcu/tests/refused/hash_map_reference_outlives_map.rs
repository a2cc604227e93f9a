// SPDX-License-Identifier: MIT OR Apache-2.0
//! A value is used after its hash map, whose drop drops its entries immediately.
use rtrcu::{HashMap, read};

fn main() {
    let guard = read();
    let map = HashMap::new();
    let seen = map.get_or_insert_with(1, String::new, &guard);
    drop(map);
    println!("{seen}");
}
