// SPDX-License-Identifier: MIT OR Apache-2.0
//! Real-time RCU for user space: readers that never wait, and reclamation that keeps to a budget.
//!
//! [`Rcu`] holds a value that many threads read and some replace. Readers never wait, and execute no atomic
//! instruction, fence or system call on their fast path. A replaced value is dropped when no reader can hold it any
//! more: by a thread of the library, or by a loop with deadlines within its own budget.
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
//! `.await`, on whichever thread the code continues, and a grace period waits for exactly those sections that began
//! before it. Awaiting [`grace_period`], [`Retired`] or [`async_barrier`] blocks no thread.
//!
//! # Reclamation
//!
//! By default, preemptible threads of the library drop retired values. With [`Config`], the retiring thread drops them
//! itself, in calls documented to do so ([`Turn::until`], [`Qsbr::quiescent`]), within a budget. Drops of retired
//! values must not wait for grace periods: such a wait panics, and panics in drops are caught and counted. The
//! library's threads have stacks of 2 MiB, as those of the standard library; [`Config`] changes that (`stack_kb`).
//! Values that are still retired when the program ends are not dropped, unless it calls [`barrier`].
//!
//! # What can go wrong
//!
//! Safe code cannot reach a value that was dropped. It can delay reclamation: by a guard or a section that is leaked or
//! lasts long, and by a [`Qsbr`] thread that never passes a quiescent state. After a while the library reports that
//! reader on standard error, or to [`set_stall_handler`].
//!
//! A drop that calls itself for each element of a long list can overflow its stack, which ends the program: on a
//! library's thread by `SIGSEGV`, without the message that the standard library prints for its threads. In a debugger
//! or a core file, the thread's name is `krcud/N`, and the address of the fault lies within a frame of its stack
//! pointer.
//!
//! After a `fork()` without `exec()` the child has only the forking thread. Its guards and sections remain open; guards
//! of other threads do not exist there. Sections that other threads were polling do not exist there either, so the
//! child must not use references from them. A pending [`AsyncBarrier`] starts again when it is polled in the child. An
//! `RcuMap` that another thread was changing can be read there, but not changed; of a `HashMap`, the same holds for the
//! part that was being changed.
//!
//! The crate contains its own copy of the C library. Two versions of the crate, or the crate and the C library, are
//! separate domains. It needs Linux, a 64-bit little-endian processor, a C compiler to build, and Rust 1.85.
//!
//! [`coming_from`] maps the calls of other crates to those of this one.
#![deny(missing_docs, unsafe_op_in_unsafe_fn)]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod blocks;
mod cell;
mod config;
#[cfg(not(miri))]
mod domain;
mod guard;
#[cfg(feature = "map")]
mod hash_map;
#[cfg(feature = "map")]
mod hash_table;
#[cfg(feature = "map")]
mod map;
mod node;
mod raw;
mod retired;
mod section;
mod stats;
mod thread;
mod wait;

pub use cell::{Rcu, RcuOption, Ref};
pub use config::{Config, ConfigError, set_stall_handler};
#[cfg(not(miri))]
pub use domain::{Domain, DomainGuard, RcuIn};
pub use guard::{Guard, Protection, is_reading, read};
#[cfg(feature = "map")]
pub use hash_map::{Cursor, HashMap, HashMapStats, Iter};
#[cfg(feature = "map")]
pub use map::RcuMap;
pub use node::defer;
pub use raw::{Head, Intrusive, retire_intrusive, retire_ptr};
pub use retired::{Reclaimed, Retired};
pub use section::{Section, section};
pub use stats::{Stats, stats};
pub use thread::{Qsbr, Turn};
pub use wait::{
    AsyncBarrier, Cookie, GracePeriod, async_barrier, barrier, grace_period, synchronize, synchronize_expedited,
};

#[doc = include_str!("../coming_from.md")]
pub mod coming_from {}

/// Compiles the example of README.md as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
