// SPDX-License-Identifier: MIT OR Apache-2.0
//! Real-time RCU for user space: readers that never wait, and reclamation that keeps to a budget.
//!
//! [`Rcu`] holds a value that many threads read and some replace. On their fast path readers execute no atomic
//! instruction, no fence and no system call; they are never waited for by each other, and never wait. What was replaced
//! is dropped when no reader can have it any more, on threads of the library or, for loops with deadlines, in a budget
//! of their own.
//!
//! ```
//! use rtrcu::{read, Rcu};
//!
//! let config = Rcu::new(String::from("v1"));
//! std::thread::scope(|scope| {
//!     scope.spawn(|| {
//!         let guard = read(); // begins a read-side critical section
//!         let now = config.load(&guard); // valid while guard and cell are
//!         assert!(now.starts_with('v'));
//!     });
//!     config.replace(String::from("v2")); // never waits; v1 is dropped later
//! });
//! assert_eq!(*config.get(), "v2");
//! ```
//!
//! # Async
//!
//! A [`Guard`] belongs to its thread. [`section()`] runs async code as one critical section: references live across
//! `.await`, on whichever thread the code goes on, and a grace period waits for exactly those sections that began
//! before it. [`grace_period`], [`Retired`] and [`async_barrier`] are waited for without holding a thread.
//!
//! # Reclamation
//!
//! By default, preemptible threads of the library drop what was retired. With [`Config`], who retired it drops it
//! itself, in calls that say so ([`Turn::until`], [`Qsbr::quiescent`]), as long as a budget allows. Drops of retired
//! values must not wait for grace periods: that panics, and panics there are caught and counted. On the library's
//! threads a drop has a stack of 2 MiB, as on the standard library's; [`Config`] sets it (`stack_kb`). At the end of a
//! program what is still retired is not dropped, unless [`barrier`] was called.
//!
//! # What can go wrong
//!
//! Safe code cannot reach a value that was dropped. It can hold up reclamation: with a guard or a section that is
//! leaked or lasts long, and with a [`Qsbr`] thread that never says that it is quiescent. After a while the library
//! says who it is on standard error, or to [`set_stall_handler`].
//!
//! A drop that calls itself for each element of a long list can overflow its stack, which ends the program: on a
//! library's thread by `SIGSEGV`, without the message that the standard library's threads have. The thread is called
//! `krcud/N` then, and the address of the fault lies within a frame of its stack pointer, as a debugger shows, also
//! from a core file.
//!
//! After a `fork()` without `exec()` the child has the forking thread alone: its guards and sections go on there, those
//! of other threads are gone. Sections that other threads were polling are, too, so the child must not use references
//! that it has from them. An [`AsyncBarrier`] that was pending begins anew in the child when it is polled there. An
//! `RcuMap` that another thread was changing can be read there, but not changed.
//!
//! The crate has a copy of the C library to itself; two versions of it, or the C library beside it, are separate
//! domains. It needs Linux, x86-64 or aarch64, a C compiler to build, and Rust 1.85.
//!
//! Who comes from another crate finds its calls in [`coming_from`].
#![deny(missing_docs, unsafe_op_in_unsafe_fn)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod cell;
mod config;
mod guard;
#[cfg(feature = "map")]
mod map;
mod node;
mod retired;
mod section;
mod thread;
mod wait;

pub use cell::{Rcu, RcuOption, Ref};
pub use config::{Config, ConfigError, Stats, set_stall_handler, stats};
pub use guard::{Guard, Protection, is_reading, read};
#[cfg(feature = "map")]
pub use map::RcuMap;
pub use node::defer;
pub use retired::{Reclaimed, Retired};
pub use section::{Section, section};
pub use thread::{Qsbr, Turn};
pub use wait::{
    AsyncBarrier, Cookie, GracePeriod, async_barrier, barrier, grace_period, synchronize, synchronize_expedited,
};

#[doc = include_str!("../coming_from.md")]
pub mod coming_from {}

/// So that its example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
