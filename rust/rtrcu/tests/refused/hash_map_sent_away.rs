// SPDX-License-Identifier: MIT OR Apache-2.0
//! A hash map whose values must stay on their thread is sent to another.
use rtrcu::HashMap;

fn main() {
    let map: HashMap<u32, std::rc::Rc<u32>> = HashMap::new();
    std::thread::spawn(move || drop(map));
}
