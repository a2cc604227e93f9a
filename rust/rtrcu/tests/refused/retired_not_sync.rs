// SPDX-License-Identifier: MIT OR Apache-2.0
//! A retired value, which this thread may be reading, is accessed on another thread.
use rtrcu::{Rcu, read};

fn main() {
    let cell = Rcu::new(std::cell::Cell::new(1));
    let guard = read();
    let seen = cell.load(&guard);
    let retired = cell.swap(std::cell::Cell::new(2));
    std::thread::scope(|scope| {
        scope.spawn(move || retired.get().set(3));
        seen.set(4);
    });
}
