// SPDX-License-Identifier: MIT OR Apache-2.0
//! A value that others may read but not drop, in a cell that they could take it from.
use std::sync::Mutex;

use rtrcu::Rcu;

fn main() {
    let mutex = Mutex::new(1);
    let cell = Rcu::new(mutex.lock().unwrap());
    std::thread::scope(|scope| {
        scope.spawn(|| println!("{}", **cell.get()));
    });
}
