// SPDX-License-Identifier: MIT OR Apache-2.0
//! A cell whose value must stay on its thread is sent to another.
use std::rc::Rc;

use rtrcu::Rcu;

fn main() {
    let cell = Rcu::new(Rc::new(1));
    std::thread::spawn(move || drop(cell));
}
