// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared values that readers load without waiting and writers replace: [`Rcu`], which always holds one, and
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
use crate::node::{Node, Owned, retire};
use crate::retired::Retired;

/// A shared value that is replaced as a whole. Readers load it without waiting; a replaced value is dropped after a
/// grace period, when no reader can hold it any more.
///
/// A reference is valid while the cell lives, and while the guard or section under which it was loaded lives:
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
/// Dropping the cell drops its value immediately: the dropping code owns the cell, so no reference from it is alive.
/// The same holds for cells inside a retired value: however deeply cells are nested, one grace period is enough for all
/// of them.
pub struct Rcu<T> {
    cell: RcuOption<T>,
}

/// Like [`Rcu`], but the cell may be empty.
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
    /// Null, or from [`Node::leak`]. The code that removes a node from the cell retires it.
    pointer: AtomicPtr<Node<T>>,
    owns: PhantomData<Node<T>>,
}

// SAFETY: as for a box: the sole owner of the cell owns the value.
unsafe impl<T: Send> Send for RcuOption<T> {}
// SAFETY: a shared cell hands out `&T` to several threads (`Sync`), and its values may be dropped on another thread
// (`Send`).
unsafe impl<T: Send + Sync> Sync for RcuOption<T> {}

// A panic never leaves a half-changed value in the cell: one instruction stores or removes a value.
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

    /// The current value, protected by `inside`. Wait-free.
    #[inline(always)]
    pub fn load<'g>(&'g self, inside: &'g impl Protection) -> Option<&'g T> {
        let _ = inside;
        // SAFETY: the pointer is null, or leads to a fully published node: the acquire pairs with the publisher's
        // release. The thread that removes the node retires it, and its grace period does not end while `inside` is
        // borrowed. While the cell is borrowed, the cell is not dropped, and no thread takes its value by `&mut`.
        unsafe { self.pointer.load(Acquire).as_ref().map(|node| &node.value) }
    }

    /// The current value, together with a guard that protects it.
    #[inline]
    pub fn get(&self) -> Option<Ref<'_, T>> {
        let guard = read();
        let value = NonNull::from(self.load(&guard)?);
        Some(Ref { value, _guard: guard, cell: PhantomData })
    }

    /// A mutable reference to the value: `&mut self` rules out other users.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        // SAFETY: the cell is borrowed exclusively, so no loaded reference, which would borrow it, is alive.
        unsafe { self.pointer.get_mut().as_mut().map(|node| &mut node.value) }
    }

    /// Take the value out of the cell. The caller owns the cell, so this needs no grace period.
    pub fn into_inner(mut self) -> Option<T> {
        self.take_alone().map(Owned::into_value)
    }

    /// Remove the cell's node, which no reader can hold, since `&mut self` rules out other users.
    fn take_alone(&mut self) -> Option<Owned<T>> {
        let node = NonNull::new(std::mem::replace(self.pointer.get_mut(), null_mut()))?;
        // SAFETY: the node came from `Node::leak`, is no longer in the cell, and has no references left, since they
        // would borrow the cell.
        Some(unsafe { Owned::from_raw(node) })
    }
}

fn into_pointer<T>(value: Option<T>) -> *mut Node<T> {
    value.map_or(null_mut(), |value| Node::leak(value).as_ptr())
}

impl<T: Send + 'static> RcuOption<T> {
    /// Store `value`; the previous value is dropped after a grace period.
    pub fn store(&self, value: Option<T>) {
        if let Some(old) = self.exchange(value) {
            // SAFETY: only this call removed the node from the cell.
            unsafe { retire(old) }
        }
    }

    /// Store `value`, and return the previous node. The caller must retire that node.
    fn exchange(&self, value: Option<T>) -> Option<NonNull<Node<T>>> {
        NonNull::new(self.pointer.swap(into_pointer(value), AcqRel))
    }

    /// Store `value` and return the previous one, which the caller owns once a grace period has passed.
    pub fn swap(&self, value: Option<T>) -> Option<Retired<T>> {
        let old = self.exchange(value)?;
        // SAFETY: only this call removed the node from the cell.
        Some(unsafe { Retired::new(old) })
    }

    /// Empty the cell, and return its value as [`swap`](Self::swap) does.
    pub fn take(&self) -> Option<Retired<T>> {
        self.swap(None)
    }

    /// Store `new` and retire `current`, if the cell still holds `current`, which was loaded under `inside`. `None`
    /// stands for an empty cell.
    ///
    /// # Errors
    ///
    /// Returns `new` if the cell no longer holds `current`.
    ///
    /// ```
    /// use rtrcu::{read, RcuOption};
    ///
    /// let leader = RcuOption::empty();
    /// let guard = read();
    /// assert_eq!(leader.compare_exchange(None, Some("a"), &guard), Ok(()));
    /// assert_eq!(leader.compare_exchange(None, Some("b"), &guard), Err(Some("b")));
    /// assert_eq!(leader.compare_exchange(leader.load(&guard), None, &guard), Ok(()));
    /// ```
    pub fn compare_exchange<'g>(
        &'g self,
        current: Option<&'g T>,
        new: Option<T>,
        inside: &'g impl Protection,
    ) -> Result<(), Option<T>> {
        let _ = inside;
        let old = self.pointer.load(Acquire);
        // SAFETY: as in `load()`: the cell is borrowed, and `inside` protects the node.
        let value = unsafe { old.as_ref().map(|node| &raw const node.value) };
        if value != current.map(std::ptr::from_ref) {
            return Err(new);
        }
        self.exchange_if(old, into_pointer(new)).map_err(|new| new.map(Owned::into_value))
    }

    /// Replace the value by the result of `change`, which receives the current value. If another thread replaces the
    /// value meanwhile, `change` is called again with the new value. `change` runs inside a section, so it must not
    /// wait for grace periods.
    ///
    /// # Panics
    ///
    /// As [`Rcu::update`].
    pub fn update(&self, mut change: impl FnMut(Option<&T>) -> Option<T>) {
        self.try_update(|old| Some(change(old)));
    }

    /// Like [`update`](Self::update), but if `change` returns `None`, the cell stays as it is. `Some(None)` empties the
    /// cell. Returns true if the cell was changed.
    ///
    /// # Panics
    ///
    /// As [`Rcu::update`].
    pub fn try_update(&self, mut change: impl FnMut(Option<&T>) -> Option<Option<T>>) -> bool {
        Updating::run(std::ptr::from_ref(self).cast(), || {
            loop {
                let guard = read();
                let old = self.pointer.load(Acquire);
                // SAFETY: as in `load()`: the guard is alive, and the cell is borrowed.
                let Some(new) = change(unsafe { old.as_ref().map(|node| &node.value) }) else { return false };
                if self.exchange_if(old, into_pointer(new)).is_ok() {
                    drop(guard);
                    return true;
                }
            }
        })
    }

    /// Store `new` if the cell still holds `old`, and retire `old`; otherwise return `new`. A section must have been
    /// open since `old` was loaded. Otherwise, `old` could be the address of a newer node.
    fn exchange_if(&self, old: *mut Node<T>, new: *mut Node<T>) -> Result<(), Option<Owned<T>>> {
        match self.pointer.compare_exchange(old, new, AcqRel, Acquire) {
            Ok(_) => {
                if let Some(old) = NonNull::new(old) {
                    // SAFETY: only this call removed the node from the cell.
                    unsafe { retire(old) }
                }
                Ok(())
            }
            // SAFETY: the node came from `Node::leak`, and no reader has seen it.
            Err(_) => Err(NonNull::new(new).map(|new| unsafe { Owned::from_raw(new) })),
        }
    }
}

/// An update in progress on this thread; it is on the stack of the call that runs it.
pub(crate) struct Updating {
    /// The address of the updated cell or entry of a map.
    cell: *const (),
    /// The update that encloses this one, or null.
    outer: *const Updating,
}

thread_local! {
    static INNERMOST: Cell<*const Updating> = const { Cell::new(null()) };
}

impl Updating {
    /// Run `update`, an update of `cell`. Panics if this thread is already inside an update of the same cell: the outer
    /// update would find its value replaced each time.
    pub(crate) fn run<R>(cell: *const (), update: impl FnOnce() -> R) -> R {
        struct Ends(*const Updating);
        impl Drop for Ends {
            fn drop(&mut self) {
                INNERMOST.set(self.0);
            }
        }

        let outer = INNERMOST.get();
        let mut next = outer;
        // SAFETY: null, or an update on this thread's stack that has not returned: `Ends` removes it before it returns.
        while let Some(updating) = unsafe { next.as_ref() } {
            let again = std::ptr::eq(updating.cell, cell);
            assert!(!again, "rtrcu: an update of a value inside an update of the same value would never end");
            next = updating.outer;
        }
        let this = Updating { cell, outer };
        let _ends = Ends(outer);
        INNERMOST.set(&this);
        update()
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

    /// The current value, protected by `inside`. Wait-free.
    #[inline(always)]
    pub fn load<'g>(&'g self, inside: &'g impl Protection) -> &'g T {
        let _ = inside;
        // SAFETY: as in `RcuOption::load()`. The pointer is not null: only nodes are stored, and only a call that
        // consumes the cell removes a node without storing another.
        unsafe { &(*self.cell.pointer.load(Acquire)).value }
    }

    /// The current value, together with a guard that protects it.
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

    /// A mutable reference to the value: `&mut self` rules out other users.
    pub fn get_mut(&mut self) -> &mut T {
        self.cell.get_mut().expect("an Rcu always holds a value")
    }

    /// Take the value out of the cell. The caller owns the cell, so this needs no grace period.
    pub fn into_inner(self) -> T {
        self.cell.into_inner().expect("an Rcu always holds a value")
    }
}

impl<T: Send + 'static> Rcu<T> {
    /// Store `new`; the previous value is dropped after a grace period. Never waits.
    pub fn replace(&self, new: T) {
        self.cell.store(Some(new));
    }

    /// Store `new` and return the previous value, which the caller owns once a grace period has passed.
    pub fn swap(&self, new: T) -> Retired<T> {
        self.cell.swap(Some(new)).expect("an Rcu always holds a value")
    }

    /// Store `new` and retire `current`, if the cell still holds `current`, which was loaded under `inside`.
    ///
    /// # Errors
    ///
    /// Returns `new` if the cell no longer holds `current`.
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
        // SAFETY: as in `load()`: the cell is borrowed, and `inside` protects the node.
        if !std::ptr::eq(unsafe { &raw const (*old).value }, current) {
            return Err(new);
        }
        let exchanged = self.cell.exchange_if(old, Node::leak(new).as_ptr());
        exchanged.map_err(|new| new.expect("the new node was not null").into_value())
    }

    /// Replace the value by the result of `change`, which receives the current value. If another thread replaces the
    /// value meanwhile, `change` is called again with the new value. `change` runs inside a section, so it must not
    /// wait for grace periods.
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
    /// A `change` that itself replaces the value of the cell is called again; if it does so each time, the update never
    /// ends.
    ///
    /// # Panics
    ///
    /// If this thread is already inside an update of the same cell: the outer update would never end.
    pub fn update(&self, mut change: impl FnMut(&T) -> T) {
        self.cell.update(|old| old.map(&mut change));
    }

    /// Like [`update`](Self::update), but if `change` returns `None`, the value stays. Returns true if the value was
    /// replaced.
    ///
    /// ```
    /// let highest = rtrcu::Rcu::new(7);
    /// let raise = |to| highest.try_update(|now| (to > *now).then_some(to));
    /// assert!(!raise(5));
    /// assert!(raise(9));
    /// assert_eq!(*highest.get(), 9);
    /// ```
    ///
    /// # Panics
    ///
    /// As [`update`](Self::update).
    pub fn try_update(&self, mut change: impl FnMut(&T) -> Option<T>) -> bool {
        self.cell.try_update(|old| change(old?).map(Some))
    }
}

impl<T> Rcu<Arc<T>> {
    /// A clone of the current `Arc`. It stays valid outside sections.
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

/// A value together with the guard that protects it, returned by [`Rcu::get`], [`RcuOption::get`] and the `find()` of a
/// `HashMap`. A `Ref` stays on its thread.
///
/// A `Ref` holds a pointer, not a reference: a reference in an argument of a function must stay valid until the
/// function returns, but the function may drop the `Ref` earlier.
#[must_use = "the section ends when this is dropped"]
pub struct Ref<'r, T> {
    value: NonNull<T>,
    _guard: Guard,
    cell: PhantomData<&'r T>,
}

impl<T> Ref<'_, T> {
    /// Combine `value` with `guard`, under which it was loaded from a cell or map. The result borrows the cell or map.
    pub(crate) fn new(value: NonNull<T>, guard: Guard) -> Self {
        Self { value, _guard: guard, cell: PhantomData }
    }
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the value was loaded under the guard, which lives as long as `self`, from a cell or map that `self`
        // borrows.
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
