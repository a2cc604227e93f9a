// SPDX-License-Identifier: MIT OR Apache-2.0
//! A value that several threads must not read at once, in a cell that they share.
use rtrcu::{Rcu, read};

fn main() {
    let cell = Rcu::new(std::cell::Cell::new(1));
    std::thread::scope(|scope| {
        scope.spawn(|| cell.load(&read()).set(2));
    });
}
