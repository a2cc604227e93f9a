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

/// A value in plain memory, so that an unordered read is a data race.
type Value = [u64; 4];

const OLD: Value = [1; 4];
const NEW: Value = [2; 4];

/// Another thread stores `NEW` by `publish`; the calling thread calls `see` until `see` returns `NEW`. The guard of the
/// calling thread begins before the store, so the beginning of the guard does not order the two threads.
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
fn a_load_sees_every_word_of_a_replacement() {
    pass_on(&Rcu::new(OLD), |cell| cell.replace(NEW), load);
}

#[test]
fn a_load_sees_every_word_of_an_updated_value() {
    pass_on(&Rcu::new(OLD), |cell| cell.update(|old| old.map(|n| n + 1)), load);
}

#[test]
fn a_load_sees_every_word_of_an_exchanged_value() {
    let exchange = |cell: &Rcu<Value>| {
        let guard = read();
        cell.compare_exchange(cell.load(&guard), NEW, &guard).unwrap();
    };
    pass_on(&Rcu::new(OLD), exchange, load);
}

#[test]
fn a_load_sees_every_word_of_an_optional_value() {
    pass_on(&RcuOption::empty(), |cell| cell.store(Some(NEW)), |cell, guard| cell.load(guard).copied());
}

#[test]
fn an_update_sees_every_word_of_the_old_value() {
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
fn a_taken_value_has_every_word_that_was_stored() {
    let take = |cell: &RcuOption<Value>, _: &Guard| cell.take().map(|taken| *taken.get());
    pass_on(&RcuOption::empty(), |cell| cell.store(Some(NEW)), take);
}

/// Look-ups of hash maps, with the entry in each place of a bucket. In the library's model for Miri a map has one
/// bucket at first, with six slots, and grows above eight entries.
#[cfg(feature = "map")]
mod entries {
    use super::*;

    use std::hash::{BuildHasherDefault, Hasher};

    use rtrcu::HashMap;

    /// A hasher that gives all keys the same hash, so that all entries are in one bucket.
    #[derive(Default)]
    struct OneHash;

    impl Hasher for OneHash {
        fn finish(&self) -> u64 {
            0
        }
        fn write(&mut self, _: &[u8]) {}
    }
    type Map = HashMap<u64, Value, BuildHasherDefault<OneHash>>;

    /// A map with `others` entries, none of which has key 0.
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
    fn a_look_up_sees_every_word_of_an_entry_in_a_slot() {
        pass_on(&map_with(0), insert, look);
    }

    #[test]
    fn a_look_up_sees_every_word_of_the_first_entry_of_a_chain() {
        pass_on(&map_with(6), insert, look);
    }

    #[test]
    fn a_look_up_sees_every_word_of_an_entry_further_down_a_chain() {
        let insert_and_cover = |map: &Map| {
            insert(map);
            map.insert(100, OLD);
        };
        pass_on(&map_with(6), insert_and_cover, look);
    }

    #[test]
    fn a_look_up_sees_every_word_of_an_entry_that_a_resize_moved() {
        let insert_and_grow = |map: &Map| {
            insert(map);
            (100..104).for_each(|key| assert!(map.insert(key, OLD)));
        };
        pass_on(&map_with(5), insert_and_grow, look);
    }

    #[test]
    fn a_look_up_sees_every_word_of_an_entry_on_an_overflow_line() {
        let grow_and_insert = |map: &Map| {
            (100..104).for_each(|key| assert!(map.insert(key, OLD)));
            insert(map);
        };
        pass_on(&map_with(5), grow_and_insert, look);
    }

    #[test]
    fn a_look_up_sees_every_word_of_a_replacement() {
        for others in [0, 6] {
            let map = map_with(others);
            map.insert(0, OLD);
            pass_on(&map, |map| assert!(!map.insert(0, NEW)), look);
        }
    }

    /// The reader may have seen the entry of key 100, in front of the replacement, before. So only the load of that
    /// entry's link orders the read.
    #[test]
    fn a_look_up_sees_every_word_of_a_replacement_further_down_a_chain() {
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
    fn an_update_of_an_entry_sees_every_word_of_the_old_value() {
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
