// SPDX-License-Identifier: MIT OR Apache-2.0
//! A shared hash map whose values must not be read by several threads at once.
use rtrcu::{HashMap, read};

fn main() {
    let map = HashMap::new();
    map.insert(1, std::cell::Cell::new(1));
    std::thread::scope(|scope| {
        scope.spawn(|| map.get(&1, &read()).unwrap().set(2));
    });
}
