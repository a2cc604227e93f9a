// SPDX-License-Identifier: MIT OR Apache-2.0
//! Retirement by pointer, for a program's own linked structures: unsafe, as in crossbeam-epoch or seize.

use std::cell::UnsafeCell;
use std::fmt;
use std::ptr::NonNull;

use rtrcu_sys::rcu_head;

use crate::node::{defer, run};

/// Drop the box that `pointer` came from, after a grace period, as `guard.defer_destroy(shared)` of crossbeam-epoch
/// does. The call allocates a small node; [`retire_intrusive`] does not allocate.
///
/// The drop runs where retired values of [`Rcu`](crate::Rcu) are dropped, and must not wait for a grace period.
///
/// # Safety
///
/// - `pointer` came from `Box::into_raw()` or `Box::leak()`, and only this call frees it, once.
/// - `pointer` is unlinked: no thread can load it from shared memory any more. A thread that loaded it earlier did so
///   under a [`Guard`](crate::Guard) or in a [`section()`](crate::section()) of this crate, and does not use it after
///   the guard or section has ended.
/// - Writers published it with `Release` or stronger, and readers loaded it with `Acquire` or stronger.
///
/// ```
/// use std::ptr::{NonNull, null_mut};
/// use std::sync::atomic::{AtomicPtr, Ordering::{AcqRel, Acquire}};
///
/// let head = AtomicPtr::new(Box::into_raw(Box::new(1)));
/// let guard = rtrcu::read();
/// // SAFETY: not null, and under the guard.
/// let seen = unsafe { &*head.load(Acquire) };
/// let old = NonNull::new(head.swap(null_mut(), AcqRel)).expect("it was not null");
/// // SAFETY: from a box, and unlinked by this swap alone.
/// unsafe { rtrcu::retire_ptr(old) };
/// assert_eq!(*seen, 1);
/// ```
pub unsafe fn retire_ptr<T: Send + 'static>(pointer: NonNull<T>) {
    struct Sent<T>(NonNull<T>);
    // SAFETY: the value is `Send`, and the caller has passed it to this call.
    unsafe impl<T: Send> Send for Sent<T> {}
    impl<T> Drop for Sent<T> {
        fn drop(&mut self) {
            // SAFETY: the pointer came from a box that only this code frees. A grace period has passed since the
            // pointer was unlinked, so no reader holds it.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }

    let sent = Sent(pointer);
    defer(move || drop(sent));
}

/// A link inside a value, by which the library queues the value: see [`Intrusive`].
#[repr(transparent)]
pub struct Head {
    head: UnsafeCell<rcu_head>,
}

// SAFETY: the only use of a head, shared or not, is to retire the value that contains it.
unsafe impl Send for Head {}
// SAFETY: as for `Send`: a shared head is not used before its value is retired.
unsafe impl Sync for Head {}

impl Head {
    /// A head of a value that is not retired.
    pub const fn new() -> Self {
        Self { head: UnsafeCell::new(rcu_head::new()) }
    }
}

impl Default for Head {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Head")
    }
}

/// A value that contains a [`Head`], by which [`retire_intrusive`] queues it without an allocation.
///
/// # Safety
///
/// `HEAD` is the offset of a field of type [`Head`] in `Self`, as returned by `offset_of!`, and the program does not
/// write that field.
pub unsafe trait Intrusive: Send + Sized + 'static {
    /// The offset of the head.
    const HEAD: usize;

    /// Reclaim the value, after its grace period. The default drops the box of the value.
    ///
    /// # Safety
    ///
    /// [`retire_intrusive`] was called for `this`, its grace period has passed, and this function is called only once.
    unsafe fn reclaim(this: NonNull<Self>) {
        // SAFETY: the caller of `retire_intrusive()` passed a box, which no reader holds any more.
        drop(unsafe { Box::from_raw(this.as_ptr()) });
    }
}

/// Like [`retire_ptr`], for a value that contains a [`Head`]: the call does not allocate, and is wait-free on a
/// registered thread. After the grace period the library calls [`Intrusive::reclaim`].
///
/// # Safety
///
/// As for [`retire_ptr`], except that `object` need not come from a box if [`Intrusive::reclaim`] does not drop one. No
/// unique reference to the object (`&mut`, or the box itself) is alive at the call or later.
///
/// ```
/// use std::mem::offset_of;
/// use std::ptr::NonNull;
///
/// struct Route {
///     port: u16,
///     head: rtrcu::Head,
/// }
///
/// // SAFETY: the offset is that of the head, which nothing writes.
/// unsafe impl rtrcu::Intrusive for Route {
///     const HEAD: usize = offset_of!(Route, head);
/// }
///
/// let route = NonNull::from(Box::leak(Box::new(Route { port: 80, head: rtrcu::Head::new() })));
/// // SAFETY: from a box, and no other thread has seen it.
/// unsafe { rtrcu::retire_intrusive(route) };
/// ```
pub unsafe fn retire_intrusive<T: Intrusive>(object: NonNull<T>) {
    unsafe extern "C" fn reclaim<T: Intrusive>(head: *mut rcu_head) {
        // SAFETY: `head` is at this offset in the object, as below; its grace period has passed.
        run(|| unsafe { T::reclaim(NonNull::new_unchecked(head.byte_sub(T::HEAD).cast())) });
    }

    const { assert!(T::HEAD + size_of::<Head>() <= size_of::<T>(), "HEAD is not the offset of a Head in the type") };
    // SAFETY: the head is part of the object, and belongs to the library from now on.
    unsafe {
        let head = object.as_ptr().byte_add(T::HEAD).cast::<rcu_head>();
        rtrcu_sys::rtrcu_call(head, reclaim::<T>);
    }
}
