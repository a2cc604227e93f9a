// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sections of async code that are polled by hand; everything here runs under Miri too.

mod support;

use std::cell::Cell;
use std::future::{Future, IntoFuture};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake};
use std::thread;
use std::time::Duration;

use rtrcu::{Cookie, Rcu, async_barrier, barrier, grace_period, is_reading, read, section, synchronize};
use support::{Bell, Boxed, Probe, counter, eventually, pause, poll};

#[test]
fn a_section_belongs_to_no_thread_between_polls() {
    let cell = Rcu::new(String::from("kept"));
    let mut held = pin!(section(async |s| {
        let seen = cell.load(s);
        assert!(is_reading(), "the first poll has a nesting");
        pause().await;
        assert!(!is_reading(), "later polls have no nesting");
        cell.replace(String::new());
        pause().await;
        seen.len()
    }));
    assert!(!is_reading());
    assert!(poll(&mut held).is_pending());
    assert!(!is_reading());
    let cookie = Cookie::start();
    assert!(poll(&mut held).is_pending());
    for _ in 0..3 {
        assert!(!Cookie::start_expedited().is_reached());
        assert!(!cookie.is_reached(), "the section is waited for");
        thread::yield_now();
    }
    assert!(poll(&mut held) == Poll::Ready(4));
    cookie.wait();
}

/// The section releases only the nesting that its first poll took, however often its body is pending.
#[test]
fn polls_of_an_async_section_do_not_end_the_section_of_a_guard() {
    const POLLS: usize = 4;
    let guard = read();
    let mut held = pin!(section(async |_| {
        for _ in 1..POLLS {
            pause().await;
        }
    }));
    for number in 1..=POLLS {
        assert_eq!(poll(&mut held).is_ready(), number == POLLS);
        if !is_reading() {
            std::mem::forget(guard);
            panic!("poll {number} has ended the guard's section");
        }
    }
    drop(guard);
    assert!(!is_reading());
    let cookie = Cookie::start();
    eventually(|| cookie.is_reached());
}

#[test]
fn a_section_that_is_ready_in_its_first_poll_ends_there() {
    let cell = Rcu::new(3);
    let mut ready = pin!(section(async |s| *cell.load(s)));
    assert!(poll(&mut ready) == Poll::Ready(3));
    assert!(!is_reading());
    synchronize();
}

/// A section ends if it is dropped before any of its polls, on the thread that polled it or on another thread.
#[test]
fn dropping_a_section_at_any_await_ends_it() {
    const AWAITS: usize = 5;
    let dropped = counter();
    let cell = Arc::new(Rcu::new(Probe::new(0, &dropped)));
    for elsewhere in [false, true] {
        for polls in 0..=AWAITS + 1 {
            let inner = Arc::clone(&cell);
            let mut future: Boxed<()> = Box::pin(section(async move |s| {
                for _ in 0..AWAITS {
                    struct Late<'a>(&'a Probe);
                    impl Drop for Late<'_> {
                        fn drop(&mut self) {
                            self.0.check();
                        }
                    }
                    let late = Late(inner.load(s));
                    inner.replace(Probe::new(late.0.number + 1, &counter()));
                    section(async |nested| {
                        pause().await;
                        inner.load(nested).check();
                    })
                    .await;
                }
            }));
            for done in 0..polls {
                assert_eq!(poll(&mut future).is_ready(), done == AWAITS);
            }
            let cookie = Cookie::start();
            if elsewhere {
                thread::spawn(move || drop(future)).join().unwrap();
            } else {
                drop(future);
            }
            assert!(!is_reading());
            cookie.wait();
        }
    }
}

/// A future polled by a second task wakes that task, and not the first.
#[test]
fn a_future_wakes_the_task_that_polled_it_last() {
    let cell = Rcu::new(1);
    let mut held = pin!(section(async |s| {
        let _seen = cell.load(s);
        pause().await;
    }));
    assert!(poll(&mut held).is_pending());
    let retired = cell.swap(2);
    let mut waiting: [Boxed<()>; 2] = [Box::pin(grace_period()), Box::pin(async { assert_eq!(retired.await, 1) })];
    let bells: Vec<_> = waiting
        .iter_mut()
        .map(|future| {
            [Bell::new(), Bell::new()].map(|(bell, waker)| {
                assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
                bell
            })
        })
        .collect();
    assert!(poll(&mut held).is_ready());
    barrier(); // the callbacks that wake the tasks have returned
    for (future, [first, last]) in waiting.iter_mut().zip(&bells) {
        assert_eq!((first.rung(), last.rung()), (0, 1));
        assert!(poll(future).is_ready());
    }
}

/// The drop of a waker runs code of the executor, which may wait for the same grace period as the future.
#[test]
fn the_drop_of_a_waker_may_wait_for_a_grace_period() {
    struct Waits(mpsc::Sender<()>);
    impl Wake for Waits {
        fn wake(self: Arc<Self>) {}
    }
    impl Drop for Waits {
        fn drop(&mut self) {
            self.0.send(()).unwrap();
            barrier();
        }
    }
    let (tell, told) = mpsc::channel();
    let guard = read();
    let waits = thread::spawn(move || {
        let mut waiting = pin!(grace_period());
        let waker = Arc::new(Waits(tell)).into();
        assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        drop(waker); // the future holds the last reference to the waker
        assert!(poll(&mut waiting).is_pending());
    });
    told.recv().unwrap();
    drop(guard);
    eventually(|| waits.is_finished());
    waits.join().unwrap();
}

/// The locals of a body are protected while they are dropped: the section ends after them, not before.
#[test]
fn locals_of_a_body_are_dropped_before_its_section_ends() {
    struct Late<'a>(&'a Probe, Cookie, &'a Cell<u32>);
    impl Drop for Late<'_> {
        fn drop(&mut self) {
            self.2.set(self.2.get() + 1);
            for _ in 0..200 {
                assert!(!self.1.is_reached());
                thread::yield_now();
            }
            self.0.check();
        }
    }
    let cell = Rcu::new(Probe::new(0, &counter()));
    let dropped = Cell::new(0);
    for pauses in 0..2 {
        let mut held = pin!(Some(section(async |s| {
            let _late = Late(cell.load(s), Cookie::start_expedited(), &dropped);
            cell.replace(Probe::new(1, &counter()));
            if pauses == 1 {
                pause().await;
            }
        })));
        let polled = poll(&mut held.as_mut().as_pin_mut().unwrap());
        assert_eq!(polled.is_pending(), pauses == 1);
        held.set(None);
        assert_eq!(dropped.get(), pauses + 1);
        synchronize();
    }
}

#[test]
fn a_body_that_panics_ends_its_section() {
    for pauses in 0..3 {
        let mut future: Boxed<()> = Box::pin(section(async move |_| {
            for _ in 0..pauses {
                pause().await;
            }
            panic!("on purpose");
        }));
        for _ in 0..pauses {
            assert!(poll(&mut future).is_pending());
        }
        assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut future))).is_err());
        assert!(!is_reading());
        synchronize();
        drop(future);
    }
    let mut made: Pin<Box<dyn Future<Output = ()>>> =
        Box::pin(section(|_: &rtrcu::Section| -> std::future::Ready<()> {
            panic!("before there is a future");
        }));
    assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut made))).is_err());
    assert!(!is_reading());
    synchronize();
}

#[test]
fn waiting_inside_a_section_panics() {
    let calls: [fn(); 4] = [synchronize, rtrcu::synchronize_expedited, barrier, || Cookie::start().wait()];
    for call in calls {
        for pauses in 0..2 {
            let mut future = pin!(section(async |_| {
                for _ in 0..pauses {
                    pause().await;
                }
                call();
            }));
            for _ in 0..pauses {
                assert!(poll(&mut future).is_pending());
            }
            assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut future))).is_err());
        }
    }
    let mut inside = pin!(section(async |_| {
        pause().await;
        grace_period().await;
    }));
    assert!(poll(&mut inside).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut inside))).is_err());
    synchronize();
}

/// One future of each kind that waits for a grace period, each polled once while `cell` has a reader.
fn begun(cell: &Rcu<i32>) -> [Boxed<()>; 3] {
    let retired = cell.swap(2);
    let mut waiting: [Boxed<()>; 3] =
        [Box::pin(grace_period()), Box::pin(async_barrier()), Box::pin(async { _ = retired.await })];
    for future in &mut waiting {
        assert!(poll(future).is_pending());
    }
    waiting
}

/// The section in which the future is awaited may have begun before the grace period that the future waits for.
#[test]
fn a_waiting_future_begun_outside_a_section_panics_if_polled_inside() {
    let cell = Rcu::new(1);
    for pauses in 0..2 {
        let mut held = Box::pin(section(async |s| {
            let _seen = cell.load(s);
            pause().await;
        }));
        assert!(poll(&mut held).is_pending());
        for mut waiting in begun(&cell) {
            let mut inside = Box::pin(section(async |_| {
                for _ in 0..pauses {
                    pause().await;
                }
                waiting.as_mut().await;
            }));
            for _ in 0..pauses {
                assert!(poll(&mut inside).is_pending());
            }
            assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut inside))).is_err());
            drop(inside);
        }
        let mut others = begun(&cell);
        let guard = read();
        for waiting in &mut others {
            assert!(catch_unwind(AssertUnwindSafe(|| poll(waiting))).is_err());
        }
        drop(guard);
        drop(held);
        for mut waiting in others.into_iter().take(2) {
            eventually(|| poll(&mut waiting).is_ready()); // the panic has not changed the future
        }
    }
}

/// A poll inside a section panics even if the future is ready, so that the panic does not depend on timing.
#[test]
fn a_waiting_future_that_is_ready_panics_if_polled_inside_a_section() {
    let waiting: [Boxed<()>; 2] = [Box::pin(grace_period()), Box::pin(async_barrier())];
    for mut future in waiting {
        eventually(|| poll(&mut future).is_ready());
        let guard = read();
        assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut future))).is_err());
        drop(guard);
        assert!(poll(&mut future).is_ready());
    }
    let mut retired = Box::pin(Rcu::new(1).swap(2).into_future());
    synchronize();
    let guard = read();
    assert!(catch_unwind(AssertUnwindSafe(|| poll(&mut retired))).is_err());
    drop(guard);
    assert!(poll(&mut retired) == Poll::Ready(1));
}

/// The barrier would wait for the deferred function that polls it.
#[test]
fn a_barrier_begun_outside_panics_if_polled_in_a_deferred_function() {
    let (give, given) = mpsc::channel::<Boxed<()>>();
    let (tell, told) = mpsc::channel();
    rtrcu::defer(move || {
        let mut waiting = given.recv().unwrap();
        let polled = catch_unwind(AssertUnwindSafe(|| poll(&mut waiting)));
        tell.send((polled.is_err(), waiting)).unwrap();
    });
    let mut waiting: Boxed<()> = Box::pin(async_barrier());
    assert!(poll(&mut waiting).is_pending());
    give.send(waiting).unwrap();
    let (panicked, mut waiting) = told.recv().unwrap();
    assert!(panicked);
    eventually(|| poll(&mut waiting).is_ready());
}

/// When a section is cancelled, the locals of its body are dropped inside the section.
#[test]
fn waiting_in_the_drop_of_a_cancelled_body_panics() {
    struct Waits;
    impl Drop for Waits {
        fn drop(&mut self) {
            synchronize();
        }
    }
    let mut future: Boxed<()> = Box::pin(section(async |_| {
        let _waits = Waits;
        pause().await;
    }));
    assert!(poll(&mut future).is_pending());
    let (tell, told) = mpsc::channel();
    thread::spawn(move || tell.send(catch_unwind(AssertUnwindSafe(|| drop(future))).is_err()));
    assert_eq!(told.recv_timeout(Duration::from_secs(60)), Ok(true));
    synchronize();
}

#[test]
fn guards_inside_an_async_section_belong_to_the_thread() {
    let cell = Rcu::new(1);
    let mut future = pin!(section(async |s| {
        let guard = read(); // the guard is not Send, so the future stays on this thread
        let both = cell.load(&guard) + cell.load(s);
        pause().await;
        drop(guard);
        both
    }));
    assert!(poll(&mut future).is_pending());
    assert!(is_reading(), "the guard's section is open");
    assert!(poll(&mut future) == Poll::Ready(2));
    assert!(!is_reading());
}
