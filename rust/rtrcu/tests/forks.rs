// SPDX-License-Identifier: MIT OR Apache-2.0
//! A fork's child has barriers of its own, the sections that its thread polls, and the values retired before the fork.
#![cfg(not(miri))]

#[macro_use]
mod support;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;

#[cfg(feature = "map")]
use rtrcu::HashMap;
use rtrcu::{Rcu, async_barrier, grace_period, section};
use support::{Probe, block_on, counter, is_emulated, pause, poll};

/// Run `body` in a forked child; fails if `body` panics or takes more than two minutes.
#[track_caller]
fn in_child(body: impl FnOnce()) {
    // SAFETY: the child has only this thread, and exits without the parent's exit handlers.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: only sets a timer, whose signal ends a child that hangs.
        unsafe { libc::alarm(120) };
        let done = catch_unwind(AssertUnwindSafe(body)).is_ok();
        // SAFETY: as above.
        unsafe { libc::_exit(i32::from(!done)) };
    }
    let mut status = 0;
    // SAFETY: `child` is a child of this process, and `status` is a local variable.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child's status");
}

/// A future that is pending at a fork becomes ready in parent and child, in each process after its own section has
/// ended.
#[test]
fn futures_pending_at_a_fork_complete_in_parent_and_child() {
    if is_emulated() {
        return println!("skipped: qemu-user aborts in children of processes with threads (cpu_exec(), version 7.2)");
    }
    alone!("futures_pending_at_a_fork_complete_in_parent_and_child");
    let dropped = counter();
    let cell = Rcu::new(Probe::new(0, &dropped));
    let mut held = pin!(section(async |s| {
        let seen = cell.load(s);
        pause().await;
        seen.check();
    }));
    assert!(poll(&mut held).is_pending());
    cell.replace(Probe::new(1, &dropped));
    let (mut first, mut passed) = (pin!(async_barrier()), pin!(grace_period()));
    assert!(poll(&mut first).is_pending()); // the thread that serves the barrier now waits for the section
    assert!(poll(&mut passed).is_pending());
    let mut end = || {
        assert!(poll(&mut first).is_pending() && poll(&mut passed).is_pending());
        assert_eq!(dropped.load(SeqCst), 0);
        assert!(poll(&mut held).is_ready());
        block_on(first.as_mut());
        assert_eq!(dropped.load(SeqCst), 1);
        block_on(passed.as_mut());
        cell.replace(Probe::new(2, &dropped));
        block_on(async_barrier());
        assert_eq!(dropped.load(SeqCst), 2);
    };
    in_child(&mut end);
    end();
}

/// A fork may happen at any point of the thread that serves barriers, and of threads that begin to await barriers.
#[test]
fn barriers_complete_in_parent_and_child_of_a_fork_while_threads_await_barriers() {
    if is_emulated() {
        return println!("skipped: qemu-user aborts in children of processes with threads (cpu_exec(), version 7.2)");
    }
    alone!("barriers_complete_in_parent_and_child_of_a_fork_while_threads_await_barriers");
    let forks = if std::env::var_os("RTRCU_TEST_SHORT").is_some() { 50 } else { 500 };
    let done = AtomicBool::new(false);
    let forked = thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(SeqCst) {
                    block_on(async_barrier());
                }
            });
        }
        let forked = catch_unwind(|| {
            for _ in 0..forks {
                in_child(|| {
                    let dropped = counter();
                    let cell = Rcu::new(Probe::new(0, &dropped));
                    cell.replace(Probe::new(1, &dropped));
                    block_on(async_barrier());
                    assert_eq!(dropped.load(SeqCst), 1);
                });
            }
        });
        done.store(true, SeqCst); // ends the threads also if a child has failed
        forked
    });
    forked.unwrap_or_else(|payload| resume_unwind(payload));
}

#[cfg(feature = "map")]
#[test]
fn a_hash_map_made_before_a_fork_works_in_parent_and_child() {
    if is_emulated() {
        return println!("skipped: qemu-user aborts in children of processes with threads (cpu_exec(), version 7.2)");
    }
    alone!("a_hash_map_made_before_a_fork_works_in_parent_and_child");
    let map: HashMap<u64, u64> = (0..5000).map(|key| (key, key)).collect();
    let check = || {
        for key in 0..5000 {
            assert_eq!(map.find(&key).as_deref(), Some(&key));
        }
        for key in 5000..50_000 {
            assert!(map.insert(key, key)); // so many that the map grows
        }
        for key in 5000..50_000 {
            assert!(map.remove(&key));
        }
        block_on(async_barrier());
        assert_eq!(map.len(), 5000);
    };
    in_child(check);
    check();
}
