// SPDX-License-Identifier: MIT OR Apache-2.0
//! A deferred function that borrows.
fn main() {
    let text = String::from("borrowed");
    rtrcu::defer(|| println!("{text}"));
}
