// SPDX-License-Identifier: MIT OR Apache-2.0
//! A guard held across `.await` in a task that may continue on another thread.
use rtrcu::{Rcu, read};

fn main() {
    let cell = std::sync::Arc::new(Rcu::new(1));
    tokio::spawn(async move {
        let guard = read();
        let seen = cell.load(&guard);
        tokio::task::yield_now().await;
        println!("{seen}");
    });
}
