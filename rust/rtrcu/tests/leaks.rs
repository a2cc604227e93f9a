// SPDX-License-Identifier: MIT OR Apache-2.0
//! A leaked guard or section delays reclamation, is named by the stall report, and does no other harm. Each test has
//! its own process, in which grace periods do not end any more.
#![cfg(not(miri))]

#[macro_use]
mod support;

use std::cell::Cell;
use std::fs::File;
use std::io::Write;
use std::mem::forget;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::pin::pin;
use std::process::Stdio;
use std::sync::Mutex;
use std::thread;

use rtrcu::{Config, Cookie, Guard, Qsbr, Rcu, Turn, read, section};
use support::{Probe, alone, counter, eventually, pause, poll};

static REPORT: Mutex<String> = Mutex::new(String::new());

/// Sets a stall timeout of 20 ms, and collects the stall reports in `REPORT`.
fn report_soon() {
    rtrcu::set_stall_handler(Some(|line| *REPORT.lock().unwrap() += line));
    Config::new().set("stall_timeout_ms", 20).unwrap().apply().unwrap();
}

fn is_reported(what: &str) -> bool {
    REPORT.lock().unwrap().contains(what)
}

/// Runs in its own process: if another thread requested grace periods, the grace period that `old` needs could begin
/// after the second section, and wait for it.
#[test]
fn a_grace_period_waits_for_older_sections_only() {
    alone!("a_grace_period_waits_for_older_sections_only", leaks = true);
    let (waited_for, end) = (Cell::new(false), Cell::new(false));
    let mut first = pin!(section(async |s| {
        while !end.get() {
            waited_for.set(s.is_waited_for());
            pause().await;
        }
    }));
    assert!(poll(&mut first).is_pending());
    let old = Cookie::start();
    eventually(|| {
        assert!(poll(&mut first).is_pending());
        waited_for.get()
    });
    let mut second = pin!(section(async |s| {
        pause().await;
        while !s.is_waited_for() {
            pause().await;
        }
    }));
    assert!(poll(&mut second).is_pending());
    end.set(true);
    assert!(poll(&mut first).is_ready());
    old.wait(); // ends although the second section is open
    let new = Cookie::start();
    eventually(|| {
        assert!(!new.is_reached());
        poll(&mut second).is_ready()
    });
    new.wait();
}

#[test]
fn a_stall_report_names_the_source_line_of_a_leaked_section() {
    alone!("a_stall_report_names_the_source_line_of_a_leaked_section", leaks = true);
    report_soon();
    let cell = Rcu::new(7);
    let mut leaked = Box::pin(section(async |s| {
        let seen = cell.load(s);
        std::future::pending::<()>().await;
        assert_eq!(*seen, 7);
    }));
    let line = line!() - 5;
    assert!(poll(&mut leaked).is_pending());
    std::mem::forget(leaked);
    let cookie = Cookie::start();
    let name = format!("tests/leaks.rs:{line}");
    eventually(|| is_reported(&name));
    assert!(!cookie.is_reached());
}

/// A reference under a leaked guard is valid for ever, on whichever thread, whether the guard's thread lives or not.
#[test]
fn a_guard_leaked_by_a_thread_that_has_ended_protects() {
    alone!("a_guard_leaked_by_a_thread_that_has_ended_protects", leaks = true);
    report_soon();
    let dropped = counter();
    let cell: &'static Rcu<Probe> = Box::leak(Box::new(Rcu::new(Probe::new(1, &dropped))));
    let seen: &'static Probe = thread::spawn(|| {
        let guard: &'static Guard = Box::leak(Box::new(read()));
        std::mem::forget(read());
        cell.load(guard)
    })
    .join()
    .unwrap();
    for number in 2..100 {
        cell.replace(Probe::new(number, &dropped));
    }
    eventually(|| is_reported("guard leaked by thread"));
    seen.check();
}

/// The guard is leaked on a thread of the library, which then runs other callbacks.
#[test]
fn a_guard_leaked_in_a_deferred_function_protects() {
    alone!("a_guard_leaked_in_a_deferred_function_protects", leaks = true);
    report_soon();
    let dropped = counter();
    let cell: &'static Rcu<Probe> = Box::leak(Box::new(Rcu::new(Probe::new(1, &dropped))));
    let (tell, told) = std::sync::mpsc::channel();
    rtrcu::defer(move || {
        let guard: &'static Guard = Box::leak(Box::new(read()));
        tell.send(cell.load(guard)).unwrap();
    });
    let seen: &'static Probe = told.recv().unwrap();
    for number in 2..100 {
        cell.replace(Probe::new(number, &dropped));
    }
    let _ = Cookie::start();
    eventually(|| is_reported("krcud/"));
    seen.check();
}

/// The guard is leaked in a destructor of thread-local storage, which may run after the library's own exit hook.
#[test]
fn a_guard_leaked_in_a_destructor_of_thread_local_storage_protects() {
    alone!("a_guard_leaked_in_a_destructor_of_thread_local_storage_protects", leaks = true);
    struct AtExit(&'static Rcu<Probe>, std::sync::mpsc::Sender<&'static Probe>);
    impl Drop for AtExit {
        fn drop(&mut self) {
            let guard: &'static Guard = Box::leak(Box::new(read()));
            self.1.send(self.0.load(guard)).unwrap();
        }
    }
    thread_local! {
        static AT_EXIT: std::cell::RefCell<Option<AtExit>> = const { std::cell::RefCell::new(None) };
    }
    let dropped = counter();
    let cell: &'static Rcu<Probe> = Box::leak(Box::new(Rcu::new(Probe::new(1, &dropped))));
    let (tell, told) = std::sync::mpsc::channel();
    thread::spawn(move || AT_EXIT.set(Some(AtExit(cell, tell)))).join().unwrap();
    let seen = told.recv().unwrap();
    for number in 2..100 {
        cell.replace(Probe::new(number, &dropped));
    }
    let cookie = Cookie::start();
    for _ in 0..100 {
        thread::yield_now();
        assert!(!cookie.is_reached());
    }
    seen.check();
}

/// If the nesting overflowed, the thread would seem to be outside.
#[test]
fn too_many_leaked_guards_end_the_program() {
    if let Some((success, said)) = alone("too_many_leaked_guards_end_the_program", true) {
        assert!(!success && said.contains("read-side critical sections are open on one thread"), "{said}");
        return;
    }
    for _ in 0..=1 << 19 {
        std::mem::forget(read());
    }
}

/// Files for standard error to which no message can be written: a device and a socket that refuse it, and a socket that
/// would block.
fn deaf() -> Vec<(&'static str, OwnedFd, Option<UnixStream>)> {
    let device = File::options().write(true).open("/dev/full").unwrap();
    let refusing = UnixStream::pair().unwrap().0;
    let (mut full, reader) = UnixStream::pair().unwrap();
    full.set_nonblocking(true).unwrap();
    while full.write(&[0; 4096]).is_ok() {}
    full.set_nonblocking(false).unwrap();
    vec![("device", device.into(), None), ("no reader", refusing.into(), None), ("full", full.into(), Some(reader))]
}

/// If printing the message panicked, `read()` would leave the section counted. A program that caught the panic often
/// enough would overflow the count.
#[test]
fn too_many_leaked_guards_end_the_program_even_if_standard_error_takes_no_message() {
    const NAME: &str = "too_many_leaked_guards_end_the_program_even_if_standard_error_takes_no_message";
    for (kind, stderr, _reader) in deaf() {
        let Some(mut command) = support::child(NAME, true) else {
            for _ in 0..=1 << 19 {
                std::mem::forget(read());
            }
            return;
        };
        let mut child = command.stdout(Stdio::null()).stderr(stderr).spawn().unwrap();
        let mut status = None;
        eventually(|| {
            status = child.try_wait().unwrap();
            status.is_some()
        });
        assert_eq!(status.unwrap().signal(), Some(libc::SIGABRT), "standard error: {kind}");
    }
}

#[test]
fn a_thread_may_hold_half_a_million_guards() {
    alone!("a_thread_may_hold_half_a_million_guards", leaks = true);
    let guards: Vec<_> = (0..(1 << 19) - 1).map(|_| read()).collect();
    let cookie = Cookie::start();
    assert!(!cookie.is_reached());
    drop(guards);
    assert!(!rtrcu::is_reading());
    cookie.wait();
}

/// If the handler could register its thread, which is a thread of the library, grace periods would wait for that
/// thread.
#[test]
fn a_stall_handler_cannot_register_its_thread() {
    alone!("a_stall_handler_cannot_register_its_thread", leaks = true);
    rtrcu::set_stall_handler(Some(|_| {
        let refused = Qsbr::register().map(forget).is_err() && Turn::register().map(forget).is_err();
        *REPORT.lock().unwrap() += if refused { "refused " } else { "registered " };
    }));
    Config::new().set("stall_timeout_ms", 20).unwrap().apply().unwrap();
    let mut leaked = Box::pin(section(async |_| std::future::pending::<()>().await));
    assert!(poll(&mut leaked).is_pending());
    std::mem::forget(leaked);
    let _ = Cookie::start();
    eventually(|| is_reported("refused ") || is_reported("registered "));
    assert!(!is_reported("registered "));
}

/// The thread that calls the handler catches the panic, and the next line is reported nevertheless.
#[test]
fn a_panic_in_a_stall_handler_does_not_stop_reports() {
    alone!("a_panic_in_a_stall_handler_does_not_stop_reports", leaks = true);
    rtrcu::set_stall_handler(Some(|line| {
        *REPORT.lock().unwrap_or_else(std::sync::PoisonError::into_inner) += line;
        panic!("on purpose");
    }));
    Config::new().set("stall_timeout_ms", 20).unwrap().apply().unwrap();
    let mut leaked = Box::pin(section(async |_| std::future::pending::<()>().await));
    assert!(poll(&mut leaked).is_pending());
    std::mem::forget(leaked);
    let _ = Cookie::start();
    let reports = || REPORT.lock().unwrap_or_else(std::sync::PoisonError::into_inner).matches("leaks.rs:").count();
    eventually(|| reports() > 1);
}
