// SPDX-License-Identifier: MIT OR Apache-2.0
//! A section whose body holds a value that is not Send, in a task that may move to another thread.
use rtrcu::{Rcu, read};

fn main() {
    let cell = std::sync::Arc::new(Rcu::new(1));
    tokio::spawn(rtrcu::section(async move |s| {
        let here = std::rc::Rc::new(cell.load(s));
        tokio::task::yield_now().await;
        println!("{here} {:?}", read());
    }));
}
