// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rtrcu C library, built from its own source, and unsafe bindings of its functions.
//!
//! rtrcu is RCU for user space with bounded reclamation: readers are wait-free and execute no atomic instruction, no
//! fence and no system call on their fast path. Programs use the crate `rtrcu`, which is safe; this crate is its
//! foundation, and is as unsafe as C. The functions have the names of the C library and are documented in its
//! `rtrcu/rcu.h`, which the crate carries in `vendor/include`.
//!
//! The library is compiled into the crate as a *private copy*: its global names are hidden and begin with `rtrcu_rs_`
//! and the crate's version. So several versions of this crate, and the C library itself, may be in one process; each
//! copy is a domain of its own, whose readers protect only objects that are retired through the same copy.
//!
//! [`read_lock`] and [`read_unlock`] are the library's inline fast paths, as `asm!`, and [`rtrcu_hash_lookup`] is its
//! inline look-up. Under Miri, which runs no C, a model of the library in Rust takes its place.
//!
//! ```
//! // The safe form of this is `rtrcu::read()`.
//! rtrcu_sys::read_lock();
//! // SAFETY: `word()` may be called anywhere.
//! let inside = unsafe { rtrcu_sys::word() } & rtrcu_sys::NESTING_MASK;
//! // SAFETY: `read_lock()` above began the section on this thread.
//! unsafe { rtrcu_sys::read_unlock() };
//! assert_eq!(inside, 1);
//! ```
#![deny(missing_docs, unsafe_op_in_unsafe_fn)]

/// The name of a C symbol in this crate's private copy: see `build.rs`.
#[cfg(not(miri))]
macro_rules! private {
    ($name:literal) => {
        concat!(
            "rtrcu_rs_",
            env!("CARGO_PKG_VERSION_MAJOR"),
            "_",
            env!("CARGO_PKG_VERSION_MINOR"),
            "_",
            env!("CARGO_PKG_VERSION_PATCH"),
            "_",
            $name
        )
    };
}

#[cfg(not(miri))]
mod functions;
#[cfg(miri)]
mod model;
#[cfg(miri)]
mod model_table;
#[cfg(not(miri))]
mod reader;
mod table;
mod types;

#[cfg(not(miri))]
pub use functions::*;
#[cfg(miri)]
pub use model::*;
#[cfg(miri)]
pub use model_table::*;
#[cfg(not(miri))]
pub use reader::{quiescent_state, read_lock, read_unlock, word};
pub use table::*;
pub use types::*;
