// SPDX-License-Identifier: MIT OR Apache-2.0
//! Domains of a program's own beside the collectors of crossbeam-epoch and seize, and a reference count.

use std::hint::black_box;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use std::sync::{Arc, LazyLock};

use arc_swap::ArcSwap;
use crossbeam_epoch as epoch;
use rtrcu::{Domain, RcuIn};
use seize::Guard;

use crate::{Counted, Side, Work, beside, drops, side};

/// All works that are measured with domains.
pub fn works() -> Vec<Work> {
    vec![
        Work { name: "domain: read a value", times: 20_000, sides: readers() },
        Work { name: "domain: read a value, beside a thread that reads", times: 20_000, sides: beside_readers() },
        Work { name: "domain: replace a value, through its drop", times: 5_000, sides: updaters() },
        Work {
            name: "domain: replace a value, beside a thread that reads",
            times: 5_000,
            sides: updaters_beside_readers(),
        },
    ]
}

/// A function that creates a value of one library, and returns a closure that reads the value on any thread.
type Read = fn() -> Box<dyn Fn() + Sync>;

const READS: [(&str, Read); 5] = [
    ("rtrcu Domain", read_of_domain),
    ("crossbeam-epoch Collector", read_of_crossbeam),
    ("seize Collector", read_of_seize),
    ("seize Collector, owned guard", read_of_seize_owned),
    ("Arc in an ArcSwap, counted", read_of_arc),
];

fn leaked<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

fn read_of_domain() -> Box<dyn Fn() + Sync> {
    let domain = leaked(Domain::new(c"bench"));
    let cell = RcuIn::new(domain, 1u64);
    Box::new(move || {
        let guard = domain.read();
        black_box(*black_box(&cell).load(&guard));
    })
}

/// A collector of crossbeam, and the handle that each thread keeps, as in programs that use crossbeam.
static COLLECTOR: LazyLock<epoch::Collector> = LazyLock::new(epoch::Collector::new);
thread_local!(static HANDLE: epoch::LocalHandle = COLLECTOR.register());

fn read_of_crossbeam() -> Box<dyn Fn() + Sync> {
    let cell = epoch::Atomic::new(1u64);
    Box::new(move || {
        let guard = HANDLE.with(epoch::LocalHandle::pin);
        // SAFETY: the pointer is never null.
        black_box(unsafe { *black_box(&cell).load(Acquire, &guard).deref() });
    })
}

fn read_of_seize() -> Box<dyn Fn() + Sync> {
    let collector = seize::Collector::new();
    let cell = AtomicPtr::new(Box::into_raw(Box::new(1u64)));
    Box::new(move || {
        let guard = collector.enter();
        // SAFETY: the pointer is never null, and the guard protects its value.
        black_box(unsafe { *guard.protect(black_box(&cell), Acquire) });
    })
}

fn read_of_seize_owned() -> Box<dyn Fn() + Sync> {
    let collector = seize::Collector::new();
    let cell = AtomicPtr::new(Box::into_raw(Box::new(1u64)));
    Box::new(move || {
        let guard = collector.enter_owned();
        // SAFETY: the pointer is never null, and the guard protects its value.
        black_box(unsafe { *guard.protect(black_box(&cell), Acquire) });
    })
}

fn read_of_arc() -> Box<dyn Fn() + Sync> {
    let swap = ArcSwap::from_pointee(1u64);
    Box::new(move || {
        black_box(*black_box(&swap).load_full());
    })
}

fn readers() -> Vec<Side> {
    READS
        .iter()
        .map(|&(name, make)| {
            let read = make();
            side(name, move |times| (0..times).for_each(|_| read()))
        })
        .collect()
}

fn beside_readers() -> Vec<Side> {
    READS
        .iter()
        .map(|&(name, make)| {
            let read = make();
            side(name, move |times| beside(&read, || (0..times).for_each(|_| read())))
        })
        .collect()
}

/// A cell of a library. `replace` replaces its value the given number of times, and waits until the old values have
/// been dropped; `read` reads the value.
struct Updater {
    name: &'static str,
    replace: Box<dyn FnMut(u64)>,
    read: Box<dyn Fn() + Sync>,
}

fn all_updaters() -> Vec<Updater> {
    vec![updater_of_domain(), updater_of_crossbeam(), updater_of_seize(), updater_of_arc()]
}

fn updater_of_domain() -> Updater {
    let domain = leaked(Domain::new(c"bench"));
    let dropped = drops();
    let cell = leaked(RcuIn::new(domain, Counted(0, dropped)));
    Updater {
        name: "rtrcu Domain",
        replace: Box::new(move |times| {
            (0..times).for_each(|number| cell.replace(Counted(number, dropped)));
            domain.barrier();
            assert_eq!(dropped.swap(0, SeqCst), times);
        }),
        read: Box::new(move || {
            let guard = domain.read();
            black_box(cell.load(&guard));
        }),
    }
}

fn updater_of_crossbeam() -> Updater {
    let dropped = drops();
    let cell = leaked(epoch::Atomic::new(Counted(0, dropped)));
    Updater {
        name: "crossbeam-epoch Collector",
        replace: Box::new(move |times| {
            for number in 0..times {
                let guard = HANDLE.with(epoch::LocalHandle::pin);
                let old = cell.swap(epoch::Owned::new(Counted(number, dropped)), SeqCst, &guard);
                // SAFETY: this swap alone removed the value from the cell.
                unsafe { guard.defer_destroy(old) };
            }
            while dropped.load(SeqCst) < times {
                HANDLE.with(epoch::LocalHandle::pin).flush();
            }
            dropped.store(0, SeqCst);
        }),
        read: Box::new(move || {
            let guard = HANDLE.with(epoch::LocalHandle::pin);
            black_box(cell.load(Acquire, &guard));
        }),
    }
}

/// seize has no call that waits until every value has been dropped: up to a batch of values may not have been dropped
/// at the end.
fn updater_of_seize() -> Updater {
    let collector = leaked(seize::Collector::new());
    let dropped = drops();
    let cell = leaked(AtomicPtr::new(Box::into_raw(Box::new(Counted(0, dropped)))));
    Updater {
        name: "seize Collector",
        replace: Box::new(move |times| {
            for number in 0..times {
                let guard = collector.enter();
                let old = guard.swap(cell, Box::into_raw(Box::new(Counted(number, dropped))), SeqCst);
                // SAFETY: this swap alone removed the value from the cell.
                unsafe { guard.defer_retire(old, seize::reclaim::boxed) };
            }
            collector.enter().flush();
            dropped.store(0, Relaxed);
        }),
        read: Box::new(move || {
            let guard = collector.enter();
            black_box(guard.protect(cell, Acquire));
        }),
    }
}

fn updater_of_arc() -> Updater {
    let dropped = drops();
    let swap = leaked(ArcSwap::from_pointee(Counted(0, dropped)));
    Updater {
        name: "Arc in an ArcSwap, counted",
        replace: Box::new(move |times| {
            (0..times).for_each(|number| swap.store(Arc::new(Counted(number, dropped))));
            dropped.store(0, Relaxed);
        }),
        read: Box::new(move || {
            black_box(&swap.load_full());
        }),
    }
}

fn updaters() -> Vec<Side> {
    all_updaters().into_iter().map(|updater| Side { name: updater.name, run: updater.replace }).collect()
}

fn updaters_beside_readers() -> Vec<Side> {
    all_updaters()
        .into_iter()
        .map(|Updater { name, mut replace, read }| side(name, move |times| beside(&read, || replace(times))))
        .collect()
}
