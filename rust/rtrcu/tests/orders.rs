// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread sees the whole value that another thread stored in a cell, although only the cell orders them: a test for
//! each memory order in `cell.rs` and in the look-up of hash tables. Miri and ThreadSanitizer report an order that is
//! too weak as a race.

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use rtrcu::{Guard, Rcu, RcuOption, read};

/// Plain memory.
type Value = [u64; 4];

const OLD: Value = [1; 4];
const NEW: Value = [2; 4];

/// Another thread stores the new value by `publish`, and this one calls `see` until it gets it. Its guard is older than
/// the value, so the guard's beginning orders nothing.
fn pass_on<C: Sync>(cell: &C, publish: impl FnOnce(&C) + Send, see: impl Fn(&C, &Guard) -> Option<Value>) {
    let guarded = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !guarded.load(Relaxed) {
                thread::yield_now();
            }
            publish(cell);
        });
        let guard = read();
        guarded.store(true, Relaxed);
        while see(cell, &guard) != Some(NEW) {
            thread::yield_now();
        }
    });
}

fn load(cell: &Rcu<Value>, guard: &Guard) -> Option<Value> {
    Some(*cell.load(guard))
}

#[test]
fn a_replacement_is_loaded_whole() {
    pass_on(&Rcu::new(OLD), |cell| cell.replace(NEW), load);
}

#[test]
fn updated_value_is_loaded_whole() {
    pass_on(&Rcu::new(OLD), |cell| cell.update(|old| old.map(|n| n + 1)), load);
}

#[test]
fn exchanged_value_is_loaded_whole() {
    let exchange = |cell: &Rcu<Value>| {
        let guard = read();
        cell.compare_exchange(cell.load(&guard), NEW, &guard).unwrap();
    };
    pass_on(&Rcu::new(OLD), exchange, load);
}

#[test]
fn an_optional_value_is_loaded_whole() {
    pass_on(&RcuOption::empty(), |cell| cell.store(Some(NEW)), |cell, guard| cell.load(guard).copied());
}

#[test]
fn a_change_sees_its_value_whole() {
    let see = |cell: &RcuOption<Value>, _: &Guard| {
        let mut seen = None;
        let look = |old: Option<&Value>| {
            seen = old.copied();
            resume_unwind(Box::new("it has been looked at, and is not exchanged"))
        };
        assert!(catch_unwind(AssertUnwindSafe(|| cell.update(look))).is_err());
        seen
    };
    pass_on(&RcuOption::empty(), |cell| cell.store(Some(NEW)), see);
}

#[test]
fn taken_value_is_whole() {
    let take = |cell: &RcuOption<Value>, _: &Guard| cell.take().map(|taken| *taken.get());
    pass_on(&RcuOption::empty(), |cell| cell.store(Some(NEW)), take);
}

/// Entries of hash maps, in each place of a bucket. In the library's model for Miri a map has one bucket at first, with
/// six slots, and grows above eight entries.
#[cfg(feature = "map")]
mod entries {
    use super::*;

    use std::hash::{BuildHasherDefault, Hasher};

    use rtrcu::HashMap;

    /// All keys have one hash, so that all are in one bucket.
    #[derive(Default)]
    struct OneHash;

    impl Hasher for OneHash {
        fn finish(&self) -> u64 {
            0
        }
        fn write(&mut self, _: &[u8]) {}
    }
    type Map = HashMap<u64, Value, BuildHasherDefault<OneHash>>;

    /// A map with this number of other entries.
    fn map_with(others: u64) -> Map {
        (1..=others).map(|key| (key, OLD)).collect()
    }

    fn look(map: &Map, guard: &Guard) -> Option<Value> {
        map.get(&0, guard).copied()
    }

    fn insert(map: &Map) {
        assert!(map.insert(0, NEW));
    }

    #[test]
    fn an_entry_in_a_slot_is_found_whole() {
        pass_on(&map_with(0), insert, look);
    }

    #[test]
    fn an_entry_of_a_chain_is_found_whole() {
        pass_on(&map_with(6), insert, look);
    }

    #[test]
    fn an_entry_further_down_a_chain_is_found_whole() {
        let insert_and_cover = |map: &Map| {
            insert(map);
            map.insert(100, OLD);
        };
        pass_on(&map_with(6), insert_and_cover, look);
    }

    #[test]
    fn an_entry_that_has_moved_is_found_whole() {
        let insert_and_grow = |map: &Map| {
            insert(map);
            (100..104).for_each(|key| assert!(map.insert(key, OLD)));
        };
        pass_on(&map_with(5), insert_and_grow, look);
    }

    #[test]
    fn an_entry_on_an_overflow_line_is_found_whole() {
        let grow_and_insert = |map: &Map| {
            (100..104).for_each(|key| assert!(map.insert(key, OLD)));
            insert(map);
        };
        pass_on(&map_with(5), grow_and_insert, look);
    }

    #[test]
    fn a_replacement_is_found_whole() {
        for others in [0, 6] {
            let map = map_with(others);
            map.insert(0, OLD);
            pass_on(&map, |map| assert!(!map.insert(0, NEW)), look);
        }
    }

    /// The reader knows the entry above from before, so only the link of that one orders the read.
    #[test]
    fn a_replacement_further_down_a_chain_is_found_whole() {
        let map = map_with(6);
        map.insert(0, OLD);
        map.insert(100, OLD);
        pass_on(&map, |map| assert!(!map.insert(0, NEW)), look);
    }

    #[test]
    fn an_entry_is_found_while_its_bucket_moves() {
        let map = map_with(5);
        map.insert(0, OLD);
        let grow = |map: &Map| (100..104).for_each(|key| assert!(map.insert(key, NEW)));
        let look = |map: &Map, guard: &Guard| {
            assert_eq!(map.get(&0, guard), Some(&OLD));
            map.get(&103, guard).copied()
        };
        pass_on(&map, grow, look);
    }

    #[test]
    fn an_update_sees_its_value_whole() {
        let see = |map: &Map, _: &Guard| {
            let mut seen = None;
            map.try_update(&0, |value| {
                seen = Some(*value);
                None
            });
            seen
        };
        pass_on(&map_with(0), insert, see);
    }
}
