// SPDX-License-Identifier: MIT OR Apache-2.0
//! The entries that a walk finds, and a removed entry, are used after the guard.
use rtrcu::{Cursor, HashMap, read};

fn main() {
    let map: HashMap<u32, String> = HashMap::new();
    let guard = read();
    let (all, some) = (map.iter(&guard), map.step(&mut Cursor::default(), 1, &guard));
    let taken = map.take(&1, &guard);
    drop(guard);
    println!("{} {} {taken:?}", all.count(), some.count());
}
