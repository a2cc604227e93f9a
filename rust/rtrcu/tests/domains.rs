// SPDX-License-Identifier: MIT OR Apache-2.0
//! Domains that a program creates.
#![cfg(not(miri))]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

use rtrcu::{Domain, DomainGuard, RcuIn};

struct Counted(Arc<AtomicU32>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn is_send<T: Send>(_: &T) {}

#[test]
fn domain_guard_protects_after_moving_to_another_thread() {
    let drops = Arc::new(AtomicU32::new(0));
    let domain = Domain::new(c"own");
    let cell = RcuIn::new(&domain, Counted(drops.clone()));
    let guard: DomainGuard<'_> = domain.read();
    is_send(&guard);
    let before: *const Counted = cell.load(&guard);
    cell.replace(Counted(drops.clone()));
    assert!(!std::ptr::eq(before, cell.load(&guard)));
    thread::scope(|scope| {
        scope.spawn(|| {
            let moved = guard;
            assert_eq!(drops.load(SeqCst), 0);
            drop(moved);
        });
    });
    domain.barrier();
    assert_eq!(drops.load(SeqCst), 1);
    drop(cell);
    assert_eq!(drops.load(SeqCst), 2);
}

#[test]
fn guard_of_a_domain_does_not_delay_other_domains() {
    let (one, other) = (Domain::new(c"one"), Domain::new(c"other"));
    let guard = one.read();
    other.synchronize();
    rtrcu::synchronize();
    drop(guard);
    one.synchronize();
}

#[test]
#[should_panic(expected = "a guard of another domain does not protect this cell")]
fn loading_a_cell_under_a_guard_of_another_domain_panics() {
    let (one, other) = (Domain::new(c"one"), Domain::new(c"other"));
    let cell = RcuIn::new(&one, 1);
    let guard = other.read();
    cell.load(&guard);
}

#[test]
fn dropping_a_domain_first_drops_replaced_values() {
    let drops = Arc::new(AtomicU32::new(0));
    let domain = Domain::new(c"own");
    {
        let cell = RcuIn::new(&domain, Counted(drops.clone()));
        cell.replace(Counted(drops.clone()));
    }
    drop(domain);
    assert_eq!(drops.load(SeqCst), 2);
}
