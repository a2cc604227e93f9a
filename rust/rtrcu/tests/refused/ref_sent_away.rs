// SPDX-License-Identifier: MIT OR Apache-2.0
//! A value with its guard is sent to another thread.
use rtrcu::Rcu;

fn main() {
    let cell = Rcu::new(1);
    let seen = cell.get();
    std::thread::scope(|scope| {
        scope.spawn(move || println!("{seen}"));
    });
}
