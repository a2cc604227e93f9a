// SPDX-License-Identifier: MIT OR Apache-2.0
//! The registration of a loop is sent to another thread.
fn main() {
    let turn = rtrcu::Turn::register().unwrap();
    std::thread::spawn(move || drop(turn));
}
