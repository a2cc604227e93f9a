// SPDX-License-Identifier: MIT OR Apache-2.0
//! A section whose body holds what may not leave its thread, in a task that may.
use rtrcu::{Rcu, read};

fn main() {
    let cell = std::sync::Arc::new(Rcu::new(1));
    tokio::spawn(rtrcu::section(async move |s| {
        let here = std::rc::Rc::new(cell.load(s));
        tokio::task::yield_now().await;
        println!("{here} {:?}", read());
    }));
}
