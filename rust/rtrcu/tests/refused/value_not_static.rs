// SPDX-License-Identifier: MIT OR Apache-2.0
//! A value that borrows data which may be gone when it is dropped.
use rtrcu::{Rcu, read};

fn main() {
    let text = String::new();
    let cell = Rcu::new(text.as_str());
    println!("{}", cell.load(&read()));
    cell.replace("");
    drop(text);
}
