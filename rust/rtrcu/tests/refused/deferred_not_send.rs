// SPDX-License-Identifier: MIT OR Apache-2.0
//! A deferred function that is not Send.
fn main() {
    let local = std::rc::Rc::new(1);
    rtrcu::defer(move || println!("{local}"));
}
