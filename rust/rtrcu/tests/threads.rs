// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loops with deadlines and with quiescent states, and requests for grace periods. Each test has its own process, since
//! it reads counters of the process.
#![cfg(not(miri))]

#[macro_use]
mod support;

use std::cell::Cell;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use rtrcu::{Config, Cookie, Qsbr, Rcu, Turn, barrier, read, stats, synchronize};
use support::eventually;

#[test]
fn ending_a_registration_restores_an_ordinary_thread() {
    alone!("ending_a_registration_restores_an_ordinary_thread");
    let turn = Turn::register().unwrap();
    assert_eq!(stats().threads_deadline, 1);
    drop(turn);
    assert_eq!(stats().threads_deadline, 0);
    // SAFETY: `word()` may be called anywhere.
    let is_online = || unsafe { rtrcu_sys::word() } & rtrcu_sys::QSBR_ONLINE != 0;
    let mut qsbr = Qsbr::register().unwrap();
    assert!(!qsbr.offline(is_online));
    assert!(is_online());
    let cookie = Cookie::start();
    assert!(!cookie.is_reached());
    drop(qsbr);
    assert!(!is_online());
    eventually(|| cookie.is_reached()); // although this thread passes no more quiescent states
    let guard = read();
    assert!(Turn::register().is_err() && Qsbr::register().is_err());
    drop(guard);
    assert_eq!(stats().threads_deadline, 0);
}

/// No other thread of this process requests a grace period, so the retired value must request its own.
#[test]
fn a_retired_value_requests_its_grace_period() {
    alone!("a_retired_value_requests_its_grace_period");
    let cell = Rcu::new(1);
    let mut retired = cell.swap(2);
    eventually(|| retired.is_ready());
    assert_eq!(retired.try_into_inner().unwrap(), 1);
    let cookie = Cookie::start_expedited();
    eventually(|| cookie.is_reached());
}

/// Sequence numbers of normal grace periods are higher here: compared with them, the expedited cookie would be reached.
#[test]
fn an_expedited_cookie_waits_for_an_expedited_grace_period() {
    alone!("an_expedited_cookie_waits_for_an_expedited_grace_period");
    for _ in 0..4 {
        synchronize();
    }
    let guard = read();
    let cookie = Cookie::start_expedited();
    assert!(!cookie.is_reached());
    drop(guard);
    eventually(|| cookie.is_reached());
}

/// A list whose drop calls itself for each box.
#[derive(Default)]
struct Boxes {
    _next: Option<Box<Boxes>>,
}

impl Boxes {
    fn new(count: usize) -> Self {
        (0..count).fold(Self::default(), |list, _| Self { _next: Some(Box::new(list)) })
    }
}

/// If the drop overflows the stack, the process ends by SIGSEGV.
#[test]
fn a_list_of_15_000_boxes_is_dropped_on_a_daemon() {
    alone!("a_list_of_15_000_boxes_is_dropped_on_a_daemon");
    drop(Rcu::new(Boxes::new(15_000)).swap(Boxes::default()));
    barrier();
    assert_eq!(stats().callbacks_invoked - stats().callbacks_by_owner, 1);
}

#[test]
fn a_list_of_200_000_boxes_is_dropped_on_a_configured_stack() {
    alone!("a_list_of_200_000_boxes_is_dropped_on_a_configured_stack");
    Config::new().set("stack_kb", 64 * 1024).unwrap().apply().unwrap();
    drop(Rcu::new(Boxes::new(200_000)).swap(Boxes::default()));
    barrier();
    assert_eq!(stats().callbacks_invoked - stats().callbacks_by_owner, 1);
}

static DROPPED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static DROPPED_HERE: Cell<usize> = const { Cell::new(0) };
}

/// A value whose drop takes a while.
struct Slow(Duration);

impl Drop for Slow {
    fn drop(&mut self) {
        let end = Instant::now() + self.0;
        while Instant::now() < end {
            std::hint::spin_loop();
        }
        DROPPED.fetch_add(1, SeqCst);
        DROPPED_HERE.set(DROPPED_HERE.get() + 1);
    }
}

/// A loop that retires values and drops them in its turns.
struct Loop {
    turn: Turn,
    cell: Rcu<Slow>,
    retired: usize,
    each: Duration,
}

impl Loop {
    fn new(each: Duration) -> Self {
        Self { turn: Turn::register().unwrap(), cell: Rcu::new(Slow(each)), retired: 0, each }
    }

    /// Calls [`Turn::until`], and checks that its result is the number of values dropped on this thread.
    #[track_caller]
    fn until(&mut self, next: Instant) -> usize {
        let before = DROPPED_HERE.get();
        let dropped = self.turn.until(next);
        assert_eq!(DROPPED_HERE.get() - before, dropped);
        dropped
    }

    /// Retires `count` values, and returns when a turn with time left would drop them. If this thread is late, a daemon
    /// may have dropped them instead.
    #[track_caller]
    fn retire(&mut self, count: usize) {
        for _ in 0..count {
            self.cell.replace(Slow(self.each));
        }
        self.retired += count;
        let stops = stats().deadline_stops;
        eventually(|| {
            assert_eq!(self.until(Instant::now()), 0, "dropped at the time of the next event");
            stats().deadline_stops > stops || DROPPED.load(SeqCst) == self.retired
        });
    }

    /// Ends the loop, and checks that the values that no turn dropped are dropped too.
    #[track_caller]
    fn end(self) {
        barrier();
        assert_eq!(DROPPED.load(SeqCst), self.retired);
    }
}

const HOUR: Duration = Duration::from_secs(3600);

/// A turn drops nothing after its deadline, and at most `blimit` values before its deadline.
#[test]
fn a_turn_drops_at_most_blimit_values_and_none_after_its_deadline() {
    alone!("a_turn_drops_at_most_blimit_values_and_none_after_its_deadline");
    let config = Config::new().set("policy", "inline").unwrap().set("blimit", 10).unwrap();
    config.set("budget_ns", 1_000_000_000).unwrap().apply().unwrap();
    let mut turns = Loop::new(Duration::ZERO);
    eventually(|| {
        turns.retire(45);
        let dropped = turns.until(Instant::now() + HOUR);
        assert!(dropped <= 10);
        assert_eq!(turns.until(Instant::now()), 0);
        dropped == 10
    });
    turns.end();
}

/// A drop that lasts beyond the next event, or uses up the budget, is the last of its turn.
#[test]
fn a_drop_that_uses_up_the_time_is_the_last_of_its_turn() {
    alone!("a_drop_that_uses_up_the_time_is_the_last_of_its_turn");
    for (budget_ns, next) in [(1_000_000_000, Duration::from_millis(2)), (1_000_000, HOUR)] {
        let config = Config::new().set("policy", "inline").unwrap().set("blimit", 10).unwrap();
        config.set("budget_ns", budget_ns).unwrap().apply().unwrap();
        DROPPED.store(0, SeqCst);
        let mut turns = Loop::new(Duration::from_millis(5));
        eventually(|| {
            turns.retire(5);
            let dropped = turns.until(Instant::now() + next);
            assert!(dropped <= 1);
            dropped == 1
        });
        turns.end();
        // `end()` has dropped the cell, and with it the last value; the next round resets the count.
    }
}
