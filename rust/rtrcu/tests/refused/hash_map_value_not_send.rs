// SPDX-License-Identifier: MIT OR Apache-2.0
//! A hash map whose values may not be dropped on another thread.
use rtrcu::HashMap;

fn main() {
    let map = HashMap::new();
    map.insert(1, std::rc::Rc::new(1));
}
