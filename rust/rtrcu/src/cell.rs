// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared values that readers load without waiting and writers replace: [`Rcu`], which always has one, and
//! [`RcuOption`], which may be empty.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::{NonNull, null, null_mut};
use std::sync::Arc;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

use crate::guard::{Guard, Protection, read};
use crate::node::{Node, retire};
use crate::retired::Retired;

/// A shared value that is replaced as a whole. Readers load it without waiting; what was replaced is dropped after a
/// grace period, when no reader can have it any more.
///
/// A reference lives as long as both the cell and the guard, or the section, that it was loaded under:
///
/// ```
/// use rtrcu::{read, Rcu};
///
/// let route = Rcu::new(String::from("eth0"));
/// {
///     let guard = read();
///     let now: &String = route.load(&guard);
///     route.replace(String::from("eth1"));
///     assert_eq!(now, "eth0"); // still there: this section began before
///     assert_eq!(route.load(&guard), "eth1");
/// }
/// assert_eq!(*route.get(), "eth1");
/// ```
///
/// Dropping the cell drops its value at once: whoever drops it holds it alone, so no reference from it can be alive.
/// This goes for cells within values too, so a retired value takes one grace period, whatever is nested in it.
pub struct Rcu<T> {
    cell: RcuOption<T>,
}

/// As [`Rcu`], but it may hold nothing.
///
/// ```
/// use rtrcu::{read, RcuOption};
///
/// static UPSTREAM: RcuOption<String> = RcuOption::empty();
///
/// assert!(UPSTREAM.load(&read()).is_none());
/// UPSTREAM.store(Some("10.0.0.1:53".into()));
/// assert_eq!(UPSTREAM.load(&read()).map(String::as_str), Some("10.0.0.1:53"));
/// UPSTREAM.store(None);
/// ```
pub struct RcuOption<T> {
    /// Null, or from [`Node::leak`]. What was here once is retired by whoever took it out.
    pointer: AtomicPtr<Node<T>>,
    owns: PhantomData<Box<Node<T>>>,
}

// SAFETY: as for a box: who has the cell alone has the value.
unsafe impl<T: Send> Send for RcuOption<T> {}
// SAFETY: shared, it gives `&T` to several threads (`Sync`), and takes values out that are dropped elsewhere (`Send`).
unsafe impl<T: Send + Sync> Sync for RcuOption<T> {}

// What a panic leaves in a cell is a whole value: one is put in and taken out by one instruction.
impl<T: RefUnwindSafe> RefUnwindSafe for RcuOption<T> {}
impl<T: RefUnwindSafe> UnwindSafe for RcuOption<T> {}

impl<T> RcuOption<T> {
    /// A cell without a value.
    pub const fn empty() -> Self {
        Self { pointer: AtomicPtr::new(null_mut()), owns: PhantomData }
    }

    /// A cell with `value`.
    pub fn new(value: Option<T>) -> Self {
        Self { pointer: AtomicPtr::new(into_pointer(value)), owns: PhantomData }
    }

    /// The value of now, as long as `inside` protects it. Wait-free.
    #[inline(always)]
    pub fn load<'g>(&'g self, inside: &'g impl Protection) -> Option<&'g T> {
        let _ = inside;
        // SAFETY: null, or a node that was published whole: the acquire pairs with the publisher's release. Whoever
        // takes it out retires it, and its grace period does not end while `inside` is borrowed; nor is the cell
        // dropped, nor its value taken by `&mut`, while it is borrowed.
        unsafe { self.pointer.load(Acquire).as_ref().map(|node| &node.value) }
    }

    /// The value of now together with a guard of its own.
    #[inline]
    pub fn get(&self) -> Option<Ref<'_, T>> {
        let guard = read();
        let value = NonNull::from(self.load(&guard)?);
        Some(Ref { value, _guard: guard, cell: PhantomData })
    }

    /// The value, of a cell that is nobody else's.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        // SAFETY: borrowed exclusively, the cell's value is too: references that were loaded borrow the cell.
        unsafe { self.pointer.get_mut().as_mut().map(|node| &mut node.value) }
    }

    /// The value, out of a cell that is nobody else's, at once.
    pub fn into_inner(mut self) -> Option<T> {
        self.take_alone().map(|node| node.value)
    }

    /// What the cell has, if nobody can have loaded it.
    fn take_alone(&mut self) -> Option<Box<Node<T>>> {
        let node = NonNull::new(std::mem::replace(self.pointer.get_mut(), null_mut()))?;
        // SAFETY: it came from `Node::leak`, is in the cell no more, and references to it borrowed the cell.
        Some(unsafe { Box::from_raw(node.as_ptr()) })
    }
}

fn into_pointer<T>(value: Option<T>) -> *mut Node<T> {
    value.map_or(null_mut(), |value| Node::leak(value).as_ptr())
}

impl<T: Send + 'static> RcuOption<T> {
    /// Put `value` in; what was there is dropped after a grace period.
    pub fn store(&self, value: Option<T>) {
        if let Some(old) = self.exchange(value) {
            // SAFETY: taken out of the cell, and only once.
            unsafe { retire(old) }
        }
    }

    /// What was there is the caller's to retire.
    fn exchange(&self, value: Option<T>) -> Option<NonNull<Node<T>>> {
        NonNull::new(self.pointer.swap(into_pointer(value), AcqRel))
    }

    /// Put `value` in; what was there is the caller's, once a grace period has passed.
    pub fn swap(&self, value: Option<T>) -> Option<Retired<T>> {
        let old = self.exchange(value)?;
        // SAFETY: taken out of the cell, and only once.
        Some(unsafe { Retired::new(old) })
    }

    /// Take the value out.
    pub fn take(&self) -> Option<Retired<T>> {
        self.swap(None)
    }

    /// Put in what `change` makes of the value. Several threads may do so at a time: when another was first, `change`
    /// is called again with the value of then. It runs inside a section, so it must not wait for grace periods.
    ///
    /// # Panics
    ///
    /// As [`Rcu::update`].
    pub fn update(&self, mut change: impl FnMut(Option<&T>) -> Option<T>) {
        Updating::run(std::ptr::from_ref(self).cast(), || {
            loop {
                let guard = read();
                let old = self.pointer.load(Acquire);
                // SAFETY: as in `load()`: the guard is alive, and the cell is borrowed.
                let new = into_pointer(change(unsafe { old.as_ref().map(|node| &node.value) }));
                if self.exchange_if(old, new).is_ok() {
                    drop(guard);
                    return;
                }
            }
        });
    }

    /// Put `new` in if the cell has `old` still, which is then retired; otherwise `new` is given back.
    /// A section must be open since `old` was loaded, or `old` could be a new node at an old address.
    fn exchange_if(&self, old: *mut Node<T>, new: *mut Node<T>) -> Result<(), Option<Box<Node<T>>>> {
        match self.pointer.compare_exchange(old, new, AcqRel, Acquire) {
            Ok(_) => {
                if let Some(old) = NonNull::new(old) {
                    // SAFETY: taken out of the cell, and only once.
                    unsafe { retire(old) }
                }
                Ok(())
            }
            // SAFETY: it came from `Node::leak`, and nobody has seen it.
            Err(_) => Err(NonNull::new(new).map(|new| unsafe { Box::from_raw(new.as_ptr()) })),
        }
    }
}

/// An update that this thread is in, on the stack of the call that runs it.
struct Updating {
    /// The cell, by its address.
    cell: *const (),
    /// The update that this one is inside of, or null.
    outer: *const Updating,
}

thread_local! {
    static INNERMOST: Cell<*const Updating> = const { Cell::new(null()) };
}

impl Updating {
    /// Run `update` of `cell`. The update outside of another one of the same cell would find its value replaced each
    /// time.
    fn run(cell: *const (), update: impl FnOnce()) {
        struct Ends(*const Updating);
        impl Drop for Ends {
            fn drop(&mut self) {
                INNERMOST.set(self.0);
            }
        }

        let outer = INNERMOST.get();
        let mut next = outer;
        // SAFETY: null, or an update on this thread's stack that has not returned: `Ends` takes it away before.
        while let Some(updating) = unsafe { next.as_ref() } {
            let again = std::ptr::eq(updating.cell, cell);
            assert!(!again, "rtrcu: an update of a cell inside an update of the same cell would never end");
            next = updating.outer;
        }
        let this = Updating { cell, outer };
        let _ends = Ends(outer);
        INNERMOST.set(&this);
        update();
    }
}

impl<T> Drop for RcuOption<T> {
    fn drop(&mut self) {
        drop(self.take_alone());
    }
}

impl<T> Default for RcuOption<T> {
    fn default() -> Self {
        Self::empty()
    }
}

impl<T> From<T> for RcuOption<T> {
    fn from(value: T) -> Self {
        Self::new(Some(value))
    }
}

impl<T: fmt::Debug> fmt::Debug for RcuOption<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RcuOption").field(&self.load(&read())).finish()
    }
}

impl<T> Rcu<T> {
    /// A cell with `value`.
    pub fn new(value: T) -> Self {
        Self { cell: RcuOption::new(Some(value)) }
    }

    /// The value of now, as long as `inside` protects it. Wait-free.
    #[inline(always)]
    pub fn load<'g>(&'g self, inside: &'g impl Protection) -> &'g T {
        let _ = inside;
        // SAFETY: as in `RcuOption::load()`; never null, since nothing but a node is ever put in, and what takes it
        // out for good consumes the cell.
        unsafe { &(*self.cell.pointer.load(Acquire)).value }
    }

    /// The value of now together with a guard of its own.
    ///
    /// ```
    /// let limits = rtrcu::Rcu::new(vec![1, 2, 3]);
    /// assert_eq!(limits.get().len(), 3);
    /// ```
    #[inline]
    pub fn get(&self) -> Ref<'_, T> {
        let guard = read();
        let value = NonNull::from(self.load(&guard));
        Ref { value, _guard: guard, cell: PhantomData }
    }

    /// The value, of a cell that is nobody else's.
    pub fn get_mut(&mut self) -> &mut T {
        self.cell.get_mut().expect("a cell that is never empty")
    }

    /// The value, out of a cell that is nobody else's, at once.
    pub fn into_inner(self) -> T {
        self.cell.into_inner().expect("a cell that is never empty")
    }
}

impl<T: Send + 'static> Rcu<T> {
    /// Put `new` in the place of the value, which is dropped after a grace period. Never waits.
    pub fn replace(&self, new: T) {
        self.cell.store(Some(new));
    }

    /// Put `new` in the place of the value, which is the caller's once a grace period has passed.
    pub fn swap(&self, new: T) -> Retired<T> {
        self.cell.swap(Some(new)).expect("a cell that is never empty")
    }

    /// Put `new` in if the value is still `current`, the very one that was loaded under `inside`, and retire that.
    ///
    /// # Errors
    ///
    /// `new`, if another was first.
    ///
    /// ```
    /// use rtrcu::{read, Rcu};
    ///
    /// let generation = Rcu::new(1);
    /// let guard = read();
    /// let seen = generation.load(&guard);
    /// assert_eq!(generation.compare_exchange(seen, 2, &guard), Ok(()));
    /// assert_eq!(generation.compare_exchange(seen, 3, &guard), Err(3));
    /// ```
    pub fn compare_exchange<'g>(&'g self, current: &'g T, new: T, inside: &'g impl Protection) -> Result<(), T> {
        let _ = inside;
        let old = self.cell.pointer.load(Acquire);
        // SAFETY: as in `load()`.
        if !std::ptr::eq(unsafe { &raw const (*old).value }, current) {
            return Err(new);
        }
        let exchanged = self.cell.exchange_if(old, Node::leak(new).as_ptr());
        exchanged.map_err(|new| new.expect("it was not null").value)
    }

    /// Put in what `change` makes of the value. Several threads may do so at a time: when another was first, `change`
    /// is called again with the value of then. It runs inside a section, so it must not wait for grace periods.
    ///
    /// ```
    /// let hits = rtrcu::Rcu::new(0);
    /// std::thread::scope(|scope| {
    ///     for _ in 0..4 {
    ///         scope.spawn(|| hits.update(|n| n + 1));
    ///     }
    /// });
    /// assert_eq!(hits.into_inner(), 4);
    /// ```
    ///
    /// A `change` that replaces the value of the same cell is called again; one that does so each time never ends.
    ///
    /// # Panics
    ///
    /// Inside another update of the same cell by this thread, which would never end.
    pub fn update(&self, mut change: impl FnMut(&T) -> T) {
        self.cell.update(|old| old.map(&mut change));
    }
}

impl<T> Rcu<Arc<T>> {
    /// A share of the value of now, which needs no section any more.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// let table = rtrcu::Rcu::new(Arc::new([1, 2, 3]));
    /// let kept = table.load_full();
    /// table.replace(Arc::new([4, 5, 6]));
    /// assert_eq!(*kept, [1, 2, 3]);
    /// ```
    #[inline]
    pub fn load_full(&self) -> Arc<T> {
        Arc::clone(self.load(&read()))
    }
}

impl<T: Default> Default for Rcu<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> From<T> for Rcu<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: fmt::Debug> fmt::Debug for Rcu<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Rcu").field(self.load(&read())).finish()
    }
}

/// A value together with the guard that protects it: what [`Rcu::get`] gives. It stays on its thread.
///
/// Not a reference and a guard: as an argument of a function a reference must stay valid until the function returns,
/// and this one may be dropped before.
#[must_use = "the section ends when this is dropped"]
pub struct Ref<'r, T> {
    value: NonNull<T>,
    _guard: Guard,
    cell: PhantomData<&'r T>,
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: it was loaded under the guard, which lives as long as `self`, out of a cell that is borrowed.
        unsafe { self.value.as_ref() }
    }
}

impl<T: fmt::Debug> fmt::Debug for Ref<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: fmt::Display> fmt::Display for Ref<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
