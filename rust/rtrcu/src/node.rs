// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values with a head for the library's queue, and how they are dropped after a grace period.

use std::alloc::Layout;
use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};

use rtrcu_sys::rcu_head;

use crate::blocks;

/// A value on the heap. The head comes first, so that its address is the node's.
#[repr(C)]
pub(crate) struct Node<T> {
    head: UnsafeCell<rcu_head>,
    pub(crate) value: T,
}

impl<T> Node<T> {
    /// Allocate a node that holds `value`. The caller wraps it in [`Owned`] or retires it; otherwise it leaks.
    #[inline]
    pub(crate) fn leak(value: T) -> NonNull<Self> {
        let node = blocks::take(Layout::new::<Self>()).cast::<Self>();
        // SAFETY: the memory is new and has the node's layout.
        unsafe { node.write(Self { head: UnsafeCell::new(rcu_head::new()), value }) };
        node
    }
}

/// A node that only its owner can reach. Like a box, it drops the value when it is dropped.
pub(crate) struct Owned<T> {
    node: NonNull<Node<T>>,
    owns: PhantomData<Node<T>>,
}

impl<T> Owned<T> {
    /// Own a node.
    ///
    /// # Safety
    ///
    /// The node came from [`Node::leak`], and no other thread can reach it any more.
    #[inline]
    pub(crate) unsafe fn from_raw(node: NonNull<Node<T>>) -> Self {
        Self { node, owns: PhantomData }
    }

    #[inline]
    pub(crate) fn as_raw(&self) -> NonNull<Node<T>> {
        self.node
    }

    #[inline]
    pub(crate) fn value_mut(&mut self) -> &mut T {
        // SAFETY: only this owner has the node.
        unsafe { &mut self.node.as_mut().value }
    }

    #[inline]
    pub(crate) fn into_value(self) -> T {
        let memory = Memory(ManuallyDrop::new(self).node);
        // SAFETY: only this owner has the node, and the value is not dropped after this.
        unsafe { (&raw const (*memory.0.as_ptr()).value).read() }
    }
}

impl<T> Drop for Owned<T> {
    #[inline]
    fn drop(&mut self) {
        let _memory = Memory(self.node); // returns the memory even if the value's drop panics
        // SAFETY: only this owner has the node, and it is not used after this.
        unsafe { std::ptr::drop_in_place(self.value_mut()) }
    }
}

/// A list of nodes that no other thread can reach, linked through their heads. Its drop drops all nodes, even if the
/// drop of a value panics.
pub(crate) struct OwnedList<T> {
    first: Option<NonNull<Node<T>>>,
    owns: PhantomData<Node<T>>,
}

impl<T> OwnedList<T> {
    pub(crate) const fn new() -> Self {
        Self { first: None, owns: PhantomData }
    }

    /// # Safety
    ///
    /// As for [`Owned::from_raw`]. In addition, the node is in no list and is not retired.
    pub(crate) unsafe fn push(&mut self, node: NonNull<Node<T>>) {
        let next = self.first.replace(node).map_or(null_mut(), |next| next.as_ptr().cast());
        // SAFETY: only this list has the node and its head.
        unsafe { (*(*node.as_ptr()).head.get()).next = next };
    }

    fn pop(&mut self) -> Option<Owned<T>> {
        let node = self.first.take()?;
        // SAFETY: only this list has the node and its head.
        self.first = NonNull::new(unsafe { (*(*node.as_ptr()).head.get()).next.cast() });
        // SAFETY: the caller of `push()` passed the node to the list, and the node has left the list.
        Some(unsafe { Owned::from_raw(node) })
    }
}

impl<T> Drop for OwnedList<T> {
    fn drop(&mut self) {
        /// Drops the rest of the list while a panic unwinds.
        struct Rest<'l, T>(&'l mut OwnedList<T>);
        impl<T> Drop for Rest<'_, T> {
            fn drop(&mut self) {
                while self.0.pop().is_some() {}
            }
        }

        let rest = Rest(self);
        while rest.0.pop().is_some() {}
    }
}

/// The memory of a node whose value was dropped or moved out; dropping this returns it.
struct Memory<T>(NonNull<Node<T>>);

impl<T> Drop for Memory<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: `Node::leak` took the memory with this layout, and the owner of the node no longer uses it.
        unsafe { blocks::give(self.0.cast(), Layout::new::<Node<T>>()) }
    }
}

/// Drop the node's value and free it after a grace period.
///
/// # Safety
///
/// The node came from [`Node::leak`], no reader can load it any more, and only the caller retires it. References that
/// were loaded earlier live at most as long as the sections of their readers.
pub(crate) unsafe fn retire<T: Send + 'static>(node: NonNull<Node<T>>) {
    // SAFETY: the node begins with its head, which belongs to the library from now on; `reclaim` is for this type. `T`
    // is `Send + 'static`, so the value may be dropped on another thread, at any later time.
    unsafe { rtrcu_sys::rtrcu_call(node.as_ptr().cast(), reclaim::<T>) }
}

pub(crate) unsafe extern "C" fn reclaim<T>(head: *mut rcu_head) {
    // SAFETY: `retire()` passed this head, with which a node from `Node::leak` begins; a grace period has passed, so no
    // reader holds it.
    let node = unsafe { Owned::from_raw(NonNull::new_unchecked(head.cast::<Node<T>>())) };
    run(|| drop(node));
}

/// Run `f` after a grace period. When `f` runs, every section that began before the call has ended, and all effects of
/// code before the call are visible.
///
/// `f` runs where retired values are dropped: on a thread of the library, or on the calling thread within its budget.
/// `f` must not wait for a grace period. A panic of `f` is caught and counted in
/// [`Stats::drops_panicked`](crate::Stats::drops_panicked).
///
/// ```
/// let (tell, told) = std::sync::mpsc::channel();
/// rtrcu::defer(move || tell.send("all readers of that time have left").unwrap());
/// println!("{}", told.recv().unwrap());
/// ```
pub fn defer(f: impl FnOnce() + Send + 'static) {
    let node = Node::leak(f);
    // SAFETY: the node is new and now belongs to the library; `call` is for this type.
    unsafe { rtrcu_sys::rtrcu_call(node.as_ptr().cast(), call_of(&node)) }
}

/// Like [`defer`], but the grace period begins immediately, not at the next tick.
pub(crate) fn defer_hurry(f: impl FnOnce() + Send + 'static) {
    let node = Node::leak(f);
    // SAFETY: the node is new and now belongs to the library; `call` is for this type.
    unsafe { rtrcu_sys::rtrcu_call_hurry(node.as_ptr().cast(), call_of(&node)) }
}

fn call_of<F: FnOnce() + Send + 'static>(_: &NonNull<Node<F>>) -> rtrcu_sys::rcu_callback_t {
    unsafe extern "C" fn call<F: FnOnce()>(head: *mut rcu_head) {
        // SAFETY: the head is the beginning of a node of this type, from `Node::leak`, which has no other owner.
        let node = unsafe { Owned::from_raw(NonNull::new_unchecked(head.cast::<Node<F>>())) };
        run(|| node.into_value()());
    }
    call::<F>
}

thread_local! {
    static DEFERRED: Cell<u32> = const { Cell::new(0) };
}

static PANICKED: AtomicU64 = AtomicU64::new(0);

/// Is this thread running a deferred drop or function?
pub(crate) fn is_in_deferred() -> bool {
    DEFERRED.get() != 0
}

pub(crate) fn drops_panicked() -> u64 {
    PANICKED.load(Ordering::Relaxed)
}

/// Run a deferred drop or function. C calls it, so a panic must end here.
pub(crate) fn run(f: impl FnOnce()) {
    DEFERRED.set(DEFERRED.get() + 1);
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        PANICKED.fetch_add(1, Ordering::Relaxed);
        drop_payload(payload);
    }
    DEFERRED.set(DEFERRED.get() - 1);
}

/// Drop the payload of a panic. The drop may panic again, and so may the drop of the payload of that panic; the payload
/// of a third panic is leaked.
pub(crate) fn drop_payload(payload: Box<dyn Any + Send>) {
    let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) else { return };
    if let Err(third) = catch_unwind(AssertUnwindSafe(|| drop(second))) {
        std::mem::forget(third);
    }
}
