// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loops with deadlines and with quiescent states, and who asks for grace periods. Each test is a process of its own:
//! it counts what the process does.
#![cfg(not(miri))]

#[macro_use]
mod support;

use std::cell::RefCell;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use rtrcu::{Config, Cookie, Qsbr, Rcu, Turn, read, stats};
use support::{Probe, counter, eventually};

/// Those who retire drop.
fn drop_by_owner() {
    Config::new().set("policy", "inline").unwrap().apply().unwrap();
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(1)
}

#[test]
fn a_turn_that_is_late_drops_nothing() {
    alone!("a_turn_that_is_late_drops_nothing");
    drop_by_owner();
    let dropped = counter();
    let cell = Rcu::new(Probe::new(0, &dropped));
    let mut turn = Turn::register().unwrap();
    for number in 1..100 {
        cell.replace(Probe::new(number, &dropped));
    }
    let late = Instant::now();
    eventually(|| {
        assert_eq!(turn.until(late), 0);
        stats().deadline_stops > 0 // there is something to drop
    });
    assert_eq!(dropped.load(SeqCst), 0);
    let mut of_turns = 0;
    eventually(|| {
        of_turns += turn.until(soon()) as u64;
        dropped.load(SeqCst) == 99
    });
    assert_eq!(of_turns, 99);
}

#[test]
fn a_thread_is_an_ordinary_one_again() {
    alone!("a_thread_is_an_ordinary_one_again");
    let turn = Turn::register().unwrap();
    assert_eq!(stats().threads_deadline, 1);
    drop(turn);
    assert_eq!(stats().threads_deadline, 0);
    let qsbr = Qsbr::register().unwrap();
    let cookie = Cookie::start();
    assert!(!cookie.is_reached());
    drop(qsbr);
    eventually(|| cookie.is_reached()); // though this thread says nothing any more
    let guard = read();
    assert!(Turn::register().is_err() && Qsbr::register().is_err());
    drop(guard);
    assert_eq!(stats().threads_deadline, 0);
}

/// A drop that says that its thread is quiescent, and that time is left, begins no batch in the batch.
#[test]
fn a_drop_runs_no_drops() {
    alone!("a_drop_runs_no_drops");
    thread_local! {
        static THREAD: RefCell<Option<(Qsbr, Turn)>> = const { RefCell::new(None) };
        static INSIDE: RefCell<u32> = const { RefCell::new(0) };
    }
    struct Says(std::sync::Arc<AtomicU64>);
    impl Drop for Says {
        fn drop(&mut self) {
            INSIDE.with_borrow_mut(|inside| *inside += 1);
            THREAD.with_borrow_mut(|thread| {
                let (qsbr, turn) = thread.as_mut().unwrap();
                qsbr.quiescent();
                assert_eq!(turn.until(soon()), 0);
            });
            INSIDE.with_borrow_mut(|inside| *inside -= 1);
            assert_eq!(INSIDE.with_borrow(|inside| *inside), 0, "a drop in a drop");
            self.0.fetch_add(1, SeqCst);
        }
    }
    drop_by_owner();
    THREAD.set(Some((Qsbr::register().unwrap(), Turn::register().unwrap())));
    let mut again = Turn::register().unwrap();
    let dropped = counter();
    let cell = Rcu::new(Says(dropped.clone()));
    for _ in 0..100 {
        cell.replace(Says(dropped.clone()));
    }
    eventually(|| {
        again.until(soon());
        dropped.load(SeqCst) == 100
    });
    assert_eq!(stats().drops_panicked, 0);
    std::mem::forget(cell); // its value's drop would find no thread
}

/// Nobody else asks for a grace period here.
#[test]
fn a_retired_value_asks_for_its_grace_period() {
    alone!("a_retired_value_asks_for_its_grace_period");
    let cell = Rcu::new(1);
    let mut retired = cell.swap(2);
    eventually(|| retired.is_ready());
    assert_eq!(retired.try_into_inner().unwrap(), 1);
    let cookie = Cookie::start_expedited();
    eventually(|| cookie.is_reached());
}
