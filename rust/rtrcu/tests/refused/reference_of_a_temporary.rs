// SPDX-License-Identifier: MIT OR Apache-2.0
//! A reference to a value whose guard is a temporary.
use rtrcu::Rcu;

fn main() {
    let cell = Rcu::new(String::from("value"));
    let seen: &String = &cell.get();
    let kept: &str = cell.get().as_str();
    println!("{seen} {kept}");
}
