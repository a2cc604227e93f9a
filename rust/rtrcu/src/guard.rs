// SPDX-License-Identifier: MIT OR Apache-2.0
//! Read-side critical sections of threads, and the trait of tokens that prove one is open.

use std::fmt;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};

use crate::section::Section;

/// A token that proves that its holder is inside a read-side critical section: a [`Guard`], or a [`Section`] of async
/// code.
///
/// # Safety
///
/// While a reference to the token exists, a grace period that begins after the token's section began does not end. Only
/// this crate implements the trait.
pub unsafe trait Protection: sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Guard {}
    impl Sealed for super::Section {}
}

// SAFETY: a guard's section is open from `read()` until its drop. If it is leaked, the section stays open for ever: in
// the thread's word while the thread lives, and then as a parked task.
unsafe impl Protection for Guard {}

// SAFETY: `section()` drops the body, which borrows the token, before it ends the section.
unsafe impl Protection for Section {}

/// A trait whose name explains the compiler's error if a guard would leave its thread: a trait object is not `Send`,
/// and the error shows the trait's name. The supertraits are the auto traits that a guard should have.
trait GuardStaysOnItsThreadUseSectionAcrossAwait: UnwindSafe + RefUnwindSafe + Unpin {}

/// A read-side critical section of the calling thread, which ends when the guard is dropped.
///
/// References returned by [`Rcu::load`](crate::Rcu::load) and similar functions live at most as long as the guard. A
/// guard stays on its thread; async code that moves between threads uses [`section`](crate::section()).
///
/// A leaked guard delays reclamation for ever, as the stall report shows. It does no other harm.
#[must_use = "the section ends when the guard is dropped"]
pub struct Guard {
    /// Neither `Send` nor `Sync`: the nesting is in the thread's word.
    thread: PhantomData<dyn GuardStaysOnItsThreadUseSectionAcrossAwait>,
}

/// Begin a read-side critical section.
///
/// Wait-free: no atomic instruction, fence or call on the fast path. Sections nest; the program is aborted when 524,288
/// are open on one thread.
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
        // SAFETY: `read()` began a section on this thread, which the guard cannot leave. References loaded under the
        // guard borrow it, so none is alive.
        unsafe { rtrcu_sys::read_unlock() }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Guard")
    }
}

/// Does the calling thread have a [`Guard`], or is it in the first poll of a [`section`](crate::section())?
#[inline]
pub fn is_reading() -> bool {
    nesting() != 0
}

/// The number of sections that the calling thread has open.
#[inline]
pub(crate) fn nesting() -> u32 {
    // SAFETY: `word()` may be called anywhere.
    unsafe { rtrcu_sys::word() & rtrcu_sys::NESTING_MASK }
}
