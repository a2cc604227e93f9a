// SPDX-License-Identifier: MIT OR Apache-2.0
//! A guard that other threads load under: they could do so after its thread has let it go.
use rtrcu::{Rcu, read};

fn main() {
    let cell = Rcu::new(1);
    let guard = read();
    std::thread::scope(|scope| {
        scope.spawn(|| println!("{}", cell.load(&guard)));
    });
}
