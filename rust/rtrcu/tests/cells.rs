// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cells, guards and waiting, without async code; everything here runs under Miri too.

mod support;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;

use rtrcu::{Cookie, Rcu, RcuOption, barrier, defer, read, synchronize};
use support::{Probe, Random, counter};

#[test]
fn a_replaced_value_is_not_dropped_before_its_readers_end() {
    let dropped = counter();
    let cell = Rcu::new(Probe::new(1, &dropped));
    let guard = read();
    let seen = cell.load(&guard);
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 2..20 {
                cell.replace(Probe::new(number, &dropped));
            }
        });
    });
    seen.check();
    assert_eq!(seen.number, 1);
    assert_eq!(cell.load(&guard).number, 19);
    assert_eq!(dropped.load(SeqCst), 0);
    drop(guard);
    barrier();
    assert_eq!(dropped.load(SeqCst), 18);
    drop(cell);
    assert_eq!(dropped.load(SeqCst), 19);
}

#[test]
fn readers_see_no_dropped_value_while_writers_replace_values() {
    const WRITERS: usize = 2;
    let rounds = if cfg!(miri) { 20 } else { 20_000 };
    let mut random = Random::new();
    let dropped = counter();
    let cells: Vec<_> = (0..3).map(|n| Rcu::new(Probe::new(n, &dropped))).collect();
    let optional = RcuOption::new(Some(Probe::new(7, &dropped)));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            let mut random = random.split();
            let (cells, optional, done) = (&cells, &optional, &done);
            scope.spawn(move || {
                while !done.load(SeqCst) {
                    let guard = read();
                    let first = cells[random.below(3) as usize].load(&guard);
                    let maybe = optional.load(&guard);
                    let inner = cells[random.below(3) as usize].get();
                    first.check();
                    if let Some(maybe) = maybe {
                        maybe.check();
                    }
                    inner.check();
                    drop(guard);
                    inner.check();
                }
            });
        }
        let writers: Vec<_> = (0..WRITERS)
            .map(|_| {
                let mut random = random.split();
                let (cells, optional, dropped) = (&cells, &optional, &dropped);
                scope.spawn(move || {
                    for number in 0..rounds {
                        let cell = &cells[random.below(3) as usize];
                        let new = Probe::new(number, dropped);
                        match random.below(64) {
                            0 => drop(cell.swap(new).wait()),
                            1 => drop(cell.swap(new)),
                            2 => optional.store(Some(new)),
                            3 => drop(optional.take()),
                            4..16 => cell.update(|old| {
                                old.check();
                                Probe::new(old.number + 1, dropped)
                            }),
                            _ => cell.replace(new),
                        }
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, SeqCst);
    });
    drop(cells);
    drop(optional);
    barrier();
    assert_eq!(std::sync::Arc::strong_count(&dropped), 1, "each probe was dropped");
}

#[test]
fn compare_exchange_fails_for_a_replaced_value() {
    let dropped = counter();
    let cell = Rcu::new(Probe::new(1, &dropped));
    let guard = read();
    let first = cell.load(&guard);
    assert!(cell.compare_exchange(first, Probe::new(2, &dropped), &guard).is_ok());
    let refused = cell.compare_exchange(first, Probe::new(3, &dropped), &guard).err().expect("another was first");
    assert_eq!(refused.number, 3);
    first.check();
    assert_eq!(cell.load(&guard).number, 2);
}

#[test]
fn compare_exchange_of_an_option_fails_unless_value_or_none_is_current() {
    let dropped = counter();
    let cell = RcuOption::empty();
    let guard = read();

    assert!(cell.compare_exchange(None, Some(Probe::new(1, &dropped)), &guard).is_ok());
    let first = cell.load(&guard);
    let refused = cell.compare_exchange(None, Some(Probe::new(2, &dropped)), &guard);
    assert_eq!(refused.err().flatten().expect("it has a value").number, 2);
    assert!(cell.compare_exchange(first, None, &guard).is_ok());
    assert!(cell.load(&guard).is_none());
    cell.store(Some(Probe::new(3, &dropped)));
    assert!(cell.compare_exchange(first, None, &guard).is_err(), "another value took its place");
    first.expect("it had a value then").check();
    assert_eq!(cell.load(&guard).expect("it was not emptied").number, 3);

    drop(guard);
    barrier();
    assert_eq!(dropped.load(SeqCst), 2);
}

#[test]
fn try_update_changes_nothing_if_its_function_returns_none() {
    let dropped = counter();
    let cell = Rcu::new(Probe::new(1, &dropped));
    let option = RcuOption::from(1);
    let raise = |to: u64| cell.try_update(|now| (to > now.number).then(|| Probe::new(to, &dropped)));

    assert!(!raise(1));
    assert!(raise(2));
    assert!(!option.try_update(|_| None));
    assert_eq!(option.get().as_deref(), Some(&1));
    assert!(option.try_update(|_| Some(None)));

    assert_eq!(cell.get().number, 2);
    assert!(option.get().is_none());
    barrier();
    assert_eq!(dropped.load(SeqCst), 1);
}

#[test]
fn compare_exchange_distinguishes_zero_sized_values() {
    let cell = Rcu::new(());
    let guard = read();
    let first = cell.load(&guard);
    cell.replace(());
    assert_eq!(cell.compare_exchange(first, (), &guard), Err(()));
    assert_eq!(cell.compare_exchange(cell.load(&guard), (), &guard), Ok(()));
}

/// Without the panic, the outer update would find its value replaced at each attempt; `calls` ends such an update.
#[test]
fn an_update_inside_an_update_of_the_same_cell_panics() {
    let (cell, other, option) = (Rcu::new(0), Rcu::new(0), RcuOption::new(Some(0)));
    let calls = Cell::new(0);
    let panics = |update: &dyn Fn()| {
        calls.set(0);
        catch_unwind(AssertUnwindSafe(update)).is_err()
    };
    let again = |inner: &dyn Fn()| {
        calls.set(calls.get() + 1);
        if calls.get() < 3 {
            inner();
        }
        1
    };
    let inner = || cell.update(|n| n + 1);
    assert!(panics(&|| cell.update(|_| again(&inner))));
    assert!(panics(&|| option.update(|_| Some(again(&|| option.update(|_| None))))));
    assert!(panics(&|| cell.update(|_| again(&|| other.update(|_| again(&inner))))));
    assert_eq!((*cell.get(), *other.get(), option.get().as_deref()), (0, 0, Some(&0)));

    cell.update(|_| {
        other.update(|n| n + 1);
        other.update(|n| n + 1);
        3
    });
    cell.update(|n| n + 1);
    assert_eq!((*cell.get(), *other.get()), (4, 2));
}

#[test]
fn concurrent_updates_of_a_cell_are_not_lost() {
    let rounds = if cfg!(miri) { 10 } else { 2_000 };
    let cell = Rcu::new(0);
    let optional = RcuOption::empty();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..rounds {
                    cell.update(|n| n + 1);
                    optional.update(|n| Some(n.copied().unwrap_or(0) + 1));
                }
            });
        }
    });
    assert_eq!(cell.into_inner(), 4 * rounds);
    assert_eq!(optional.into_inner(), Some(4 * rounds));
}

#[test]
fn values_of_nested_cells_are_dropped_after_one_grace_period() {
    struct Level {
        _probe: Probe,
        _below: RcuOption<Level>,
    }

    let dropped = counter();
    let mut top = RcuOption::empty();
    for number in 0..10 {
        top = RcuOption::new(Some(Level { _probe: Probe::new(number, &dropped), _below: top }));
    }
    top.store(None);
    let retired = Cookie::start();
    retired.wait();
    barrier(); // waits only for callbacks queued before, not for callbacks that these queue
    assert_eq!(dropped.load(SeqCst), 10);
}

#[test]
fn exclusive_access_needs_no_guard() {
    let mut cell = Rcu::new(vec![1]);
    cell.get_mut().push(2);
    assert_eq!(cell.into_inner(), [1, 2]);
    let mut none = RcuOption::<String>::empty();
    assert!(none.get_mut().is_none() && none.get().is_none());
}

/// A cell that is only read does not require `Send` or `'static` of its value.
#[test]
fn a_cell_that_is_only_read_may_hold_borrowed_or_non_send_values() {
    let text = String::from("borrowed");
    let cell = Rcu::new(text.as_str());
    assert_eq!(*cell.get(), "borrowed");
    let local = Rcu::new(std::rc::Rc::new(1));
    assert_eq!(**local.get(), 1);
}

#[test]
fn waiting_for_a_retired_value_returns_it_after_its_readers_end() {
    let cell = Rcu::new(String::from("old"));
    let guard = read();
    let mut retired = cell.swap(String::from("new"));
    assert_eq!(retired.get(), "old");
    assert!(!retired.is_ready());
    let retired = retired.try_into_inner().expect_err("a reader has it still");
    drop(guard);
    assert_eq!(retired.wait(), "old");
    drop(cell.swap(String::new()));
    barrier();
}

#[test]
fn a_deferred_function_runs_once_and_may_defer_another() {
    let (tell, told) = std::sync::mpsc::channel();
    let again = tell.clone();
    defer(move || defer(move || again.send(2).unwrap()));
    defer(move || tell.send(1).unwrap());
    barrier();
    barrier();
    let mut seen: Vec<_> = told.iter().collect();
    seen.sort();
    assert_eq!(seen, [1, 2]);
}

// The reference holds a guard: while it lives, a wait for a grace period would wait for itself.
#[test]
fn a_reference_from_get_keeps_its_section_open() {
    let cell = Rcu::new(1);
    let seen = cell.get();
    std::panic::catch_unwind(synchronize).expect_err("inside the reference's section");
    assert_eq!(*seen, 1);
    drop(seen);
    synchronize();
}

#[test]
fn waiting_under_a_guard_or_in_a_deferred_function_panics() {
    let calls: [(&str, fn()); 5] = [
        ("synchronize", synchronize),
        ("synchronize_expedited", rtrcu::synchronize_expedited),
        ("barrier", barrier),
        ("Cookie::wait", || Cookie::start().wait()),
        ("Retired::wait", || assert_eq!(Rcu::new(1).swap(2).wait(), 1)),
    ];
    for (name, call) in calls {
        let guard = read();
        let under_guard = std::panic::catch_unwind(call).expect_err(name);
        assert!(under_guard.downcast_ref::<String>().unwrap().contains("would wait for itself"));
        drop(guard);
        let (tell, told) = std::sync::mpsc::channel();
        defer(move || tell.send(std::panic::catch_unwind(call).is_err()).unwrap());
        barrier();
        assert!(told.recv().unwrap(), "{name} in a deferred function");
    }
}

#[test]
fn guards_may_be_dropped_in_any_order() {
    fn stays_usable<T: Unpin + std::panic::UnwindSafe + std::panic::RefUnwindSafe>(_: &T) {}
    stays_usable(&read());
    let cell = Rcu::new(5);
    let first = read();
    let second = read();
    drop(first);
    assert!(rtrcu::is_reading());
    assert_eq!(*cell.load(&second), 5);
    drop(second);
    assert!(!rtrcu::is_reading());
}

#[test]
fn an_update_that_panics_leaves_the_cell_unchanged() {
    let cell = Rcu::new(1);
    let panicked = std::panic::catch_unwind(|| cell.update(|_| panic!("on purpose")));
    assert!(panicked.is_err() && !rtrcu::is_reading());
    assert_eq!(cell.into_inner(), 1);
}

/// The drop of a value may panic, and its panic payload may panic when it is dropped.
#[test]
fn a_deferred_drop_that_panics_is_counted() {
    struct Payload;
    impl Drop for Payload {
        fn drop(&mut self) {
            panic!("once more, on purpose");
        }
    }
    struct Value;
    impl Drop for Value {
        fn drop(&mut self) {
            std::panic::panic_any(Payload);
        }
    }
    let before = rtrcu::stats().drops_panicked;
    let cell = RcuOption::new(Some(Value));
    cell.store(None);
    barrier();
    assert!(rtrcu::stats().drops_panicked > before);
}

/// A deferred function may run on a thread of the library, which it must not register.
#[test]
fn registering_a_thread_in_a_deferred_function_fails() {
    let (tell, told) = std::sync::mpsc::channel();
    defer(move || tell.send((rtrcu::Turn::register().is_err(), rtrcu::Qsbr::register().is_err())).unwrap());
    barrier();
    assert_eq!(told.recv(), Ok((true, true)));
}

/// A drop may change a cell, and the function of an update may replace the value of the same cell.
#[test]
fn a_cell_may_be_changed_in_a_drop_and_in_its_own_update() {
    struct Chained(u32, std::sync::Arc<Rcu<u32>>);
    impl Drop for Chained {
        fn drop(&mut self) {
            self.1.update(|n| n + self.0);
        }
    }
    let sum = std::sync::Arc::new(Rcu::new(0));
    let cell = Rcu::new(Chained(1, sum.clone()));
    let mut inner = true;
    cell.update(|old| {
        if std::mem::take(&mut inner) {
            cell.replace(Chained(10, sum.clone())); // the update then calls its function again
        }
        Chained(old.0 + 100, sum.clone())
    });
    drop(cell);
    barrier();
    assert_eq!(*sum.get(), 1 + 10 + 101 + 110);
}

/// Each change copies the map: concurrent writers lose no changes of other writers.
#[cfg(feature = "map")]
#[test]
fn concurrent_updates_of_a_map_are_not_lost() {
    let rounds = if cfg!(miri) { 5 } else { 200 };
    let map = rtrcu::RcuMap::new();
    thread::scope(|scope| {
        for writer in 0..4 {
            let map = &map;
            scope.spawn(move || {
                for number in 0..rounds {
                    map.update(|all| {
                        thread::yield_now();
                        all.insert((writer, number), number)
                    });
                }
            });
        }
    });
    assert_eq!(map.read().len(), 4 * rounds);
    assert_eq!(map.get(&(3, 1), &read()), Some(&1));
}

/// A change of the map inside a change would wait for itself. Here the clone of a value makes the inner change.
#[cfg(feature = "map")]
#[test]
fn a_change_of_a_map_inside_a_change_of_the_same_map_panics() {
    use std::sync::{Arc, Weak};
    struct Copied(Weak<rtrcu::RcuMap<u32, Copied>>);
    impl Clone for Copied {
        fn clone(&self) -> Self {
            if let Some(map) = self.0.upgrade() {
                map.remove(&1);
            }
            Self(Weak::new())
        }
    }
    let map = Arc::new(rtrcu::RcuMap::new());
    map.insert(1, Copied(Arc::downgrade(&map)));
    for _ in 0..2 {
        let (tell, told) = std::sync::mpsc::channel();
        let inner = Arc::clone(&map);
        thread::spawn(move || {
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| inner.remove(&2)));
            let payload = panicked.err().expect("another change of the map has gone through");
            tell.send(payload.downcast_ref::<&str>().unwrap().contains("would wait for itself")).unwrap();
        });
        assert_eq!(told.recv_timeout(std::time::Duration::from_secs(60)), Ok(true));
    }
    assert_eq!(map.read().len(), 1);
}

/// After the panic the map is unchanged, and can be changed again.
#[cfg(feature = "map")]
#[test]
fn an_update_that_panics_leaves_the_map_unchanged() {
    let map = rtrcu::RcuMap::from(std::collections::HashMap::from([(1, "one")]));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        map.update(|all| {
            all.clear();
            panic!("on purpose")
        })
    }));
    assert!(panicked.is_err() && !rtrcu::is_reading());
    assert_eq!(map.get(&1, &read()), Some(&"one"));
    assert_eq!(map.insert(2, "two"), None);
    assert_eq!(map.remove(&1), Some("one"));
    assert_eq!(map.read().len(), 1);
}
