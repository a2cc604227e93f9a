// SPDX-License-Identifier: MIT OR Apache-2.0
//! A guard that is sent to another thread than the one in which it counts.
use rtrcu::{Rcu, read};

fn main() {
    let guard = read();
    std::thread::spawn(move || drop(guard));
    let cell = Rcu::new(1);
    let value = cell.get();
    std::thread::scope(|scope| scope.spawn(move || println!("{value}")).join().unwrap());
}
