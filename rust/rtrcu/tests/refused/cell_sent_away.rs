// SPDX-License-Identifier: MIT OR Apache-2.0
//! A cell with a value that must stay on its thread, on another.
use std::rc::Rc;

use rtrcu::Rcu;

fn main() {
    let cell = Rcu::new(Rc::new(1));
    std::thread::spawn(move || drop(cell));
}
