// SPDX-License-Identifier: MIT OR Apache-2.0
//! A deferred function that must stay on its thread.
fn main() {
    let local = std::rc::Rc::new(1);
    rtrcu::defer(move || println!("{local}"));
}
