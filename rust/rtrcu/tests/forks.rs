// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a fork's child has: its own barriers, the sections that its thread polls, and what was retired before.
#![cfg(not(miri))]

#[macro_use]
mod support;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;

use rtrcu::{Rcu, async_barrier, grace_period, section};
use support::{Probe, block_on, counter, is_emulated, pause, poll};

/// Run `body` in a fork's child, which has two minutes for it.
#[track_caller]
fn in_child(body: impl FnOnce()) {
    // SAFETY: the child has this thread alone, and leaves without what the parent's exit would do.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: ends the child if it hangs.
        unsafe { libc::alarm(120) };
        let done = catch_unwind(AssertUnwindSafe(body)).is_ok();
        // SAFETY: as above.
        unsafe { libc::_exit(i32::from(!done)) };
    }
    let mut status = 0;
    // SAFETY: our child, and our memory.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child's status");
}

/// What was pending at the fork becomes ready in both, each when its own section has ended.
#[test]
fn what_waits_at_a_fork_ends_in_both() {
    if is_emulated() {
        return println!("skipped: qemu-user aborts in children of processes with threads (cpu_exec(), version 7.2)");
    }
    alone!("what_waits_at_a_fork_ends_in_both");
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
    assert!(poll(&mut first).is_pending()); // and the thread that serves it waits for the section
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

/// Whatever the thread that serves barriers, and those who begin to wait, are at when a fork comes between.
#[test]
fn a_fork_may_come_while_others_wait() {
    if is_emulated() {
        return println!("skipped: qemu-user aborts in children of processes with threads (cpu_exec(), version 7.2)");
    }
    alone!("a_fork_may_come_while_others_wait");
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
        done.store(true, SeqCst); // where a child has failed, too
        forked
    });
    forked.unwrap_or_else(|payload| resume_unwind(payload));
}
