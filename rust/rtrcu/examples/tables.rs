// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ready-made containers in a cell: a list of listeners, a table by key, and single entries that change in place.
//!
//! `cargo run --example tables`

use std::collections::HashMap;
use std::sync::Arc;

use rtrcu::{Rcu, read};

/// A list that is walked often and changes rarely: each change replaces the whole list.
fn listeners() {
    let listeners: Rcu<Vec<Arc<dyn Fn(&str) + Send + Sync>>> = Rcu::new(Vec::new());
    let add = |listener: Arc<dyn Fn(&str) + Send + Sync>| {
        listeners.update(|old| old.iter().cloned().chain([Arc::clone(&listener)]).collect());
    };
    add(Arc::new(|event| println!("first: {event}")));
    add(Arc::new(|event| println!("second: {event}")));
    for listener in listeners.get().iter() {
        listener("started"); // a listener may add listeners: the list that is walked does not change
    }
}

/// A table whose entries change often and whose keys change rarely: each entry is a separate cell, which the old and
/// the new table share.
fn counters_by_name() {
    type Entry = Arc<Rcu<String>>;
    let table: Rcu<HashMap<&str, Entry>> = Rcu::new(HashMap::new());
    for name in ["eth0", "eth1"] {
        table.update(|old| {
            let mut new = old.clone(); // clones the pointers to the cells, not the entries
            new.entry(name).or_insert_with(|| Arc::new(Rcu::new("down".into())));
            new
        });
    }
    let guard = read();
    if let Some(entry) = table.load(&guard).get("eth1") {
        entry.replace("up".into()); // replaces the entry's value; the table is unchanged
    }
    let table = table.load(&guard);
    println!("eth0 is {}, eth1 is {}", table["eth0"].load(&guard), table["eth1"].load(&guard));
}

/// A value that a reader keeps longer than a section: the reader clones an `Arc`.
fn kept() {
    let config = Rcu::new(Arc::new(String::from("v1")));
    let kept = config.load_full();
    config.replace(Arc::new(String::from("v2")));
    println!("kept {kept}, now {}", config.load_full());
}

fn main() {
    listeners();
    counters_by_name();
    kept();
    rtrcu::barrier(); // wait until replaced values are dropped, before the program ends
}
