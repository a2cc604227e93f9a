// SPDX-License-Identifier: MIT OR Apache-2.0
//! The measured works: each is a loop for each library ("side"). Both the criterion benches and the program that prints
//! the table run these.

mod domains;

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};

use arc_swap::ArcSwap;
use crossbeam_epoch as epoch;
use rtrcu::Rcu;

/// One side of a work: a library's name, and a function that does the work a number of times.
pub struct Side {
    /// The library's name.
    pub name: &'static str,
    /// Does the work the given number of times.
    pub run: Box<dyn FnMut(u64)>,
}

/// A work and its sides; the first side is rtrcu.
pub struct Work {
    /// A description of the work.
    pub name: &'static str,
    /// Repetitions in one sample.
    pub times: u64,
    /// The libraries that do the work.
    pub sides: Vec<Side>,
}

fn side(name: &'static str, run: impl FnMut(u64) + 'static) -> Side {
    Side { name, run: Box::new(run) }
}

unsafe extern "C" {
    fn bench_c_sections(count: u64);
    fn bench_c_loads(count: u64, cell: *const *const u64) -> u64;
    fn bench_c_updates(count: u64, drops: *const AtomicU64);
    fn bench_c_frees(count: u64);
}

/// Returns every work.
pub fn works() -> Vec<Work> {
    let mut works =
        vec![sections(), loads(), loads_under_a_guard(), updates(), updates_with_a_reader(), async_sections()];
    works.extend(domains::works());
    works
}

/// The work: begin a section and end it.
fn sections() -> Work {
    let collector = seize::Collector::new();
    Work {
        name: "section: begin and end",
        times: 50_000,
        sides: vec![
            side("rtrcu", |times| {
                for _ in 0..times {
                    black_box(&rtrcu::read());
                }
            }),
            // SAFETY: the library's own inline functions, in C.
            side("rtrcu in C", |times| unsafe { bench_c_sections(times) }),
            side("crossbeam-epoch", |times| {
                for _ in 0..times {
                    black_box(&epoch::pin());
                }
            }),
            side("seize", move |times| {
                for _ in 0..times {
                    black_box(&collector.enter());
                }
            }),
        ],
    }
}

/// The work: load the value of a cell and read it, with the guard that the library needs.
fn loads() -> Work {
    let rcu = Rcu::new(1u64);
    let atomic = epoch::Atomic::new(1u64);
    let swap = ArcSwap::from_pointee(1u64);
    let lock = std::sync::RwLock::new(1u64);
    let tokio_lock = tokio::sync::RwLock::new(1u64);
    let collector = seize::Collector::new();
    let seize_cell = std::sync::atomic::AtomicPtr::new(Box::into_raw(Box::new(1u64)));
    let c_cell: &'static u64 = Box::leak(Box::new(1));
    Work {
        name: "load a value and read it",
        times: 50_000,
        sides: vec![
            side("rtrcu", move |times| {
                let cell = black_box(&rcu);
                let mut sum = 0;
                for _ in 0..times {
                    sum += *cell.get();
                }
                black_box(sum);
            }),
            side("rtrcu in C", move |times| {
                let pointer: *const u64 = c_cell;
                // SAFETY: the cell is never changed.
                black_box(unsafe { bench_c_loads(times, black_box(&pointer)) });
            }),
            side("crossbeam-epoch", move |times| {
                let cell = black_box(&atomic);
                let mut sum = 0;
                for _ in 0..times {
                    let guard = epoch::pin();
                    // SAFETY: the pointer is never null.
                    sum += unsafe { *cell.load(Acquire, &guard).deref() };
                }
                black_box(sum);
            }),
            side("seize", move |times| {
                use seize::Guard;
                let cell = black_box(&seize_cell);
                let mut sum = 0;
                for _ in 0..times {
                    let guard = collector.enter();
                    // SAFETY: the pointer is never null, and the guard protects its value.
                    sum += unsafe { *guard.protect(cell, Acquire) };
                }
                black_box(sum);
            }),
            side("arc-swap", move |times| {
                let cell = black_box(&swap);
                let mut sum = 0;
                for _ in 0..times {
                    sum += **cell.load();
                }
                black_box(sum);
            }),
            side("std RwLock", move |times| {
                let cell = black_box(&lock);
                let mut sum = 0;
                for _ in 0..times {
                    sum += *cell.read().expect("no thread panics");
                }
                black_box(sum);
            }),
            side("tokio RwLock", move |times| {
                let cell = black_box(&tokio_lock);
                let mut sum = 0;
                for _ in 0..times {
                    sum += *cell.try_read().expect("no thread writes");
                }
                black_box(sum);
            }),
        ],
    }
}

/// The work: load and read under a guard that is already held.
fn loads_under_a_guard() -> Work {
    let rcu = Rcu::new(1u64);
    let atomic = epoch::Atomic::new(1u64);
    Work {
        name: "load under a guard that is held",
        times: 200_000,
        sides: vec![
            side("rtrcu", move |times| {
                let guard = rtrcu::read();
                let mut sum = 0;
                for _ in 0..times {
                    sum += *black_box(&rcu).load(&guard);
                }
                black_box(sum);
            }),
            side("crossbeam-epoch", move |times| {
                let guard = epoch::pin();
                let mut sum = 0;
                for _ in 0..times {
                    // SAFETY: the pointer is never null.
                    sum += unsafe { *black_box(&atomic).load(Acquire, &guard).deref() };
                }
                black_box(sum);
            }),
        ],
    }
}

/// A boxed value whose drops are counted.
struct Counted(#[expect(dead_code)] u64, &'static AtomicU64);

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.fetch_add(1, Relaxed);
    }
}

fn drops() -> &'static AtomicU64 {
    Box::leak(Box::new(AtomicU64::new(0)))
}

fn update_sides() -> Vec<Side> {
    let (ours, theirs, seizes, swaps) = (drops(), drops(), drops(), drops());
    let rcu = Rcu::new(Counted(0, ours));
    let atomic = epoch::Atomic::new(Counted(0, theirs));
    let collector = seize::Collector::new();
    let seize_cell = std::sync::atomic::AtomicPtr::new(Box::into_raw(Box::new(Counted(0, seizes))));
    let swap = ArcSwap::from_pointee(Counted(0, swaps));
    let c_drops = drops();
    vec![
        side("rtrcu", move |times| {
            for number in 0..times {
                rcu.replace(Counted(number, ours));
            }
            rtrcu::barrier();
            assert_eq!(ours.swap(0, SeqCst), times);
        }),
        side("crossbeam-epoch", move |times| {
            for number in 0..times {
                let guard = epoch::pin();
                let old = atomic.swap(epoch::Owned::new(Counted(number, theirs)), SeqCst, &guard);
                // SAFETY: this swap alone removed the value from the cell.
                unsafe { guard.defer_destroy(old) };
            }
            while theirs.load(SeqCst) < times {
                epoch::pin().flush();
            }
            theirs.store(0, SeqCst);
        }),
        side("rtrcu in C, call_rcu()", move |times| {
            // SAFETY: the library's own functions, in C; the counter lives for ever.
            unsafe { bench_c_updates(times, c_drops) };
            assert_eq!(c_drops.swap(0, SeqCst), times);
        }),
        // SAFETY: as above.
        side("rtrcu in C, rcu_free()", |times| unsafe { bench_c_frees(times) }),
        side("seize", move |times| {
            use seize::Guard;
            for number in 0..times {
                let guard = collector.enter();
                let old = guard.swap(&seize_cell, Box::into_raw(Box::new(Counted(number, seizes))), SeqCst);
                // SAFETY: this swap alone removed the value from the cell.
                unsafe { guard.defer_retire(old, seize::reclaim::boxed) };
            }
            collector.enter().flush();
            seizes.store(0, SeqCst);
        }),
        side("arc-swap", move |times| {
            for number in 0..times {
                swap.store(Arc::new(Counted(number, swaps)));
            }
            swaps.store(0, SeqCst);
        }),
    ]
}

/// The work: replace a boxed value, and wait until every replaced value has been dropped.
fn updates() -> Work {
    Work { name: "replace a value, through its drop", times: 5_000, sides: update_sides() }
}

/// The work of `updates()`, while another thread reads through the same library without pause.
fn updates_with_a_reader() -> Work {
    let [rtrcu, crossbeam] = update_sides().into_iter().take(2).collect::<Vec<_>>().try_into().ok().expect("two");
    let (mut rtrcu, mut crossbeam): (Side, Side) = (rtrcu, crossbeam);
    Work {
        name: "replace a value, beside a thread that reads",
        times: 5_000,
        sides: vec![
            side("rtrcu", move |times| {
                beside(
                    || {
                        black_box(&rtrcu::read());
                    },
                    || (rtrcu.run)(times),
                )
            }),
            side("crossbeam-epoch", move |times| {
                beside(
                    || {
                        black_box(&epoch::pin());
                    },
                    || (crossbeam.run)(times),
                )
            }),
        ],
    }
}

fn beside(read: impl Fn() + Sync, work: impl FnOnce()) {
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) {
                for _ in 0..100 {
                    read();
                }
            }
        });
        work();
        done.store(true, Relaxed);
    });
}

/// The work: a read in async code that is pending once, in an rtrcu section and by means of other crates.
fn async_sections() -> Work {
    use std::future::{Future, poll_fn};
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn run(future: impl Future<Output = u64>) -> u64 {
        let mut future = pin!(future);
        let mut context = Context::from_waker(Waker::noop());
        loop {
            if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
                return value;
            }
        }
    }

    async fn pause() {
        let mut paused = false;
        poll_fn(|_| if std::mem::replace(&mut paused, true) { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    let (ready, pending) = (Arc::new(Rcu::new(1u64)), Arc::new(Rcu::new(1u64)));
    let swap = ArcSwap::from_pointee(1u64);
    let lock = tokio::sync::RwLock::new(1u64);
    Work {
        name: "read across one pending await",
        times: 5_000,
        sides: vec![
            side("rtrcu section", move |times| {
                for _ in 0..times {
                    black_box(run(rtrcu::section(async |s| {
                        let seen = pending.load(s);
                        pause().await;
                        *seen
                    })));
                }
            }),
            side("rtrcu, never pending", move |times| {
                for _ in 0..times {
                    black_box(run(rtrcu::section(async |s| *ready.load(s))));
                }
            }),
            side("arc-swap load_full", move |times| {
                for _ in 0..times {
                    black_box(run(async {
                        let seen = swap.load_full();
                        pause().await;
                        *seen
                    }));
                }
            }),
            side("tokio RwLock", move |times| {
                for _ in 0..times {
                    black_box(run(async {
                        let seen = lock.read().await;
                        pause().await;
                        *seen
                    }));
                }
            }),
        ],
    }
}
