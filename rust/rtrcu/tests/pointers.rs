// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values that are retired by pointer; everything here runs under Miri too.

mod support;

use std::mem::offset_of;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, SeqCst};
use std::sync::atomic::{AtomicPtr, AtomicU64};
use std::thread;

use rtrcu::{Head, Intrusive, barrier, read, retire_intrusive, retire_ptr};
use support::{Probe, counter};

struct Linked {
    probe: Probe,
    head: Head,
    reclaimed: Arc<AtomicU64>,
}

// SAFETY: the offset is that of the head, which this type does not write.
unsafe impl Intrusive for Linked {
    const HEAD: usize = offset_of!(Linked, head);

    unsafe fn reclaim(this: NonNull<Self>) {
        // SAFETY: every pointer in this file comes from a box.
        let this = unsafe { Box::from_raw(this.as_ptr()) };
        this.reclaimed.fetch_add(1, SeqCst);
    }
}

impl Linked {
    fn boxed(number: u64, dropped: &Arc<AtomicU64>, reclaimed: &Arc<AtomicU64>) -> *mut Self {
        let (probe, reclaimed) = (Probe::new(number, dropped), Arc::clone(reclaimed));
        Box::into_raw(Box::new(Self { probe, head: Head::new(), reclaimed }))
    }
}

#[test]
fn a_retired_pointer_is_not_dropped_before_its_readers_end() {
    let dropped = counter();
    let slot = AtomicPtr::new(Box::into_raw(Box::new(Probe::new(1, &dropped))));
    let guard = read();
    // SAFETY: the pointer is not null, and was loaded under the guard.
    let seen = unsafe { &*slot.load(Acquire) };

    let old = NonNull::new(slot.swap(null_mut(), AcqRel)).unwrap();
    // SAFETY: the pointer is from a box, and only this swap removed it.
    unsafe { retire_ptr(old) };
    seen.check();
    assert_eq!(dropped.load(SeqCst), 0);

    drop(guard);
    barrier();
    assert_eq!(dropped.load(SeqCst), 1);
}

#[test]
fn intrusive_values_are_reclaimed_once_after_their_readers_end() {
    let rounds = if cfg!(miri) { 20 } else { 2_000 };
    let (dropped, reclaimed) = (counter(), counter());
    let slot = AtomicPtr::new(Linked::boxed(0, &dropped, &reclaimed));

    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..rounds {
                    let guard = read();
                    // SAFETY: the pointer is never null, and is loaded under the guard.
                    unsafe { (*slot.load(Acquire)).probe.check() };
                    drop(guard);
                }
            });
        }
        for number in 1..=rounds {
            let old = slot.swap(Linked::boxed(number, &dropped, &reclaimed), AcqRel);
            // SAFETY: the pointer is from a box, and only this swap removed it.
            unsafe { retire_intrusive(NonNull::new(old).unwrap()) };
        }
    });
    barrier();
    assert_eq!(reclaimed.load(SeqCst), rounds);
    assert_eq!(dropped.load(SeqCst), rounds);
    // SAFETY: the pointer is from a box, and the threads that read it have ended.
    drop(unsafe { Box::from_raw(slot.into_inner()) });
}
