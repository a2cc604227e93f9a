// SPDX-License-Identifier: MIT OR Apache-2.0
//! Read-side critical sections of threads, and what counts as being inside.

use std::fmt;
use std::marker::PhantomData;

use crate::section::Section;

/// What proves that its holder is inside a read-side critical section: a [`Guard`], or a [`Section`] of async code.
///
/// # Safety
///
/// While a reference to the value exists, a grace period that begins after the value's section began does not end.
/// Implemented by this crate alone.
pub unsafe trait Protection: sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Guard {}
    impl Sealed for super::Section {}
}

// SAFETY: a guard's section is open from `read()` until its drop. If it is leaked, the section stays open for ever: in
// the thread's word while the thread lives, and as a parked task after it.
unsafe impl Protection for Guard {}

// SAFETY: a section's nesting, or its place on a list of parked tasks, is given back by its holder, behind the future
// that borrows it.
unsafe impl Protection for Section {}

/// A read-side critical section of the calling thread, which ends when the guard is dropped.
///
/// References that [`Rcu::load`](crate::Rcu::load) and its kin give live at most as long as the guard. A guard stays on
/// its thread; async code that moves between threads uses [`section`](crate::section()).
///
/// A guard that is leaked holds up reclamation for ever, which the stall report says. It does no other harm.
#[must_use = "the section ends when the guard is dropped"]
pub struct Guard {
    /// Neither `Send` nor `Sync`: the thread's word has the nesting.
    thread: PhantomData<*mut ()>,
}

/// Begin a read-side critical section.
///
/// Wait-free: on the fast path no atomic instruction, no fence, no call. Sections nest; a thread that has more than
/// half a million open at a time ends the program.
///
/// ```
/// use rtrcu::{read, Rcu};
///
/// let limit = Rcu::new(10);
/// let guard = read();
/// assert_eq!(*limit.load(&guard), 10);
/// ```
#[inline(always)]
pub fn read() -> Guard {
    rtrcu_sys::read_lock();
    Guard { thread: PhantomData }
}

impl Drop for Guard {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: `read()` began a section on this thread, which the guard cannot leave. References that were taken
        // under it borrow it, so they have ended.
        unsafe { rtrcu_sys::read_unlock() }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Guard")
    }
}

/// Is the calling thread inside a section of its own, that of a [`Guard`]?
#[inline]
pub fn is_reading() -> bool {
    nesting() != 0
}

/// How many sections the calling thread has open.
#[inline]
pub(crate) fn nesting() -> u32 {
    // SAFETY: may be called anywhere.
    unsafe { rtrcu_sys::word() & rtrcu_sys::NESTING_MASK }
}
