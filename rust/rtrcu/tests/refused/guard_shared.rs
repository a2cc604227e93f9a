// SPDX-License-Identifier: MIT OR Apache-2.0
//! A guard that other threads use to load: they could do so after its thread has ended it.
use rtrcu::{Rcu, read};

fn main() {
    let cell = Rcu::new(1);
    let guard = read();
    std::thread::scope(|scope| {
        scope.spawn(|| println!("{}", cell.load(&guard)));
    });
}
