// SPDX-License-Identifier: MIT OR Apache-2.0
//! Safe programs that compile, and try to drop a value while it is read: they get a panic, a wait, or the unchanged
//! value. Those that must not compile are in `refused/`. Most useful under AddressSanitizer.
#![cfg(not(miri))]

#[macro_use]
mod support;

use std::cell::RefCell;
use std::future::IntoFuture;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Mutex, mpsc};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use rtrcu::{Config, Cookie, Guard, Qsbr, Rcu, Turn, barrier, defer, read, section, synchronize};
use support::{Boxed, Probe, Random, counter, eventually, pause, poll};

/// Start expedited grace periods, and yield: a grace period that wrongly ignores a section would end now.
fn give_time() {
    for _ in 0..20 {
        let _ = Cookie::start_expedited();
        thread::yield_now();
    }
}

/// A cell that lives for ever, and that LeakSanitizer finds reachable.
fn leaked_cell() -> &'static Rcu<Probe> {
    static KEPT: Mutex<Vec<&Rcu<Probe>>> = Mutex::new(Vec::new());
    let cell = Box::leak(Box::new(Rcu::new(Probe::new(1, &counter()))));
    KEPT.lock().unwrap().push(cell);
    cell
}

/// The grace period begins while a guard covers the section; the guard ends only when the section is on a list.
#[test]
fn a_grace_period_waits_for_a_section_listed_under_a_guard() {
    let cell = leaked_cell();
    let outer = read();
    let mut held: Boxed<()> = Box::pin(section(async |s| {
        let seen = cell.load(s);
        cell.replace(Probe::new(2, &counter()));
        give_time();
        pause().await;
        seen.check();
        pause().await;
        seen.check();
    }));
    assert!(poll(&mut held).is_pending());
    let cookie = Cookie::start();
    drop(outer);
    give_time();
    assert!(!cookie.is_reached());
    assert!(poll(&mut held).is_pending());
    assert!(poll(&mut held).is_ready());
    cookie.wait();
}

/// A guard that was taken while the thread was offline protects when the thread is online again, across quiescent
/// states.
#[test]
fn a_guard_taken_while_offline_protects_after_going_online() {
    let cell = leaked_cell();
    thread::spawn(|| {
        let mut qsbr = Qsbr::register().unwrap();
        let mut kept = None;
        qsbr.offline(|| kept = Some(read()));
        let seen = cell.load(kept.as_ref().unwrap());
        cell.replace(Probe::new(2, &counter()));
        let cookie = Cookie::start();
        for _ in 0..50 {
            qsbr.quiescent();
            give_time();
            seen.check();
        }
        assert!(!cookie.is_reached());
        assert!(catch_unwind(AssertUnwindSafe(|| qsbr.offline(|| ()))).is_err());
        seen.check();
        drop(kept);
        qsbr.offline(|| cookie.wait());
    })
    .join()
    .unwrap();
}

/// A quiescent state of a thread does not end the async sections that the thread polls.
#[test]
fn quiescent_states_of_a_thread_do_not_end_the_async_sections_that_it_polls() {
    let cell = leaked_cell();
    thread::spawn(|| {
        let mut qsbr = Qsbr::register().unwrap();
        for begun_offline in [false, true] {
            let mut held = if begun_offline { qsbr.offline(|| begun(cell)) } else { begun(cell) };
            cell.replace(Probe::new(2, &counter()));
            let cookie = Cookie::start();
            for _ in 0..20 {
                qsbr.quiescent();
                give_time();
                assert!(!cookie.is_reached());
            }
            assert!(poll(&mut held).is_ready());
            qsbr.offline(|| cookie.wait());
        }
    })
    .join()
    .unwrap();
}

/// Registrations of one thread overlap, end in any order, and begin and end inside `offline()`.
#[test]
fn guards_protect_while_registrations_of_their_thread_overlap() {
    let cell = leaked_cell();
    thread::spawn(|| {
        let mut first = Qsbr::register().unwrap();
        let check = |qsbr: &mut Qsbr| {
            let guard = read();
            let seen = cell.load(&guard);
            cell.replace(Probe::new(seen.number + 1, &counter()));
            let cookie = Cookie::start();
            qsbr.quiescent();
            give_time();
            assert!(!cookie.is_reached());
            seen.check();
        };
        check(&mut first);
        first.offline(|| {
            let mut second = Qsbr::register().unwrap();
            check(&mut second);
            second.offline(|| drop(Turn::register().unwrap()));
            check(&mut second);
        });
        check(&mut first);
        let mut turn = Turn::register().unwrap();
        check(&mut first);
        drop(first);
        turn.until(Instant::now() + Duration::from_millis(1));
        let guard = read();
        let seen = cell.load(&guard);
        cell.replace(Probe::new(0, &counter()));
        assert_eq!(turn.until(Instant::now() + Duration::from_millis(1)), 0);
        drop(turn);
        give_time();
        seen.check();
    })
    .join()
    .unwrap();
    synchronize();
}

/// A section that has loaded the value of `cell`, and has been polled once.
fn begun(cell: &'static Rcu<Probe>) -> Boxed<()> {
    let mut held: Boxed<()> = Box::pin(section(async move |s| {
        let seen = cell.load(s);
        pause().await;
        seen.check();
    }));
    assert!(poll(&mut held).is_pending());
    held
}

/// Checks that a grace period waits for the section, then polls the section to its end on the calling thread.
fn goes_on(mut held: Boxed<()>, cell: &Rcu<Probe>) {
    cell.replace(Probe::new(2, &counter()));
    let cookie = Cookie::start();
    give_time();
    assert!(!cookie.is_reached());
    assert!(poll(&mut held).is_ready());
    cookie.wait();
}

/// The section's first poll is on a thread of the library, in a batch of callbacks.
#[test]
fn a_section_begun_in_a_deferred_function_continues_on_another_thread() {
    let cell = leaked_cell();
    let (tell, told) = mpsc::channel();
    defer(move || {
        tell.send(begun(cell)).unwrap();
    });
    goes_on(told.recv().unwrap(), cell);
}

/// The section's first poll is in a destructor of thread-local storage, while the thread ends.
#[test]
fn a_section_begun_while_its_thread_ends_continues_on_another_thread() {
    struct AtExit(&'static Rcu<Probe>, mpsc::Sender<Boxed<()>>);
    impl Drop for AtExit {
        fn drop(&mut self) {
            self.1.send(begun(self.0)).unwrap();
        }
    }
    thread_local! {
        static AT_EXIT: RefCell<Option<AtExit>> = const { RefCell::new(None) };
    }
    let cell = leaked_cell();
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        drop(cell.get());
        AT_EXIT.set(Some(AtExit(cell, tell)));
    })
    .join()
    .unwrap();
    goes_on(told.recv().unwrap(), cell);
}

/// The update's function swaps the value, tries to wait for its grace period, and allocates new values, which would
/// reuse the old value's memory if it were freed.
#[test]
fn an_old_value_stays_readable_in_an_update_that_replaces_it() {
    let cell = Rcu::new(Probe::new(1, &counter()));
    let mut calls = 0;
    cell.update(|old| {
        calls += 1;
        if calls < 3 {
            assert!(catch_unwind(AssertUnwindSafe(|| drop(cell.swap(Probe::new(2, &counter())).wait()))).is_err());
            for number in 3..100 {
                cell.replace(Probe::new(number, &counter()));
            }
            give_time();
        }
        old.check();
        Probe::new(old.number, &counter())
    });
    assert_eq!((calls, cell.get().number), (3, 99));
}

#[test]
fn compare_exchange_with_a_value_of_another_cell_fails() {
    let (cell, other) = (Rcu::new(Probe::new(1, &counter())), Rcu::new(Probe::new(1, &counter())));
    let guard = read();
    let copy = Probe::new(1, &counter());
    assert!(cell.compare_exchange(other.load(&guard), Probe::new(2, &counter()), &guard).is_err());
    assert!(cell.compare_exchange(&copy, Probe::new(2, &counter()), &guard).is_err());
    cell.load(&guard).check();
}

/// Another thread cannot take the retired value while the thread that retired it reads it.
#[test]
fn a_retired_value_is_not_returned_while_it_is_read() {
    let cell = Rcu::new(Probe::new(1, &counter()));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let guard = read();
        let seen = cell.load(&guard);
        let mut retired = cell.swap(Probe::new(2, &counter()));
        let done = &done;
        scope.spawn(move || {
            loop {
                match retired.try_into_inner() {
                    Ok(value) => {
                        assert!(done.load(SeqCst));
                        return drop(value);
                    }
                    Err(again) => retired = again,
                }
                thread::yield_now();
            }
        });
        for _ in 0..50 {
            give_time();
            seen.check();
        }
        done.store(true, SeqCst);
        drop(guard);
    });
    let guard = read();
    let seen = cell.load(&guard);
    let mut back: Boxed<Probe> = Box::pin(cell.swap(Probe::new(3, &counter())).into_future());
    assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut back))).is_err());
    drop(back); // retires the value
    give_time();
    seen.check();
}

/// With policy `inline`, calls `until()` inside an async section that still uses a replaced value.
#[test]
fn a_turn_inside_a_section_drops_no_value_that_the_section_protects() {
    alone!("a_turn_inside_a_section_drops_no_value_that_the_section_protects");
    Config::new().set("policy", "inline").unwrap().apply().unwrap();
    let cell = leaked_cell();
    let mut turn = Turn::register().unwrap();
    let mut held = Box::pin(section(async |s| {
        let seen = cell.load(s);
        for number in 2..50 {
            cell.replace(Probe::new(number, &counter()));
            give_time();
            turn.until(Instant::now() + Duration::from_millis(1));
            seen.check();
            pause().await;
        }
    }));
    while poll(&mut held).is_pending() {}
    drop(held);
    drop(turn);
    barrier();
}

/// Two threads read nested cells under guards that end in any order, another thread replaces the values, and a fourth
/// thread changes the configuration.
#[test]
fn random_changes_of_nested_cells_drop_no_value_that_is_read() {
    alone!("random_changes_of_nested_cells_drop_no_value_that_is_read");
    struct Outer(Probe, Rcu<Probe>);
    let rounds = if std::env::var_os("RTRCU_TEST_SHORT").is_some() { 2_000 } else { 20_000 };
    let mut random = Random::new();
    let dropped = counter();
    let make = |number| Outer(Probe::new(number, &dropped), Rcu::new(Probe::new(number, &dropped)));
    let cell = Rcu::new(make(0));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            let (mut random, cell, done) = (random.split(), &cell, &done);
            scope.spawn(move || {
                while !done.load(SeqCst) {
                    let mut guards: Vec<Guard> = (0..3).map(|_| read()).collect();
                    drop(guards.swap_remove(random.below(3) as usize));
                    let (one, two) = guards.split_at(1);
                    let outer = cell.load(&one[0]);
                    let inner = outer.1.load(&two[0]);
                    thread::yield_now();
                    outer.0.check();
                    inner.check();
                    outer.1.load(&one[0]).check();
                    let last = guards.pop().unwrap();
                    drop(guards);
                    let seen = cell.load(&last).1.load(&last);
                    thread::yield_now();
                    seen.check();
                }
            });
        }
        let (mut settings, done_too) = (random.split(), &done);
        scope.spawn(move || {
            while !done_too.load(SeqCst) {
                let policy = ["daemon", "inline", "krcud", "throttle", "unbounded"][settings.below(5) as usize];
                let backpressure = ["block", "help", "expedite"][settings.below(3) as usize];
                let config = Config::new().set("policy", policy).unwrap();
                let config = config.set("expedited", settings.below(2)).unwrap();
                let config = config.set("membarrier", ["auto", "off"][settings.below(2) as usize]).unwrap();
                let config = config.set("idle_scans", settings.below(3)).unwrap();
                let _ = config.set("backpressure", backpressure).and_then(|config| config.apply());
                thread::yield_now();
            }
        });
        for number in 1..rounds {
            match random.below(3) {
                0 => cell.replace(make(number)),
                _ => cell.get().1.replace(Probe::new(number, &dropped)),
            }
            if random.below(64) == 0 {
                drop(cell.swap(make(number)).wait());
            }
        }
        done.store(true, SeqCst);
    });
    drop(cell);
    Config::new().apply().unwrap();
    barrier();
    assert_eq!(std::sync::Arc::strong_count(&dropped), 1, "each probe was dropped");
}

/// A deferred function that runs on the thread that deferred it takes a guard, and keeps the guard in thread-local
/// storage.
#[test]
fn a_guard_that_a_deferred_function_keeps_on_its_owner_thread_protects() {
    alone!("a_guard_that_a_deferred_function_keeps_on_its_owner_thread_protects");
    thread_local! {
        static KEPT: RefCell<Vec<Guard>> = const { RefCell::new(Vec::new()) };
    }
    let next = || Instant::now() + Duration::from_secs(1);
    Config::new().set("policy", "inline").unwrap().apply().unwrap();
    let cell = leaked_cell();
    let mut turn = Turn::register().unwrap();
    let owner = thread::current().id();
    eventually(|| {
        defer(move || {
            if thread::current().id() == owner {
                KEPT.with_borrow_mut(|kept| kept.push(read()));
            }
        });
        give_time();
        turn.until(next());
        rtrcu::is_reading()
    });
    KEPT.with_borrow(|kept| {
        let seen = cell.load(&kept[0]);
        cell.replace(Probe::new(2, &counter()));
        let cookie = Cookie::start();
        for _ in 0..20 {
            give_time();
            assert_eq!(turn.until(next()), 0);
            assert!(!cookie.is_reached() && catch_unwind(barrier).is_err());
        }
        seen.check();
    });
    KEPT.take();
    assert!(!rtrcu::is_reading());
}

/// A body may return a guard that it took in its first poll, from the same poll or from a later poll.
#[test]
fn a_guard_returned_by_a_section_protects_after_the_section() {
    for pauses in 0..3 {
        let cell = Rcu::new(Probe::new(1, &counter()));
        let mut held = Box::pin(section(async |_| {
            let guard = read();
            for _ in 0..pauses {
                pause().await;
            }
            guard
        }));
        let guard = loop {
            if let Poll::Ready(guard) = poll(&mut held) {
                break guard;
            }
        };
        drop(held);
        let seen = cell.load(&guard);
        cell.replace(Probe::new(2, &counter()));
        let cookie = Cookie::start();
        give_time();
        assert!(!cookie.is_reached());
        seen.check();
        drop(guard);
        assert!(!rtrcu::is_reading());
        eventually(|| cookie.is_reached());
    }
}

/// Registrations are leaked, or made while their thread ends: grace periods wait for no thread that has ended.
#[test]
fn grace_periods_do_not_wait_for_ended_threads_with_registrations() {
    alone!("grace_periods_do_not_wait_for_ended_threads_with_registrations");
    struct AtExit(Option<Turn>);
    impl Drop for AtExit {
        fn drop(&mut self) {
            match self.0.take() {
                Some(mut turn) => drop(turn.until(Instant::now())),
                None => std::mem::forget((Qsbr::register(), Turn::register(), Qsbr::register())),
            }
            drop(leaked_cell().swap(Probe::new(2, &counter())));
        }
    }
    thread_local! {
        static AT_EXIT: RefCell<Option<AtExit>> = const { RefCell::new(None) };
    }
    for round in 0..8 {
        thread::spawn(move || {
            let turn = (round & 1 == 0).then(|| Turn::register().unwrap());
            AT_EXIT.set(Some(AtExit(turn)));
            if round & 2 == 0 {
                std::mem::forget(Qsbr::register());
            }
            if round & 4 == 0 {
                drop(read());
            }
        })
        .join()
        .unwrap();
        let cookie = Cookie::start();
        eventually(|| cookie.is_reached());
    }
    barrier();
    assert_eq!(rtrcu::stats().threads_deadline, 0);
}
