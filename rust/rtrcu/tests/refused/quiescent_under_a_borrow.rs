// SPDX-License-Identifier: MIT OR Apache-2.0
//! A registration that is used in two places at once.
use rtrcu::{Rcu, read};

fn main() {
    let cell = Rcu::new(1);
    let mut here = rtrcu::Qsbr::register().unwrap();
    let other = &mut here;
    here.quiescent();
    other.quiescent();
    println!("{}", cell.load(&read()));
}
