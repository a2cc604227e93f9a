// SPDX-License-Identifier: MIT OR Apache-2.0
//! A value that may not be dropped on another thread.
use rtrcu::{Rcu, read};

fn main() {
    let cell = Rcu::new(std::rc::Rc::new(1));
    println!("{}", cell.load(&read()));
    cell.replace(std::rc::Rc::new(2));
}
