// SPDX-License-Identifier: MIT OR Apache-2.0
//! What one thread puts into a cell another sees whole, though nothing but the cell is between them: a test for each
//! order in `cell.rs`. Under Miri, or ThreadSanitizer, an order that is too weak is a race here.

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

/// Another thread puts the new value in by `publish`, and this one looks by `see` until it has it. Its guard is older
/// than the value, so the guard's beginning orders nothing.
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
fn an_update_is_loaded_whole() {
    pass_on(&Rcu::new(OLD), |cell| cell.update(|old| old.map(|n| n + 1)), load);
}

#[test]
fn what_was_exchanged_is_loaded_whole() {
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
fn what_is_taken_out_is_whole() {
    let take = |cell: &RcuOption<Value>, _: &Guard| cell.take().map(|taken| *taken.get());
    pass_on(&RcuOption::empty(), |cell| cell.store(Some(NEW)), take);
}
