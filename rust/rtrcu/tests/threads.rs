// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loops with deadlines and with quiescent states, and who asks for grace periods. Each test is a process of its own:
//! it counts what the process does.
#![cfg(not(miri))]

#[macro_use]
mod support;

use rtrcu::{Cookie, Qsbr, Rcu, Turn, read, stats};
use support::eventually;

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
