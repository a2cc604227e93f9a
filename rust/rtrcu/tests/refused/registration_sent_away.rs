// SPDX-License-Identifier: MIT OR Apache-2.0
//! A loop's registration, on another thread.
fn main() {
    let turn = rtrcu::Turn::register().unwrap();
    std::thread::spawn(move || drop(turn));
}
