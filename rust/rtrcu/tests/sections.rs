// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sections of async code on the executors of tokio and smol, and values under rayon.
#![cfg(not(miri))]

#[macro_use]
mod support;

use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context, Poll, Wake};
use std::thread;
use std::time::Duration;

use rtrcu::{Cookie, Rcu, async_barrier, barrier, defer, grace_period, read, section, synchronize};
use support::{Bell, Boxed, Probe, Random, block_on, counter, eventually, is_emulated, pause, poll};

/// Many concurrent sections hold values across `.await`, while other tasks replace them; some are cancelled.
async fn stress(spawn: impl Fn(Boxed<()>) -> Boxed<()>, tasks: u64, rounds: u64) {
    let mut random = Random::new();
    let dropped = counter();
    let cells: Arc<Vec<_>> = Arc::new((0..4).map(|n| Rcu::new(Probe::new(n, &dropped))).collect());
    let mut running = Vec::new();
    for _ in 0..tasks {
        let (cells, mut random, dropped) = (Arc::clone(&cells), random.split(), Arc::clone(&dropped));
        running.push(spawn(Box::pin(async move {
            for round in 0..rounds {
                let pauses = random.below(4);
                let (left, right) = (random.below(4) as usize, random.below(4) as usize);
                let mut inside: Boxed<()> = Box::pin({
                    let cells = Arc::clone(&cells);
                    section(async move |s| {
                        let seen = cells[left].load(s);
                        for _ in 0..pauses {
                            pause().await;
                            seen.check();
                            cells[right].load(s).check();
                        }
                        section(async |t| {
                            let inner = cells[right].load(t);
                            pause().await;
                            inner.check();
                            seen.check();
                        })
                        .await;
                        seen.check();
                    })
                });
                if random.below(8) == 0 {
                    for _ in 0..random.below(3) {
                        let _ = poll_fn(|context| Poll::Ready(inside.as_mut().poll(context))).await;
                        if pauses == 0 {
                            break;
                        }
                    }
                    drop(inside);
                } else {
                    inside.await;
                }
                match random.below(16) {
                    0 => drop(cells[left].swap(Probe::new(round, &dropped)).await),
                    1 => grace_period().await,
                    2 => Cookie::now().await,
                    3..8 => cells[right].update(|old| Probe::new(old.number + 1, &dropped)),
                    _ => cells[right].replace(Probe::new(round, &dropped)),
                }
            }
        })));
    }
    for task in running {
        task.await;
    }
    drop(cells);
    eventually(|| Arc::strong_count(&dropped) == 1);
}

fn on_tokio(task: Boxed<()>) -> Boxed<()> {
    let handle = tokio::spawn(task);
    Box::pin(async move { handle.await.unwrap() })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_sections_on_tokio_with_threads_see_no_dropped_value() {
    stress(on_tokio, 16, 200).await;
}

#[tokio::test(flavor = "current_thread")]
async fn concurrent_sections_on_tokio_with_one_thread_see_no_dropped_value() {
    stress(on_tokio, 16, 100).await;
}

#[test]
fn concurrent_sections_on_smol_see_no_dropped_value() {
    let executor = Arc::new(smol::Executor::new());
    let (stop, stopped) = smol::channel::bounded::<()>(1);
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let (executor, stopped) = (Arc::clone(&executor), stopped.clone());
            thread::spawn(move || smol::block_on(executor.run(async { stopped.recv().await.is_err() })))
        })
        .collect();
    smol::block_on(stress(|task| Box::pin(executor.spawn(task)), 16, 200));
    drop(stop);
    for thread in threads {
        assert!(thread.join().unwrap());
    }
}

/// Many tasks await barriers, and some tasks cancel them. When a barrier completes, the values that its task replaced
/// before have been dropped.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_awaited_barrier_completes_after_earlier_replaced_values_are_dropped() {
    let mut running = Vec::new();
    for task in 0..16 {
        running.push(tokio::spawn(async move {
            let dropped = counter();
            let cell = Rcu::new(Probe::new(0, &dropped));
            for number in 1..20 {
                cell.replace(Probe::new(number, &dropped));
                if task % 4 == 3 {
                    let _ = tokio::time::timeout(Duration::from_micros(50), async_barrier()).await;
                    continue;
                }
                async_barrier().await;
                assert_eq!(dropped.load(SeqCst), number);
            }
        }));
    }
    for task in running {
        task.await.unwrap();
    }
}

/// Under a guard, in an async section and in a deferred function, the barrier would wait for itself.
#[test]
fn awaiting_a_barrier_in_a_section_or_a_deferred_function_panics() {
    fn panics() -> bool {
        std::panic::catch_unwind(|| block_on(async_barrier())).is_err()
    }
    let guard = read();
    assert!(panics());
    drop(guard);
    assert!(block_on(section(async |_| {
        pause().await;
        panics()
    })));
    let (tell, told) = std::sync::mpsc::channel();
    defer(move || tell.send(panics()).unwrap());
    block_on(async_barrier());
    assert_eq!(told.try_recv(), Ok(true));
}

/// A barrier polled by a second task wakes that task.
#[test]
fn an_awaited_barrier_wakes_the_task_that_polled_it_last() {
    let mut held = std::pin::pin!(section(async |_| pause().await));
    assert!(poll(&mut held).is_pending());
    defer(|| ());
    let mut waiting = std::pin::pin!(async_barrier());
    let bells = [Bell::new(), Bell::new()].map(|(bell, waker)| {
        assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        bell
    });
    assert!(poll(&mut held).is_ready());
    block_on(async_barrier()); // earlier waiters are woken first
    assert_eq!(bells.map(|bell| bell.rung()), [0, 1]);
    assert!(poll(&mut waiting).is_ready());
}

/// Other waiters are woken although one waker panics.
#[test]
fn a_panicking_waker_does_not_prevent_other_wakeups() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("on purpose");
        }
    }
    let waker = Arc::new(Panics).into();
    let mut first = std::pin::pin!(async_barrier());
    assert!(first.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    block_on(async_barrier());
    block_on(async_barrier());
    assert!(first.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
}

/// Concurrent barriers share a thread, which exits when no barrier is awaited any more. A later barrier starts a new
/// thread.
#[test]
fn the_thread_that_serves_awaited_barriers_exits_after_the_last_barrier() {
    fn is_there() -> bool {
        let threads = std::fs::read_dir("/proc/self/task").unwrap();
        let mut names = threads.map(|thread| std::fs::read_to_string(thread.unwrap().path().join("comm")));
        names.any(|name| name.is_ok_and(|name| name.trim_end() == "rtrcu-barrier"))
    }
    alone!("the_thread_that_serves_awaited_barriers_exits_after_the_last_barrier");
    for _ in 0..3 {
        block_on(async_barrier());
        eventually(|| !is_there());
    }
}

/// If no thread can be started, the first poll panics, and a later poll may succeed.
#[test]
#[cfg(not(any(rtrcu_asan, rtrcu_tsan)))] // these sanitizers cannot run under a memory limit
fn a_barrier_that_could_not_start_a_thread_may_be_polled_again() {
    alone!("a_barrier_that_could_not_start_a_thread_may_be_polled_again");
    if is_emulated() {
        return println!("skipped: an emulator does not keep to the limit");
    }
    fn limit_memory(bytes: libc::rlim_t) {
        let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: the limit is that of this process, which runs only this test.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
    }
    barrier(); // creates the library's threads before the limit is set
    let mut waiting = Box::pin(async_barrier());
    limit_memory(0);
    let polled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| poll(&mut waiting)));
    limit_memory(libc::RLIM_INFINITY);
    assert!(polled.is_err());
    block_on(waiting);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn select_and_timeouts_cancel_sections() {
    let dropped = counter();
    let cell = Arc::new(Rcu::new(Probe::new(0, &dropped)));
    for number in 1..200 {
        let long = section(async |s| {
            let seen = cell.load(s);
            loop {
                pause().await;
                seen.check();
            }
        });
        let short = section(async |s| {
            let seen = cell.load(s);
            cell.replace(Probe::new(number, &dropped));
            tokio::task::yield_now().await;
            seen.check();
            seen.number
        });
        tokio::select! {
            biased;
            () = long => unreachable!(),
            seen = short => assert_eq!(seen, number - 1),
        }
        let never = section(async |s| {
            let _seen = cell.load(s);
            std::future::pending::<()>().await
        });
        assert!(tokio::time::timeout(Duration::from_micros(100), never).await.is_err());
    }
    tokio::task::spawn_blocking(barrier).await.unwrap();
    assert_eq!(dropped.load(SeqCst), 199);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn aborting_a_task_inside_a_section_ends_the_section() {
    let dropped = counter();
    let cell = Arc::new(Rcu::new(Probe::new(0, &dropped)));
    let (tell, mut told) = tokio::sync::mpsc::channel(1);
    for number in 1..50 {
        let (cell, inner, tell) = (Arc::clone(&cell), Arc::clone(&cell), tell.clone());
        let task = tokio::spawn(section(async move |s| {
            let seen = inner.load(s);
            tell.send(()).await.unwrap();
            std::future::pending::<()>().await;
            seen.check();
        }));
        told.recv().await.unwrap();
        cell.replace(Probe::new(number, &dropped));
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        grace_period().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_section_protects_while_it_awaits_blocking_work() {
    let dropped = counter();
    let cell = Arc::new(Rcu::new(Probe::new(1, &dropped)));
    let seen = section(async |s| {
        let seen = cell.load(s);
        let elsewhere = Arc::clone(&cell);
        let number = tokio::task::spawn_blocking(move || elsewhere.get().number).await.unwrap();
        cell.replace(Probe::new(2, &counter()));
        seen.check();
        assert_eq!(seen.number, number);
        tokio::task::block_in_place(|| cell.load(s).check());
        number
    })
    .await;
    assert_eq!(seen, 1);
    tokio::task::spawn_blocking(barrier).await.unwrap();
    assert_eq!(dropped.load(SeqCst), 1);
}

#[tokio::test(flavor = "current_thread")]
async fn a_section_of_a_local_task_may_hold_values_that_are_not_send() {
    let cell = Rc::new(Rcu::new(vec![1, 2, 3]));
    let local = tokio::task::LocalSet::new();
    let inner = Rc::clone(&cell);
    let task = local.spawn_local(section(async move |s| {
        let here = Rc::new(inner.load(s));
        pause().await;
        here.len()
    }));
    assert_eq!(local.run_until(task).await.unwrap(), 3);
}

/// An executor that shuts down drops its open sections.
#[test]
fn a_dropped_executor_ends_its_sections() {
    for _ in 0..20 {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        for _ in 0..8 {
            runtime.spawn(section(async |_| {
                loop {
                    pause().await;
                }
            }));
        }
        runtime.block_on(async { tokio::task::yield_now().await });
        drop(runtime);
        synchronize();
    }
}

#[test]
fn rayon_tasks_may_read_a_value_loaded_under_a_guard_of_another_thread() {
    let dropped = counter();
    let cell = Rcu::new(Probe::new(1, &dropped));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(SeqCst) {
                cell.replace(Probe::new(2, &dropped));
            }
        });
        for _ in 0..200 {
            let guard = read();
            let seen = cell.load(&guard);
            rayon::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|_| {
                        seen.check();
                        cell.get().check();
                    });
                }
            });
            rayon::join(|| seen.check(), || seen.check());
        }
        done.store(true, SeqCst);
    });
    barrier();
}
