// SPDX-License-Identifier: MIT OR Apache-2.0
//! The registration of a quiescent-state thread is sent to another thread.
fn main() {
    let loop_thread = rtrcu::Qsbr::register().unwrap();
    std::thread::spawn(move || drop(loop_thread));
}
