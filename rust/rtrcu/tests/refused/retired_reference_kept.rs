// SPDX-License-Identifier: MIT OR Apache-2.0
//! A reference to a retired value is used after the value was taken back.
use rtrcu::Rcu;

fn main() {
    let cell = Rcu::new(String::from("value"));
    let retired = cell.swap(String::new());
    let seen = retired.get();
    let value = retired.wait();
    drop(value);
    println!("{seen}");
}
