// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values with a place for the library's queue, and how they are dropped after a grace period.

use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use rtrcu_sys::rcu_head;

/// A value on the heap. The head is first, so that its address is the node's.
#[repr(C)]
pub(crate) struct Node<T> {
    head: UnsafeCell<rcu_head>,
    pub(crate) value: T,
}

impl<T> Node<T> {
    pub(crate) fn boxed(value: T) -> Box<Self> {
        Box::new(Self { head: UnsafeCell::new(rcu_head::new()), value })
    }

    pub(crate) fn leak(value: T) -> NonNull<Self> {
        NonNull::from(Box::leak(Self::boxed(value)))
    }
}

/// Drop the node's value and free it after a grace period.
///
/// # Safety
///
/// The node came from [`Node::leak`], nobody can load it any more, and nobody else retires it. References that were
/// loaded before live at most as long as the sections of their readers.
pub(crate) unsafe fn retire<T: Send + 'static>(node: NonNull<Node<T>>) {
    // SAFETY: the head is the node's, and the library's from now on; `reclaim` is for this type. `T: Send + 'static`:
    // it runs on another thread, at any later time.
    unsafe { rtrcu_sys::rtrcu_call(node.as_ptr().cast(), reclaim::<T>) }
}

unsafe extern "C" fn reclaim<T>(head: *mut rcu_head) {
    // SAFETY: `retire()` gave the library this head, which is the beginning of a node from a box; a grace period has
    // passed, so no reader has it.
    run(|| drop(unsafe { Box::from_raw(head.cast::<Node<T>>()) }));
}

/// Run `f` after a grace period: it sees everything that was done before the call, and no section that began before
/// the call is open by then.
///
/// It runs on a thread of the library or in a budget, as values are dropped. Like them it must not wait for a grace
/// period; a panic is caught and counted in [`Stats::drops_panicked`](crate::Stats::drops_panicked).
///
/// ```
/// let (tell, told) = std::sync::mpsc::channel();
/// rtrcu::defer(move || tell.send("all readers of that time have left").unwrap());
/// println!("{}", told.recv().unwrap());
/// ```
pub fn defer(f: impl FnOnce() + Send + 'static) {
    let node = Node::leak(f);
    // SAFETY: the node is new and only the library's; `call` is for this type.
    unsafe { rtrcu_sys::rtrcu_call(node.as_ptr().cast(), call_of(&node)) }
}

/// As [`defer`], and the grace period begins now rather than at the next tick.
pub(crate) fn defer_hurry(f: impl FnOnce() + Send + 'static) {
    let node = Node::leak(f);
    // SAFETY: as in `defer()`.
    unsafe { rtrcu_sys::rtrcu_call_hurry(node.as_ptr().cast(), call_of(&node)) }
}

fn call_of<F: FnOnce() + Send + 'static>(_: &NonNull<Node<F>>) -> rtrcu_sys::rcu_callback_t {
    unsafe extern "C" fn call<F: FnOnce()>(head: *mut rcu_head) {
        // SAFETY: the head is the beginning of a node of this type, which came from a box and is nobody else's.
        let node = unsafe { Box::from_raw(head.cast::<Node<F>>()) };
        run(|| (node.value)());
    }
    call::<F>
}

thread_local! {
    static DEFERRED: Cell<u32> = const { Cell::new(0) };
}

static PANICKED: AtomicU64 = AtomicU64::new(0);

/// Does this thread run a deferred drop?
pub(crate) fn is_in_deferred() -> bool {
    DEFERRED.get() != 0
}

pub(crate) fn drops_panicked() -> u64 {
    PANICKED.load(Ordering::Relaxed)
}

/// Run what was deferred. It is called by C, so a panic ends here.
fn run(f: impl FnOnce()) {
    DEFERRED.set(DEFERRED.get() + 1);
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        PANICKED.fetch_add(1, Ordering::Relaxed);
        drop_payload(payload);
    }
    DEFERRED.set(DEFERRED.get() - 1);
}

/// Drop what a panic carried. That may panic again, and so may what that one carries: the third is leaked instead.
pub(crate) fn drop_payload(payload: Box<dyn Any + Send>) {
    let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) else { return };
    if let Err(third) = catch_unwind(AssertUnwindSafe(|| drop(second))) {
        std::mem::forget(third);
    }
}
