// SPDX-License-Identifier: MIT OR Apache-2.0
//! Entries that are kept beyond the call of a closure.
use rtrcu::HashMap;

fn main() {
    let map: HashMap<u32, String> = HashMap::new();
    let mut kept = Vec::new();
    map.for_each(|_, value| kept.push(value));
    map.update(&1, |value| {
        kept.push(value);
        value.clone()
    });
    println!("{kept:?}");
}
