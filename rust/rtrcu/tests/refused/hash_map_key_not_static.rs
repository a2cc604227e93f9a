// SPDX-License-Identifier: MIT OR Apache-2.0
//! A key that borrows data which may be gone when its entry is dropped.
use rtrcu::HashMap;

fn main() {
    let text = String::new();
    let map = HashMap::new();
    map.insert(text.as_str(), 1);
    map.remove("");
    drop(text);
}
