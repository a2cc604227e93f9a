// SPDX-License-Identifier: MIT OR Apache-2.0
//! Domains that a program defines: guards that are `Send` and may last for minutes, and cells that belong to one
//! domain.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_int};
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

use rtrcu_sys::srcu_struct;

use crate::node::{Node, Owned, reclaim};

/// A domain with its own readers and grace periods: a guard that sleeps delays only its own domain.
///
/// ```
/// use rtrcu::{Domain, RcuIn};
///
/// let domain = Domain::new(c"filters");
/// let rules = RcuIn::new(&domain, vec![1, 2]);
/// let guard = domain.read(); // it may move to another thread, and live across an `.await`
/// let now = rules.load(&guard);
/// rules.replace(vec![3]); // [1, 2] is dropped when no guard can have it any more
/// assert_eq!(*now, [1, 2]);
/// ```
///
/// A section costs two atomic additions, and the library neither knows nor boosts the thread that reads. For sections
/// that last microseconds, use [`read()`](crate::read). Dropping the domain waits until all values that were replaced
/// in it have been dropped; if a guard was leaked, the drop waits for ever.
pub struct Domain {
    /// On the heap, since the library keeps its address.
    state: Box<UnsafeCell<srcu_struct>>,
}

// SAFETY: the library's functions on a domain may be called by any thread.
unsafe impl Send for Domain {}
// SAFETY: any thread may call the library's functions on a domain, also at the same time.
unsafe impl Sync for Domain {}

impl Domain {
    /// Create a domain; `name` appears in reports.
    pub fn new(name: &'static CStr) -> Self {
        let state = Box::new(UnsafeCell::new(srcu_struct::new()));
        // SAFETY: the memory stays where it is until `rtrcu_srcu_cleanup()`; the name is static.
        unsafe { rtrcu_sys::rtrcu_srcu_init(state.get(), name.as_ptr()) };
        Self { state }
    }

    /// Begin a section. Wait-free.
    #[inline]
    pub fn read(&self) -> DomainGuard<'_> {
        // SAFETY: the domain is initialised; the guard ends the section.
        let index = unsafe { rtrcu_sys::rtrcu_srcu_read_lock(self.state.get()) };
        DomainGuard { domain: self, index }
    }

    /// Wait until every section of this domain that began before the call has ended. Never returns if the calling
    /// thread is inside a section of this domain.
    pub fn synchronize(&self) {
        // SAFETY: the domain is initialised.
        unsafe { rtrcu_sys::rtrcu_srcu_synchronize(self.state.get()) }
    }

    /// Wait until every value that was replaced before the call has been dropped. A call in the drop of such a value
    /// would wait for itself, so it ends the program.
    pub fn barrier(&self) {
        // SAFETY: the domain is initialised.
        unsafe { rtrcu_sys::rtrcu_srcu_barrier(self.state.get()) }
    }
}

impl Drop for Domain {
    fn drop(&mut self) {
        self.barrier();
        // SAFETY: guards and cells borrow the domain, so no other call uses it.
        let error = unsafe { rtrcu_sys::rtrcu_srcu_cleanup(self.state.get()) };
        if error != 0 {
            // The library may still use the domain, so the domain's memory is leaked.
            std::mem::forget(std::mem::replace(&mut self.state, Box::new(UnsafeCell::new(srcu_struct::new()))));
        }
    }
}

impl fmt::Debug for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Domain")
    }
}

/// A section of a [`Domain`]. Dropping the guard, on any thread, ends the section.
#[must_use = "the section ends when the guard is dropped"]
pub struct DomainGuard<'d> {
    domain: &'d Domain,
    index: c_int,
}

impl Drop for DomainGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the index came from `read()`, and is used once.
        unsafe { rtrcu_sys::rtrcu_srcu_read_unlock(self.domain.state.get(), self.index) }
    }
}

impl fmt::Debug for DomainGuard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DomainGuard")
    }
}

/// A shared value like [`Rcu`](crate::Rcu), read under guards of one domain.
pub struct RcuIn<'d, T: Send + 'static> {
    domain: &'d Domain,
    /// From [`Node::leak`].
    pointer: AtomicPtr<Node<T>>,
    owns: PhantomData<Box<Node<T>>>,
}

// SAFETY: as for a box: the sole owner of the cell owns the value.
unsafe impl<T: Send + 'static> Send for RcuIn<'_, T> {}
// SAFETY: a shared cell hands out `&T` to several threads (`Sync`), and its values may be dropped on another thread
// (`Send`).
unsafe impl<T: Send + Sync + 'static> Sync for RcuIn<'_, T> {}

impl<'d, T: Send + 'static> RcuIn<'d, T> {
    /// A cell of `domain` with `value`.
    pub fn new(domain: &'d Domain, value: T) -> Self {
        Self { domain, pointer: AtomicPtr::new(Node::leak(value).as_ptr()), owns: PhantomData }
    }

    /// The current value. Wait-free.
    ///
    /// # Panics
    ///
    /// If the guard belongs to another domain.
    #[inline]
    pub fn load<'g>(&'g self, guard: &'g DomainGuard<'_>) -> &'g T {
        assert!(std::ptr::eq(self.domain, guard.domain), "a guard of another domain does not protect this cell");
        // SAFETY: a fully published node: the acquire pairs with the publisher's release. Once replaced, the value is
        // dropped after a grace period of the domain, which does not end while `guard` is borrowed. While the cell is
        // borrowed, it is not dropped.
        unsafe { &(*self.pointer.load(Acquire)).value }
    }

    /// Store `value`; the previous value is dropped after a grace period of the domain, on a thread of the library.
    /// Never waits.
    pub fn replace(&self, value: T) {
        let old = self.pointer.swap(Node::leak(value).as_ptr(), AcqRel);
        // SAFETY: the node begins with its head, and only this call removed the node; `reclaim` is for this type.
        unsafe { rtrcu_sys::rtrcu_srcu_call(self.domain.state.get(), old.cast(), reclaim::<T>) }
    }
}

impl<T: Send + 'static> Drop for RcuIn<'_, T> {
    fn drop(&mut self) {
        // SAFETY: loaded references borrow the cell, so no reference is left.
        drop(unsafe { Owned::from_raw(NonNull::new_unchecked(*self.pointer.get_mut())) });
    }
}

impl<T: Send + 'static> fmt::Debug for RcuIn<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RcuIn")
    }
}
